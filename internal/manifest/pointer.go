package manifest

import (
	"net/url"
	"strings"

	"github.com/runlens/runlens/internal/glyph"
)

// dotted turns a JSON pointer, as the schema library escapes it, into the form
// of messages: "/items/3/a b" → `.items[3]["a b"]`. Digits are always an index
// here; dottedIn knows better where it has the value.
func dotted(pointer string) string { return dottedIn(pointer, nil, member) }

// dottedIn is dotted with the value that the pointer goes into: digits are an
// index only in a list. member names a step into an object.
func dottedIn(pointer string, value any, member func(string) string) string {
	if pointer == "" {
		return ""
	}
	var b strings.Builder
	for _, step := range steps(pointer) {
		switch v := value.(type) {
		case []any:
			b.WriteString("[" + step + "]")
			value = nil
			if i, ok := index(step); ok && i < len(v) {
				value = v[i]
			}
			continue
		case map[string]any:
			value = v[step]
			b.WriteString(member(step))
			continue
		}
		if _, ok := index(step); ok {
			b.WriteString("[" + step + "]")
			continue
		}
		b.WriteString(member(step))
	}
	return b.String()
}

// steps splits a JSON pointer as the schema library writes it: percent-encoded
// over the usual ~0 and ~1.
func steps(pointer string) []string {
	if pointer == "" {
		return nil
	}
	out := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, s := range out {
		out[i] = unescapePointer(unescapePercent(s))
	}
	return out
}

// escapeStep is the inverse of what steps does to one step.
func escapeStep(name string) string {
	if isPlainName(name) {
		return name // as nearly every name
	}
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
}

func unescapePercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// member is one step into an object: .name, or ["any other name"] cut.
func member(name string) string {
	plain := name != "" && len(name) <= foreignCut
	for i := 0; plain && i < len(name); i++ {
		c := name[i]
		plain = c == '_' || c == '$' || c == '-' && i > 0 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' && i > 0
	}
	if plain {
		return "." + name
	}
	return "[" + glyph.Quote(cut(name)) + "]"
}

// lookup follows steps into decoded JSON; nil when they lead nowhere.
func lookup(v any, path []string) any {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, ok := index(step)
			if !ok || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}
