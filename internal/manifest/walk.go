package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/call"
)

// place of a keyword's subschemas.
const (
	noSchema   = iota
	oneSchema  // "not": {…}
	listSchema // "allOf": [{…}]
	mapSchema  // "properties": {"x": {…}}
	anySchema  // "items": {…} or [{…}]; "dependencies": maps to {…} or [names]
)

// keywords are those of drafts 2020-12 and 07, and where their subschemas are.
var keywords = map[string]int{
	"$schema": noSchema, "$id": noSchema, "$ref": noSchema, "$anchor": noSchema, "$comment": noSchema,
	"$dynamicRef": noSchema, "$dynamicAnchor": noSchema, "$recursiveRef": noSchema, "$recursiveAnchor": noSchema,
	"$vocabulary": noSchema, "$defs": mapSchema, "definitions": mapSchema,
	"type": noSchema, "enum": noSchema, "const": noSchema, "format": noSchema,
	"title": noSchema, "description": noSchema, "default": noSchema, "examples": noSchema, "example": noSchema,
	"deprecated": noSchema, "readOnly": noSchema, "writeOnly": noSchema,
	"properties": mapSchema, "patternProperties": mapSchema, "additionalProperties": oneSchema,
	"propertyNames": oneSchema, "unevaluatedProperties": oneSchema, "required": noSchema,
	"minProperties": noSchema, "maxProperties": noSchema, "dependentRequired": noSchema,
	"dependentSchemas": mapSchema, "dependencies": anySchema,
	"items": anySchema, "prefixItems": listSchema, "additionalItems": oneSchema, "unevaluatedItems": oneSchema,
	"contains": oneSchema, "minContains": noSchema, "maxContains": noSchema,
	"minItems": noSchema, "maxItems": noSchema, "uniqueItems": noSchema,
	"minLength": noSchema, "maxLength": noSchema, "pattern": noSchema,
	"contentEncoding": noSchema, "contentMediaType": noSchema, "contentSchema": oneSchema,
	"minimum": noSchema, "maximum": noSchema, "exclusiveMinimum": noSchema, "exclusiveMaximum": noSchema,
	"multipleOf": noSchema,
	"allOf":      listSchema, "anyOf": listSchema, "oneOf": listSchema, "not": oneSchema,
	"if": oneSchema, "then": oneSchema, "else": oneSchema,
}

// opening keywords let a value fit although it was not held to every
// `properties` it met.
var opening = []string{
	"$dynamicRef", "$recursiveRef", "patternProperties", "dependentSchemas", "dependencies",
	"allOf", "anyOf", "oneOf", "not", "if", "contains", "unevaluatedProperties", "unevaluatedItems",
}

var jsonTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// schemaWalk looks for what the library would let through or report without a line.
type schemaWalk struct {
	root    *node
	at      place
	open    bool
	visited map[*node]bool
	refs    []string // pointers to visit: a $ref may lead to where no keyword does
}

func (w *schemaWalk) schema(n *node, label string, top bool) {
	if n.kind != objectKind {
		return // true, false, or something the meta schema refuses
	}
	if w.visited[n] {
		return
	}
	w.visited[n] = true
	for _, f := range n.fields {
		here := label + "." + f.name
		position, known := keywords[f.name]
		if !known {
			w.unknown(f, label)
			continue
		}
		w.keyword(f, here, label, top)
		w.below(f, position, here)
	}
	w.findOpen(n)
}

// below visits the subschemas of one keyword.
func (w *schemaWalk) below(f field, position int, here string) {
	v := f.value
	if (position == oneSchema || position == anySchema && f.name == "items") && v.kind == objectKind {
		w.schema(v, here, false)
		return
	}
	if (position == listSchema || position == anySchema) && v.kind == listKind {
		for i, item := range v.items {
			w.schema(item, fmt.Sprintf("%s[%d]", here, i), false)
		}
	}
	if (position == mapSchema || position == anySchema) && v.kind == objectKind {
		for _, p := range v.fields {
			w.schema(p.value, here+dotted("/"+p.name), false)
		}
	}
}

