# METADATA
# title: Approvals
# description: |
#   What is left to a person, call by call: tools and operations that policy data
#   names, and a call that may have been done already. A person's no is final.
package runlens.rules.approvals

import data.runlens.lib

# METADATA
# title: a person refused this call
# description: Signed or not; a refusal takes nothing that an approval would have to give.
# custom:
#   code: approval_refused
#   message: "{by} refused this call"
deny contains lib.reason(rego.metadata.rule(), {"refusal": answer.seq, "by": answer.by}) if {
	some answer in input.approvals
	answer.refused == true
	answer.matches_call == true
}

# METADATA
# title: an earlier start of this call has no known end, it may have been done already
# description: What changes nothing simply runs again.
# custom:
#   code: outcome_unknown
ask contains lib.reason(rego.metadata.rule(), {"operation": input.tool.operation}) if {
	input.call.interrupted == true
	lib.may_change
}

# METADATA
# title: a person must approve the call
# custom:
#   code: approval_required
#   message: tool {tool} ({operation}) needs the approval of a person
ask contains lib.reason(rego.metadata.rule(), {"tool": input.call.tool, "operation": input.tool.operation}) if {
	data.runlens.approvals.tools[input.call.tool]
}

# METADATA
# title: a person must approve such an operation
# custom:
#   code: approval_required
#   message: tool {tool} ({operation}) needs the approval of a person
ask contains lib.reason(rego.metadata.rule(), {"tool": input.call.tool, "operation": input.tool.operation}) if {
	data.runlens.approvals.operations[input.tool.operation]
}
