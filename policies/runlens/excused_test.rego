package runlens.excused_test

import data.runlens
import data.runlens.lib.testing

_codes := [reason.code | some reason in runlens.decision.reasons]

_asked := {"site": {"ask": {_reason("approval_required", "", {})}}}

_reason(code, param, detail) := {"code": code, "message": code, "param": param, "detail": detail}

# base with changes and an approval of it.
_approved(changed) := object.union(testing.base, object.union({"approvals": [testing.approval]}, changed))

_targets(list) := {"targets": testing.with_targets(list).targets}

_outside := {"path": "/srv/other/a.csv", "requested": "../other/a.csv"}

_outside_roots(param, access) := _reason("outside_roots", param, {"access": access})

# The families when a team has moved a rule to ask, or several.
_moved(reasons) := {"site": {"ask": reasons, "deny": set()}}

_external := {"tool": {"handler": "external"}}

test_approval_lifts_an_ask if {
	others := [object.union(testing.approval, {"seq": 9, "by": "bob"}), testing.approval]
	runlens.decision == {
		"verdict": "allow",
		"reasons": [{
			"code": "allowed",
			"message": "allowed by approval 7 of eve",
			"param": "",
			"detail": {"approval": 7, "by": "eve"},
		}],
		"grant": {"max_bytes": 5000000},
	} with input as _approved({"approvals": others}) with data.runlens.rules as _asked
}

test_approval_that_cannot_be_used if {
	every change in [
		{"matches_call": false},
		{"remaining": 0},
		{"expired": true},
		{"refused": true},
	] {
		stale := object.union(testing.approval, change)
		runlens.decision.verdict == "ask" with input as _approved({"approvals": [stale]}) with data.runlens.rules as _asked

		both := [object.union(stale, {"seq": 1}), testing.approval]
		runlens.decision.reasons[0].detail.approval == 7 with input as _approved({"approvals": both})
			with data.runlens.rules as _asked
	}
}

test_approvers_must_sign_where_there_are_some if {
	signed := object.union(testing.approval, {"signed": true})
	every approval in [testing.approval, signed] {
		runlens.decision.verdict == "allow" with input as _approved({"approvals": [approval]}) with data.runlens.rules as _asked
	}
	by_key := {"run": {"signed_approvals": true}}
	runlens.decision.verdict == "ask" with input as _approved(by_key) with data.runlens.rules as _asked
	runlens.decision.verdict == "allow" with input as _approved(object.union(by_key, {"approvals": [signed]}))
		with data.runlens.rules as _asked
}

test_approval_lifts_nothing_else if {
	every kind in {"deny", "block"} {
		rules := {"site": object.union(_asked.site, {kind: {_reason("no_access", "", {})}})}
		runlens.decision.verdict == kind with input as _approved({}) with data.runlens.rules as rules
		runlens.decision.grant == {} with input as _approved({}) with data.runlens.rules as rules
	}
}

test_approval_makes_nothing_clear if {
	every change in [
		{"tool": {"declared": false}},
		{"tool": {"operation": "fetch"}},
		{"targets": []},
		_targets([{"handle": false}]),
		_targets([{"kind": "fifo"}]),
		_targets([{"kind": "none"}]),
		_targets([_outside]),
		_targets([{}, _outside]),
		testing.with_command({"argv": ["python"]}),
	] {
		runlens.decision.verdict == "ask" with input as _approved(change) with data.runlens.rules as _asked
		runlens.decision.verdict == "deny" with input as _approved(change) with data.runlens.rules as {}
		_codes == ["policy_incomplete"] with input as _approved(change) with data.runlens.rules as {}
	}
}

test_nothing_is_used_up_where_nothing_asks if {
	runlens.decision.reasons[0].detail == {} with input as _approved({})
}

test_roots_that_a_person_is_asked_about if {
	rules := _moved({_outside_roots("path", "read")})
	runlens.decision.reasons[0].detail.approval == 7 with input as _approved(_targets([_outside])) with data.runlens.rules as rules
	runlens.decision.verdict == "ask" with input as testing.with_target(_outside) with data.runlens.rules as rules

	# With a second objection it is denied, whoever approved.
	denied := {"site": {"ask": rules.site.ask, "deny": {_reason("hard_link", "path", {})}}}
	runlens.decision.verdict == "deny" with input as _approved(_targets([_outside])) with data.runlens.rules as denied
}

test_only_what_was_asked_is_excused if {
	outside := _approved(_targets([_outside]))
	every reason in [
		_outside_roots("to", "read"),
		_outside_roots("path", "write"),
		_reason("no_access", "path", {}),
		_reason("special_file", "path", {}),
		_reason("approval_required", "path", {}),
		_reason("unheard_of", "path", {}),
	] {
		runlens.decision.verdict == "ask" with input as outside with data.runlens.rules as _moved({reason})
	}
	every change in [{"handle": false}, {"kind": "fifo"}, {"resolution": "no_access"}] {
		call := _approved(object.union(_targets([object.union(_outside, change)]), _external))
		rules := _moved({_outside_roots("path", "read")})
		runlens.decision.verdict == "ask" with input as call with data.runlens.rules as rules
	}
	two := _approved(_targets([_outside, object.union(_outside, {"param": "to"})]))
	runlens.decision.verdict == "ask" with input as two with data.runlens.rules as _moved({_outside_roots("path", "read")})
	runlens.decision.verdict == "allow" with input as two
		with data.runlens.rules as _moved({_outside_roots("path", "read"), _outside_roots("to", "read")})
}

