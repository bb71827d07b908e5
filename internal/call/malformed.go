package call

import (
	"fmt"
	"strconv"
)

// Malformed is why bytes are not a call: one rule that they break, where, and
// what to write instead. It names keys, never values.
type Malformed struct {
	// Rule is one of empty, too_large, bom, syntax, bad_utf8, lone_surrogate,
	// control_in_key, duplicate_key, too_deep, number_range, trailing_data,
	// not_an_object, case_variant_key, ambiguous_shape, unknown_shape,
	// unknown_key, missing_key, wrong_type, wrong_method, bad_name and bad_id.
	// The names do not change.
	Rule string
	// Pointer is the place, such as arguments.paths[3] or function.arguments.id,
	// a key that is not a plain word quoted: arguments["a b"]. "" is the call
	// itself.
	Pointer string
	// Offset counts bytes from the start of what was given to Admit, also for a
	// place inside an argument string.
	Offset int64
	Fix    string
	// Name and ID are the tool's name and the call id, where the envelope could
	// be read and only what it holds is at fault; "" otherwise. They are for the
	// answer: the sender knows the call by them.
	Name, ID string
}

// The rules. Of several broken ones the first in the bytes is reported, the
// rules of the envelope last.
const (
	ruleEmpty         = "empty"
	ruleTooLarge      = "too_large"
	ruleBOM           = "bom"
	ruleSyntax        = "syntax"
	ruleBadUTF8       = "bad_utf8"
	ruleLoneSurrogate = "lone_surrogate"
	ruleControlInKey  = "control_in_key"
	ruleDuplicateKey  = "duplicate_key"
	ruleTooDeep       = "too_deep"
	ruleNumberRange   = "number_range"
	ruleTrailingData  = "trailing_data"
	ruleNotAnObject   = "not_an_object"
	ruleCaseVariant   = "case_variant_key"
	ruleAmbiguous     = "ambiguous_shape"
	ruleUnknownShape  = "unknown_shape"
	ruleUnknownKey    = "unknown_key"
	ruleMissingKey    = "missing_key"
	ruleWrongType     = "wrong_type"
	ruleWrongMethod   = "wrong_method"
	ruleBadName       = "bad_name"
	ruleBadID         = "bad_id"
)

// Error names the place, the rule in words, the byte and the fix:
// arguments.path: key appears twice (byte 41): keep one.
func (m *Malformed) Error() string {
	place := m.Pointer
	if place == "" {
		place = "call"
	}
	return fmt.Sprintf("%s: %s (byte %d): %s", place, problem(m.Rule), m.Offset, m.Fix)
}

func problem(rule string) string {
	switch rule {
	case ruleEmpty:
		return "empty"
	case ruleTooLarge:
		return "too large"
	case ruleBOM:
		return "byte order mark"
	case ruleSyntax:
		return "not valid JSON"
	case ruleBadUTF8:
		return "not valid UTF-8"
	case ruleLoneSurrogate:
		return "half of a surrogate pair"
	case ruleControlInKey:
		return "control character in a key"
	case ruleDuplicateKey:
		return "key appears twice"
	case ruleTooDeep:
		return "nested too deep"
	case ruleNumberRange:
		return "number out of range"
	case ruleTrailingData:
		return "more data after the value"
	case ruleNotAnObject:
		return "not a JSON object"
	case ruleCaseVariant:
		return "key differs from another only in case"
	case ruleAmbiguous:
		return "could be read as two shapes of call"
	case ruleUnknownShape:
		return "no known shape of call"
	case ruleUnknownKey:
		return "unknown key"
	case ruleMissingKey:
		return "missing"
	case ruleWrongType:
		return "wrong type"
	case ruleWrongMethod:
		return "not a tool call"
	case ruleBadName:
		return "not a tool name"
	case ruleBadID:
		return "not an id"
	}
	return rule
}

// in puts the place below key; at below the element i. The scanner calls them
// on its way out, so that a pointer costs nothing while all is well.
func (m *Malformed) in(key string) *Malformed { return m.below(segment(key)) }

func (m *Malformed) at(i int) *Malformed { return m.below("[" + strconv.Itoa(i) + "]") }

func (m *Malformed) below(parent string) *Malformed {
	if m.Pointer != "" && m.Pointer[0] != '[' {
		parent += "."
	}
	m.Pointer = parent + m.Pointer
	return m
}
