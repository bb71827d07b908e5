package call

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanner checks and decodes JSON in one pass. Decoded strings without escapes
// are parts of src, so src must be a copy that nobody else changes.
type scanner struct {
	src     string
	pos     int
	limit   int // levels allowed
	deepest int // levels seen
	blanks  int // bytes between tokens skipped so far
}

func (s *scanner) fail(rule string, at int, fix string) *Malformed {
	return &Malformed{Rule: rule, Offset: int64(at), Fix: fix}
}

// unexpected explains the byte at pos, where want would have been right.
func (s *scanner) unexpected(want string) *Malformed {
	if s.pos >= len(s.src) {
		return s.fail(ruleSyntax, s.pos, "complete the text, it ends where it needs "+want)
	}
	if s.src[s.pos] >= utf8.RuneSelf {
		if r, size := utf8.DecodeRuneInString(s.src[s.pos:]); r == utf8.RuneError && size == 1 {
			return s.fail(ruleBadUTF8, s.pos, "send UTF-8")
		}
	}
	return s.fail(ruleSyntax, s.pos, "write "+want+" here")
}

func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
			s.blanks++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end; no token starts with a 0 byte.
func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// begin stands at the first byte of a text that holds one value.
func (s *scanner) begin() *Malformed {
	if strings.HasPrefix(s.src, "\ufeff") {
		return s.fail(ruleBOM, 0, "send UTF-8 without a byte order mark")
	}
	s.space()
	if s.pos == len(s.src) {
		return s.fail(ruleEmpty, s.pos, `send a JSON object, {} for none`)
	}
	return nil
}

// end makes sure that nothing follows the value.
func (s *scanner) end() *Malformed {
	s.space()
	if s.pos < len(s.src) {
		return s.fail(ruleTrailingData, s.pos, "send one JSON value")
	}
	return nil
}

// value decodes what stands at pos; depth counts the open arrays and objects.
func (s *scanner) value(depth int) (any, *Malformed) {
	switch c := s.peek(); {
	case c == '"':
		text, bad := s.text()
		if bad != nil {
			return nil, bad
		}
		return text, nil
	case c == '{':
		object, bad := s.object(depth)
		if bad != nil {
			return nil, bad
		}
		return object, nil
	case c == '[':
		return s.array(depth)
	case c == '-' || '0' <= c && c <= '9':
		number, bad := s.number()
		if bad != nil {
			return nil, bad
		}
		return number, nil
	case s.word("true"):
		return true, nil
	case s.word("false"):
		return false, nil
	case s.word("null"):
		return nil, nil
	case c == '\'':
		return nil, s.fail(ruleSyntax, s.pos, "write strings in double quotes")
	case c == 'N' || c == 'I':
		return nil, s.fail(ruleSyntax, s.pos, "leave out NaN and Infinity, JSON has none")
	}
	return nil, s.unexpected("a value")
}

func (s *scanner) word(w string) bool {
	if !strings.HasPrefix(s.src[s.pos:], w) {
		return false
	}
	s.pos += len(w)
	return true
}

// open takes the bracket at pos.
func (s *scanner) open(depth int) *Malformed {
	if depth >= s.limit {
		return s.fail(ruleTooDeep, s.pos, "nest at most "+strconv.Itoa(s.limit)+" levels, the envelope counted")
	}
	s.deepest = max(s.deepest, depth+1)
	s.pos++
	return nil
}

func (s *scanner) array(depth int) (any, *Malformed) {
	if bad := s.open(depth); bad != nil {
		return nil, bad
	}
	list := []any{}
	s.space()
	if s.peek() == ']' {
		s.pos++
		return list, nil
	}
	for {
		s.space()
		if s.peek() == ']' {
			return nil, s.fail(ruleSyntax, s.pos, "drop the comma before it").at(len(list))
		}
		v, bad := s.value(depth + 1)
		if bad != nil {
			return nil, bad.at(len(list))
		}
		list = append(list, v)
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return list, nil
		default:
			return nil, s.unexpected("',' or ']'")
		}
	}
}

func (s *scanner) object(depth int) (map[string]any, *Malformed) {
	if bad := s.open(depth); bad != nil {
		return nil, bad
	}
	object := map[string]any{}
	for first := true; ; first = false {
		key, at, done, bad := s.key(first)
		if done || bad != nil {
			return object, bad
		}
		if _, twice := object[key]; twice {
			return nil, s.fail(ruleDuplicateKey, at, "keep one").in(key)
		}
		v, bad := s.value(depth + 1)
		if bad != nil {
			return nil, bad.in(key)
		}
		object[key] = v
	}
}

// key reads up to the next member's value; done says that the object ended.
func (s *scanner) key(first bool) (key string, at int, done bool, bad *Malformed) {
	s.space()
	if s.peek() == '}' {
		s.pos++
		return "", 0, true, nil
	}
	if !first {
		if s.peek() != ',' {
			return "", 0, false, s.unexpected("',' or '}'")
		}
		s.pos++
		s.space()
		if s.peek() == '}' {
			return "", 0, false, s.fail(ruleSyntax, s.pos, "drop the comma before it")
		}
	}
	at = s.pos
	if s.peek() != '"' {
		return "", 0, false, s.unexpected("a key in double quotes")
	}
	if key, bad = s.text(); bad != nil {
		return "", 0, false, bad
	}
	s.space()
	if s.peek() != ':' { // not named: without a colon it may be a value
		return "", 0, false, s.unexpected("':' after the key")
	}
	s.pos++
	if hasControl(key) {
		return "", 0, false, s.fail(ruleControlInKey, at, "leave it out").in(key)
	}
	s.space()
	return key, at, false, nil
}
