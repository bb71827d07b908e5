package runlens.rules.plan_test

import data.runlens.lib.testing
import data.runlens.rules.plan

_call(status, tools) := testing.with_facts({"plan": {
	"status": status,
	"step": {"id": "collect", "index": 1, "tools": tools},
}})

_over(code, text) := {
	"code": code,
	"message": sprintf("tool read_file is not allowed, the plan %s", [text]),
	"param": "",
	"detail": {"tool": "read_file"},
}

test_no_plan if {
	plan.block == set() with input as testing.base
	plan.block == set() with input as _call("none", [])
}

test_tool_of_the_step if {
	plan.block == set() with input as _call("active", ["list_files", "read_file"])
}

test_tool_of_another_step if {
	every tools in [[], ["list_files", "read_file2"]] {
		plan.block == {{
			"code": "step_tool_not_allowed",
			"message": "tool read_file is not allowed for current plan step collect",
			"param": "",
			"detail": {"tool": "read_file", "step": "collect", "allowed": tools},
		}} with input as _call("active", tools)
	}
}

test_plan_is_over if {
	plan.block == {_over("plan_complete", "is complete")} with input as _call("complete", ["read_file"])
	plan.block == {_over("plan_failed", "failed")} with input as _call("failed", ["read_file"])
	plan.block == {_over("plan_failed", "failed")} with input as _call("unheard_of", ["read_file"])
}
