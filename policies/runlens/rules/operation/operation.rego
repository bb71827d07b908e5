# METADATA
# title: Operation
# description: Operations that the policy knows how to judge, with the targets they need.
package runlens.rules.operation

import data.runlens.lib

# METADATA
# title: the policy does not judge this operation
# description: Nothing here says which hosts a fetch may reach, so fetch is not among them yet.
# custom:
#   code: unsupported_operation
#   message: "operation {operation} is not supported; supported: {supported}"
deny contains lib.reason(rego.metadata.rule(), {
	"operation": input.tool.operation,
	"supported": object.keys(data.runlens.operations),
}) if {
	input.tool.declared == true
	not data.runlens.operations[input.tool.operation]
}

# METADATA
# title: the operation names nothing to work on
# custom:
#   code: invalid_path
#   message: a {operation} needs a path, the call names none
deny contains lib.reason(rego.metadata.rule(), {"operation": input.tool.operation, "rules": ["absent"]}) if {
	input.targets == []
	data.runlens.operations[input.tool.operation].targets == true
}

# METADATA
# title: the operation lacks a target for one of its accesses
# custom:
#   code: invalid_path
#   message: a {operation} needs a target to {access}, the call names none
deny contains lib.reason(rego.metadata.rule(), {
	"operation": input.tool.operation,
	"access": access,
	"rules": ["absent"],
}) if {
	some access in data.runlens.operations[input.tool.operation].accesses
	not input.targets[0].access == access # spares the rest where the first target has it
	not _has_target(access)
	input.targets[0]
}

_has_target(access) if {
	some target in input.targets
	target.access == access
}
