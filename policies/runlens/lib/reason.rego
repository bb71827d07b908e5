# METADATA
# title: Reasons
# description: |
#   How a rule says what it objects to: lib.reason(rego.metadata.rule(), detail).
#   The code and the text come from the rule's annotation, the facts from detail.
package runlens.lib

# METADATA
# title: A reason from a rule's annotation and the facts that decided
# description: |
#   Total: whatever meta and detail are, there is a reason, so a rule that was
#   not annotated still denies. The message is custom.message, else the title,
#   with {name} filled in from detail; detail.param becomes the reason's param.
reason(meta, detail) := object.union(
	{
		"code": rule.custom.code,
		"message": strings.replace_n(
			{sprintf("{%s}", [name]): _text(value) | some name, value in facts},
			_template(rule),
		),
		"param": _param(facts),
		"detail": object.remove(facts, ["param"]),
	},
	_location(meta),
) if {
	rule := _annotation(meta)
	facts := _facts(detail)
}

_annotation(meta) := meta if {
	is_string(meta.custom.code)
} else := _unannotated

# METADATA
# title: a rule without annotation objects
# description: Stands in for the annotation that a rule forgot.
# custom:
#   code: policy_unannotated
_unannotated := rego.metadata.rule()

_facts(detail) := detail if {
	is_object(detail)
} else := {"value": detail}

_param(facts) := facts.param if {
	is_string(facts.param)
} else := ""

_location(meta) := {"location": meta.custom.location} if {
	is_object(meta.custom.location)
} else := {}

_template(rule) := rule.custom.message if {
	is_string(rule.custom.message)
} else := rule.title if {
	is_string(rule.title)
} else := rule.custom.code

_text(value) := concat(", ", [_word(item) | some item in value]) if {
	_listed(value)
	count(value) > 0
} else := "none" if {
	_listed(value)
} else := _word(value)

_listed(value) if is_array(value)

_listed(value) if is_set(value)

# Text that others chose: escaped, and cut at 200 characters.
_word(value) := substring(trim_suffix(trim_prefix(sprintf("%q", [value]), `"`), `"`), 0, 200) if {
	is_string(value)
} else := sprintf("%v", [value])
