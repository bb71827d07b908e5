# METADATA
# title: Sandbox
# description: A program runs only under the isolation that its tool asks for.
package runlens.rules.sandbox

import data.runlens.lib

# METADATA
# title: the isolation that the tool asks for is not available
# custom:
#   code: sandbox_unavailable
#   message: "the tool asks for sandbox level {wanted}, available is {level}"
deny contains lib.reason(rego.metadata.rule(), {"wanted": _wanted, "level": input.sandbox.level}) if {
	input.tool.operation == "execute"
	not _isolated
}

_wanted := input.tool.sandbox if {
	input.tool.sandbox in {"none", "partial"}
} else := "full"

_isolated if _wanted == "none"

_isolated if input.sandbox.level == "full"

_isolated if {
	input.sandbox.level == "partial"
	_wanted == "partial"
}
