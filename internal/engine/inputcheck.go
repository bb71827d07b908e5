package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// InputSchema is schemas/input.json: what a document must look like for a rule
// to see it. It is immutable and safe for concurrent use.
type InputSchema struct {
	schema *jsonschema.Schema
}

// Misfit is one place of a document that the schema refuses.
type Misfit struct {
	Pointer string // JSON pointer into the document; "" is all of it
	Message string // what is wrong; lower case, no full stop, no values of the document
	Fix     string // what to do about it; "" when the message says it
}

// ReadInputSchema reads input.json from schemas.
func ReadInputSchema(schemas fs.FS) (*InputSchema, error) {
	const shown = "schemas/input.json"
	if schemas == nil {
		return nil, fmt.Errorf("load %s: is missing", shown)
	}
	raw, err := readFile(schemas, "input.json")
	if err != nil {
		return nil, fmt.Errorf("load %s: cannot be read: %w", shown, reason(err))
	}
	c := jsonschema.NewCompiler()
	c.LoadURL = func(string) (io.ReadCloser, error) { return nil, errors.New("leaves the document") }
	if err := c.AddResource(schemaURL+"input.json", bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("load %s: is not JSON: %w", shown, err)
	}
	schema, err := c.Compile(schemaURL + "input.json")
	if err != nil {
		return nil, fmt.Errorf("load %s: is not a schema: %w", shown, err)
	}
	return &InputSchema{schema: schema}, nil
}

// Check lists every place where input is not what the schema says, by pointer.
// The order of keys says nothing. What JSON cannot hold, such as a set, is a
// misfit: no host will ever send it.
func (s *InputSchema) Check(input ast.Value) []Misfit {
	if list := notJSON(input, ""); len(list) > 0 {
		return list
	}
	document := native(input)
	invalid, ok := errors.AsType[*jsonschema.ValidationError](s.schema.Validate(document))
	if !ok {
		return nil
	}
	var list []Misfit
	for _, leaf := range leaves(invalid) {
		list = append(list, s.misfits(leaf, document)...)
	}
	slices.SortStableFunc(list, func(a, b Misfit) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(list)
}

// misfits says what a leaf means: for keys, one misfit each.
func (s *InputSchema) misfits(leaf *jsonschema.ValidationError, document any) []Misfit {
	at, value, schema := "", document, s.schema
	for _, key := range steps(leaf.InstanceLocation) {
		value, schema = below(value, schema, key)
		at += "/" + escapeStep(key)
	}
	object, isObject := value.(map[string]any)
	if !isObject || schema == nil {
		return []Misfit{{Pointer: at, Message: leaf.Message}}
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	missing := slices.DeleteFunc(slices.Clone(schema.Required), func(k string) bool { _, has := object[k]; return has })
	var list []Misfit
	switch keyword(leaf) {
	case "additionalProperties":
		for _, k := range slices.Sorted(maps.Keys(object)) {
			if schema.Properties[k] == nil {
				fix := cmp.Or(didYouMean(k, missing), didYouMean(k, known), "schemas/input.json describes every field of input")
				list = append(list, Misfit{Pointer: at + "/" + escapeStep(k), Message: "is no field of the input", Fix: fix})
			}
		}
	case "required":
		for _, k := range missing {
			list = append(list, Misfit{Pointer: at + "/" + escapeStep(k), Message: "is missing", Fix: "every field of the input is always there"})
		}
	default:
		list = append(list, Misfit{Pointer: at, Message: leaf.Message})
	}
	return list
}

func keyword(leaf *jsonschema.ValidationError) string {
	return leaf.KeywordLocation[strings.LastIndexByte(leaf.KeywordLocation, '/')+1:]
}

// below takes one step of a pointer in a document and in its schema; nil where
// the schema says nothing more.
func below(value any, schema *jsonschema.Schema, key string) (any, *jsonschema.Schema) {
	var next *jsonschema.Schema
	switch v := value.(type) {
	case map[string]any:
		if schema != nil {
			next = schema.Properties[key]
		}
		return v[key], next
	case []any:
		if schema != nil {
			next, _ = schema.Items.(*jsonschema.Schema)
			if next == nil {
				next = schema.Items2020
			}
		}
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v) {
			return v[i], next
		}
	}
	return nil, nil
}

// notJSON finds sets and keys that are not strings.
func notJSON(v ast.Value, at string) (list []Misfit) {
	switch v := v.(type) {
	case ast.Object:
		v.Foreach(func(k, t *ast.Term) {
			key, ok := k.Value.(ast.String)
			if !ok {
				list = append(list, Misfit{Pointer: at, Message: "has a key that is not a string"})
				return
			}
			list = append(list, notJSON(t.Value, at+"/"+escapeStep(string(key)))...)
		})
	case *ast.Array:
		for i := range v.Len() {
			list = append(list, notJSON(v.Elem(i).Value, at+"/"+strconv.Itoa(i))...)
		}
	case ast.Set:
		list = append(list, Misfit{Pointer: at, Message: "is a set, which no JSON document holds", Fix: "write an array: […]"})
	}
	return list
}

// steps are the reference tokens of a pointer as the schema library writes it:
// RFC 6901 as part of a URL.
func steps(pointer string) (list []string) {
	if pointer == "" {
		return nil
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		list = append(list, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return list
}

func escapeStep(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
