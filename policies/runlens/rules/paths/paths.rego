# METADATA
# title: Paths
# description: How a path is spelt, and in which root its object lies.
package runlens.rules.paths

import data.runlens.lib

# METADATA
# title: the path is spelt in a way that is refused
# description: Most paths have no oddity at all, and none is listed for them.
# custom:
#   code: invalid_path
#   message: "{param}: the path is refused for {rules}"
deny contains lib.reason(rego.metadata.rule(), {"param": target.param, "rules": rules}) if {
	some target in input.targets
	true in target.lexical
	rules := _refused(target)
	count(rules) > 0
}

# METADATA
# title: the path cannot be asked of the system
# description: Said only where the spelling does not explain it.
# custom:
#   code: invalid_path
#   message: "{param}: the path is refused for {rules}"
deny contains lib.reason(rego.metadata.rule(), {"param": target.param, "rules": [target.resolution]}) if {
	some target in input.targets
	target.resolution in {"invalid", "too_long"}
	_refused(target) == []
}

# METADATA
# title: the object lies outside the roots
# description: Names the requested path; where it really leads is for the ledger.
# custom:
#   code: outside_roots
#   message: "{param}: {requested} is outside the roots that allow {access}: {roots}"
deny contains lib.reason(rego.metadata.rule(), {
	"param": target.param,
	"access": target.access,
	"requested": target.requested,
	"roots": [root.declared |
		some root in input.tool.roots
		target.access in root.access
		lib.meant_for(root, target)
	],
}) if {
	some target in input.targets
	lib.outside(target)
}

# An oddity that policy data does not list is refused.
_refused(target) := [rule |
	some rule, true in target.lexical
	object.get(data.runlens.paths.refused, rule, true) == true
	not _declared(rule)
]

_declared("absolute") if input.tool.absolute == true
