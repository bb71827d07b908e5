# METADATA
# title: Protected places
# description: RunLens' own ledgers, policies, manifests, settings and keys, and the programs that serve its tools.
package runlens.rules.protected

import data.runlens.lib

# METADATA
# title: the object belongs to RunLens
# description: Ledgers and keys for every access, everything else for all that could change it.
# custom:
#   code: protected_file
#   message: "{param}: {requested} is protected ({class}) from {access}"
deny contains lib.reason(rego.metadata.rule(), {
	"param": target.param,
	"access": target.access,
	"requested": target.requested,
	"class": target.protected,
}) if {
	some target in input.targets
	not target.protected == ""
	not _open(target)
}

_open(target) if {
	target.protected in {"policy", "manifest", "config", "handler", "ancestor"}
	target.access in {"read", "list", "execute"}
}
