package facts_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

// TestEncode: nil and empty are the same document, Now is in the line and not in
// the digest, and everything else is in both.
func TestEncode(t *testing.T) {
	bare := &facts.Input{V: facts.Version, Now: "2026-01-02T03:04:05.000006Z"}
	line, digest, err := facts.Encode(bare)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(line), "null") {
		t.Errorf("a list is null: %s", line)
	}
	if !strings.HasSuffix(string(line), `,"now":"2026-01-02T03:04:05.000006Z"}`) {
		t.Errorf("now does not stand last: %s", line)
	}
	later := *bare
	later.Now = "2027-01-01T00:00:00.000000Z"
	if _, other, _ := facts.Encode(&later); other != digest {
		t.Error("the time changes the digest")
	}
	total, same, _ := facts.Encode(facts.Total(bare))
	if string(total) != string(line) || same != digest {
		t.Errorf("made total it is another document:\n%s\n%s", total, line)
	}
	changed := *bare
	changed.Run.Denials.InRow = 1
	if _, other, _ := facts.Encode(&changed); other == digest {
		t.Error("a fact does not change the digest")
	}
}

// TestEncodeArguments keeps numbers as they were spelt, sorts keys and escapes
// no HTML.
func TestEncodeArguments(t *testing.T) {
	in := &facts.Input{Call: facts.Call{Arguments: map[string]any{"b": json.Number("1.50"), "a": json.Number("9007199254740993"), "c": "<&>"}}}
	line, _, err := facts.Encode(in)
	if want := `"arguments":{"a":9007199254740993,"b":1.50,"c":"<&>"}`; err != nil || !strings.Contains(string(line), want) {
		t.Errorf("%v: %s lacks %s", err, line, want)
	}
}

// TestTotal fills every list of every type, so that no fact is ever null.
func TestTotal(t *testing.T) {
	in := &facts.Input{
		Call:    facts.Call{Payloads: make([]facts.Payload, 1), Withheld: make([]facts.Withheld, 1)},
		Tool:    &facts.Tool{Roots: make([]facts.Root, 1), Commands: [][]string{nil}, Patterns: [][]facts.Part{make([]facts.Part, 1)}},
		Targets: make([]facts.Target, 1), Approvals: make([]facts.Approval, 1),
	}
	var walk func(v reflect.Value, at string)
	walk = func(v reflect.Value, at string) {
		switch v.Kind() {
		case reflect.Pointer:
			walk(v.Elem(), at)
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), at+"."+v.Type().Field(i).Name)
			}
		case reflect.Slice, reflect.Map:
			if v.IsNil() {
				t.Errorf("%s is nil", at)
			}
			for i := 0; v.Kind() == reflect.Slice && i < v.Len(); i++ {
				walk(v.Index(i), at+"[]")
			}
		}
	}
	walk(reflect.ValueOf(facts.Total(in)), "Input")
	if in.Tool.Roots[0].Access != nil || in.Targets[0].Below != nil {
		t.Error("Total changed what it was given")
	}
}
