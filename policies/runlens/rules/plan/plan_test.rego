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
}

test_step_failed_for_good if {
	failed := {
		"code": "plan_failed",
		"message": "tool read_file is not allowed, plan step collect failed and so did 3 retries",
		"param": "",
		"detail": {"tool": "read_file", "step": "collect", "retries": 3},
	}
	call := _failed({"retries": 3})
	plan.block == {failed} with input as call
	plan.block == set() with input as call with data.runlens.plan.retries as 4
	codes := {reason.code | some reason in plan.block} with input as object.union(call, {"call": {"tool": "other"}})
	codes == {"plan_failed", "step_tool_not_allowed"}

	plan.block == set() with input as _failed({"retries": 2})
	plan.block == set() with input as _failed({"retries": 9, "failed": false})
	plan.block == set() with input as object.union(call, {"plan": {"status": "none"}})
	plan.block == {_over("plan_complete", "is complete")} with input as object.union(call, {"plan": {"status": "complete"}})
}

# The schema lets no other status through, so one that is known is made unknown.
test_status_that_nobody_knows if {
	plan.block == {{
		"code": "plan_failed",
		"message": "tool read_file is not allowed, the plan's status none is unknown",
		"param": "",
		"detail": {"tool": "read_file", "status": "none"},
	}} with input as _call("none", ["read_file"])
		with data.runlens.rules.plan._statuses as {"active", "complete"}
}

_failed(step) := object.union(_call("active", ["read_file"]), {"plan": {"step": object.union({"failed": true}, step)}})
