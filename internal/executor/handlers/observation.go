package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Observation is the text that a model gets to see of a result: the handler's
// own, else its output as JSON. Control characters, terminal escapes, invalid
// UTF-8, and the characters that reorder or hide text are spelt out. Text over
// limit bytes keeps its head and its tail, with a mark between that says how
// much is missing; cut says so too. The mark comes on top of limit; limit ≤ 0
// leaves the mark alone.
func Observation(res Result, limit int) (text string, cut bool) {
	text = res.Observation
	if text == "" && res.Output != nil {
		text = outputText(res.Output)
	}
	return preview(visible(text), limit)
}

func outputText(output any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(output); err != nil {
		return fmt.Sprintf("(output that is not JSON: %T)", err)
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

// preview keeps two thirds of the limit from the head and the rest from the
// tail, whole characters both. A line of a transcript that the cut goes through is
// taken up with its label.
func preview(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	limit = max(limit, 0)
	head := text[:wholeHead(text, limit-limit/3)]
	rest := wholeTail(text, len(text)-limit/3)
	return head + cutMark(int64(rest-len(head)), int64(len(text))) + takeUp(text, rest), true
}

// cutMark stands where text was taken out.
func cutMark(missing, total int64) string {
	return fmt.Sprintf("\n[… %d of %d bytes cut here …]\n", missing, total)
}

// wholeHead is the largest i ≤ n at which text can be cut without splitting a
// character.
func wholeHead(text string, n int) int {
	for i := n; i > 0 && n-i < utf8.UTFMax; i-- {
		if i == len(text) || utf8.RuneStart(text[i]) {
			return i
		}
	}
	return min(n, len(text))
}

// wholeTail is the smallest i ≥ n at which text can be cut without splitting a
// character.
func wholeTail(text string, n int) int {
	for i := n; i-n < utf8.UTFMax; i++ {
		if i == len(text) || utf8.RuneStart(text[i]) {
			return i
		}
	}
	return n
}

// visible spells out what a terminal would obey or a reader would not see.
// Tabs, line feeds and CR LF (which becomes LF) stay as they are.
func visible(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case deceives(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// plain says that text needs no spelling out; most text doesn't.
func plain(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// deceives names the characters that act on a terminal (C1), end a line in some
// places and not in others, reorder what is read (bidirectional controls) or carry
// text that nobody sees (tags, annotations). Joiners
// and variation selectors are left alone: real scripts and emoji need them.
func deceives(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f:
	case r == 0x200e || r == 0x200f || r == 0x061c:
	case r >= 0x202a && r <= 0x202e:
	case r >= 0x2066 && r <= 0x2069:
	case r == 0x2028 || r == 0x2029: // some show these as the ends of lines
	case r >= 0x206a && r <= 0x206f:
	case r >= 0xfff9 && r <= 0xfffb:
	case r == 0xfeff:
	case r >= 0xe0000 && r <= 0xe007f:
	default:
		return false
	}
	return true
}
