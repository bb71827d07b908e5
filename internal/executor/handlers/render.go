package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting that renderJSON follows. Admission allows 64.
const maxDepth = 512

// renderJSON spells a value the one way RunLens writes JSON: two spaces of
// indent, keys sorted by code point, numbers as they were spelt, only what JSON
// requires escaped, a final newline. pointer names the value in errors.
func renderJSON(value any, pointer string) ([]byte, string, error) {
	r := renderer{}
	r.value(value, pointer, 0)
	if r.err != nil {
		return nil, r.pointer, r.err
	}
	return append(r.out, '\n'), pointer, nil
}

type renderer struct {
	out     []byte
	err     error // the first
	pointer string
}

func (r *renderer) fail(pointer string, err error) {
	if r.err == nil {
		r.err, r.pointer = err, pointer
	}
}

func (r *renderer) value(value any, pointer string, depth int) {
	if depth > maxDepth {
		r.fail(pointer, errors.New("nested too deeply"))
		return
	}
	switch v := value.(type) {
	case nil:
		r.out = append(r.out, "null"...)
	case bool:
		r.out = strconv.AppendBool(r.out, v)
	case string:
		r.string(v, pointer)
	case json.Number:
		if !isNumber(string(v)) {
			r.fail(pointer, errors.New("not a JSON number"))
		}
		r.out = append(r.out, v...)
	case []any:
		r.array(v, pointer, depth)
	case map[string]any:
		r.object(v, pointer, depth)
	default:
		r.fail(pointer, fmt.Errorf("a %T is not a JSON value", value))
	}
}

func (r *renderer) array(list []any, pointer string, depth int) {
	if len(list) == 0 {
		r.out = append(r.out, "[]"...)
		return
	}
	r.out = append(r.out, '[')
	for i, item := range list {
		r.next(i, depth+1)
		r.value(item, pointer+"/"+strconv.Itoa(i), depth+1)
	}
	r.line(depth)
	r.out = append(r.out, ']')
}

func (r *renderer) object(object map[string]any, pointer string, depth int) {
	if len(object) == 0 {
		r.out = append(r.out, "{}"...)
		return
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sort.Strings(keys) // the order of UTF-8 bytes is the order of code points
	r.out = append(r.out, '{')
	for i, key := range keys {
		r.next(i, depth+1)
		below := pointer + "/" + escapePointer(key)
		r.string(key, below)
		r.out = append(r.out, ": "...)
		r.value(object[key], below, depth+1)
	}
	r.line(depth)
	r.out = append(r.out, '}')
}

// next starts the line of the i-th member.
func (r *renderer) next(i, depth int) {
	if i > 0 {
		r.out = append(r.out, ',')
	}
	r.line(depth)
}

func (r *renderer) line(depth int) {
	r.out = append(r.out, '\n')
	for range depth {
		r.out = append(r.out, "  "...)
	}
}

func (r *renderer) string(s, pointer string) {
	if !utf8.ValidString(s) {
		r.fail(pointer, errors.New("not valid UTF-8"))
		return
	}
	const hex = "0123456789abcdef"
	r.out = append(r.out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			r.out = append(r.out, '\\', c)
		case c >= 0x20:
			r.out = append(r.out, c)
		case c == '\n':
			r.out = append(r.out, `\n`...)
		case c == '\r':
			r.out = append(r.out, `\r`...)
		case c == '\t':
			r.out = append(r.out, `\t`...)
		case c == '\b':
			r.out = append(r.out, `\b`...)
		case c == '\f':
			r.out = append(r.out, `\f`...)
		default:
			r.out = append(r.out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	r.out = append(r.out, '"')
}

// isNumber holds text against RFC 8259's grammar of a number.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole := digits(s)
	if whole == 0 || whole > 1 && s[0] == '0' {
		return false
	}
	s = s[whole:]
	if strings.HasPrefix(s, ".") {
		n := digits(s[1:])
		if n == 0 {
			return false
		}
		s = s[1+n:]
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		return s != "" && digits(s) == len(s)
	}
	return s == ""
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// escapePointer spells a key for a JSON pointer (RFC 6901).
func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
