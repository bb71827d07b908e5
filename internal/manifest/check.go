package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/runlens/runlens/internal/call"
)

// Issue is one thing that is wrong with a call's arguments or a tool's output.
// It names places and what the schema wants, never a value. Of an output or an
// artifact it names no key that the schema doesn't: that key is text of whoever made
// it, and issues are recorded.
type Issue struct {
	Pointer   string // "arguments.content", "arguments.items[3]", "output.rows", "output.*"
	Message   string // "field is required"
	Malformed bool   // the call is malformed (keys that differ only in case), whatever the schema says
}

// String returns the issue as `arguments.content: field is required`.
func (i Issue) String() string { return i.Pointer + ": " + i.Message }

// maxIssues is how many issues are listed; one more says how many there are.
const maxIssues = 50

// CheckInput holds the arguments of c to the tool's input schema and returns
// all that is wrong, sorted by place; nil when the arguments fit. Of a tool whose
// only command has arguments that a call fills in, they must be there by name, or
// argv instead. It is safe for concurrent use.
func (t *Tool) CheckInput(c *call.Call) []Issue {
	issues := t.Input.check(&findings{name: "arguments", value: c.Arguments})
	more := t.commandIssues(c.Arguments)
	if len(more) == 0 || len(issues) > maxIssues {
		return issues
	}
	return (&findings{name: "arguments", issues: append(more, issues...)}).sorted()
}

// CheckOutput is CheckInput for what a handler returned. Go values that
// encoding/json can encode are checked as what they encode to.
func (t *Tool) CheckOutput(out map[string]any) []Issue {
	if t.Output == nil {
		return nil
	}
	if out == nil {
		out = map[string]any{}
	}
	if !isPlain(out) {
		var err error
		if out, err = plain(out); err != nil {
			return []Issue{{Pointer: "output", Message: "holds a value that JSON cannot carry"}}
		}
	}
	return t.Output.check(&findings{name: "output", value: out, foreign: true})
}

// Declares tells whether the tool's output schema names this member of an output.
func (t *Tool) Declares(name string) bool {
	return t.Output != nil && property(t.Output.compiled, name) != nil
}

// isPlain tells whether v is made of the types that the schema library takes.
func isPlain(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, json.Number, int, int64:
		return true
	case []any:
		for _, item := range v {
			if !isPlain(item) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, item := range v {
			if !isPlain(item) {
				return false
			}
		}
		return true
	}
	return false
}

func plain(v map[string]any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var out map[string]any
	return out, dec.Decode(&out)
}

// check fills f, which says what is checked.
func (s *Schema) check(f *findings) []Issue {
	err := s.validate(f.value)
	if err == nil && !s.open {
		return nil
	}
	f.schema = s
	f.variants()
	if err != nil {
		f.invalid(err)
	}
	return f.sorted()
}

var errUncheckable = errors.New("cannot be checked")

// validate turns a panic of the library into an error: what cannot be checked
// does not fit.
func (s *Schema) validate(value any) (err error) {
	defer func() {
		if recover() != nil {
			err = errUncheckable
		}
	}()
	return s.compiled.Validate(value)
}

// findings collects issues about one value.
type findings struct {
	name    string
	schema  *Schema
	value   any
	foreign bool            // its keys are not to be repeated
	known   map[string]bool // of a foreign one, made when first asked for: the schema's own keys
	issues  []Issue
}

// member is a step into an object, a "*" where it may not be named.
func (f *findings) member(name string) string {
	if f.foreign && f.known == nil {
		f.known = map[string]bool{}
		f.learn(f.schema.doc)
	}
	if f.foreign && !f.known[name] {
		return ".*"
	}
	return member(name)
}

// learn finds the keys that a part of the schema declares.
func (f *findings) learn(part any) {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			f.learn(item)
		}
	case map[string]any:
		declared, _ := part["properties"].(map[string]any)
		for name := range declared {
			f.known[name] = true
		}
		for _, item := range part {
			f.learn(item)
		}
	}
}

// add reports the value that pointer leads to, or, when below is not "", its
// member of that form.
func (f *findings) add(pointer, below, message string) {
	f.issues = append(f.issues, Issue{Pointer: f.name + dottedIn(pointer, f.value, f.member) + below, Message: message})
}

