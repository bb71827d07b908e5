package runlens.rules.FAMILY_test

import data.runlens.lib.testing
import data.runlens.rules.FAMILY

# The quiet case, the loud one, and the nearest miss.
test_other_names_are_fine if {
	count(FAMILY.deny) == 0 with input as testing.base
}

test_the_name_is_refused if {
	reasons := FAMILY.deny with input as _named("refused-by-FAMILY")
	reasons == {{
		"code": "FAMILY_refused",
		"message": "path: data/refused-by-FAMILY has the name refused-by-FAMILY, which FAMILY refuses",
		"param": "path",
		"detail": {"requested": "data/refused-by-FAMILY", "name": "refused-by-FAMILY"},
	}}
}

test_a_longer_name_is_fine if {
	count(FAMILY.deny) == 0 with input as _named("refused-by-FAMILY.txt")
}

_named(name) := testing.with_target({
	"raw": concat("/", ["data", name]),
	"requested": concat("/", ["data", name]),
	"folded": ["data", name],
})
