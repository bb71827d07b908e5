package runlens.rules.commands_test

import data.runlens.lib.testing
import data.runlens.rules.commands

_not_allowed(argv) := {
	"code": "command_not_allowed",
	"message": `the command is not one of the tool's: ["python", "-m", "unittest"]`,
	"param": "",
	"detail": {"argv": argv, "allowed": [["python", "-m", "unittest"]]},
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
		commands.deny == {_not_allowed(argv)} with input as testing.with_command({"argv": argv})
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
	call := testing.with_command({"present": false, "argv": [], "executable": {"path": "", "resolution": ""}})
	commands.deny == {_not_allowed([])} with input as call
}

test_tool_that_runs_no_commands if {
	commands.deny == {{
		"code": "command_not_allowed",
		"message": "a tool that does compute runs no commands",
		"param": "",
		"detail": {"argv": ["python", "-m", "unittest"], "operation": "compute"},
	}} with input as object.union(testing.with_command({}), {"tool": {"operation": "compute"}})
	commands.deny == set() with input as testing.base
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

test_no_program if {
	call := testing.with_command({"argv": [], "executable": {"resolution": "not_found"}})
	commands.deny == {_not_allowed([]), {
		"code": "executable_not_found",
		"message": "no program  in the manifest's path (not_found)",
		"param": "",
		"detail": {"program": "", "resolution": "not_found"},
	}} with input as call
}

test_untrusted_programs if {
	commands.deny == {_untrusted({"not a file"})} with input as _program({"kind": "directory"})
	commands.deny == {_untrusted({"not executable"})} with input as _program({"executable": false})
	commands.deny == {_untrusted({"inside the project"})} with input as _program({"in_project": true})
	commands.deny == {_untrusted({"everyone may change it"})} with input as _program({"other_writable": true})
	commands.deny == {_untrusted({"everyone may change it", "inside the project"})} with input as _program({
		"in_project": true,
		"other_writable": true,
	})
}

test_what_makes_a_program_untrusted_is_data if {
	group := _program({"group_writable": true})
	commands.deny == set() with input as group
	commands.deny == {_untrusted({"its group may change it"})} with input as group
		with data.runlens.executables.refuse.group_writable as true
	commands.deny == set() with input as _program({"in_project": true})
		with data.runlens.executables.refuse.in_project as false
	commands.deny == set() with input as _program({"other_writable": true})
		with data.runlens.executables.refuse.other_writable as false
	commands.deny == set() with input as testing.with_command({})
		with data.runlens.executables.refuse as {"in_project": true, "group_writable": true, "other_writable": true}
}
