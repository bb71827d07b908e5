# METADATA
# title: Environment files
# description: |
#   .env files in any spelling that folds to one, in any segment, requested or
#   resolved, and inside trees that another program would walk. Templates are fine.
package runlens.rules.dotenv

import data.runlens.lib

# METADATA
# title: the path names an environment file
# custom:
#   code: forbidden_path
#   message: "{param}: {name} is an environment file"
deny contains lib.reason(rego.metadata.rule(), {"param": target.param, "name": name}) if {
	some target in input.targets
	_perhaps(target.folded)
	some name in _names(target)
	_environment_file(name)
}

# METADATA
# title: the tree holds an environment file
# description: RunLens' own handlers leave such entries out; another program would not.
# custom:
#   code: forbidden_path
#   message: "{param}: the folder holds the environment file {entry}"
deny contains lib.reason(rego.metadata.rule(), {"param": target.param, "name": below.folded, "entry": below.path}) if {
	some target in input.targets
	some below in target.below
	_environment_file(below.folded)
	lib.another_program
}

# METADATA
# title: the tree is too large to look through
# description: Nobody looked at all the names that another program would open.
# custom:
#   code: tree_too_large
#   message: "{param}: {requested} is too large to look through for environment files"
ask contains lib.reason(rego.metadata.rule(), {"param": target.param, "requested": target.requested}) if {
	some target in input.targets
	target.recursive
	target.kind == "directory"
	not target.walk == "complete"
	lib.another_program
}

# One look at all segments, since most paths name nothing of the kind.
# Of a link that leads out of the roots only its own name counts: what it leads
# to would tell whether such a file is there.
_names(target) := split(replace(lower(target.requested), `\`, "/"), "/") if {
	target.via_symlink
	lib.outside(target)
} else := target.folded

_perhaps(names) if {
	refused := data.runlens.names.refused
	_matches(names, refused)
}

_matches(names, refused) if strings.any_suffix_match(names, refused.suffix)

_matches(names, refused) if strings.any_prefix_match(names, refused.prefix)

_matches(names, refused) if {
	some name in refused.exact
	name in names
}

_environment_file(name) if {
	_perhaps([name])
	not strings.any_suffix_match(name, data.runlens.names.allowed.suffix)
}
