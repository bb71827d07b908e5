# What the families and the decision itself ask about a target.
package runlens.lib

# METADATA
# title: What was found is what the access needs
# description: An object that is there and held, or for a write a free name in a folder that is held.
fits(target) if {
	target.resolution == "ok"
	target.handle == true
}

fits(target) if {
	target.resolution == "absent"
	target.access == "write"
	target.handle == true
}

# METADATA
# title: The kind of object suits the access
# description: A list opens a folder; what it finds there is only shown by name.
suits(target) if {
	target.kind == "file"
	target.access in {"read", "write", "delete", "execute"}
}

suits(target) if {
	target.kind == "directory"
	target.access == "list"
}

suits(target) if {
	target.kind == "file"
	target.access == "list"
	target.entry == true
}

suits(target) if {
	target.kind == "directory"
	target.access in {"read", "delete"}
	target.recursive == true
}

suits(target) if {
	target.kind == "none"
	target.resolution == "absent"
}

suits(target) if {
	target.kind == "directory"
	target.access == "read"
	target.position > 0 # a program gets its name, and finds there what its sandbox shows
}

# METADATA
# title: The target lies in a root of the tool that allows its access
under_a_root(target) if {
	some root in input.tool.roots
	holds(root, target)
}

# METADATA
# title: This root allows the target's access and holds it
# description: Both paths are canonical and a prefix ends in one slash, so siblings do not match.
holds(root, target) if {
	startswith(target.path, root.prefix)
	target.access in root.access
	root.param == ""
	target.position == 0
}

holds(root, target) if {
	target.path == root.path
	target.access in root.access
	root.param == ""
	target.position == 0
}

holds(root, target) if {
	startswith(sprintf("%s/", [trim_suffix(target.path, "/")]), root.prefix)
	target.access in root.access
	_names_root(root, target)
}

# METADATA
# title: The root counts for this target
# description: |
#   A path argument of a command has the one root that the pattern which counts for
#   the command names for it, and no other target has that.
meant_for(root, target) if {
	root.param == ""
	target.position == 0
}

meant_for(root, target) if _names_root(root, target)

_names_root(root, target) if {
	root.param == target.param
	part := command_pattern[target.position - 1]
	part.arg == target.param
	part.root == root.declared
	part.access == target.access
}

# METADATA
# title: The target was meant for a root that is not there yet
# description: |
#   Nothing is under such a root, so the call is denied either way; this only
#   tells the missing folder from a place outside. The path is that of the
#   deepest folder that is there, so the root must lie below it.
under_a_missing_root(target) if {
	target.resolution == "not_found"
	some root in input.tool.roots
	root.exists == false
	target.access in root.access
	meant_for(root, target)
	startswith(root.prefix, sprintf("%s/", [trim_suffix(target.path, "/")]))
	_names(target, root)
}

_names(target, root) if startswith(
	sprintf("%s/", [target.requested]),
	sprintf("%s/", [trim_suffix(root.declared, "/")]),
)

# An argument counts from where the command works.
_names(target, root) if {
	target.position > 0
	startswith(sprintf("%s/%s/", [input.command.dir, target.requested]), root.prefix)
}

# METADATA
# title: The target lies outside the roots
outside(target) if {
	not under_a_root(target)
	not under_a_missing_root(target)
}
