# METADATA
# title: Sandbox
# description: A program runs only under the isolation that its tool and this policy ask for.
package runlens.rules.sandbox

import data.runlens.lib

# METADATA
# title: the isolation that the tool asks for is not available
# custom:
#   code: sandbox_unavailable
#   message: "the tool asks for sandbox level {wanted}, available is {level}"
deny contains lib.reason(rego.metadata.rule(), {"wanted": _asked, "level": input.sandbox.level}) if {
	_runs
	not _isolated
}

# METADATA
# title: policy asks for more isolation than the tool
# custom:
#   code: sandbox_unavailable
#   message: "policy asks for sandbox level {wanted} of every program, the tool asks for {asked}"
deny contains lib.reason(rego.metadata.rule(), {"wanted": data.runlens.sandbox.least, "asked": _asked}) if {
	_runs
	not _asks_enough
}

_runs if input.tool.operation == "execute"

_runs if input.command.present == true

_asked := input.tool.sandbox if {
	input.tool.sandbox in {"none", "partial"}
} else := "full"

_isolated if _asked == "none"

_isolated if input.sandbox.level == "full"

_isolated if {
	input.sandbox.level == "partial"
	_asked == "partial"
}

_asks_enough if _asked == "full"

_asks_enough if data.runlens.sandbox.least == "none"
