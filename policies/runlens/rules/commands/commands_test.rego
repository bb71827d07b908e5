package runlens.rules.commands_test

import data.runlens.lib.testing
import data.runlens.rules.commands

_not_allowed(argv) := {
	"code": "command_not_allowed",
	"message": "the command is not one of the tool's: python -m unittest",
	"param": "",
	"detail": {"argv": argv, "allowed": ["python -m unittest"]},
}

_untrusted(causes) := {
	"code": "executable_untrusted",
	"message": sprintf("/usr/bin/python3 is not to be trusted: %s", [concat(", ", causes)]),
	"param": "",
	"detail": {"path": "/usr/bin/python3", "causes": causes},
}

_program(facts) := testing.with_command({"executable": facts})

test_declared_command if {
	commands.deny == set() with input as testing.with_command({})
}

test_one_of_several_commands if {
	call := object.union(testing.with_command({}), {"tool": {"commands": [["true"], ["python", "-m", "unittest"]]}})
	commands.deny == set() with input as call
}

test_other_commands if {
	every argv in [
		[],
		["python"],
		["python", "-m", "unittest", "-v"],
		["python", "-m", "unittest "],
		["python", "-m unittest"],
		["/usr/bin/python", "-m", "unittest"],
	] {
		commands.deny == {_not_allowed(argv)} with input as testing.with_command({"argv": argv, "run": argv})
	}
}

test_empty_list_allows_nothing if {
	call := object.union(testing.with_command({"argv": []}), {"tool": {"commands": []}})
	commands.deny == {{
		"code": "command_not_allowed",
		"message": "the command is not one of the tool's: none",
		"param": "",
		"detail": {"argv": [], "allowed": []},
	}} with input as call
}

test_no_command if {
	call := testing.with_command({"present": false, "argv": [], "dir": "", "executable": {"path": "", "resolution": ""}})
	commands.deny == {_not_allowed([])} with input as call
}

_runs_none(operation) := {
	"code": "command_not_allowed",
	"message": sprintf("a tool that does %s runs no commands", [operation]),
	"param": "",
	"detail": {"argv": ["python", "-m", "unittest"], "operation": operation},
}

test_tool_that_runs_no_commands if {
	call := object.union(testing.with_command({}), {"tool": {"operation": "compute", "commands": []}})
	commands.deny == {_runs_none("compute")} with input as call
	commands.deny == set() with input as testing.base
	commands.deny == set() with input as testing.with_tool({"commands": [["x"]]})
}

# A tool of any operation may be bound to a program; its command is that program.
test_tool_that_is_a_program if {
	program := {"tool": {"operation": "read", "handler": "exec:tools/wc", "commands": [["tools/wc"]]}}
	call := object.union(testing.with_command({"argv": ["tools/wc"], "run": ["tools/wc"]}), program)
	commands.deny == set() with input as call

	other := object.union(testing.with_command({"argv": ["tools/id"], "run": ["tools/id"]}), program)
	commands.deny == {_refused(["tools/id"], ["tools/wc"])} with input as other

	pattern := testing.with_pattern({"tool": {"operation": "read"}, "command": {"argv": ["wc"]}})
	commands.deny == {_refused(["wc"], ["wc {file in data}"])} with input as pattern
}

_refused(argv, allowed) := {
	"code": "command_not_allowed",
	"message": sprintf("the command is not one of the tool's: %s", [concat(", ", allowed)]),
	"param": "",
	"detail": {"argv": argv, "allowed": allowed},
}

test_pattern if {
	commands.deny == set() with input as testing.with_pattern({})
}

test_pattern_of_another_shape if {
	every argv in [["wc"], ["wc", "data/a.csv", "-l"], ["cat", "data/a.csv"], []] {
		call := testing.with_pattern({"command": {"argv": argv}})
		commands.deny == {_refused(argv, ["wc {file in data}"])} with input as call
		commands.deny == {_refused(argv, ["wc {file in data}"])} with input as object.union(call, {"command": {"run": argv}})
	}
	none := testing.with_pattern({"targets": []})
	commands.deny == {_refused(["wc", "data/a.csv"], ["wc {file in data}"])} with input as none
}

# The families that look at targets say what is wrong with a path.
test_path_that_is_refused_elsewhere if {
	every change in [{"path": "/srv/app/other"}, {"resolution": "not_found"}, {"kind": "fifo"}] {
		call := testing.with_pattern({"targets": [testing.argument("file", change)]})
		commands.deny == set() with input as call
	}
	misspelt := testing.with_pattern({"command": {"argv": ["cat", "x"]}, "targets": [testing.argument("file", {"path": "/etc"})]})
	commands.deny == {_refused(["cat", "x"], ["wc {file in data}"])} with input as misspelt
}

_copy(pattern, from, to) := testing.with_pattern({
	"tool": {
		"patterns": [
			[testing.word("cp"), testing.path_part("from", "a"), testing.path_part("to", "b")],
			[testing.word("cp"), testing.path_part("from", "c"), testing.path_part("to", "d")],
		],
		"roots": [
			testing.argument_root("from", "a"), testing.argument_root("to", "b"),
			testing.argument_root("from", "c"), testing.argument_root("to", "d"),
		],
	},
	"command": {"argv": ["cp", from, to], "run": ["cp", from, to], "pattern": pattern},
	"targets": [
		testing.argument("from", {"path": sprintf("/srv/app/%s", [from])}),
		testing.argument("to", {"position": 3, "path": sprintf("/srv/app/%s", [to])}),
	],
})

