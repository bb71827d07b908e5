package runlens.rules.approvals_test

import data.runlens.lib.testing
import data.runlens.rules.approvals

_required := {
	"code": "approval_required",
	"message": "tool read_file (read) needs the approval of a person",
	"param": "",
	"detail": {"tool": "read_file", "operation": "read"},
}

_unknown(operation) := {
	"code": "outcome_unknown",
	"message": "an earlier start of this call has no known end, it may have been done already",
	"param": "",
	"detail": {"operation": operation},
}

_interrupted(operation, target) := object.union(
	testing.with_target(target),
	{"call": {"interrupted": true}, "tool": {"operation": operation}},
)

test_call_that_may_have_been_done if {
	every operation in ["write", "delete", "rename", "execute"] {
		approvals.ask == {_unknown(operation)} with input as _interrupted(operation, {})
	}
	every access in ["write", "delete", "execute"] {
		approvals.ask == {_unknown("read")} with input as _interrupted("read", {"access": access})
	}
	approvals.deny == set() with input as _interrupted("write", {})
}

test_call_that_changes_nothing_runs_again if {
	every operation in ["read", "list", "search", "compute", "fetch"] {
		approvals.ask == set() with input as _interrupted(operation, {})
	}
	approvals.ask == set() with input as _interrupted("list", {"access": "list"})
	approvals.ask == set() with input as testing.with_tool({"operation": "write"})
}

test_person_refused if {
	refusal := object.union(testing.approval, {"remaining": 0, "expires": "", "refused": true})
	approvals.deny == {{
		"code": "approval_refused",
		"message": "eve refused this call",
		"param": "",
		"detail": {"refusal": 7, "by": "eve"},
	}} with input as testing.with_facts({"approvals": [testing.approval, refusal]})

	approvals.deny == set() with input as testing.with_facts({"approvals": [testing.approval]})
	other := object.union(refusal, {"matches_call": false})
	approvals.deny == set() with input as testing.with_facts({"approvals": [other]})
}

test_shipped_data_asks_for_nothing if {
	approvals.ask == set() with input as testing.base
}

test_tool if {
	approvals.ask == {_required} with input as testing.base with data.runlens.approvals.tools as {"read_file": true}
	approvals.ask == set() with input as testing.base with data.runlens.approvals.tools as {"read": true}
}

test_operation if {
	approvals.ask == {_required} with input as testing.base with data.runlens.approvals.operations as {"read": true}
	approvals.ask == set() with input as testing.base with data.runlens.approvals.operations as {"read_file": true}
}
