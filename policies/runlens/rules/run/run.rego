# METADATA
# title: Run
# description: What the run has used up, and what it was started for.
package runlens.rules.run

import data.runlens.lib

# METADATA
# title: the run was refused too often
# custom:
#   code: denial_budget_exhausted
#   message: "{count} refused calls ({counter}) use up the run's limit of {limit}"
deny contains lib.reason(rego.metadata.rule(), used) if {
	not input.run.denials == {"in_row": 0, "total": 0, "malformed": 0} # spares the rest in a run without denials
	not lib.agent_door
	some used in _used_up
}

# METADATA
# title: the run was refused too often, a person must approve what follows
# custom:
#   code: denial_budget_exhausted
#   message: "{count} refused calls ({counter}) use up the run's limit of {limit}"
ask contains lib.reason(rego.metadata.rule(), used) if {
	not input.run.denials == {"in_row": 0, "total": 0, "malformed": 0}
	lib.agent_door
	some used in _used_up
}

# METADATA
# title: the run was started under other terms
# custom:
#   code: contract_drift
#   message: "changed since the run was started: {drift}"
deny contains lib.reason(rego.metadata.rule(), {"drift": input.contract.drift}) if {
	input.contract.present == true
	not input.contract.matches
}

# METADATA
# title: the run only reads
# custom:
#   code: read_only_run
#   message: the run is read-only, and {operation} may change something
deny contains lib.reason(rego.metadata.rule(), {"operation": input.tool.operation}) if {
	input.run.read_only == true
	lib.may_change
}

_used_up contains {"counter": counter, "count": used, "limit": limit} if {
	some counter, used in input.run.denials
	used > 0
	limit := min(_limits(counter))
	used >= limit
}

# The run's own limit only narrows the door's; below zero sets none.
_limits(counter) := {limit |
	some limits in [input.run.limits, _door]
	limit := limits[counter]
	limit >= 0
}

_door := object.get(data.runlens.budget.doors, input.run.door, data.runlens.budget["default"])
