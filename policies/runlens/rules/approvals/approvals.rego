# METADATA
# title: Approvals
# description: Tools and operations that policy data leaves to a person, call by call.
package runlens.rules.approvals

import data.runlens.lib

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
