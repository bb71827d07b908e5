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

# METADATA
# title: a root that the program would see is or holds a protected place
# description: |
#   Where a root that is only read holds such a place, the place is hidden. What is
#   not there yet can't be hidden, and a program that may write could make it.
# custom:
#   code: protected_root
#   message: "root {root} {how} policies, manifests, keys, a tool's program or the record of a run"
deny contains lib.reason(rego.metadata.rule(), {"root": root.declared, "how": how}) if {
	_confined
	some root in input.tool.roots
	how := _exposes(root)
}

# METADATA
# title: a tool could have made the link that leads to a root
# description: Whoever may make it could make it lead anywhere, so nothing behind it is a root.
# custom:
#   code: protected_root
#   message: "root {root} is reached through a link that a tool could have made: it lies where one may write"
deny contains lib.reason(rego.metadata.rule(), {"root": root.declared}) if {
	_confined
	_sees_roots
	some root in input.tool.roots
	root.place == "planted"
	root.param == ""
}

# METADATA
# title: a root has a name that policy refuses
# description: No call would be given anything in it.
# custom:
#   code: protected_root
#   message: "root {root} has a name that policy refuses, or lies in a folder that has one"
deny contains lib.reason(rego.metadata.rule(), {"root": root.declared}) if {
	_confined
	some root in input.tool.roots
	root.place == "secret"
	root.param == ""
}

# METADATA
# title: a directory that the program would see is or lies in a protected place
# description: Where it only holds such a place, the place is hidden.
# custom:
#   code: protected_root
#   message: "{param}: {requested} is or lies in a place of policies, manifests, keys or the record of a run, which no program sees"
deny contains lib.reason(rego.metadata.rule(), {"param": target.param, "requested": target.requested}) if {
	_confined
	some target in input.targets
	target.place == "inside"
}

_exposes(root) := "is or lies in a place of" if root.place == "inside"

_exposes(root) := "may be written and holds, or could come to hold, a place of" if {
	root.place == "holds"
	root.param == ""
	some access in root.access
	access in {"write", "delete", "rename"}
}

_sees_roots if not startswith(input.tool.handler, "exec:")

_runs if input.tool.operation == "execute"

_runs if input.command.present == true

_asked := input.tool.sandbox if {
	input.tool.sandbox in {"none", "partial"}
} else := "full"

_confined if {
	_runs
	_asked != "none"
}

_isolated if _asked == "none"

_isolated if input.sandbox.level == "full"

_isolated if {
	input.sandbox.level == "partial"
	_asked == "partial"
}

_asks_enough if _asked == "full"

_asks_enough if data.runlens.sandbox.least == "none"
