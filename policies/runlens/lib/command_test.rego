package runlens.lib.command_test

import data.runlens.lib
import data.runlens.lib.testing

# A call with this argv of a tool with this one pattern, without paths.
_call(pattern, argv) := testing.with_pattern({
	"tool": {"patterns": [pattern]},
	"command": {"argv": argv, "run": argv},
	"targets": [],
})

_fits(pattern, argv) if lib.command_fits with input as _call(pattern, argv)

test_each_part_must_fit if {
	pattern := [
		testing.word("fmt"),
		testing.choice_part("mode", ["check", "write"]),
		testing.text_part("width", "^(?:[0-9]{1,3})$"),
	]
	_fits(pattern, ["fmt", "check", "80"])
	_fits(pattern, ["fmt", "write", "120"])
	every argv in [
		["fmt", "check"],
		["fmt", "check", "80", ""],
		["fmt", "chec", "80"],
		["fmt", "checks", "80"],
		["fmt", "", "80"],
		["fmt", "check", "1200"],
		["fmt", "check", "80\n"],
		["fmt", "check", "x\n80\ny"],
		["fmt", "check", ""],
		["Fmt", "check", "80"],
		["", "check", "80"],
	] {
		not _fits(pattern, argv)
		not lib.command_is_spelt_right with input as _call(pattern, argv)
	}
}

test_parts_of_no_known_kind_fit_nothing if {
	every kind in ["glob", "", "word", "choice", "text"] {
		part := object.union(
			{"kind": kind, "word": "x", "values": ["x"], "pattern": "^(?:x)$"},
			object.union(
				{"word": {"word": "y"}, "choice": {"values": ["y"]}, "text": {"pattern": "^(?:y)$"}},
				{"glob": {}, "": {}},
			)[kind],
		)
		pattern := [testing.word("fmt"), object.union(testing.word("x"), part)]
		not _fits(pattern, ["fmt", "x"])
	}
	not _fits([], [])
}

test_word_by_word if {
	lib.command_fits with input as testing.with_command({})
	lib.command_is_spelt_right with input as testing.with_command({})
	every change in [{"argv": ["python"]}, {"argv": ["python"], "run": ["python"]}, {"run": ["python"]}, {"pattern": 1}] {
		not lib.command_fits with input as testing.with_command(change)
		not lib.command_is_spelt_right with input as testing.with_command(change)
	}
}

# A command that is declared word by word takes no paths.
test_no_pattern_counts_for_a_declared_command if {
	declared := testing.with_pattern({"tool": {"commands": [["wc", "data/a.csv"]]}})
	not lib.command_pattern with input as declared
	not lib.command_fits with input as declared
	not lib.command_is_spelt_right with input as declared

	bare := object.union(declared, {"command": {"pattern": 0}, "targets": []})
	lib.command_fits with input as bare
	not lib.command_fits with input as object.union(bare, {"targets": [testing.argument("file", {})]})
}

test_one_pattern_counts if {
	every place in [-1, 0, 2] {
		call := testing.with_pattern({"command": {"pattern": place}})
		not lib.command_pattern with input as call
		not lib.command_fits with input as call
		not lib.command_is_spelt_right with input as call
	}
	second := {"tool": {"patterns": [[testing.word("wc"), testing.word("data/a.csv")], [testing.word("wc"), testing.path_part("file", "data")]]}}
	lib.command_fits with input as object.union(testing.with_pattern(second), {"command": {"pattern": 2}})
	not lib.command_fits with input as testing.with_pattern(second) # the target is none of the first's
	lib.command_fits with input as object.union(testing.with_pattern(second), {"targets": []})
}

# What would be run is what was asked for, but for the paths.
test_words_are_run_as_asked_for if {
	pattern := [testing.word("fmt"), testing.choice_part("mode", ["a", "b"]), testing.text_part("n", "^(?:[0-9])$")]
	call := _call(pattern, ["fmt", "a", "1"])
	lib.command_fits with input as call
	every run in [["fmt", "b", "1"], ["fmt", "a", "2"], ["fmd", "a", "1"], ["fmt", "a"], ["fmt", "a", "1", "x"], []] {
		not lib.command_fits with input as object.union(call, {"command": {"run": run}})
		not lib.command_is_spelt_right with input as object.union(call, {"command": {"run": run}})
	}
}

test_paths_are_run_by_what_was_opened if {
	every pair in [
		["data/a.csv", {}],
		["/srv/app/data/a.csv", {}],
		["./-x", {"path": "/srv/app/-x"}],
		[".", {"path": "/srv/app"}],
	] {
		call := testing.with_pattern({"command": {"argv": ["wc", "x"], "run": ["wc", pair[0]]}, "targets": [testing.argument("file", pair[1])]})
		lib.command_runs_its_targets with input as call
	}
	every word in ["data/b.csv", "a.csv", "/data/a.csv", ".", "", "x/data/a.csv", "/etc/passwd"] {
		call := testing.with_pattern({"command": {"argv": ["wc", "x"], "run": ["wc", word]}})
		not lib.command_runs_its_targets with input as call
		not lib.command_fits with input as call
		lib.command_is_spelt_right with input as call
	}
	top := testing.with_pattern({"command": {"dir": "/", "run": ["wc", "srv/app/data/a.csv"]}})
	lib.command_runs_its_targets with input as top
	not lib.command_runs_its_targets with input as testing.with_pattern({"command": {"dir": "/srv/ap", "run": ["wc", "p/data/a.csv"]}})
}

