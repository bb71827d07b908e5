package runlens.rules.dotenv_test

import data.runlens.lib.testing
import data.runlens.rules.dotenv

_named(name) := {
	"code": "forbidden_path",
	"message": sprintf("path: %s is an environment file", [name]),
	"param": "path",
	"detail": {"name": name},
}

_holds(entry, name) := {
	"code": "forbidden_path",
	"message": sprintf("path: the folder holds the environment file %s", [entry]),
	"param": "path",
	"detail": {"name": name, "entry": entry},
}

_too_large := {
	"code": "tree_too_large",
	"message": "path: data is too large to look through for environment files",
	"param": "path",
	"detail": {"requested": "data"},
}

# A recursive target in this door, with these facts.
_tree(door, facts) := object.union(
	testing.with_target(object.union(
		{"requested": "data", "access": "list", "kind": "directory", "recursive": true, "walk": "complete"},
		facts,
	)),
	{"run": {"door": door}},
)

_below := [
	{"path": "a/.Env", "folded": ".env", "kind": "file"},
	{"path": "a/.env.example", "folded": ".env.example", "kind": "file"},
]

test_ordinary_names if {
	every name in {
		"env", "environment", ".environment", "my.envelope", "dotenv.md", ".env-notes", "env.bak", "a.env.md",
		".env.example", ".env.sample", ".env.template", ".env.dist", ".env.local.example", "prod.env.sample",
	} {
		dotenv.deny == set() with input as testing.with_target({"folded": ["data", name]})
	}
}

test_environment_files if {
	every name in {
		".env", ".env.local", ".env.production.local", "prod.env", ".envrc", ".envrc.bak", ".envrc~",
		".env~", ".env.bak", ".#.env", "#.env#", ".#.env.local", "prod.env~", "#prod.env#", "prod.env.bak",
		"prod.env.old", "prod.env.orig", "prod.env.save", ".prod.env.swp", ".env.example.bak",
	} {
		dotenv.deny == {_named(name)} with input as testing.with_target({"folded": ["data", name]})
	}
}

test_each_segment_is_judged if {
	call := testing.with_target({"folded": [".env", "a.csv", "prod.env"]})
	dotenv.deny == {_named(".env"), _named("prod.env")} with input as call
}

test_template_excuses_no_other_segment if {
	call := testing.with_target({"folded": [".env", ".env.example"]})
	dotenv.deny == {_named(".env")} with input as call
}

test_own_handlers_leave_entries_out if {
	every door in {"cli", "mcp"} {
		call := _tree(door, {"below": _below, "walk": "cut"})
		dotenv.deny == set() with input as call
		dotenv.ask == set() with input as call
	}
}

test_tree_for_another_program if {
	dotenv.deny == {_holds("a/.Env", ".env")} with input as _tree("hook", {"below": _below})
	relayed := object.union(_tree("mcp", {"below": _below}), {"tool": {"handler": "external"}})
	dotenv.deny == {_holds("a/.Env", ".env")} with input as relayed
}

test_clean_tree_for_another_program if {
	call := _tree("hook", {"below": array.slice(_below, 1, 2)})
	dotenv.deny == set() with input as call
	dotenv.ask == set() with input as call
}

test_tree_that_was_not_looked_through if {
	every walk in {"cut", ""} {
		dotenv.ask == {_too_large} with input as _tree("hook", {"walk": walk})
	}
	dotenv.ask == {_too_large} with input as object.union(_tree("cli", {"walk": "cut"}), {"tool": {"handler": "external"}})
}

test_only_trees_are_looked_through if {
	dotenv.ask == set() with input as _tree("hook", {"walk": "", "kind": "file"})
	dotenv.ask == set() with input as _tree("hook", {"walk": "", "recursive": false})
}

test_link_out_does_not_tell_what_is_there if {
	out := {"requested": "data/link", "via_symlink": true, "path": "/home/other/.env", "folded": ["data", "home", "link", "other", ".env"]}
	dotenv.deny == set() with input as testing.with_target(out)
	dotenv.deny == {_named(".env")} with input as testing.with_target(object.union(out, {"requested": "data/.ENV"}))
	dotenv.deny == {_named(".env")} with input as testing.with_target(object.union(out, {"via_symlink": false}))
}