_neither := _refused(["cp", "a/x", "d/x"], ["cp {from in a} {to in b}", "cp {from in c} {to in d}"])

# Each path has a root in some pattern, but one pattern counts; where a path leads is
# what the families that look at targets refuse.
test_paths_of_two_patterns if {
	commands.deny == set() with input as _copy(1, "a/x", "b/x")
	commands.deny == set() with input as _copy(2, "c/x", "d/x")
	commands.deny == set() with input as _copy(1, "a/x", "d/x")
	commands.deny == {_neither} with input as _copy(0, "a/x", "d/x")
	commands.deny == {_neither} with input as object.union(_copy(1, "a/x", "d/x"), {"targets": []})
}

# What is judged is what would be run.
test_run_is_not_what_was_judged if {
	call := testing.with_pattern({"command": {"run": ["wc", "/etc/passwd"]}})
	commands.deny == {_refused(["wc", "data/a.csv"], ["wc {file in data}"])} with input as call
	commands.deny == {_not_allowed(["python", "-m", "unittest"])} with input as testing.with_command({"run": ["python"]})
	claimed := testing.with_command({"pattern": 1})
	commands.deny == {_not_allowed(["python", "-m", "unittest"])} with input as claimed
}

_homeless := {
	"code": "no_working_directory",
	"message": "the directory that the tool works in can't be opened: it is not there, not in the project, in a place of policies, manifests, runs or keys, or behind a link that a tool could have made",
	"param": "",
	"detail": {},
}

test_no_working_directory if {
	commands.deny == {_homeless} with input as testing.with_command({"dir": ""})
	commands.deny == {_homeless} with input as testing.with_pattern({"command": {"dir": ""}, "targets": []})
	commands.deny == {_homeless, _not_allowed(["id"])} with input as testing.with_command({"dir": "", "argv": ["id"]})
}

test_no_program if {
	call := testing.with_command({"argv": [], "executable": {"resolution": "not_found"}})
	commands.deny == {_not_allowed([]), {
		"code": "executable_not_found",
		"message": "no program  in the manifest's path (not_found)",
		"param": "",
		"detail": {"program": "", "resolution": "not_found"},
	}} with input as call
}

test_program_that_is_not_there if {
	every resolution in {"not_found", "no_access", "loop"} {
		call := _program({"path": "", "resolution": resolution, "kind": "none", "executable": false})
		commands.deny == {{
			"code": "executable_not_found",
			"message": sprintf("no program python in the manifest's path (%s)", [resolution]),
			"param": "",
			"detail": {"program": "python", "resolution": resolution},
		}} with input as call
	}
}

test_untrusted_programs if {
	commands.deny == {_untrusted({"not a file"})} with input as _program({"kind": "directory"})
	commands.deny == {_untrusted({"not executable"})} with input as _program({"executable": false})
	commands.deny == {_untrusted({"inside the project"})} with input as _program({"in_project": true})
	commands.deny == {_untrusted({"it belongs to another user"})} with input as _program({"foreign": true})
	commands.deny == {_untrusted({"a tool could have put it there, or a link on the way to it"})} with input as _program({"planted": true})
	commands.deny == {_untrusted({"everyone may change it"})} with input as _program({"other_writable": true})
	commands.deny == {_untrusted({"everyone may change it", "inside the project"})} with input as _program({
		"in_project": true,
		"other_writable": true,
	})
}

# The manifest names it, and no tool may change it.
test_program_of_the_project if {
	bound := {"tool": {"handler": "exec:tools/wc", "commands": [["python", "-m", "unittest"]]}}
	mine := _program({"in_project": true, "protected": "handler"})
	commands.deny == set() with input as object.union(mine, bound)
	commands.deny == {_untrusted({"inside the project"})} with input as mine
	commands.deny == {_untrusted({"inside the project"})} with input as object.union(_program({"in_project": true}), bound)

	open := _program({"in_project": true, "protected": "handler", "other_writable": true})
	commands.deny == {_untrusted({"everyone may change it"})} with input as object.union(open, bound)
}

test_what_makes_a_program_untrusted_is_data if {
	group := _program({"group_writable": true})
	commands.deny == set() with input as group
	commands.deny == {_untrusted({"its group may change it"})} with input as group
		with data.runlens.executables.refuse.group_writable as true
	commands.deny == set() with input as _program({"in_project": true})
		with data.runlens.executables.refuse.in_project as false
	commands.deny == set() with input as _program({"foreign": true})
		with data.runlens.executables.refuse.foreign_owner as false
	commands.deny == set() with input as _program({"other_writable": true})
		with data.runlens.executables.refuse.other_writable as false
	commands.deny == set() with input as testing.with_command({})
		with data.runlens.executables.refuse as {"in_project": true, "foreign_owner": true, "group_writable": true, "other_writable": true}
}
