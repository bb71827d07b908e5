package runlens.rules.sizes_test

import data.runlens.lib.testing
import data.runlens.rules.sizes

_too_large(bytes) := {
	"code": "file_too_large",
	"message": sprintf("path: data/a.csv has %d bytes, 5000000 may be read", [bytes]),
	"param": "path",
	"detail": {"requested": "data/a.csv", "bytes": bytes, "limit": 5000000},
}

_too_much(param, bytes, limit) := {
	"code": "content_too_large",
	"message": sprintf("the call writes %d bytes, %d may be written", [bytes, limit]),
	"param": param,
	"detail": {"bytes": bytes, "limit": limit},
}

# A call with contents of these sizes.
_writes(sizes, tool) := object.union(
	testing.with_call({"payloads": [payload |
		some i, bytes in sizes
		payload := {"pointer": sprintf("/content/%d", [i]), "bytes": bytes, "digest": "", "kinds": []}
	]}),
	{"tool": object.union({"operation": "write"}, tool)},
)

test_file_of_the_largest_size if {
	sizes.deny == set() with input as testing.with_target({"size": 5000000})
}

test_larger_file if {
	sizes.deny == {_too_large(5000001)} with input as testing.with_target({"size": 5000001})
	search := object.union(testing.with_target({"size": 5000001}), {"tool": {"operation": "search"}})
	sizes.deny == {_too_large(5000001)} with input as search
}

test_tool_that_returns_less if {
	small := object.union(testing.with_target({"size": 5000001}), {"tool": {"max_bytes": 4999999}})
	sizes.deny == set() with input as small
	same := object.union(testing.with_target({"size": 5000001}), {"tool": {"max_bytes": 5000000}})
	sizes.deny == {_too_large(5000001)} with input as same
}

test_large_file_that_is_not_read if {
	every access in {"write", "delete", "execute"} {
		sizes.deny == set() with input as testing.with_target({"size": 5000001, "access": access})
	}
	every operation in {"rename", "execute"} {
		call := object.union(testing.with_target({"size": 5000001}), {"tool": {"operation": operation}})
		sizes.deny == set() with input as call
	}
}

test_size_of_a_folder_does_not_count if {
	sizes.deny == set() with input as testing.with_target({"size": 5000001, "kind": "directory"})
}

test_content_of_the_largest_size if {
	sizes.deny == set() with input as _writes([2000000], {})
	sizes.deny == set() with input as _writes([1999999, 1], {})
}

test_larger_content if {
	sizes.deny == {_too_much("content", 2000001, 2000000)} with input as _writes([2000001], {})
}

test_contents_count_together if {
	sizes.deny == {_too_much("", 2000001, 2000000)} with input as _writes([1000001, 1000000], {})
}

test_limit_of_the_tool if {
	sizes.deny == set() with input as _writes([100], {"max_bytes": 100})
	sizes.deny == {_too_much("content", 101, 100)} with input as _writes([101], {"max_bytes": 100})
}

test_tool_cannot_raise_the_limit if {
	sizes.deny == {_too_much("content", 2000001, 2000000)} with input as _writes([2000001], {"max_bytes": 3000000})
}

test_max_bytes_of_other_operations_is_about_output if {
	sizes.deny == set() with input as _writes([101], {"operation": "compute", "max_bytes": 100})
}
