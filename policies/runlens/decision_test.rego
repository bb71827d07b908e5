package runlens.decision_test

import data.runlens
import data.runlens.lib
import data.runlens.lib.testing

_allowed := {"code": "allowed", "message": "allowed", "param": "", "detail": {}}

_incomplete := {
	"verdict": "deny",
	"reasons": [{
		"code": "policy_incomplete",
		"message": "nothing objects, yet the call is not clear",
		"param": "",
		"detail": {},
	}],
	"grant": {},
}

_codes := [reason.code | some reason in runlens.decision.reasons]

# A reason as a rule of a site would give it.
_site(code, param) := {"code": code, "message": code, "param": param, "detail": {}}

_listing := {"param": "dir", "access": "list", "kind": "directory", "path": "/srv/app/data"}

test_clear_call_is_allowed if {
	runlens.decision == {"verdict": "allow", "reasons": [_allowed], "grant": {"max_bytes": 5000000}} with input as testing.base
}

test_grant_narrows_by_operation if {
	grants := {"read": {"max_bytes": 5000000}, "search": {"max_bytes": 5000000}, "write": {"max_bytes": 2000000}, "delete": {}}
	every operation, grant in grants {
		targets := testing.with_targets([{}, {"access": "write"}, {"access": "delete"}])
		call := object.union(targets, {"tool": {"operation": operation}})
		runlens.decision.verdict == "allow" with input as call
		runlens.decision.grant == grant with input as call
	}
}

test_more_calls_that_are_clear if {
	every call in [
		object.union(testing.with_target(_listing), {"tool": {"operation": "list"}}),
		object.union(testing.with_target(object.union(_listing, {"access": "read", "recursive": true})), {"tool": {"operation": "search"}}),
		object.union(
			testing.with_target({"access": "write", "resolution": "absent", "kind": "none", "nlink": 0}),
			{"tool": {"operation": "write"}},
		),
		object.union(testing.with_targets([_listing, {"access": "list", "entry": true}]), {"tool": {"operation": "list"}}),
		testing.with_command({}),
		object.union(testing.with_command({}), {"targets": testing.with_target({"access": "execute"}).targets}),
		object.union(testing.with_targets([]), {"tool": {"operation": "compute"}}),
	] {
		runlens.decision.verdict == "allow" with input as call
		runlens.decision.reasons == [_allowed] with input as call
	}
}

# Without any family nothing objects, and only what is clear by itself passes.
test_allow_is_earned if {
	runlens.decision.verdict == "allow" with input as testing.base with data.runlens.rules as {}
	runlens.decision.verdict == "allow" with input as testing.with_command({}) with data.runlens.rules as {}
	runlens.decision.verdict == "allow" with input as testing.with_pattern({}) with data.runlens.rules as {}
	every call in [
		testing.with_tool({"declared": false}),
		testing.with_tool({"operation": "fetch"}),
		testing.with_tool({"operation": ""}),
		testing.with_targets([]),
		testing.with_tool({"roots": []}),
		testing.with_target({"path": "/srv/app/data-copy"}),
		testing.with_target({"handle": false}),
		testing.with_target({"resolution": "no_access"}),
		testing.with_target({"resolution": "no_access", "access": "write"}),
		testing.with_target({"resolution": "absent"}),
		testing.with_target({"resolution": "absent", "access": "write", "kind": "fifo"}),
		testing.with_target({"resolution": "absent", "access": "write", "kind": "none", "handle": false}),
		testing.with_target({"resolution": "absent", "access": "read", "kind": "none"}),
		testing.with_target({"resolution": "ok", "access": "write", "kind": "none"}),
		testing.with_target({"kind": "fifo"}),
		testing.with_target({"kind": "fifo", "recursive": true}),
		testing.with_target({"kind": "directory"}),
		testing.with_target({"kind": "directory", "access": "write", "recursive": true}),
		testing.with_target({"access": "list"}),
		testing.with_targets([_listing, {"access": "list", "entry": true, "kind": "fifo"}]),
		testing.with_targets([{}, {"handle": false}]),
		testing.with_command({"argv": ["python"]}),
		testing.with_command({"dir": ""}),
		testing.with_command({"present": false}),
		testing.with_pattern({"targets": []}),
		testing.with_pattern({"command": {"argv": ["wc", "data/a.csv", "x"]}}),
		object.union(testing.base, {"command": {"present": true, "dir": "/srv/app"}}),
	] {
		runlens.decision == _incomplete with input as call with data.runlens.rules as {}
	}
}

# No host asks without an input; without one there is nothing to allow.
test_no_input_is_denied if {
	runlens.decision.verdict == "deny"
}

