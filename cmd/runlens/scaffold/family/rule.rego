# METADATA
# title: What the family FAMILY is about
# description: Say here what it guards, for whoever reads a denial.
package runlens.rules.FAMILY

import data.runlens.lib

# METADATA
# title: the name is one that FAMILY refuses
# custom:
#   code: FAMILY_refused
#   message: "{param}: {requested} has the name {name}, which FAMILY refuses"
deny contains lib.reason(rego.metadata.rule(), {"param": target.param, "requested": target.requested, "name": name}) if {
	some target in input.targets
	some name in target.folded
	name in _refused
}

# Names in lower case, of files and folders. Replace them by your own.
_refused := {"refused-by-FAMILY"}
