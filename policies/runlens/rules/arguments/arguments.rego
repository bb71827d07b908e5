# METADATA
# title: Arguments
# description: Arguments that were too long or too secret to be judged and recorded as they came.
package runlens.rules.arguments

import data.runlens.lib

# METADATA
# title: an argument was withheld
# custom:
#   code: argument_withheld
#   message: "{pointer} was withheld ({bytes} bytes; secrets found: {kinds})"
deny contains lib.reason(rego.metadata.rule(), _detail(withheld)) if {
	some withheld in input.call.withheld
	not lib.agent_door
}

# METADATA
# title: an argument was withheld, a person must approve the call
# custom:
#   code: argument_withheld
#   message: "{pointer} was withheld ({bytes} bytes; secrets found: {kinds})"
ask contains lib.reason(rego.metadata.rule(), _detail(withheld)) if {
	some withheld in input.call.withheld
	lib.agent_door
}

_detail(withheld) := {
	"param": split(withheld.pointer, "/")[1],
	"pointer": withheld.pointer,
	"bytes": withheld.bytes,
	"kinds": withheld.kinds,
}
