package runlens.rules.sandbox_test

import data.runlens.lib.testing
import data.runlens.rules.sandbox

_unavailable(wanted, level) := {
	"code": "sandbox_unavailable",
	"message": sprintf("the tool asks for sandbox level %s, available is %s", [wanted, level]),
	"param": "",
	"detail": {"wanted": wanted, "level": level},
}

_too_little(asked) := {
	"code": "sandbox_unavailable",
	"message": sprintf("policy asks for sandbox level full of every program, the tool asks for %s", [asked]),
	"param": "",
	"detail": {"wanted": "full", "asked": asked},
}

_call(wanted, level) := object.union(
	testing.with_command({}),
	{"tool": {"sandbox": wanted}, "sandbox": {"level": level}},
)

# A program that is the handler of a tool that reads.
_handler(wanted, level) := object.union(_call(wanted, level), {"tool": {"operation": "read"}})

# A tool that runs programs, and a call of which no command is known.
_unknown(wanted, level) := object.union(_call(wanted, level), {"command": {"present": false}})

test_enough_isolation if {
	every pair in [
		["none", "none"],
		["none", "partial"],
		["none", "full"],
		["partial", "partial"],
		["partial", "full"],
		["full", "full"],
		["", "full"],
	] {
		sandbox.deny == set() with input as _call(pair[0], pair[1])
		sandbox.deny == set() with input as _handler(pair[0], pair[1])
		sandbox.deny == set() with input as _unknown(pair[0], pair[1])
	}
}

test_too_little_isolation if {
	every pair in [["partial", "none"], ["full", "none"], ["full", "partial"]] {
		sandbox.deny == {_unavailable(pair[0], pair[1])} with input as _call(pair[0], pair[1])
		sandbox.deny == {_unavailable(pair[0], pair[1])} with input as _handler(pair[0], pair[1])
		sandbox.deny == {_unavailable(pair[0], pair[1])} with input as _unknown(pair[0], pair[1])
	}
}

test_no_wish_is_the_highest if {
	every wanted in {"", "unheard_of"} {
		sandbox.deny == {_unavailable("full", "partial")} with input as _call(wanted, "partial")
	}
}

# What the machine could do is nothing to a tool that doesn't ask for it.
test_policy_asks_for_more if {
	every asked in ["none", "partial"] {
		sandbox.deny == {_too_little(asked)} with input as _call(asked, "full")
			with data.runlens.sandbox.least as "full"
		sandbox.deny == {_too_little(asked)} with input as _handler(asked, "full")
			with data.runlens.sandbox.least as "full"
	}
}

test_policy_and_tool_ask_for_the_same if {
	sandbox.deny == set() with input as _call("full", "full") with data.runlens.sandbox.least as "full"
	sandbox.deny == {_unavailable("full", "none")} with input as _call("full", "none")
		with data.runlens.sandbox.least as "full"
	sandbox.deny == {_unavailable("partial", "none"), _too_little("partial")} with input as _call("partial", "none")
		with data.runlens.sandbox.least as "full"
}

_rooted(wanted, place, access, param) := object.union(_call(wanted, "full"), {"tool": {"roots": [object.union(
	testing.root,
	{"declared": "w", "place": place, "access": access, "param": param},
)]}})

_protected(how) := {
	"code": "protected_root",
	"message": sprintf("root w %s policies, manifests, keys, a tool's program or the record of a run", [how]),
	"param": "",
	"detail": {"root": "w", "how": how},
}

test_root_in_a_protected_place if {
	every access in [["read"], ["write"], ["execute"]] {
		sandbox.deny == {_protected("is or lies in a place of")} with input as _rooted("full", "inside", access, "")
	}
}

test_root_that_holds_a_protected_place if {
	how := "may be written and holds, or could come to hold, a place of"
	every access in [["write"], ["read", "delete"], ["rename"]] {
		sandbox.deny == {_protected(how)} with input as _rooted("full", "holds", access, "")
	}
	every access in [["read"], ["list", "execute"], []] {
		sandbox.deny == set() with input as _rooted("full", "holds", access, "")
	}
	sandbox.deny == set() with input as _rooted("full", "holds", ["write"], "path")
}

_named(message) := {"code": "protected_root", "message": message, "param": "", "detail": {"root": "w"}}

test_root_behind_a_link_that_a_tool_could_have_made if {
	every access in [["read"], ["write"]] {
		sandbox.deny == {_named("root w is reached through a link that a tool could have made: it lies where one may write")} with input as _rooted("full", "planted", access, "")
		sandbox.deny == set() with input as _rooted("none", "planted", access, "")
		sandbox.deny == set() with input as _rooted("full", "planted", access, "path")
		sandbox.deny == set() with input as object.union(_rooted("full", "planted", access, ""), {"tool": {"handler": "exec:tools/p"}})
	}
}

test_root_with_a_refused_name if {
	every access in [["read"], ["write"]] {
		sandbox.deny == {_named("root w has a name that policy refuses, or lies in a folder that has one")} with input as _rooted("full", "secret", access, "")
		sandbox.deny == set() with input as _rooted("none", "secret", access, "")
		sandbox.deny == set() with input as _rooted("full", "secret", access, "path")
	}
}

_shown(wanted, place) := object.union(
	_handler(wanted, "full"),
	{"targets": [object.union(testing.target, {"access": "list", "kind": "directory", "place": place})]},
)

test_directory_in_a_protected_place if {
	sandbox.deny == {{
		"code": "protected_root",
		"message": "path: data/a.csv is or lies in a place of policies, manifests, keys or the record of a run, which no program sees",
		"param": "path",
		"detail": {"requested": "data/a.csv"},
	}} with input as _shown("full", "inside")
}

test_directory_that_holds_a_protected_place if {
	sandbox.deny == set() with input as _shown("full", "holds")
	sandbox.deny == set() with input as _shown("full", "")
}

test_directory_that_no_sandbox_shows if {
	sandbox.deny == set() with input as _shown("none", "inside")
	sandbox.deny == set() with input as object.union(_shown("full", "inside"), {"command": {"present": false}})
}

test_root_that_no_sandbox_shows if {
	sandbox.deny == set() with input as _rooted("none", "inside", ["write"], "")
	sandbox.deny == set() with input as _rooted("none", "holds", ["write"], "")
	sandbox.deny == set() with input as _rooted("full", "", ["write"], "")
	sandbox.deny == set() with input as object.union(testing.base, {"tool": {"roots": [object.union(testing.root, {"place": "inside"})]}})
}

test_only_programs_need_isolation if {
	sandbox.deny == set() with input as testing.base
	sandbox.deny == set() with input as testing.base with data.runlens.sandbox.least as "full"
}
