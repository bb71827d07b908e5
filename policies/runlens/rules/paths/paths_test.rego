package runlens.rules.paths_test

import data.runlens.lib.testing
import data.runlens.rules.paths

_invalid(rules) := {
	"code": "invalid_path",
	"message": sprintf("path: the path is refused for %s", [concat(", ", rules)]),
	"param": "path",
	"detail": {"rules": rules},
}

_outside(requested, access, roots) := {
	"code": "outside_roots",
	"message": sprintf("path: %s is outside the roots that allow %s: %s", [requested, access, concat(", ", roots)]),
	"param": "path",
	"detail": {"access": access, "requested": requested, "roots": roots},
}

test_plain_path if {
	paths.deny == set() with input as testing.base
}

test_harmless_oddities if {
	every oddity in {"parent_segment", "parent_escape"} {
		paths.deny == set() with input as testing.with_oddity(oddity)
	}
}

test_refused_oddities if {
	every oddity in object.keys(testing.lexical) - {"parent_segment", "parent_escape"} {
		paths.deny == {_invalid([oddity])} with input as testing.with_oddity(oddity)
	}
}

test_oddity_that_data_does_not_list if {
	paths.deny == {_invalid(["tilde"])} with input as testing.with_oddity("tilde")
		with data.runlens.paths.refused as {"url": true}
}

test_oddity_that_data_permits if {
	paths.deny == set() with input as testing.with_oddity("tilde") with data.runlens.paths.refused as {"tilde": false}
}

test_several_oddities_are_one_reason if {
	call := testing.with_target({"lexical": {"parent_segment": true, "backslash": true, "drive": true}})
	paths.deny == {_invalid(["backslash", "drive"])} with input as call
}

test_path_that_cannot_be_asked_for if {
	every resolution in {"invalid", "too_long"} {
		every oddity in {"parent_segment", "parent_escape"} {
			facts := {"resolution": resolution, "lexical": {oddity: true}}
			paths.deny == {_invalid([resolution])} with input as testing.with_target(facts)
		}
		spelt := {"resolution": resolution, "lexical": {"nul": true}}
		paths.deny == {_invalid(["nul"])} with input as testing.with_target(spelt)
	}
}

test_absolute_path_of_tool_that_takes_them if {
	call := object.union(testing.with_oddity("absolute"), {"tool": {"absolute": true}})
	paths.deny == set() with input as call
}

test_tool_that_takes_absolute_paths_takes_no_others if {
	call := object.union(testing.with_oddity("url"), {"tool": {"absolute": true}})
	paths.deny == {_invalid(["url"])} with input as call
}

test_root_itself if {
	paths.deny == set() with input as testing.with_target({"path": "/srv/app/data", "access": "list"})
}

test_root_that_is_not_there_yet if {
	call := object.union(testing.with_target({"resolution": "absent", "access": "write"}), {"tool": {"roots": [object.union(
		testing.root,
		{"exists": false},
	)]}})
	paths.deny == set() with input as call
}

test_prefix_sibling_is_outside if {
	call := testing.with_target({"path": "/srv/app/data-copy/x", "requested": "data-copy/x"})
	paths.deny == {_outside("data-copy/x", "read", ["data"])} with input as call
}

test_parent_of_the_root_is_outside if {
	call := testing.with_target({"path": "/srv/app", "requested": "."})
	paths.deny == {_outside(".", "read", ["data"])} with input as call
}

# Where the link leads is not told.
test_link_that_leaves_is_outside if {
	call := testing.with_target({"path": "/etc/passwd", "requested": "data/link", "via_symlink": true})
	paths.deny == {_outside("data/link", "read", ["data"])} with input as call
}

test_outside_whatever_the_resolution if {
	every resolution in {"absent", "not_found", "no_access", "loop", "failed"} {
		call := testing.with_target({"path": "/etc", "requested": "/etc/x", "resolution": resolution})
		paths.deny == {_outside("/etc/x", "read", ["data"])} with input as call
	}
}

test_root_must_allow_the_access if {
	roots := [
		object.union(testing.root, {"access": ["read"]}),
		object.union(testing.root, {"declared": "out", "path": "/srv/app/out", "prefix": "/srv/app/out/", "access": ["write"]}),
	]
	call := object.union(testing.with_target({"access": "write"}), {"tool": {"roots": roots}})
	paths.deny == {_outside("data/a.csv", "write", ["out"])} with input as call

	list := object.union(testing.with_target({"access": "list", "path": "/srv/app/data"}), {"tool": {"roots": roots}})
	paths.deny == {object.union(
		_outside("data/a.csv", "list", []),
		{"message": "path: data/a.csv is outside the roots that allow list: none"},
	)} with input as list
}

test_missing_root_is_told_from_outside if {
	root := object.union(testing.root, {
		"declared": "runs/r1/artifacts/",
		"path": "/srv/app/runs/r1/artifacts",
		"prefix": "/srv/app/runs/r1/artifacts/",
		"exists": false,
	})
	target := {
		"requested": "runs/r1/artifacts/a.json",
		"path": "/srv/app/runs",
		"resolution": "not_found",
		"access": "write",
	}
	every requested in {"runs/r1/artifacts/a.json", "runs/r1/artifacts", "runs/r1/artifacts/"} {
		call := object.union(
			testing.with_target(object.union(target, {"requested": requested})),
			{"tool": {"roots": [root]}},
		)
		paths.deny == set() with input as call
	}

	misses := [
		{"root": {"exists": true}, "target": {}},
		{"root": {"access": ["read"]}, "target": {}},
		{"root": {}, "target": {"resolution": "no_access"}},
		{"root": {}, "target": {"path": "/srv/ap"}},
		{"root": {}, "target": {"path": "/srv/app/data"}},
		{"root": {}, "target": {"requested": "runs/r1/artifacts2/a.json"}},
	]
	every miss in misses {
		missed := object.union(
			testing.with_target(object.union(target, miss.target)),
			{"tool": {"roots": [object.union(root, miss.root)]}},
		)
		count(paths.deny) == 1 with input as missed
	}
}

test_each_target_is_judged if {
	call := testing.with_targets([
		{},
		{"param": "to", "path": "/srv/app/x", "requested": "x", "access": "write"},
	])
	paths.deny == {object.union(_outside("x", "write", ["data"]), {
		"param": "to",
		"message": "to: x is outside the roots that allow write: data",
	})} with input as call
}
