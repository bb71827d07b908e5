package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/glyph"
)

// Observation is the text that a model gets to see of a result: the handler's
// own, else its output as JSON, in which the same holds by JSON's own escapes.
// Control characters, terminal escapes, invalid UTF-8, and the characters that
// reorder text or show nothing are spelt out. Text over limit bytes keeps its head
// and its tail, with a mark between that says how much is missing; cut says so too.
// The mark comes on top of limit; limit ≤ 0 leaves the mark alone.
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
	return string(glyph.JSON(bytes.TrimSuffix(buf.Bytes(), []byte("\n")), glyph.Hidden))
}

// preview keeps two thirds of the limit from the head and the rest from the
// tail, whole characters both. A line of a transcript that the cut goes through is
// taken up with its label; of a label all is kept or nothing.
func preview(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	limit = max(limit, 0)
	head := leaveOff(text, wholeHead(text, limit-limit/3))
	label, rest := takeUp(text, head, wholeTail(text, len(text)-limit/3))
	return text[:head] + cutMark(int64(rest-head), int64(len(text))) + label + text[rest:], true
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

// visible spells out what a terminal would obey or a reader would not see; joiners
// and selectors, too, but one at a time where scripts and emoji have them.
// Tabs, line feeds and CR LF (which becomes LF) stay as they are.
func visible(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	before := rune(0)
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
		case !glyph.Shows(r) && !glyph.Joins(before, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
		before = r
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