test_reason_that_names_no_access_is_about_any if {
	rules := _moved({_reason("outside_roots", "path", {})})
	runlens.decision.verdict == "allow" with input as _approved(_targets([_outside])) with data.runlens.rules as rules
}

# What could not be opened can be used by another program, never by our handlers.
test_resolution_that_a_person_is_asked_about if {
	rules := _moved({_reason("no_access", "path", {"requested": "data/a.csv"})})
	closed := _targets([{"resolution": "no_access", "handle": false, "kind": "none"}])
	runlens.decision.verdict == "ask" with input as _approved(closed) with data.runlens.rules as rules

	verdicts := ["allow", "ask", "ask"]
	every i, change in [{}, {"kind": "fifo"}, {"path": "/etc"}] {
		target := object.union(closed.targets[0], change)
		call := _approved(object.union({"targets": [target]}, _external))
		runlens.decision.verdict == verdicts[i] with input as call with data.runlens.rules as rules
	}
	hook := _approved(object.union(closed, {"run": {"door": "hook"}}))
	runlens.decision.verdict == "allow" with input as hook with data.runlens.rules as rules
}

test_kind_that_a_person_is_asked_about if {
	rules := _moved({_reason("special_file", "path", {"requested": "data/a.csv", "kind": "fifo"})})
	fifo := _targets([{"kind": "fifo"}])
	runlens.decision.verdict == "ask" with input as _approved(fifo) with data.runlens.rules as rules
	runlens.decision.verdict == "allow" with input as _approved(object.union(fifo, _external)) with data.runlens.rules as rules

	gone := _approved(object.union(_targets([{"kind": "none", "handle": false}]), _external))
	runlens.decision.verdict == "ask" with input as gone with data.runlens.rules as rules
}

# The person saw the folder, and so what lies in it; not where a link in it leads.
test_entries_of_an_approved_folder if {
	rules := _moved({_outside_roots("path", "list")})
	every folder in ["/srv/other", "/"] {
		listed := {"access": "list", "kind": "directory", "path": folder}
		entry := {"access": "list", "entry": true, "path": "/srv/other/a.csv"}
		list := {"tool": {"operation": "list"}}
		call := _approved(object.union(_targets([listed, entry]), list))
		runlens.decision.verdict == "allow" with input as call with data.runlens.rules as rules
	}

	listed := {"access": "list", "kind": "directory", "path": "/srv/other"}
	entry := {"access": "list", "entry": true, "path": "/srv/other/a.csv"}
	every targets in [
		[listed, object.union(entry, {"path": "/srv/other2/a.csv"})],
		[object.union(listed, {"path": "/srv/app/data"}), entry],
		[object.union(listed, {"entry": true}), entry],
		[entry],
	] {
		call := _approved(object.union(_targets(targets), {"tool": {"operation": "list"}}))
		runlens.decision.verdict == "ask" with input as call with data.runlens.rules as rules
	}
}

test_entry_of_an_entry if {
	rules := _moved({_outside_roots("path", "list")})
	targets := _targets([
		{"access": "list", "kind": "directory", "path": "/srv/other"},
		{"entry": true, "path": "/srv/app/data"},
		{"access": "list", "entry": true, "path": "/srv/app/data/a.csv"},
	])
	call := _approved(object.union(targets, {"tool": {"operation": "list", "roots": [object.union(testing.root, {"access": ["read"]})]}}))
	runlens.decision.verdict == "ask" with input as call with data.runlens.rules as rules
}

# A rule of a site may say anything; what is not a reason excuses nothing.
test_asks_in_any_form_excuse_nothing if {
	every given in ["outside_roots", 3, {"code": "outside_roots"}, {"code": 3, "param": "path"}] {
		runlens.decision.verdict == "ask" with input as _approved(_targets([_outside])) with data.runlens.rules as _moved({given})
	}
}

# A path of a command may be excused like any other; how the rest is spelt may not.
test_argument_outside_that_a_person_is_asked_about if {
	rules := _moved({_outside_roots("file", "read")})
	outside := testing.argument("file", {"path": "/srv/other/a.csv"})
	run := {"run": ["wc", "/srv/other/a.csv"]}
	call := testing.with_pattern({"approvals": [testing.approval], "targets": [outside], "command": run})
	runlens.decision.verdict == "allow" with input as call with data.runlens.rules as rules
	every change in [
		{"command": {"argv": ["cat", "/srv/other/a.csv"]}},
		{"command": {"run": ["wc", "data/a.csv"]}},
		{"command": {"dir": ""}},
		{"command": {"present": false}},
		{"targets": [outside, testing.argument("other", {"path": "/srv/other/a.csv"})]},
		{"targets": [testing.argument("other", {"path": "/srv/other/a.csv"})]},
		{"targets": []},
	] {
		runlens.decision.verdict == "ask" with input as object.union(call, change) with data.runlens.rules as rules
	}
}