test_deny_over_block_over_ask if {
	all := {"site": {
		"deny": {_site("no_access", "")},
		"block": {_site("plan_failed", "")},
		"ask": {_site("unknown_tool", "")},
	}}
	runlens.decision.verdict == "deny" with input as testing.base with data.runlens.rules as all
	_codes == ["no_access", "plan_failed", "unknown_tool"] with input as testing.base with data.runlens.rules as all

	blocks := {"site": object.remove(all.site, ["deny"])}
	runlens.decision.verdict == "block" with input as testing.base with data.runlens.rules as blocks
	_codes == ["plan_failed", "unknown_tool"] with input as testing.base with data.runlens.rules as blocks

	asks := {"site": object.remove(all.site, ["deny", "block"])}
	runlens.decision == {
		"verdict": "ask",
		"reasons": [_site("unknown_tool", "")],
		"grant": {},
	} with input as testing.base with data.runlens.rules as asks
}

test_objections_grant_nothing if {
	every kind in {"deny", "block", "ask"} {
		runlens.decision.grant == {} with input as testing.base
			with data.runlens.rules as {"site": {kind: {_site("no_access", "")}}}
	}
}

test_every_family_is_asked if {
	rules := {"a": {"deny": set()}, "b": {"deny": {_site("no_access", "")}}, "c": {"ask": set()}}
	_codes == ["no_access"] with input as testing.base with data.runlens.rules as rules
}

test_order_of_the_reasons if {
	given := {
		"outcome_unknown", "approval_refused", "approval_required", "plan_complete", "plan_failed", "read_only_run", "contract_drift", "sandbox_unavailable",
		"command_not_allowed", "content_too_large", "file_too_large", "pseudo_fs", "mount_crossing", "hard_link",
		"link_target", "not_found", "protected_file", "outside_roots", "invalid_path", "forbidden_path",
		"argument_withheld", "tool_not_allowed", "unknown_tool",
	}
	expected := [
		"unknown_tool", "tool_not_allowed", "approval_refused", "argument_withheld", "forbidden_path", "invalid_path", "outside_roots",
		"protected_file", "not_found", "link_target", "hard_link", "mount_crossing", "pseudo_fs", "file_too_large",
		"content_too_large", "command_not_allowed", "sandbox_unavailable", "contract_drift", "read_only_run",
		"plan_failed", "plan_complete", "outcome_unknown", "approval_required",
	]
	_codes == expected with input as testing.base
		with data.runlens.rules as {"site": {"deny": {_site(code, "x") | some code in given}}}
}

test_codes_of_a_site_come_after_the_shipped_ones_of_their_gate if {
	codes := {
		"a_site_code": {"gate": "registry"},
		"another": {"gate": "registry"},
		"unheard_of": {"gate": "unheard_of"},
	}
	given := {"another", "a_site_code", "unheard_of", "undeclared", "unsupported_operation", "argument_withheld", "allowed"}
	_codes == [
		"unsupported_operation", "a_site_code", "another", "argument_withheld", "allowed", "undeclared", "unheard_of",
	] with input as testing.base
		with data.runlens.codes as object.union(runlens.codes, codes)
		with data.runlens.rules as {"site": {"deny": {_site(code, "x") | some code in given}}}
}

test_order_that_names_a_code_twice if {
	order := [
		{"gate": "resolution", "codes": ["no_access", "not_found", "no_access"]},
		{"gate": "resolution", "codes": ["not_found"]},
	]
	rules := {"site": {"deny": {_site("not_found", "x"), _site("no_access", "x")}}}
	_codes == ["no_access", "not_found"] with input as testing.base
		with data.runlens.order as order
		with data.runlens.rules as rules
}

test_parameters_break_ties if {
	rules := {"a": {"deny": {_site("no_access", "to")}}, "b": {"deny": {_site("no_access", "from")}}}
	[reason.param | some reason in runlens.decision.reasons] == ["from", "to"] with input as testing.base
		with data.runlens.rules as rules
}

test_objection_in_any_form_denies if {
	every given in ["no", 3, {"code": "no_access"}, {"code": 3, "param": ""}, {"param": ""}, {"code": "x", "param": 3}] {
		runlens.decision == {
			"verdict": "deny",
			"reasons": [lib.reason({}, given)],
			"grant": {},
		} with input as testing.base with data.runlens.rules as {"site": {"deny": {given}}}
	}
}

test_what_is_outside_goes_to_the_ledger if {
	outside := testing.with_targets([
		{"param": "from", "path": "/etc/fifo", "kind": "fifo", "pseudo_fs": "proc", "size": 1},
		{"param": "to", "kind": "fifo"},
	])
	[[reason.code, reason.param, object.get(reason, "ledger_only", "absent")] |
		some reason in runlens.decision.reasons
	] == [
		["outside_roots", "from", "absent"],
		["special_file", "from", true],
		["special_file", "to", "absent"],
		["pseudo_fs", "from", true],
	] with input as outside
}

test_gates_that_go_to_the_ledger if {
	call := testing.with_target({"path": "/etc/passwd"})
	every code, entry in runlens.codes {
		told := entry.gate in {"resolution", "kinds", "links", "file_systems", "sizes"}
		reasons := {object.get(reason, "ledger_only", false) |
			some reason in runlens.decision.reasons
		} with input as call with data.runlens.rules as {"site": {"deny": {_site(code, "path")}}}
		reasons == {told}
	}
}