// unknown keywords are annotations by the standard; one that nearly is a known
// keyword is a constraint that would silently not hold.
func (w *schemaWalk) unknown(f field, label string) {
	if strings.HasPrefix(f.name, "x-") || len(f.name) < 4 {
		return
	}
	var long []string
	for k := range keywords {
		if len(k) > 3 {
			long = append(long, k)
		}
	}
	slices.Sort(long)
	if fix := meant(f.name, long); fix != "" {
		w.at.add(f.line, fix, "%s: unknown keyword %s", label, quoted(f.name))
	}
}

func (w *schemaWalk) keyword(f field, here, label string, top bool) {
	v := f.value
	switch f.name {
	case "$ref", "$dynamicRef", "$recursiveRef":
		w.ref(v, here)
	case "$schema":
		if !top {
			w.at.add(f.line, "", "%s: $schema is allowed at the top only", label)
		} else if v.kind == stringKind && !slices.Contains(dialects, strings.TrimSuffix(v.text, "#")) {
			w.at.add(v.line, "use draft 2020-12 or draft-07", "%s: unknown dialect %s", here, quoted(v.text))
		}
	case "$id":
		if !top {
			w.at.add(f.line, "", "%s: $id is allowed at the top only", label)
		}
	case "$vocabulary":
		w.at.add(f.line, "", "%s: $vocabulary is not supported", label)
	case "type":
		w.types(v, here)
	case "pattern":
		if v.kind == stringKind {
			w.pattern(v.text, v.line, here)
		}
	case "patternProperties":
		for _, p := range v.fields {
			w.pattern(p.name, p.line, here)
		}
	case "properties":
		if a, b, found := call.CaseVariant(v.names()); found {
			w.at.add(v.line, "", "%s: %s and %s differ only in case", here, quoted(a), quoted(b))
		}
	}
}

func (w *schemaWalk) ref(v *node, here string) {
	switch {
	case v.kind != stringKind: // the meta schema says so
	case !strings.HasPrefix(v.text, "#"):
		w.at.add(v.line, `only "#…" is allowed`, "%s: %s leaves the document", here, quoted(v.text))
	case !strings.HasPrefix(v.text, "#/"): // "#" or an anchor, which only visited schemas have
	case !w.names(v.text[1:]):
		w.at.add(v.line, "", "%s: %s names nothing", here, quoted(v.text))
	default:
		w.refs = append(w.refs, v.text[1:])
	}
}

func (w *schemaWalk) types(v *node, here string) {
	check := func(n *node) {
		if n.kind == stringKind && !slices.Contains(jsonTypes, n.text) {
			w.at.add(n.line, meant(n.text, jsonTypes), "%s: %s is no JSON type", here, quoted(n.text))
		}
	}
	check(v)
	for _, item := range v.items {
		check(item)
	}
}

func (w *schemaWalk) pattern(text string, line int, here string) {
	if _, err := regexp.Compile(text); err != nil {
		cause := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		w.at.add(line, "RE2 syntax: no look-around, no back references", "%s: the pattern does not compile: %s", here, printable(cause))
	}
}

// names tells whether a JSON pointer names a value of the schema document.
func (w *schemaWalk) names(pointer string) bool {
	_, whole := w.root.follow(pointer)
	return whole
}

// findOpen sets w.open unless every object that n describes is limited to its
// declared properties, whose names are no case variants of each other.
func (w *schemaWalk) findOpen(n *node) {
	for _, k := range opening {
		if n.get(k) != nil {
			w.open = true
			return
		}
	}
	if n.get("properties") == nil {
		return
	}
	closed := n.get("additionalProperties")
	if closed == nil || closed.kind != boolKind || closed.text != "false" {
		w.open = true
	}
}
