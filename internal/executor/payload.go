package executor

import (
	"bytes"
	"encoding/json"
	"errors"
)

// spliced is an event's payload with one large member, already in its recorded
// form, put in as it is: encoding it again would cost more than judging the call.
func spliced(head any, name string, member []byte) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(head); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(buf.Bytes(), []byte("}\n"))
	if member == nil {
		member = []byte("null")
	}
	line = append(append(append(line, `,"`...), name...), `":`...)
	return append(append(line, member...), '}'), nil
}

var errNoMembers = errors.New("payload is not in the ledger's form")

// members calls fn with the members of a payload in order until fn returns
// false. The payload is in the ledger's form: one object, no white space.
func members(payload []byte, fn func(name string, value []byte) bool) error {
	if len(payload) < 2 || payload[0] != '{' {
		return errNoMembers
	}
	for at := 1; at < len(payload) && payload[at] != '}'; {
		name, after := element(payload, at)
		if name == nil || name[0] != '"' || after >= len(payload) || payload[after] != ':' {
			return errNoMembers
		}
		value, end := element(payload, after+1)
		if value == nil {
			return errNoMembers
		}
		if !fn(string(name[1:len(name)-1]), value) {
			return nil
		}
		if at = end; at < len(payload) && payload[at] == ',' {
			at++
		}
	}
	return nil
}

// element returns the JSON value that begins at from, and where it ends.
func element(b []byte, from int) (value []byte, end int) {
	depth, text := 0, false
	for i := from; i < len(b); i++ {
		switch c := b[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
			if !text && depth == 0 {
				return b[from : i+1], i + 1
			}
		case text:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			if depth == 0 {
				return scalar(b, from, i)
			}
			if depth--; depth == 0 {
				return b[from : i+1], i + 1
			}
		case (c == ',' || c == ':') && depth == 0:
			return scalar(b, from, i)
		}
	}
	return nil, len(b)
}

func scalar(b []byte, from, to int) ([]byte, int) {
	if from == to {
		return nil, to
	}
	return b[from:to], to
}
