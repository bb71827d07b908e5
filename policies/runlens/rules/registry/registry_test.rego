package runlens.rules.registry_test

import data.runlens.lib.testing
import data.runlens.rules.registry

_unknown := {
	"code": "unknown_tool",
	"message": "tool read_file is not declared",
	"param": "",
	"detail": {"tool": "read_file"},
}

test_declared_tool if {
	registry.deny == set() with input as testing.base
	registry.ask == set() with input as testing.base
}

test_unknown_tool if {
	every door in {"cli", "mcp"} {
		call := object.union(testing.with_tool({"declared": false}), {"run": {"door": door}})
		registry.deny == {_unknown} with input as call
		registry.ask == set() with input as call
	}
}

test_unknown_tool_in_hook_door if {
	call := object.union(testing.with_tool({"declared": false}), {"run": {"door": "hook"}})
	registry.deny == set() with input as call
	registry.ask == {_unknown} with input as call
}

test_declared_tool_in_hook_door if {
	registry.ask == set() with input as testing.with_run({"door": "hook"})
}

test_skill_lists_tool if {
	call := testing.with_facts({"skill": {"present": true, "name": "s", "tools": ["list_files", "read_file"]}})
	registry.deny == set() with input as call
}

test_skill_does_not_list_tool if {
	call := testing.with_facts({"skill": {"present": true, "name": "s", "tools": ["read_file2", "list_files"]}})
	registry.deny == {{
		"code": "tool_not_allowed",
		"message": "tool read_file is not allowed for skill s; its tools: read_file2, list_files",
		"param": "",
		"detail": {"tool": "read_file", "skill": "s", "allowed": ["read_file2", "list_files"]},
	}} with input as call
}

test_empty_skill_allows_nothing if {
	call := testing.with_facts({"skill": {"present": true, "name": "s", "tools": []}})
	registry.deny == {{
		"code": "tool_not_allowed",
		"message": "tool read_file is not allowed for skill s; its tools: none",
		"param": "",
		"detail": {"tool": "read_file", "skill": "s", "allowed": []},
	}} with input as call
}

test_no_skill_limits_nothing if {
	registry.deny == set() with input as testing.with_facts({"skill": {"tools": ["list_files"]}})
}
