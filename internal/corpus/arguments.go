package corpus

import (
	"encoding/json"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/manifest"
)

// schemaOf is a tool's input schema, decoded.
func schemaOf(tool *manifest.Tool) map[string]any {
	var doc map[string]any
	if tool.Input != nil && json.Unmarshal(tool.Input.JSON(), &doc) == nil && doc != nil {
		return doc
	}
	return map[string]any{}
}

// propertiesOf are the names that a schema declares at its top, sorted.
func propertiesOf(doc map[string]any) []string {
	properties, _ := doc["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// example is a small value that fits a schema in all that is common. One that does
// not fit after all never reaches policy, and is counted then.
func example(schema any, root map[string]any, depth int) any {
	s, is := schema.(map[string]any)
	if !is || depth > 16 {
		return "x"
	}
	if ref, is := s["$ref"].(string); is {
		return example(follow(root, ref), root, depth+1)
	}
	if v, given := s["const"]; given {
		return v
	}
	if list, is := s["enum"].([]any); is && len(list) > 0 {
		return list[0]
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		if list, is := s[word].([]any); is && len(list) > 0 && s["type"] == nil && s["properties"] == nil {
			return example(list[0], root, depth+1)
		}
	}
	switch typeOf(s) {
	case "object":
		return exampleObject(s, root, depth)
	case "array":
		return exampleList(s, root, depth)
	case "integer", "number":
		return exampleNumber(s)
	case "boolean":
		return false
	case "null":
		return nil
	}
	return exampleText(s)
}

func typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, e := range t {
			if word, is := e.(string); is && word != "null" {
				return word
			}
		}
	}
	if s["properties"] != nil {
		return "object"
	}
	if s["items"] != nil {
		return "array"
	}
	return "string"
}

func exampleObject(s, root map[string]any, depth int) map[string]any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, r := range required {
		if name, is := r.(string); is {
			out[name] = example(properties[name], root, depth+1)
		}
	}
	return out
}

func exampleList(s, root map[string]any, depth int) []any {
	out := []any{}
	for i := range int(min(number(s["minItems"]), 64)) {
		item := s["items"]
		if prefix, is := s["prefixItems"].([]any); is && i < len(prefix) {
			item = prefix[i]
		}
		v := example(item, root, depth+1)
		if text, is := v.(string); is && s["uniqueItems"] == true {
			v = text + strings.Repeat("a", i)
		}
		out = append(out, v)
	}
	return out
}

func exampleNumber(s map[string]any) any {
	n := 1.0
	if v, given := s["minimum"]; given {
		n = number(v)
	}
	if v, given := s["exclusiveMinimum"]; given {
		n = number(v) + 1
	}
	if v, given := s["maximum"]; given {
		n = min(n, number(v))
	}
	if step := number(s["multipleOf"]); step > 0 {
		n = step * float64(int64((n+step-1)/step))
	}
	return n
}

func number(v any) float64 {
	n, _ := v.(float64)
	return n
}

func exampleText(s map[string]any) string {
	text := "x"
	if pattern, is := s["pattern"].(string); is {
		if found, ok := matching(pattern); ok {
			text = found
		}
	}
	if format, is := s["format"].(string); is {
		if known := map[string]string{
			"date": "2026-01-02", "date-time": "2026-01-02T03:04:05Z", "time": "03:04:05Z", "email": "a@example.org",
			"uri": "https://example.org/", "uuid": "00000000-0000-4000-8000-000000000000", "ipv4": "192.0.2.1", "hostname": "example.org",
		}[format]; known != "" {
			text = known
		}
	}
	if short := int(min(number(s["minLength"]), 1<<16)) - len(text); short > 0 {
		text += strings.Repeat("x", short)
	}
	return text
}

// follow is what a reference within a schema leads to.
func follow(root map[string]any, ref string) any {
	at := any(root)
	for _, key := range strings.Split(strings.TrimPrefix(ref, "#"), "/")[1:] {
		object, is := at.(map[string]any)
		if !is {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
	}
	return at
}

// otherType is a value of another type than v.
func otherType(v any) any {
	if _, is := v.(float64); is {
		return "x"
	}
	return 1
}

// matching is a short text that a pattern matches as a whole, always the same one.
func matching(pattern string) (string, bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	spell(&b, parsed, 0)
	re, err := regexp.Compile(pattern)
	return b.String(), err == nil && re.MatchString(b.String())
}

// spell writes the shortest text that a parsed pattern stands for.
func spell(b *strings.Builder, re *syntax.Regexp, depth int) {
	if depth > 100 || b.Len() > 1<<16 {
		return
	}
	each := func(n int) {
		for range n {
			for _, sub := range re.Sub {
				spell(b, sub, depth+1)
			}
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpConcat, syntax.OpPlus:
		each(1)
	case syntax.OpAlternate:
		spell(b, re.Sub[0], depth+1)
	case syntax.OpRepeat:
		each(re.Min)
	}
}

// member is a rune of a class: a letter or a digit where there is one.
func member(ranges []rune) rune {
	for _, want := range "aAzZ0189_-!" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	if len(ranges) > 0 {
		return ranges[0]
	}
	return 'a'
}
