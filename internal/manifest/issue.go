package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// This file says in the words of Issue what the schema library found. It takes
// only places from the library, never its messages, which echo values.

// invalid reports err, which is not nil.
func (f *findings) invalid(err error) {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		f.add("", "", "cannot be checked against the schema")
		return
	}
	before := len(f.issues)
	f.flatten(e)
	if len(f.issues) == before {
		// What does not fit is never without an issue.
		f.add("", "", "does not fit the schema")
	}
}

// failure is a leaf of the library's error tree, taken apart.
type failure struct {
	at      string         // JSON pointer into the value
	keyword string         // "" for the schema false
	wants   any            // the keyword's value
	around  map[string]any // the schema that holds the keyword
	last    string         // last step of the schema's own place
	name    bool           // about a field's name, not its value
}

func (f *findings) failure(e *jsonschema.ValidationError) failure {
	_, fragment, _ := strings.Cut(e.AbsoluteKeywordLocation, "#")
	path := steps(fragment)
	out := failure{at: e.InstanceLocation, name: aboutName(e.KeywordLocation)}
	if len(path) > 0 {
		out.last = path[len(path)-1]
	}
	if e.Message == "not allowed" { // the schema false, at path
		if len(path) > 0 {
			out.around, _ = lookup(f.schema.doc, path[:len(path)-1]).(map[string]any)
		}
		return out
	}
	if len(path) == 0 {
		return out
	}
	out.keyword = out.last
	out.wants = lookup(f.schema.doc, path)
	if n := len(path); n >= 3 {
		if k := path[n-3]; k == "dependentRequired" || k == "dependencies" {
			if _, ok := index(out.last); ok {
				out.keyword = "dependentRequired"
			}
		}
	}
	out.around, _ = lookup(f.schema.doc, path[:len(path)-1]).(map[string]any)
	return out
}

// aboutName tells whether a keyword was applied to a field's name.
func aboutName(keywordLocation string) bool {
	path := steps(keywordLocation)
	named := []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
	for i, step := range path {
		if step == "propertyNames" && (i == 0 || !slices.Contains(named, path[i-1])) {
			return true
		}
	}
	return false
}

func (f *findings) flatten(e *jsonschema.ValidationError) {
	switch {
	case e.Message == "anyOf failed" || e.Message == "oneOf failed":
		f.choice(e)
	case len(e.Causes) == 0 || strings.HasPrefix(e.Message, "valid must be >= "): // minContains lists every item
		f.leaf(f.failure(e))
	default:
		for _, c := range e.Causes {
			f.flatten(c)
		}
	}
}

// choice reports a value that fits none of several forms: by the one form that
// it seems to be meant as, or in general.
func (f *findings) choice(e *jsonschema.ValidationError) {
	var types []string
	var likely []*jsonschema.ValidationError
	for _, branch := range e.Causes {
		wrong, wants := f.otherForm(branch, e.InstanceLocation)
		types = append(types, wants...)
		if !wrong {
			likely = append(likely, branch)
		}
	}
	switch {
	case len(likely) == 1:
		f.flatten(likely[0])
	case len(likely) == 0 && len(types) >= len(e.Causes):
		f.add(e.InstanceLocation, "", f.typeMessage(e.InstanceLocation, types))
	default:
		f.add(e.InstanceLocation, "", fmt.Sprintf("must have one of %d forms", len(e.Causes)))
	}
}

// otherForm tells whether a branch failed because the value is of another type
// (wants are the types it asked for) or names another variant by a const or enum.
func (f *findings) otherForm(branch *jsonschema.ValidationError, at string) (wrong bool, wants []string) {
	for _, leaf := range leaves(branch, nil) {
		fail := f.failure(leaf)
		switch {
		case fail.keyword == "type" && fail.at == at:
			return true, typeNames(fail.wants)
		case (fail.keyword == "const" || fail.keyword == "enum") && fail.at != at:
			wrong = true
		}
	}
	return wrong, nil
}

func (f *findings) leaf(fail failure) {
	switch fail.keyword {
	case "required":
		object, _ := lookup(f.value, steps(fail.at)).(map[string]any)
		for _, want := range asList(fail.wants) {
			if name, ok := want.(string); ok && !has(object, name) {
				f.add(fail.at, member(name), "field is required")
			}
		}
	case "dependentRequired":
		name, _ := fail.wants.(string)
		f.add(fail.at, member(name), "field is required beside the others")
	case "additionalProperties":
		object, _ := lookup(f.value, steps(fail.at)).(map[string]any)
		for name := range object {
			if undeclared(name, fail.around) {
				f.add(fail.at, f.member(name), unknownField(name, fail.around))
			}
		}
	case "":
		f.add(fail.at, "", notAllowed(fail))
	case "type":
		f.add(fail.at, "", f.about(fail, f.typeMessage(fail.at, typeNames(fail.wants))))
	default:
		f.add(fail.at, "", f.about(fail, wantMessage(fail)))
	}
}