func (f *findings) sorted() []Issue {
	sort.SliceStable(f.issues, func(i, j int) bool {
		a, b := f.issues[i], f.issues[j]
		if a.Malformed != b.Malformed {
			return a.Malformed
		}
		if a.Pointer != b.Pointer {
			return a.Pointer < b.Pointer
		}
		return a.Message < b.Message
	})
	f.issues = slices.Compact(f.issues)
	if more := len(f.issues) - maxIssues; more > 0 {
		f.issues = append(f.issues[:maxIssues], Issue{Pointer: f.name, Message: fmt.Sprintf("and %d more", more)})
	}
	return f.issues
}

// variants looks for keys that differ only in case, in every object that meets
// a schema with declared properties.
func (f *findings) variants() {
	type visit struct {
		schema *jsonschema.Schema
		path   string
	}
	done := make(map[visit]bool)
	reported := make(map[string]bool)
	var walk func(s *jsonschema.Schema, v any, path string)
	walk = func(s *jsonschema.Schema, v any, path string) {
		if s == nil || done[visit{s, path}] {
			return
		}
		done[visit{s, path}] = true
		switch v := v.(type) {
		case map[string]any:
			if len(s.Properties) > 0 && !reported[path] {
				reported[path] = f.variantsOf(v, path)
			}
			eachMember(s, v, func(sub *jsonschema.Schema, key string) { walk(sub, v[key], path+"/"+escapeStep(key)) })
		case []any:
			eachItem(s, v, func(sub *jsonschema.Schema, i int) { walk(sub, v[i], fmt.Sprintf("%s/%d", path, i)) })
		default:
			return
		}
		inPlace(s, func(sub *jsonschema.Schema) { walk(sub, v, path) })
	}
	walk(f.schema.compiled, f.value, "")
}

func (f *findings) variantsOf(v map[string]any, path string) bool {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	a, b, found := call.CaseVariant(keys)
	if found {
		message := fmt.Sprintf("keys %s and %s differ only in case", quoted(a), quoted(b))
		if f.foreign {
			message = "two keys differ only in case"
		}
		f.issues = append(f.issues, Issue{Pointer: f.name + dottedIn(path, f.value, f.member), Message: message, Malformed: true})
	}
	return found
}

// eachMember calls visit for every schema that a member of v meets.
func eachMember(s *jsonschema.Schema, v map[string]any, visit func(*jsonschema.Schema, string)) {
	rest, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for key := range v {
		visit(s.Properties[key], key)
		for pattern, sub := range s.PatternProperties {
			if pattern.MatchString(key) {
				visit(sub, key)
			}
		}
		visit(rest, key)
		visit(s.UnevaluatedProperties, key)
	}
}

// eachItem calls visit for every schema that an item of v meets.
func eachItem(s *jsonschema.Schema, v []any, visit func(*jsonschema.Schema, int)) {
	all, _ := s.Items.(*jsonschema.Schema)
	tuple, _ := s.Items.([]*jsonschema.Schema)
	rest, _ := s.AdditionalItems.(*jsonschema.Schema)
	for i := range v {
		for _, sub := range []*jsonschema.Schema{all, s.Items2020, rest, s.Contains, s.UnevaluatedItems} {
			visit(sub, i)
		}
		if i < len(tuple) {
			visit(tuple[i], i)
		}
		if i < len(s.PrefixItems) {
			visit(s.PrefixItems[i], i)
		}
	}
}

// inPlace calls visit for every schema that applies to the same value as s.
func inPlace(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	for _, list := range [][]*jsonschema.Schema{
		s.AllOf, s.AnyOf, s.OneOf,
		{s.Ref, s.RecursiveRef, s.DynamicRef, s.If, s.Then, s.Else, s.Not},
	} {
		for _, sub := range list {
			visit(sub)
		}
	}
	for _, sub := range s.DependentSchemas {
		visit(sub)
	}
	for _, dep := range s.Dependencies {
		if sub, ok := dep.(*jsonschema.Schema); ok {
			visit(sub)
		}
	}
}
