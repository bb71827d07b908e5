package call

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads the string that starts at pos.
func (s *scanner) text() (string, *Malformed) {
	start := s.pos + 1
	var seen byte // all bytes together: a high bit means not ASCII
	escaped := false
	i := start
	for ; i < len(s.src) && s.src[i] != '"'; i++ {
		c := s.src[i]
		seen |= c
		if c == '\\' {
			escaped = true
			i++ // whatever is escaped, it does not end the string
		} else if c < ' ' {
			return "", s.fail(ruleSyntax, i, `escape control characters in strings, a newline as \n`)
		}
	}
	if i >= len(s.src) {
		return "", s.fail(ruleSyntax, s.pos, "end the string with a double quote")
	}
	raw := s.src[start:i]
	if seen >= utf8.RuneSelf && !utf8.ValidString(raw) {
		return "", s.fail(ruleBadUTF8, start+firstInvalid(raw), "send UTF-8")
	}
	s.pos = i + 1
	if !escaped {
		return raw, nil
	}
	return s.unescape(raw, start)
}

// unescape decodes raw, the inside of a string literal that starts at the
// offset start.
func (s *scanner) unescape(raw string, start int) (string, *Malformed) {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; ; {
		next := strings.IndexByte(raw[i:], '\\')
		if next < 0 {
			b.WriteString(raw[i:])
			return b.String(), nil
		}
		b.WriteString(raw[i : i+next])
		i += next
		r, size := escape(raw[i:])
		switch {
		case size == 0:
			return "", s.fail(ruleSyntax, start+i, `use only the escapes \" \\ \/ \b \f \n \r \t \uXXXX`)
		case r < 0:
			return "", s.fail(ruleLoneSurrogate, start+i, "send both halves, or the character itself")
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		default:
			b.WriteRune(r)
		}
		i += size
	}
}

// escape reads the escape sequence at the start of s: the character and the
// bytes it takes. The character is -1 for half a surrogate pair, the size 0
// for what is no escape sequence.
func escape(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := hex4(s[2:])
		if !ok {
			return 0, 0
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if strings.HasPrefix(s[6:], `\u`) {
			if low, ok := hex4(s[8:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != unicode.ReplacementChar {
					return pair, 12
				}
			}
		}
		return -1, 6
	}
	return 0, 0
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for i := range 4 {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// offsetIn returns where in raw, the inside of a valid string literal, the
// byte number at of its decoded text stands.
func offsetIn(raw string, at int) int {
	i := 0
	for decoded := 0; i < len(raw); {
		width, size := 1, 1
		if raw[i] == '\\' {
			var r rune
			r, size = escape(raw[i:])
			width = utf8.RuneLen(r)
		}
		if decoded+width > at {
			break
		}
		decoded += width
		i += size
	}
	return i
}

func firstInvalid(s string) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

// hasControl reports a control character: C0, DEL or C1.
func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == 0x7f {
			return true
		} else if c >= utf8.RuneSelf {
			return strings.ContainsFunc(s[i:], unicode.IsControl)
		}
	}
	return false
}
