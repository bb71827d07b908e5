package runlens.rules.FAMILY_test

import data.runlens.rules.FAMILY

# The quiet case, the loud one, and the nearest miss.
test_other_names_are_fine if count(FAMILY.deny) == 0 with input as _reading("data/notes.txt", ["data", "notes.txt"])

test_the_name_is_refused if {
	reasons := FAMILY.deny with input as _reading("data/refused-by-FAMILY", ["data", "refused-by-FAMILY"])
	{[reason.code, reason.param, reason.detail] | some reason in reasons} == {[
		"FAMILY_refused",
		"path",
		{"requested": "data/refused-by-FAMILY", "name": "refused-by-FAMILY"},
	]}
}

test_a_longer_name_is_fine if {
	count(FAMILY.deny) == 0 with input as _reading("data/refused-by-FAMILY.txt", ["data", "refused-by-FAMILY.txt"])
}

_reading(requested, folded) := {"targets": [{"param": "path", "access": "read", "requested": requested, "folded": folded}]}
