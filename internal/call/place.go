package call

import "bytes"

// Piece is a value that Split gives, and where it begins in the stream.
type Piece struct {
	Raw []byte // nil when it was too long to keep
	// Line and Column count from 1; Column is in characters.
	Line, Column int
}

// At is the place of an offset into Raw. An offset outside of it is taken for the
// nearest inside.
func (p Piece) At(offset int) (line, column int) {
	before := p.Raw[:min(max(offset, 0), len(p.Raw))]
	line, column = p.Line, p.Column
	if n := bytes.Count(before, []byte{'\n'}); n > 0 {
		line, column = line+n, 1
		before = before[bytes.LastIndexByte(before, '\n')+1:]
	}
	return line, column + characters(before)
}

// characters counts them without looking whether they are valid.
func characters(text []byte) (n int) {
	for _, c := range text {
		if starts(c) {
			n++
		}
	}
	return n
}

// starts holds for the first byte of a character in UTF-8.
func starts(c byte) bool { return c&0xC0 != 0x80 }

// Locate is the offset in raw at which the value of an argument begins, whatever
// the shape of the call; inside the string when the arguments are one. found is
// false for what Admit refuses, and for a call without that argument.
func Locate(raw []byte, argument string) (offset int, found bool) {
	s := scanner{src: string(raw), limit: MaxDepth}
	if _, bad := admit(raw); bad != nil {
		return 0, false
	}
	e, bad := s.document()
	if bad != nil {
		return 0, false
	}
	shape, bad := e.shape()
	if bad != nil {
		return 0, false
	}
	key := "arguments"
	switch shape {
	case Flat:
		m := e.find(argument)
		if m == nil || argument == "tool" || argument == "call_id" {
			return 0, false
		}
		return m.start, true
	case OpenAIChat:
		e, _ = e.find("function").value.(*envelope)
	case MCP:
		e, _ = e.find("params").value.(*envelope)
	case Anthropic:
		key = "input"
	}
	m := e.find(key)
	if m == nil {
		return 0, false
	}
	if text, inText := m.value.(string); inText {
		at, found := valueIn(text, argument)
		return m.start + 1 + offsetIn(s.src[m.start+1:m.end-1], at), found
	}
	at, found := valueIn(s.src[m.start:m.end], argument)
	return m.start + at, found
}

// valueIn is the offset of a member's value in the text of an object, which is
// valid.
func valueIn(text, key string) (offset int, found bool) {
	s := scanner{src: text, limit: MaxDepth}
	s.space()
	if s.peek() != '{' || s.open(0) != nil {
		return 0, false
	}
	for first := true; ; first = false {
		name, _, done, bad := s.key(first)
		if done || bad != nil {
			return 0, false
		}
		if name == key {
			return s.pos, true
		}
		if _, bad := s.value(1); bad != nil {
			return 0, false
		}
	}
}
