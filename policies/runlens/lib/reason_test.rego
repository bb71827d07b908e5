package runlens.lib.reason_test

import data.runlens.lib

_meta := {"title": "it went wrong", "custom": {"code": "wrong"}}

_reason(meta, detail) := lib.reason(object.union(_meta, meta), detail)

_message(template, detail) := _reason({"custom": {"message": template}}, detail).message

test_reason_from_annotation if {
	_reason({}, {"param": "path", "size": 3}) == {
		"code": "wrong",
		"message": "it went wrong",
		"param": "path",
		"detail": {"size": 3},
	}
}

test_message_names_facts if {
	_message("{param}: {n} of {list}, {none}, {set}, {yes}, {object}, {unknown}", {
		"param": "path",
		"n": 5,
		"list": ["a", ["b", 1]],
		"none": [],
		"set": {"z", "y"},
		"yes": true,
		"object": {"k": "v"},
	}) == `path: 5 of a, ["b", 1], none, y, z, true, {"k": "v"}, {unknown}`
}

test_title_is_filled_in_too if {
	lib.reason({"title": "{n} times", "custom": {"code": "wrong"}}, {"n": 2}).message == "2 times"
}

test_facts_do_not_fill_in_facts if {
	_message("{a} {b}", {"a": "{b}", "b": "x"}) == "{b} x"
}

test_foreign_text_is_escaped_and_cut if {
	_message("{a}", {"a": "x\n\u202ey\u001b[0m"}) == `x\n\u202ey\x1b[0m`
	_message("{a}", {"a": `say "no"`}) == `say \"no\"`
	count(_message("{a}", {"a": concat("", [sprintf("%d", [i]) | some i in numbers.range(100, 999)])})) == 200
}

test_location_is_handed_on if {
	place := {"file": "policies/x.rego", "row": 3}
	_reason({"custom": {"location": place}}, {}).location == place
	object.keys(_reason({"custom": {"location": "x"}}, {})) == {"code", "message", "param", "detail"}
}

test_missing_annotation_still_makes_a_reason if {
	every meta in [{}, {"title": "t"}, {"custom": {}}, {"custom": {"code": 3}}, {"custom": "x"}, null, "x"] {
		lib.reason(meta, {"param": "path", "n": 1}) == {
			"code": "policy_unannotated",
			"message": "a rule without annotation objects",
			"param": "path",
			"detail": {"n": 1},
		}
	}
}

test_missing_texts_fall_back if {
	lib.reason({"custom": {"code": "wrong"}}, {}).message == "wrong"
	lib.reason({"title": "t", "custom": {"code": "wrong", "message": 3}}, {}).message == "t"
	lib.reason({"title": 3, "custom": {"code": "wrong"}}, {}).message == "wrong"
}

test_any_detail_makes_a_reason if {
	every detail in ["x", null, ["x"], {"x"}, 3] {
		_reason({}, detail) == {"code": "wrong", "message": "it went wrong", "param": "", "detail": {"value": detail}}
	}
	_reason({}, {"param": 3}) == {"code": "wrong", "message": "it went wrong", "param": "", "detail": {}}
}
