# METADATA
# title: Resolution
# description: The object must be there, held open, and be what the access needs.
package runlens.rules.resolution

import data.runlens.lib

# METADATA
# title: there is no such object
# description: Detail missing says whether the name itself or a folder on the way is not there.
# custom:
#   code: not_found
#   message: "{param}: {requested} does not exist (missing: {missing})"
deny contains lib.reason(rego.metadata.rule(), _detail(target, {"missing": missing})) if {
	some target in input.targets
	missing := _missing(target)
}

# METADATA
# title: the process may not reach the object
# custom:
#   code: no_access
#   message: "{param}: no access to {requested}"
deny contains lib.reason(rego.metadata.rule(), _detail(target, {})) if {
	some target in input.targets
	target.resolution == "no_access"
}

# METADATA
# title: a part of the path is not a folder
# custom:
#   code: not_a_directory
#   message: "{param}: a part of {requested} is not a folder"
deny contains lib.reason(rego.metadata.rule(), _detail(target, {})) if {
	some target in input.targets
	target.resolution == "not_a_directory"
}

# METADATA
# title: the path leads through too many symbolic links
# custom:
#   code: symlink_loop
#   message: "{param}: {requested} leads through a loop of symbolic links"
deny contains lib.reason(rego.metadata.rule(), _detail(target, {})) if {
	some target in input.targets
	target.resolution == "loop"
}

# METADATA
# title: the object kept changing
# custom:
#   code: object_busy
#   message: "{param}: {requested} changed while it was looked up"
deny contains lib.reason(rego.metadata.rule(), _detail(target, {})) if {
	some target in input.targets
	target.resolution in {"busy", "changed"}
}

# METADATA
# title: the object could not be opened
# description: Any other failure, and an object that was found but is not held.
# custom:
#   code: unresolved
#   message: "{param}: {requested} could not be opened ({resolution})"
deny contains lib.reason(rego.metadata.rule(), _detail(target, {"resolution": target.resolution})) if {
	some target in input.targets
	not lib.fits(target)
	not target.resolution in _explained
	not _missing(target)
}

_missing(target) := target.missing if {
	target.resolution == "not_found"
} else := "name" if {
	target.resolution == "absent"
	not target.access == "write"
}

_explained := {"no_access", "not_a_directory", "loop", "invalid", "too_long", "busy", "changed"}

_detail(target, more) := object.union({"param": target.param, "requested": target.requested}, more)
