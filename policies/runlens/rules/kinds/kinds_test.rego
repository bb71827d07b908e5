package runlens.rules.kinds_test

import data.runlens.lib.testing
import data.runlens.rules.kinds

_reason(code, text, more) := {
	"code": code,
	"message": sprintf("path: data/a.csv %s", [text]),
	"param": "path",
	"detail": object.union({"requested": "data/a.csv"}, more),
}

_folder := _reason("is_a_directory", "is a folder", {})

_crossing := _reason("mount_crossing", "is on another mount than its root", {})

test_files if {
	every access in {"read", "write", "delete", "execute"} {
		kinds.deny == set() with input as testing.with_target({"access": access})
	}
}

test_folders if {
	every facts in [
		{"access": "list"},
		{"access": "list", "recursive": true},
		{"access": "read", "recursive": true},
		{"access": "delete", "recursive": true},
	] {
		call := testing.with_target(object.union({"kind": "directory", "nlink": 4}, facts))
		kinds.deny == set() with input as call
	}
}

test_new_name if {
	call := testing.with_target({"access": "write", "resolution": "absent", "kind": "none", "nlink": 0})
	kinds.deny == set() with input as call
}

test_folder_where_a_file_is_needed if {
	every facts in [
		{"access": "read"},
		{"access": "write"},
		{"access": "write", "recursive": true},
		{"access": "delete"},
		{"access": "execute"},
	] {
		kinds.deny == {_folder} with input as testing.with_target(object.union({"kind": "directory", "nlink": 4}, facts))
	}
}

test_file_where_a_folder_is_needed if {
	reason := _reason("not_a_directory", "is not a folder", {})
	kinds.deny == {reason} with input as testing.with_target({"access": "list"})
}

# Entries of a listed folder are only named.
test_entries_of_a_folder if {
	entry := {"param": "path", "access": "list", "entry": true}
	listed := {"access": "list", "kind": "directory"}
	every more in [{}, {"size": 900000000}, {"nlink": 5}, {"kind": "directory"}] {
		kinds.deny == set() with input as testing.with_targets([listed, object.union(entry, more)])
	}
	special := _reason("special_file", "is a fifo", {"kind": "fifo"})
	kinds.deny == {special} with input as testing.with_targets([listed, object.union(entry, {"kind": "fifo"})])
	kinds.deny == {_folder} with input as testing.with_target({"access": "read", "entry": true, "kind": "directory"})
}

test_special_files if {
	every kind in {"fifo", "socket", "char_device", "block_device"} {
		every access in {"read", "list", "write", "delete", "execute"} {
			reason := _reason("special_file", sprintf("is a %s", [kind]), {"kind": kind})
			kinds.deny == {reason} with input as testing.with_target({"kind": kind, "access": access})
		}
	}
}

test_last_name_is_a_link if {
	every access in {"write", "delete"} {
		reason := _reason("link_target", sprintf("is a symbolic link, and %s follows none", [access]), {"access": access})
		kinds.deny == {reason} with input as testing.with_target({"access": access, "kind": "symlink", "link_target": true})
		kinds.deny == {reason} with input as testing.with_target({"access": access, "link_target": true})
	}
}

test_followed_link if {
	kinds.deny == set() with input as testing.with_target({"via_symlink": true})
}

test_write_to_a_file_with_other_names if {
	reason := _reason("hard_link", "has 2 names", {"names": 2})
	kinds.deny == {reason} with input as testing.with_target({"access": "write", "nlink": 2})
}

test_other_accesses_to_a_file_with_other_names if {
	every access in {"read", "delete", "execute"} {
		kinds.deny == set() with input as testing.with_target({"access": access, "nlink": 2})
	}
}

test_reads_of_linked_files_where_data_refuses_them if {
	reason := _reason("hard_link", "has 2 names", {"names": 2})
	kinds.deny == {reason} with input as testing.with_target({"nlink": 2}) with data.runlens.hard_links.refuse_reads as true
	kinds.deny == set() with input as testing.base with data.runlens.hard_links.refuse_reads as true
	kinds.deny == set() with input as testing.with_target({"access": "delete", "nlink": 2})
		with data.runlens.hard_links.refuse_reads as true
}

test_names_of_a_folder_do_not_count if {
	call := testing.with_target({"access": "write", "kind": "directory", "nlink": 2})
	kinds.deny == {_folder} with input as call
}

test_other_mount if {
	kinds.deny == {_crossing} with input as testing.with_target({"mount_id": 31})
}

test_mount_of_a_new_name if {
	facts := {"access": "write", "resolution": "absent", "kind": "none", "nlink": 0, "mount_id": 31}
	kinds.deny == {_crossing} with input as testing.with_target(facts)
}

test_allowed_mount if {
	call := testing.with_target({"mount_id": 31, "path": "/srv/app/data/big/a.csv"})
	kinds.deny == set() with input as call with data.runlens.mounts.allowed as ["/mnt", "/srv/app/data/big/"]
	kinds.deny == set() with input as call with data.runlens.mounts.allowed as ["/srv/app/data/big/a.csv"]
	kinds.deny == {_crossing} with input as call with data.runlens.mounts.allowed as ["/srv/app/data/bi"]
}

test_mounts_without_numbers if {
	numbers := [[0, 30], [30, 0], [0, 0]]
	every pair in numbers {
		roots := {"tool": {"roots": [object.union(testing.root, {"mount_id": pair[0]})]}}
		same := object.union(testing.with_target({"mount_id": pair[1]}), roots)
		kinds.deny == set() with input as same
		other := object.union(testing.with_target({"mount_id": pair[1], "device": 7}), roots)
		kinds.deny == {_crossing} with input as other
	}
}

test_root_that_is_not_there_yet_has_no_mount if {
	call := object.union(
		testing.with_target({"access": "write", "resolution": "absent", "kind": "none"}),
		{"tool": {"roots": [object.union(testing.root, {"exists": false, "mount_id": 0, "device": 0})]}},
	)
	kinds.deny == set() with input as call
}

test_mount_matters_only_in_a_root if {
	kinds.deny == set() with input as testing.with_target({"mount_id": 31, "path": "/etc/passwd"})
	kinds.deny == set() with input as testing.with_target({"mount_id": 31, "resolution": "no_access"})
}

test_one_root_on_the_mount_is_enough if {
	roots := [object.union(testing.root, {"mount_id": 31}), testing.root]
	kinds.deny == set() with input as testing.with_tool({"roots": roots})
	elsewhere := object.union(testing.root, {"path": "/x", "prefix": "/x/"})
	kinds.deny == {_crossing} with input as testing.with_tool({"roots": [object.union(testing.root, {"mount_id": 31}), elsewhere]})
}

test_pseudo_file_system if {
	reason := _reason("pseudo_fs", "is on proc", {"file_system": "proc"})
	kinds.deny == {reason} with input as testing.with_target({"pseudo_fs": "proc"})
	kinds.deny == {reason} with input as testing.with_target({"pseudo_fs": "proc"})
		with data.runlens.pseudo_fs.allowed as ["sysfs"]
	kinds.deny == set() with input as testing.with_target({"pseudo_fs": "proc"})
		with data.runlens.pseudo_fs.allowed as ["sysfs", "proc"]
}
