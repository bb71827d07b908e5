# METADATA
# title: The decision
# description: |
#   Collects what the families under runlens.rules say, and allows only when
#   none of them objects and everything is clear by itself. A team adds a folder
#   under rules/ and touches nothing here.
package runlens

import data.runlens.lib

# METADATA
# title: The verdict on the call, its reasons in order and what is granted
# description: deny over block over ask over allow; whatever is left is denied.
# entrypoint: true
decision := {"verdict": "deny", "reasons": _reasons, "grant": {}} if {
	_denied
} else := {"verdict": "block", "reasons": _reasons, "grant": {}} if {
	_blocked
} else := {"verdict": "allow", "reasons": [_allowed], "grant": _grant} if {
	not _asked
	_clear
} else := {"verdict": "allow", "reasons": [_approved(approval)], "grant": _grant} if {
	approval := _approval
	_clear_as_approved
} else := {"verdict": "ask", "reasons": _reasons, "grant": {}} if {
	_asked
} else := {"verdict": "deny", "reasons": [_incomplete], "grant": {}}

_denied if some _ in data.runlens.rules[_].deny

_blocked if some _ in data.runlens.rules[_].block

_asked if some _ in data.runlens.rules[_].ask

# METADATA
# title: allowed
# description: The tool is declared, every target is clear and no family objects.
# custom:
#   code: allowed
_allowed := {"code": "allowed", "message": "allowed", "param": "", "detail": {}}

# METADATA
# title: nothing objects, yet the call is not clear
# description: The last word when a family that should have objected did not.
# custom:
#   code: policy_incomplete
_incomplete := lib.reason(rego.metadata.rule(), {})

_grant := {"max_bytes": data.runlens.limits.read_bytes} if {
	input.tool.operation in {"read", "search"}
} else := {"max_bytes": data.runlens.limits.write_bytes} if {
	input.tool.operation == "write"
} else := {}

# Those that carry the verdict first, then by gate and code as data.runlens.order
# has them, then by code and parameter.
_reasons := [_shown(place[5]) | some place in sort(_places)]

_places contains _place(0, reason) if some reason in data.runlens.rules[_].deny

_places contains _place(1, reason) if some reason in data.runlens.rules[_].block

_places contains _place(2, reason) if some reason in data.runlens.rules[_].ask

_place(weight, given) := [weight, _gate_rank(reason.code), _code_rank(reason.code), reason.code, reason.param, reason] if {
	reason := _reason(given)
}

# What a rule adds without lib.reason is an objection all the same.
_reason(given) := given if {
	is_string(given.code)
	is_string(given.param)
} else := lib.reason({}, given)

_gate_rank(code) := min({count(data.runlens.order)} | {rank |
	some rank, entry in data.runlens.order
	entry.gate == data.runlens.codes[code].gate
})

# No gate lists a thousand codes.
_code_rank(code) := min({1000} | {rank |
	some entry in data.runlens.order
	some rank, name in entry.codes
	name == code
})

# What lies outside the roots is nobody's business but the ledger's.
_shown(reason) := object.union(reason, {"ledger_only": true}) if {
	data.runlens.ledger_only[data.runlens.codes[reason.code].gate]
	some target in input.targets
	target.param == reason.param
	lib.outside(target)
} else := reason
