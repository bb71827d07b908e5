# METADATA
# title: Kinds
# description: What sort of object a target is, and on which file system it lies.
package runlens.rules.kinds

import data.runlens.lib

# METADATA
# title: the target is a folder
# custom:
#   code: is_a_directory
#   message: "{param}: {requested} is a folder"
deny contains lib.reason(rego.metadata.rule(), _detail(target)) if {
	some target in input.targets
	target.kind == "directory"
	not lib.suits(target)
}

# METADATA
# title: the target is not a folder
# custom:
#   code: not_a_directory
#   message: "{param}: {requested} is not a folder"
deny contains lib.reason(rego.metadata.rule(), _detail(target)) if {
	some target in input.targets
	target.access == "list"
	target.kind == "file"
	not lib.suits(target)
}

# METADATA
# title: the target is neither a file nor a folder
# custom:
#   code: special_file
#   message: "{param}: {requested} is a {kind}"
deny contains lib.reason(rego.metadata.rule(), object.union(_detail(target), {"kind": target.kind})) if {
	some target in input.targets
	target.kind in {"fifo", "socket", "char_device", "block_device"}
}

# METADATA
# title: the last name is a symbolic link
# custom:
#   code: link_target
#   message: "{param}: {requested} is a symbolic link, and {access} follows none"
deny contains lib.reason(rego.metadata.rule(), object.union(_detail(target), {"access": target.access})) if {
	some target in input.targets
	target.link_target == true
}

# METADATA
# title: the file has other names
# description: A write would change what those names show; policy data may refuse reads too.
# custom:
#   code: hard_link
#   message: "{param}: {requested} has {names} names"
deny contains lib.reason(rego.metadata.rule(), object.union(_detail(target), {"names": target.nlink})) if {
	some target in input.targets
	target.nlink > 1
	target.kind == "file"
	_links_matter(target)
}

# METADATA
# title: the object lies on another mount than its root
# custom:
#   code: mount_crossing
#   message: "{param}: {requested} is on another mount than its root"
deny contains lib.reason(rego.metadata.rule(), _detail(target)) if {
	mounts := {root.mount_id | some root in input.tool.roots}
	some target in input.targets
	not mounts == {target.mount_id} - {0} # spares the rest where all is on one mount
	not _on_a_roots_mount(target)
	not _on_an_allowed_mount(target)
	lib.fits(target)
	lib.under_a_root(target)
}

# METADATA
# title: the object lies on a file system that the kernel makes up
# custom:
#   code: pseudo_fs
#   message: "{param}: {requested} is on {file_system}"
deny contains lib.reason(rego.metadata.rule(), object.union(_detail(target), {"file_system": target.pseudo_fs})) if {
	some target in input.targets
	not target.pseudo_fs == ""
	not target.pseudo_fs in data.runlens.pseudo_fs.allowed
}

_links_matter(target) if target.access == "write"

_links_matter(target) if {
	target.access == "read"
	data.runlens.hard_links.refuse_reads == true
}

_on_a_roots_mount(target) if {
	some root in input.tool.roots
	lib.holds(root, target)
	_one_mount(root, target)
}

_one_mount(root, target) if {
	root.mount_id == target.mount_id
	root.mount_id > 0
}

# Where mounts have no numbers the device stands in for them.
_one_mount(root, target) if {
	0 in {root.mount_id, target.mount_id}
	root.device == target.device
}

_one_mount(root, _) if root.exists == false # it comes to be on its folder's mount

_on_an_allowed_mount(target) if {
	some place in data.runlens.mounts.allowed
	startswith(sprintf("%s/", [target.path]), sprintf("%s/", [trim_suffix(place, "/")]))
}

_detail(target) := {"param": target.param, "requested": target.requested}
