package runlens.rules.run_test

import data.runlens.lib.testing
import data.runlens.rules.run

_exhausted(counter, used, limit) := {
	"code": "denial_budget_exhausted",
	"message": sprintf("%d refused calls (%s) use up the run's limit of %d", [used, counter, limit]),
	"param": "",
	"detail": {"counter": counter, "count": used, "limit": limit},
}

_drift(what) := {
	"code": "contract_drift",
	"message": sprintf("changed since the run was started: %s", [concat(", ", what)]),
	"param": "",
	"detail": {"drift": what},
}

_read_only(operation) := {
	"code": "read_only_run",
	"message": sprintf("the run is read-only, and %s may change something", [operation]),
	"param": "",
	"detail": {"operation": operation},
}

_call(door, denials, limits) := testing.with_run({"door": door, "denials": denials, "limits": limits})

test_fresh_run if {
	run.deny == set() with input as testing.base
	run.ask == set() with input as testing.base
}

test_some_denials if {
	call := _call("cli", {"in_row": 4, "total": 49, "malformed": 19}, {})
	run.deny == set() with input as call
	run.ask == set() with input as call
}

test_budget_exhausted if {
	run.deny == {_exhausted("in_row", 5, 5)} with input as _call("cli", {"in_row": 5}, {})
	run.deny == {_exhausted("total", 50, 50)} with input as _call("cli", {"total": 50}, {})
	run.deny == {_exhausted("malformed", 21, 20)} with input as _call("cli", {"malformed": 21}, {})
	run.ask == set() with input as _call("cli", {"in_row": 5, "total": 50, "malformed": 20}, {})
}

test_door_that_data_does_not_name if {
	run.ask == {_exhausted("in_row", 5, 5)} with input as _call("mcp", {"in_row": 5}, {})
		with data.runlens.budget.doors as {}
}

test_agent_doors_ask_later if {
	every door in {"hook", "mcp"} {
		early := _call(door, {"in_row": 49, "total": 1000, "malformed": 19}, {})
		run.deny == set() with input as early
		run.ask == set() with input as early

		late := _call(door, {"in_row": 50, "total": 1000, "malformed": 20}, {})
		run.deny == set() with input as late
		run.ask == {_exhausted("in_row", 50, 50), _exhausted("malformed", 20, 20)} with input as late
	}
}

test_own_limits_of_the_run if {
	run.deny == {_exhausted("in_row", 2, 2)} with input as _call("cli", {"in_row": 2}, {"in_row": 2})
	run.deny == {_exhausted("in_row", 5, 5)} with input as _call("cli", {"in_row": 5}, {"in_row": 6})
	run.deny == set() with input as _call("cli", {"in_row": 4}, {"in_row": 6})
	run.ask == {_exhausted("total", 3, 3)} with input as _call("hook", {"total": 3}, {"total": 3})
	run.ask == set() with input as _call("hook", {"total": 300}, {"total": -1})
	run.deny == {_exhausted("total", 1, 0)} with input as _call("cli", {"total": 1}, {"total": 0})
	run.deny == set() with input as _call("cli", {"total": 0}, {"total": 0})
}

test_nothing_refused_is_never_too_much if {
	run.deny == set() with input as _call("cli", {"in_row": 1}, {"total": 0})
}

test_limit_that_one_side_lacks if {
	run.deny == {_exhausted("total", 2, 2)} with input as _call("cli", {"total": 2}, {"total": 2})
		with data.runlens.budget as {"default": {}, "doors": {}}
}

test_contract_matches if {
	run.deny == set() with input as testing.with_facts({"contract": {"present": true, "matches": true}})
}

test_contract_drift if {
	run.deny == {_drift(["goal", "policy_revision"])} with input as testing.with_facts({"contract": {
		"present": true,
		"drift": ["goal", "policy_revision"],
	}})
}

test_no_contract if {
	run.deny == set() with input as testing.with_facts({"contract": {"drift": ["goal"]}})
}

test_read_only_run_reads if {
	every operation in {"read", "list", "search", "fetch", "compute"} {
		call := object.union(testing.with_run({"read_only": true}), {"tool": {"operation": operation}})
		run.deny == set() with input as call
	}
}

test_read_only_run_changes_nothing if {
	every operation in {"write", "delete", "rename", "execute"} {
		call := object.union(testing.with_run({"read_only": true}), {"tool": {"operation": operation}})
		run.deny == {_read_only(operation)} with input as call
	}
}

test_read_only_run_refuses_accesses_that_change if {
	every access in {"write", "delete", "execute"} {
		call := object.union(testing.with_targets([{}, {"access": access}]), {"run": {"read_only": true}})
		run.deny == {_read_only("read")} with input as call
	}
}

test_other_runs_may_write if {
	run.deny == set() with input as testing.with_tool({"operation": "write"})
}
