package runlens.rules.sandbox_test

import data.runlens.lib.testing
import data.runlens.rules.sandbox

_unavailable(wanted, level) := {
	"code": "sandbox_unavailable",
	"message": sprintf("the tool asks for sandbox level %s, available is %s", [wanted, level]),
	"param": "",
	"detail": {"wanted": wanted, "level": level},
}

_call(wanted, level) := object.union(
	testing.with_command({}),
	{"tool": {"sandbox": wanted}, "sandbox": {"level": level}},
)

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
	}
}

test_too_little_isolation if {
	every pair in [["partial", "none"], ["full", "none"], ["full", "partial"], ["full", "unheard_of"]] {
		sandbox.deny == {_unavailable(pair[0], pair[1])} with input as _call(pair[0], pair[1])
	}
}

test_no_wish_is_the_highest if {
	every wanted in {"", "unheard_of"} {
		sandbox.deny == {_unavailable("full", "partial")} with input as _call(wanted, "partial")
	}
}

test_only_programs_need_isolation if {
	sandbox.deny == set() with input as testing.base
}
