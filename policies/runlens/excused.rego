# What an approval excuses: the ask rules' objections to the call that a person
# approved, and nothing else.
package runlens

import data.runlens.lib

# METADATA
# title: allowed by approval
# description: A person approved this very call, and the approval has uses left.
# custom:
#   code: allowed
#   message: allowed by approval {approval} of {by}
_approved(approval) := lib.reason(rego.metadata.rule(), {"approval": approval.seq, "by": approval.by})

# The oldest one that may be used.
_approval := sort([[approval.seq, approval] | some approval in input.approvals; _usable(approval)])[0][1]

_usable(approval) if {
	approval.matches_call
	approval.remaining > 0
	approval.expired == false
	approval.refused == false
	_counts(approval)
}

_counts(approval) if approval.signed == true

_counts(_) if input.run.signed_approvals == false

# Where a team has moved a rule from deny to ask, a target may be unclear in just
# the respect that the rule's gate stands for.
_clear_as_approved if {
	_complete
	not _an_inexcusable_target
	not _an_inexcusable_command
}

_an_inexcusable_command if {
	_an_unclear_command
	not _an_excusable_command
}

# All that is wrong with it is where a path of it leads, and of each path it is
# known whether that is excused.
_an_excusable_command if {
	input.command.present == true
	lib.command_is_spelt_right
	lib.command_runs_its_targets
	not input.command.dir == ""
}

_an_inexcusable_target if {
	some target in input.targets
	not _excusable(target)
}

_excusable(target) if {
	_found(target)
	_suited(target)
	_placed(target)
}

_found(target) if lib.fits(target)

_found(target) if _left_to_others("resolution", target)

_suited(target) if lib.suits(target)

_suited(target) if _left_to_others("kinds", target)

_suited(target) if {
	target.kind == "none" # what was not found has no kind either
	_left_to_others("resolution", target)
}

_placed(target) if lib.under_a_root(target)

_placed(target) if _asked_about("roots", target)

# Our own handlers work on the handle of an object that they were made for.
_left_to_others(gate, target) if {
	lib.another_program
	_asked_about(gate, target)
}

# A reason that names an access is about targets of that access.
_asked_about(gate, target) if {
	some reason in data.runlens.rules[_].ask
	data.runlens.codes[reason.code].gate == gate
	reason.param == target.param
	object.get(reason, ["detail", "access"], target.access) == target.access
	_seen(target)
}

# What the person saw: what the call names, and what lies in it.
_seen(target) if target.entry == false

_seen(target) if {
	some listed in input.targets
	listed.entry == false
	startswith(target.path, sprintf("%s/", [trim_suffix(listed.path, "/")]))
}
