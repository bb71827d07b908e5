package runlens.rules.operation_test

import data.runlens.lib.testing
import data.runlens.rules.operation

_absent(named, access) := {
	"code": "invalid_path",
	"message": sprintf("a %s needs a target to %s, the call names none", [named, access]),
	"param": "",
	"detail": {"operation": named, "access": access, "rules": ["absent"]},
}

# A call with a target for each of these accesses.
_call(named, accesses) := object.union(
	testing.with_targets([{"access": access} | some access in accesses]),
	{"tool": {"operation": named}},
)

test_supported_operations if {
	every named, accesses in {
		"read": ["read"],
		"list": ["list"],
		"search": ["read"],
		"write": ["write"],
		"delete": ["delete"],
		"rename": ["read", "delete", "write"],
		"execute": [],
		"compute": [],
	} {
		operation.deny == set() with input as _call(named, accesses)
	}
}

test_unsupported_operation if {
	operation.deny == {{
		"code": "unsupported_operation",
		"message": concat("", [
			"operation fetch is not supported; ",
			"supported: compute, delete, execute, list, read, rename, search, write",
		]),
		"param": "",
		"detail": {
			"operation": "fetch",
			"supported": {"compute", "delete", "execute", "list", "read", "rename", "search", "write"},
		},
	}} with input as _call("fetch", [])
}

test_unknown_tool_has_no_operation if {
	call := object.union(_call("", []), {"tool": {"declared": false}})
	operation.deny == set() with input as call
}

test_no_targets if {
	every named in {"read", "list", "search", "write", "delete", "rename"} {
		operation.deny == {{
			"code": "invalid_path",
			"message": sprintf("a %s needs a path, the call names none", [named]),
			"param": "",
			"detail": {"operation": named, "rules": ["absent"]},
		}} with input as _call(named, [])
	}
}

test_access_without_target if {
	operation.deny == {_absent("read", "read")} with input as _call("read", ["list"])
	operation.deny == {_absent("rename", "write")} with input as _call("rename", ["read", "delete"])
	operation.deny == {_absent("rename", "delete"), _absent("rename", "read")} with input as _call("rename", ["write"])
}
