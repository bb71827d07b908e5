package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
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
	w := &schemaWalk{root: n, at: at, visited: make(map[*node]bool)}
	w.schema(n, label, true)
	for len(w.refs) > 0 {
		ref := w.refs[0]
		w.refs = w.refs[1:]
		w.schema(w.root.at(ref), label+dotted(ref), false)
	}
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

// allowsObject tells whether s may take an object, going by types and values. known
// holds what was found before: schemas may lead in a circle, which refuses nothing.
func allowsObject(s *jsonschema.Schema, known map[*jsonschema.Schema]bool) bool {
	if s == nil {
		return true
	}
	if found, before := known[s]; before {
		return found
	}
	known[s] = true
	known[s] = mayBeObject(s, known)
	return known[s]
}

func mayBeObject(s *jsonschema.Schema, known map[*jsonschema.Schema]bool) bool {
	allows := func(sub *jsonschema.Schema) bool { return allowsObject(sub, known) }
	refuses := func(sub *jsonschema.Schema) bool { return !allows(sub) }
	isObject := func(v any) bool { _, ok := v.(map[string]any); return ok }
	switch {
	case s.Always != nil:
		return *s.Always
	case len(s.Types) > 0 && !slices.Contains(s.Types, "object"),
		len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, isObject),
		len(s.Constant) > 0 && !isObject(s.Constant[0]):
		return false
	case slices.ContainsFunc(s.AllOf, refuses),
		len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, allows),
		len(s.OneOf) > 0 && !slices.ContainsFunc(s.OneOf, allows):
		return false
	}
	return allows(s.Ref)
}
