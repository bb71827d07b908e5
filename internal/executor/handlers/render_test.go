package handlers

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"sort"
	"testing"
	"unicode/utf8"
)

func TestRenderJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`null`, "null\n"},
		{`"x"`, "\"x\"\n"},
		{`{}`, "{}\n"},
		{`[]`, "[]\n"},
		{`[1,[],{}]`, "[\n  1,\n  [],\n  {}\n]\n"},
		{`{"b":1,"a":{"d":[true,false],"c":null}}`, "{\n  \"a\": {\n    \"c\": null,\n    \"d\": [\n      true,\n      false\n    ]\n  },\n  \"b\": 1\n}\n"},
		{`[1.0,1e2,1E+2,-0,0.10,9007199254740993]`, "[\n  1.0,\n  1e2,\n  1E+2,\n  -0,\n  0.10,\n  9007199254740993\n]\n"},
		{`"<a href='x'>&</a>"`, "\"<a href='x'>&</a>\"\n"},
		{`"\u0000\u001f\b\f\n\r\t\"\\\/"`, "\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\"\n"},
		{`"é😀\u2028\u2029\u007f"`, "\"é😀\u2028\u2029\u007f\"\n"},
		// By code point U+FFFD is before U+1F600, by UTF-16 unit it is after.
		{`{"😀":1,"\ufffd":2,"z":3,"Z":4,"":5}`, "{\n  \"\": 5,\n  \"Z\": 4,\n  \"z\": 3,\n  \"\ufffd\": 2,\n  \"😀\": 1\n}\n"},
	} {
		got, pointer, err := renderJSON(decode(t, []byte(c.in)), "/content")
		if err != nil || pointer != "/content" || string(got) != c.want {
			t.Errorf("%s:\n got %q\nwant %q (%v)", c.in, got, c.want, err)
		}
	}
}

func TestRenderJSONRefused(t *testing.T) {
	deep := any("x")
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for _, c := range []struct {
		name    string
		in      any
		pointer string
	}{
		{"number", map[string]any{"a/b": []any{json.Number("01")}}, "/content/a~1b/0"},
		{"no number", json.Number(""), "/content"},
		{"Go number", []any{1.5}, "/content/0"},
		{"text", map[string]any{"k": "\xff"}, "/content/k"},
	} {
		data, pointer, err := renderJSON(c.in, "/content")
		if err == nil || data != nil || pointer != c.pointer {
			t.Errorf("%s: %q at %q, %v", c.name, data, pointer, err)
		}
	}
	if data, _, err := renderJSON(deep, ""); err == nil || data != nil {
		t.Error("nested too deeply, and rendered")
	}
}

func TestIsNumber(t *testing.T) {
	for s, want := range map[string]bool{
		"0": true, "-0": true, "10": true, "1.5": true, "1e5": true, "1E-05": true, "-1.5e+10": true,
		"": false, "-": false, "01": false, "1.": false, ".5": false, "1e": false, "1e+": false, "+1": false, "0x1": false, "1 ": false, "NaN": false, "--1": false,
	} {
		if isNumber(s) != want {
			t.Errorf("isNumber(%q) = %v", s, !want)
		}
	}
}

// Rendered JSON decodes to the value it was made of, with keys in order and
// numbers as they were spelt, and renders to itself.
func FuzzRenderJSON(f *testing.F) {
	for _, s := range []string{`{"b":[1.0,2e3,-0],"a":"\u2028<&>"}`, `[[],{},"",null]`, `{"a":{"b":{"c":[true]}}}`, `12345678901234567890.10`, `{"😀":1,"\ufffd":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var value any
		if dec.Decode(&value) != nil {
			return
		}
		text, _, err := renderJSON(value, "")
		if err != nil {
			return // nested too deeply
		}
		if back := decode(t, text); !reflect.DeepEqual(back, value) {
			t.Fatalf("decodes to %#v, was %#v", back, value)
		}
		again, _, err := renderJSON(decode(t, text), "")
		if err != nil || !bytes.Equal(again, text) {
			t.Fatalf("renders to %q, then %q (%v)", text, again, err)
		}
		checkOrder(t, text)
	})
}

// checkOrder reads tokens and holds every object's keys against their order.
func checkOrder(t *testing.T, text []byte) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	type level struct {
		object, value bool
		keys          []string
	}
	var stack []level
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := len(stack); n > 0 && stack[n-1].object && token != json.Delim('}') {
			if top := &stack[n-1]; !top.value {
				top.keys, top.value = append(top.keys, token.(string)), true
				continue
			} else {
				top.value = false
			}
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{object: true})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			if keys := stack[len(stack)-1].keys; !sort.StringsAreSorted(keys) {
				t.Fatalf("keys out of order: %q", keys)
			}
			stack = stack[:len(stack)-1]
		}
	}
}
