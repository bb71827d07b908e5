package manifest

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"
)

type kind uint8

const (
	nullKind kind = iota
	boolKind
	numberKind
	stringKind
	listKind
	objectKind
)

// String returns the kind with its article, as errors say it.
func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// node is one value of a manifest, the same for JSON and YAML.
type node struct {
	kind   kind
	line   int            // from 1; 0 for a value that no file holds
	text   string         // of a string its value; of a number or boolean its spelling
	bad    bool           // reported already: nothing more is said about it
	fields []field        // of an object, in the order of the file, names unique
	items  []*node        // of a list
	lines  map[string]int // of an object, while it is read: name → line
}

type field struct {
	name  string
	line  int
	value *node
}

// get returns the value of a field, or nil.
func (n *node) get(name string) *node {
	for i := range n.fields {
		if n.fields[i].name == name {
			return n.fields[i].value
		}
	}
	return nil
}

// lineOf is the line of a field's name, or that of n itself without the field.
func (n *node) lineOf(name string) int {
	for _, f := range n.fields {
		if f.name == name {
			return f.line
		}
	}
	return n.line
}

func (n *node) names() []string {
	out := make([]string, len(n.fields))
	for i := range n.fields {
		out[i] = n.fields[i].name
	}
	return out
}

// with returns a copy of an object in which one field is set, or removed when
// value is nil.
func (n *node) with(name string, value *node) *node {
	out := *n
	out.fields, out.lines = nil, nil
	for _, f := range n.fields {
		if f.name != name {
			out.fields = append(out.fields, f)
		}
	}
	if value != nil {
		out.fields = append(out.fields, field{name: name, line: value.line, value: value})
	}
	return &out
}

// at follows a JSON pointer, as the schema library writes it ("" is n itself), and returns the deepest value on
// the way, so that an error always has a line.
func (n *node) at(pointer string) *node {
	deepest, _ := n.follow(pointer)
	return deepest
}

// follow is at, and whether the pointer led all the way.
func (n *node) follow(pointer string) (deepest *node, whole bool) {
	for _, step := range steps(pointer) {
		var next *node
		switch n.kind {
		case objectKind:
			next = n.get(step)
		case listKind:
			if i, ok := index(step); ok && i < len(n.items) {
				next = n.items[i]
			}
		}
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// value returns n as decoded JSON with json.Number.
func (n *node) value() any {
	switch n.kind {
	case boolKind:
		return n.text == "true"
	case numberKind:
		return json.Number(n.text)
	case stringKind:
		return n.text
	case listKind:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.value()
		}
		return out
	case objectKind:
		out := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			out[f.name] = f.value.value()
		}
		return out
	}
	return nil
}

// appendJSON appends n as JSON in one line: keys sorted, numbers as spelt, no
// HTML escaping.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case nullKind:
		return append(dst, "null"...)
	case boolKind, numberKind:
		return append(dst, n.text...)
	case stringKind:
		return appendString(dst, n.text)
	case listKind:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	}
	sorted := append([]field(nil), n.fields...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].name < sorted[j].name })
	dst = append(dst, '{')
	for i, f := range sorted {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, f.name), ':')
		dst = f.value.appendJSON(dst)
	}
	return append(dst, '}')
}

func appendString(dst []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return append(dst, `""`...) // a string always encodes
	}
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// text and list make nodes for values that the loader itself adds.
func textNode(s string) *node { return &node{kind: stringKind, text: s} }

func textList(list []string) *node {
	n := &node{kind: listKind}
	for _, s := range list {
		n.items = append(n.items, textNode(s))
	}
	return n
}

func unescapePointer(step string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
}

// index reads a JSON pointer step as a list index.
func index(step string) (int, bool) {
	if step == "" || len(step) > 9 {
		return 0, false
	}
	i := 0
	for _, c := range step {
		if c < '0' || c > '9' {
			return 0, false
		}
		i = i*10 + int(c-'0')
	}
	return i, true
}
