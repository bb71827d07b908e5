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
	_needed
}

_needed if input.call.tool in data.runlens.approvals.tools

_needed if input.tool.operation in data.runlens.approvals.operations