func (f *findings) about(fail failure, message string) string {
	if fail.name {
		return "the field's name " + message
	}
	return message
}

func notAllowed(fail failure) string {
	switch fail.last {
	case "unevaluatedProperties":
		path := steps(fail.at)
		return unknownField(path[len(path)-1], fail.around)
	case "items", "unevaluatedItems", "additionalItems":
		return "is one item too many"
	}
	return "is not allowed"
}

// wantMessage says what a keyword with a plain value wants.
func wantMessage(fail failure) string {
	wants := spelled(fail.wants)
	switch fail.keyword {
	case "enum":
		return "must be one of " + someOf(asList(fail.wants))
	case "const":
		return "must be " + wants
	case "pattern":
		return "must match the pattern " + wants
	case "format":
		return "must be a valid " + strings.Trim(wants, `"`)
	case "minLength":
		return "must be at least " + count(wants, "character") + " long"
	case "maxLength":
		return "must be at most " + count(wants, "character") + " long"
	case "minimum":
		return "must be at least " + wants
	case "maximum":
		return "must be at most " + wants
	case "exclusiveMinimum":
		return "must be more than " + wants
	case "exclusiveMaximum":
		return "must be less than " + wants
	case "multipleOf":
		return "must be a multiple of " + wants
	case "minItems":
		return "must have at least " + count(wants, "item")
	case "maxItems":
		return "must have at most " + count(wants, "item")
	case "uniqueItems":
		return "must not hold an item twice"
	case "minProperties":
		return "must have at least " + count(wants, "field")
	case "maxProperties":
		return "must have at most " + count(wants, "field")
	case "contains", "minContains", "maxContains":
		return "holds too few or too many items of the wanted kind"
	case "additionalItems":
		return "has too many items"
	case "not":
		return "has a form that is not allowed"
	case "oneOf":
		return "must have exactly one of the allowed forms, and has several"
	case "contentEncoding", "contentMediaType", "contentSchema":
		return "does not hold the declared content"
	}
	return "does not fit the schema"
}

func (f *findings) typeMessage(at string, wants []string) string {
	got := lookup(f.value, steps(at))
	var words []string
	for _, w := range wants {
		if word := withArticle(w); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return "must be " + strings.Join(words, " or ") + ", not " + typeOf(got, slices.Contains(wants, "integer"))
}

func typeOf(v any, integerWanted bool) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	if integerWanted {
		return "a fraction"
	}
	return "a number"
}

func withArticle(jsonType string) string {
	switch jsonType {
	case "null":
		return "null"
	case "integer", "object", "array":
		return "an " + jsonType
	}
	return "a " + jsonType
}

func typeNames(wants any) []string {
	if s, ok := wants.(string); ok {
		return []string{s}
	}
	var out []string
	for _, w := range asList(wants) {
		if s, ok := w.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func undeclared(name string, schema map[string]any) bool {
	properties, _ := schema["properties"].(map[string]any)
	if has(properties, name) {
		return false
	}
	patterns, _ := schema["patternProperties"].(map[string]any)
	for p := range patterns {
		if ok, err := regexp.MatchString(p, name); ok && err == nil {
			return false
		}
	}
	return true
}

func unknownField(name string, schema map[string]any) string {
	properties, _ := schema["properties"].(map[string]any)
	known := make([]string, 0, len(properties))
	for p := range properties {
		known = append(known, p)
	}
	sort.Strings(known)
	if fix := meant(name, known); fix != "" {
		return "unknown field (" + fix + ")"
	}
	if len(known) == 0 {
		return "unknown field"
	}
	list := make([]any, len(known))
	for i, k := range known {
		list[i] = k
	}
	return "unknown field (known: " + someOf(list) + ")"
}

func has(object map[string]any, name string) bool {
	_, ok := object[name]
	return ok
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// someOf lists values of a schema, ten at most.
func someOf(values []any) string {
	const most = 10
	var words []string
	for _, v := range values[:min(len(values), most)] {
		words = append(words, spelled(v))
	}
	out := strings.Join(words, ", ")
	if len(values) > most {
		out += fmt.Sprintf(", … (%d in all)", len(values))
	}
	return out
}

// spelled is a value of a schema as JSON, cut.
func spelled(v any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "?"
	}
	return cut(strings.TrimSuffix(buf.String(), "\n"))
}

func count(number, noun string) string {
	if number == "1" {
		return "1 " + noun
	}
	return number + " " + noun + "s"
}
