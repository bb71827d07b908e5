package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/runlens/runlens/internal/call"
)

// Schema is a compiled JSON schema. It is immutable and safe for concurrent use.
type Schema struct {
	text     []byte         // canonical: one line, keys sorted
	doc      map[string]any // the same, decoded; messages are written from it
	compiled *jsonschema.Schema
	// open is true when arguments that fit the schema may still hold keys that it
	// does not declare, so that case variants must be looked for.
	open bool
}

// JSON returns the schema in one line with sorted keys; nil for a nil Schema.
// The caller must not change it.
func (s *Schema) JSON() json.RawMessage {
	if s == nil {
		return nil
	}
	return s.text
}

// schemaURL is where a schema seems to stand while it is compiled; nothing is there.
const schemaURL = "manifest:///schema"

// dialects are the values of $schema that load.
var dialects = []string{
	"https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema",
}

// compileSchema checks and compiles the schema n. label is the key it stands
// under, as problems name it; known holds those compiled before, by text. It
// returns nil when there were problems.
func compileSchema(n *node, label string, at place, known map[string]*Schema) *Schema {
	before := len(at.problems.list)
	if n.kind != objectKind {
		at.add(n.line, "", "%s must be an object, not %s", label, n.kind)
		return nil
	}
	w := &schemaWalk{root: n, at: at}
	w.schema(n, label, true)
	if len(at.problems.list) > before {
		return nil
	}
	s := &Schema{text: n.appendJSON(nil), open: w.open}
	if same := known[string(s.text)]; same != nil {
		return same
	}
	s.doc, _ = n.value().(map[string]any)
	compiled, err := compileText(s.text)
	if err != nil {
		reportCompile(err, n, label, at)
		return nil
	}
	s.compiled = compiled
	known[string(s.text)] = s
	return s
}

func compileText(text []byte) (compiled *jsonschema.Schema, err error) {
	defer func() {
		// The library panics on some schemas that its meta schema lets through.
		if r := recover(); r != nil {
			compiled, err = nil, errors.New("cannot be compiled")
		}
	}()
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true // a declared format is a promise, in every draft
	c.LoadURL = func(string) (io.ReadCloser, error) {
		return nil, errors.New("leaves the document")
	}
	if err := c.AddResource(schemaURL, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// reportCompile turns the library's error into problems with lines.
func reportCompile(err error, n *node, label string, at place) {
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		for _, leaf := range leaves(invalid, nil) {
			where := leaf.InstanceLocation
			at.add(n.at(where).line, "", "%s: %s", label+dotted(where), printable(leaf.Message))
		}
		return
	}
	var loop jsonschema.InfiniteLoopError
	if errors.As(err, &loop) {
		at.add(n.line, "", "%s: a $ref leads back to itself", label)
		return
	}
	text := err.Error()
	var failed *jsonschema.SchemaError
	if errors.As(err, &failed) && failed.Err != nil {
		text = failed.Err.Error()
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "jsonschema: "), schemaURL, "")
	at.add(n.line, "", "%s: %s", label, printable(text))
}

func leaves(e *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return append(out, e)
	}
	for _, c := range e.Causes {
		out = leaves(c, out)
	}
	return out
}

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
	root *node
	at   place
	open bool
}

func (w *schemaWalk) schema(n *node, label string, top bool) {
	if n.kind != objectKind {
		return // true, false, or something the meta schema refuses
	}
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
		if v.kind == stringKind && !strings.HasPrefix(v.text, "#") {
			w.at.add(v.line, `only "#…" is allowed`, "%s: %s leaves the document", here, quoted(v.text))
		} else if v.kind == stringKind && strings.HasPrefix(v.text, "#/") && !w.names(v.text[1:]) {
			w.at.add(v.line, "", "%s: %s names nothing", here, quoted(v.text))
		}
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
	n := w.root
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
			return false
		}
		n = next
	}
	return true
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
	if closed == nil || closed.kind != boolKind || closed.text != "false" || n.get("$ref") != nil {
		w.open = true
	}
}

// property returns the schema of one property of the objects that s describes,
// through $ref and allOf, or nil.
func property(s *jsonschema.Schema, name string) *jsonschema.Schema {
	for hops := 0; s != nil && hops < 16; hops++ {
		if p, ok := s.Properties[name]; ok {
			return p
		}
		for _, part := range s.AllOf {
			if p := property(part, name); p != nil {
				return p
			}
		}
		s = s.Ref
	}
	return nil
}

// onlyType tells whether s, through $ref and allOf, allows values of one JSON
// type only.
func onlyType(s *jsonschema.Schema, name string) bool {
	for hops := 0; s != nil && hops < 16; hops++ {
		if len(s.Types) > 0 {
			return len(s.Types) == 1 && s.Types[0] == name
		}
		for _, part := range s.AllOf {
			if onlyType(part, name) {
				return true
			}
		}
		s = s.Ref
	}
	return false
}
