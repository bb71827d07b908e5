package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/glyph"
)

// Escape makes text safe to print on one line of a terminal: control
// characters, invisible ones, those that turn the direction of text and bytes
// that are not UTF-8 come out as \n, \x1b or \u202e. Printable text in any
// script, and backslashes, stay as they are.
func Escape(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case shown(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		text = text[size:]
	}
	return b.String()
}

func plain(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7e {
			return false
		}
	}
	return true
}

// shown tells whether a rune can be seen in a line and told from its neighbours: a
// space that is none of the keyboard's is not.
func shown(r rune) bool { return r == ' ' || unicode.IsPrint(r) && glyph.Shows(r) }
