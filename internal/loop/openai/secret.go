package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/glyph"
)

// secret is the key. Everything a server sends may hold it, whole or in part.
type secret string

const (
	tellTale = 8   // so many bytes of the key in a row are taken for it
	shownCut = 200 // bytes of a foreign text that an error shows
	blotted  = "[key]"
)

// scrub blots out the key and every longer piece of it.
func (s secret) scrub(text string) string {
	key := string(s)
	if key == "" {
		return text
	}
	if len(key) < tellTale {
		return strings.ReplaceAll(text, key, blotted)
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		n := tellTale
		for i+n <= len(text) && strings.Contains(key, text[i:i+n]) {
			n++
		}
		if n--; n < tellTale {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(blotted)
		i += n
	}
	return b.String()
}

// quoted is a foreign text as an error shows it: without the key, cut, escaped.
func (s secret) quoted(text string) string {
	return glyph.Quote(cut(s.scrub(text[:min(len(text), maxHead)])))
}

// plain is quoted for a text that is mostly ours: in quotes only when it holds
// what a terminal would act on.
func (s secret) plain(text string) string {
	text = cut(s.scrub(text[:min(len(text), maxHead)]))
	for _, r := range text {
		if !strconv.IsPrint(r) || !glyph.Shows(r) || r == utf8.RuneError {
			return glyph.Quote(text)
		}
	}
	return text
}

func cut(text string) string {
	if len(text) <= shownCut {
		return text
	}
	end := shownCut
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// in tells whether a JSON text holds the whole key, however it is escaped, in
// strings that are JSON themselves too. A key too short to be one is a
// placeholder, such as servers on this machine want, and a word like any other.
func (s secret) in(text []byte) bool {
	if len(s) < tellTale {
		return false
	}
	return bytes.Contains(text, []byte(s)) || s.within(text, 2)
}

func (s secret) within(text []byte, depth int) bool {
	var doc any
	return depth > 0 && json.Unmarshal(text, &doc) == nil && s.inside(doc, depth)
}

func (s secret) inside(doc any, depth int) bool {
	switch v := doc.(type) {
	case string:
		return strings.Contains(v, string(s)) || s.within([]byte(v), depth-1)
	case []any:
		for _, x := range v {
			if s.inside(x, depth) {
				return true
			}
		}
	case map[string]any:
		for key, x := range v {
			if strings.Contains(key, string(s)) || s.inside(x, depth) {
				return true
			}
		}
	}
	return false
}
