package runlens.lib.command_test

import data.runlens.lib
import data.runlens.lib.testing

# A call with this argv of a tool with this one pattern, without paths.
_call(pattern, argv) := testing.with_pattern({
	"tool": {"patterns": [pattern]},
	"command": {"argv": argv},
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
	not lib.command_fits with input as testing.with_command({"argv": ["python"]})
	not lib.command_is_spelt_right with input as testing.with_command({"argv": ["python"]})
}

test_path_in_its_root if {
	lib.command_fits with input as testing.with_pattern({})
	not lib.unclear_argument with input as testing.with_pattern({})
	folder := testing.argument("file", {"kind": "directory", "path": "/srv/app/data"})
	lib.command_fits with input as testing.with_pattern({"targets": [folder]})
}

test_path_that_is_not_where_its_pattern_says if {
	every change in [
		{"path": "/srv/app/data2/a.csv"},
		{"resolution": "not_found"},
		{"handle": false},
		{"kind": "fifo"},
		{"access": "write"},
		{"param": "other"},
	] {
		call := testing.with_pattern({"targets": [testing.argument("file", change)]})
		not lib.command_fits with input as call
		lib.command_is_spelt_right with input as call
		lib.unclear_argument with input as call
	}
	every change in [{"position": 1}, {"position": 0}] {
		not lib.command_fits with input as testing.with_pattern({"targets": [testing.argument("file", change)]})
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

# Another parameter at the same place, or another access, is another target.
test_target_of_another_part if {
	patterns := [
		[testing.word("wc"), testing.path_part("file", "data"), testing.choice_part("mode", ["x"])],
		[testing.word("wc"), testing.path_part("other", "data"), testing.path_part("more", "logs")],
	]
	targets := [testing.argument("other", {}), testing.argument("more", {"position": 3, "path": "/etc/x"})]
	roots := [testing.argument_root("file", "data"), testing.argument_root("other", "data"), testing.argument_root("more", "logs")]
	not lib.command_fits with input as testing.with_pattern({
		"tool": {"patterns": patterns, "roots": roots},
		"command": {"argv": ["wc", "data/a.csv", "x"]},
		"targets": targets,
	})

	wide := object.union(testing.argument_root("file", "data"), {"access": ["read", "write"]})
	written := testing.argument("file", {"access": "write"})
	not lib.command_fits with input as testing.with_pattern({"tool": {"roots": [wide]}, "targets": [written]})
}

test_other_targets_are_no_arguments if {
	call := testing.with_pattern({"targets": [testing.argument("file", {}), object.union(testing.target, {"path": "/etc/x"})]})
	not lib.unclear_argument with input as call
}

# Two patterns of one form, each with a root of its own.
_wc(how, path) := testing.with_pattern({
	"tool": {
		"patterns": [
			[testing.word("wc"), testing.choice_part("how", ["-l"]), testing.path_part("file", "data")],
			[testing.word("wc"), testing.choice_part("how", ["-c"]), testing.path_part("file", "logs")],
		],
		"roots": [testing.argument_root("file", "data"), testing.argument_root("file", "logs")],
	},
	"command": {"argv": ["wc", how, path]},
	"targets": [testing.argument("file", {"position": 3, "path": sprintf("/srv/app/%s", [path])})],
})

test_root_of_another_pattern if {
	lib.command_fits with input as _wc("-l", "data/a")
	lib.command_fits with input as _wc("-c", "logs/a")
	not lib.command_fits with input as _wc("-l", "logs/a")
	not lib.command_fits with input as _wc("-c", "data/a")
	lib.unclear_argument with input as _wc("-c", "data/a")
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
