package call

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Digest returns "sha256:" and the lower-case hex SHA-256 of the canonical form
// of [Name, Arguments]. Calls with equal digests have the same name and the
// same arguments by type and value; the call id, the shape, the order of keys
// and the spelling of numbers and escapes do not count.
func (c *Call) Digest() string {
	if c.digest != "" {
		return c.digest
	}
	return digest(c.Name, c.Arguments, nil)
}

// digest uses space, which may be nil, for the canonical form.
func digest(name string, arguments map[string]any, space []byte) string {
	form := append(space[:0], '[')
	form = appendText(form, name)
	form = appendObject(form, arguments)
	sum := sha256.Sum256(append(form, ']'))
	var text [len("sha256:") + 2*sha256.Size]byte
	hex.Encode(text[copy(text[:], "sha256:"):], sum[:])
	return string(text[:])
}

// AppendCanonical appends the typed canonical form of a decoded JSON value.
// Two values have the same form if and only if they are equal JSON values:
//
//	null, false, true   n, f, t
//	number              # digits e exponent ;   the value is digits × 10^exponent, the digits
//	                    without zeros around them, both with - when negative; zero is #0;
//	string              " its length in bytes : its bytes
//	array               [ its elements ]
//	object              { key as a string, value, … }   keys in byte order
//
// so that 1, 1.0 and 10e-1 are #1e0; and "1" is "1:1 (without the spaces above).
// It takes what [Call] holds, and int, int64, uint64 and float64 as the numbers
// they are. Any other Go value gets a form of its own, ? and its Go syntax as a
// string, that no JSON value has.
func AppendCanonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, 'n')
	case bool:
		if v {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case string:
		return appendText(dst, v)
	case json.Number:
		if form, ok := appendNumber(dst, string(v)); ok {
			return form
		}
	case []any:
		dst = append(dst, '[')
		for _, e := range v {
			dst = AppendCanonical(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		return appendObject(dst, v)
	case int:
		return AppendCanonical(dst, json.Number(strconv.Itoa(v)))
	case int64:
		return AppendCanonical(dst, json.Number(strconv.FormatInt(v, 10)))
	case uint64:
		return AppendCanonical(dst, json.Number(strconv.FormatUint(v, 10)))
	case float64: // NaN and the infinities are not numbers of JSON
		if form, ok := appendNumber(dst, strconv.FormatFloat(v, 'e', -1, 64)); ok {
			return form
		}
	}
	return appendText(append(dst, '?'), fmt.Sprintf("%#v", v))
}

func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, int64(len(s)), 10)
	dst = append(dst, ':')
	return append(dst, s...)
}

func appendNumber(dst []byte, text string) ([]byte, bool) {
	d, ok := parseDecimal(text)
	if !ok {
		return dst, false
	}
	form := append(dst, '#')
	if d.negative {
		form = append(form, '-')
	}
	from := len(form)
	form, exponent := d.normal(form)
	if len(form) == from { // zero has no sign
		return append(dst, '#', '0', ';'), true
	}
	form = append(form, 'e')
	form = strconv.AppendInt(form, int64(exponent), 10)
	return append(form, ';'), true
}

func appendObject(dst []byte, object map[string]any) []byte {
	var few [16]string // most objects sort without an allocation
	keys := few[:0]
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for _, key := range keys {
		dst = appendText(dst, key)
		dst = AppendCanonical(dst, object[key])
	}
	return append(dst, '}')
}