test_path_in_its_root if {
	lib.command_fits with input as testing.with_pattern({})
	not lib.unclear_argument with input as testing.with_pattern({})
	folder := testing.argument("file", {"kind": "directory", "path": "/srv/app/data"})
	lib.command_fits with input as testing.with_pattern({"command": {"run": ["wc", "data"]}, "targets": [folder]})
}

test_path_that_is_not_where_its_pattern_says if {
	every change in [
		{"path": "/srv/app/data2/a.csv"},
		{"resolution": "not_found"},
		{"handle": false},
		{"kind": "fifo"},
		{"access": "write"},
		{"param": "other"},
		{"position": 1},
	] {
		call := testing.with_pattern({"targets": [testing.argument("file", change)]})
		not lib.command_fits with input as call
		lib.command_is_spelt_right with input as call
		lib.unclear_argument with input as call
	}
	not lib.command_fits with input as testing.with_pattern({"targets": [testing.argument("file", {"position": 0})]})
	every change in [{"access": "write"}, {"param": "other"}, {"position": 1}, {"position": 0}] {
		call := testing.with_pattern({"targets": [testing.argument("file", change)]})
		not lib.command_runs_its_targets with input as call
	}
}

# A root of the tool, or of another parameter, or of another name is not the part's.
test_path_under_other_roots if {
	every change in [
		{"param": ""},
		{"param": "other"},
		{"declared": "data/"},
		{"access": ["write"]},
		{"path": "/srv/app/x", "prefix": "/srv/app/x/"},
	] {
		roots := [testing.root, object.union(testing.argument_root("file", "data"), change)]
		not lib.command_fits with input as testing.with_pattern({"tool": {"roots": roots}})
	}
}

# An argument that is opened beside those of the pattern is nobody's.
test_target_of_no_part if {
	more := [testing.argument("file", {}), testing.argument("other", {})]
	not lib.command_fits with input as testing.with_pattern({"targets": more})

	wide := object.union(testing.argument_root("file", "data"), {"access": ["read", "write"]})
	written := testing.argument("file", {"access": "write"})
	not lib.command_fits with input as testing.with_pattern({"tool": {"roots": [wide]}, "targets": [written]})
	lib.command_fits with input as testing.with_pattern({"tool": {"roots": [wide]}})
}

test_other_targets_are_no_arguments if {
	call := testing.with_pattern({"targets": [testing.argument("file", {}), object.union(testing.target, {"path": "/etc/x"})]})
	not lib.unclear_argument with input as call
}

# Two patterns of one form, each with a root of its own.
_wc(pattern, how, path) := testing.with_pattern({
	"tool": {
		"patterns": [
			[testing.word("wc"), testing.choice_part("how", ["-l"]), testing.path_part("file", "data")],
			[testing.word("wc"), testing.choice_part("how", ["-c", "-l"]), testing.path_part("file", "logs")],
		],
		"roots": [testing.argument_root("file", "data"), testing.argument_root("file", "logs")],
	},
	"command": {"argv": ["wc", how, path], "run": ["wc", how, path], "pattern": pattern},
	"targets": [testing.argument("file", {"position": 3, "path": sprintf("/srv/app/%s", [path])})],
})

test_root_of_another_pattern if {
	lib.command_fits with input as _wc(1, "-l", "data/a")
	lib.command_fits with input as _wc(2, "-c", "logs/a")
	every call in [_wc(1, "-l", "logs/a"), _wc(2, "-c", "data/a"), _wc(2, "-l", "data/a")] {
		not lib.command_fits with input as call
		lib.command_is_spelt_right with input as call
		lib.command_runs_its_targets with input as call
		lib.unclear_argument with input as call
	}
	not lib.command_is_spelt_right with input as _wc(1, "-c", "data/a")
}

test_commands_in_words if {
	patterns := [[
		testing.word("fmt"),
		testing.word("a b"),
		testing.word(""),
		testing.path_part("path", "src"),
		object.union(testing.path_part("out", "build"), {"access": "write"}),
		testing.choice_part("mode", ["x", "y"]),
		testing.text_part("width", "^(?:[0-9]+)$"),
	]]
	lib.commands_in_words == [
		"python -m unittest",
		"fmt 'a b' '' {path in src} {out written in build} {mode: x|y} {width like [0-9]+}",
	] with input as object.union(testing.with_command({}), {"tool": {"patterns": patterns}})
}
