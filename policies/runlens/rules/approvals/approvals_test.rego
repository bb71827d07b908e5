package runlens.rules.approvals_test

import data.runlens.lib.testing
import data.runlens.rules.approvals

_required := {
	"code": "approval_required",
	"message": "tool read_file (read) needs the approval of a person",
	"param": "",
	"detail": {"tool": "read_file", "operation": "read"},
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
