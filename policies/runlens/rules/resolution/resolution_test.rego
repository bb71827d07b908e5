package runlens.rules.resolution_test

import data.runlens.lib.testing
import data.runlens.rules.resolution

_reason(code, text, more) := {
	"code": code,
	"message": sprintf("path: %s", [text]),
	"param": "path",
	"detail": object.union({"requested": "data/a.csv"}, more),
}

test_object_is_there if {
	every access in {"read", "list", "write", "delete", "execute"} {
		resolution.deny == set() with input as testing.with_target({"access": access})
	}
}

test_new_name if {
	call := testing.with_target({"resolution": "absent", "kind": "none", "access": "write"})
	resolution.deny == set() with input as call
}

test_absent_for_other_accesses if {
	every access in {"read", "list", "delete", "execute"} {
		call := testing.with_target({"resolution": "absent", "kind": "none", "access": access})
		resolution.deny == {_reason(
			"not_found",
			"data/a.csv does not exist (missing: name)",
			{"missing": "name"},
		)} with input as call
	}
}

test_not_found if {
	every missing in {"name", "parent"} {
		call := testing.with_target({
			"resolution": "not_found",
			"missing": missing,
			"kind": "none",
			"handle": false,
			"access": "write",
		})
		resolution.deny == {_reason(
			"not_found",
			sprintf("data/a.csv does not exist (missing: %s)", [missing]),
			{"missing": missing},
		)} with input as call
	}
}

test_each_resolution_has_its_code if {
	expected := {
		"no_access": _reason("no_access", "no access to data/a.csv", {}),
		"not_a_directory": _reason("not_a_directory", "a part of data/a.csv is not a folder", {}),
		"loop": _reason("symlink_loop", "data/a.csv leads through a loop of symbolic links", {}),
		"busy": _reason("object_busy", "data/a.csv changed while it was looked up", {}),
		"changed": _reason("object_busy", "data/a.csv changed while it was looked up", {}),
		"failed": _reason("unresolved", "data/a.csv could not be opened (failed)", {"resolution": "failed"}),
	}
	every found, reason in expected {
		every access in {"read", "write"} {
			call := testing.with_target({"resolution": found, "handle": false, "access": access})
			resolution.deny == {reason} with input as call
		}
	}
}

# The paths family says what is wrong with these.
test_names_that_cannot_be_asked_for if {
	every found in {"invalid", "too_long"} {
		resolution.deny == set() with input as testing.with_target({"resolution": found, "handle": false})
	}
}

test_object_that_is_not_held if {
	call := testing.with_target({"handle": false})
	resolution.deny == {_reason(
		"unresolved",
		"data/a.csv could not be opened (ok)",
		{"resolution": "ok"},
	)} with input as call
}

test_folder_of_a_new_name_that_is_not_held if {
	call := testing.with_target({"resolution": "absent", "access": "write", "handle": false})
	resolution.deny == {_reason(
		"unresolved",
		"data/a.csv could not be opened (absent)",
		{"resolution": "absent"},
	)} with input as call
}
