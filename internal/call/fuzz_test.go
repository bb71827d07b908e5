package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func seeds(f *testing.F) {
	for _, raw := range []string{
		smallCall,
		`{"tool":"read_file","path":"workspace/src/x.py","call_id":"c"}`,
		`{"tool":"t","params":{"a":[{}]},"function":{"b":1},"name":"n","type":"x"}`,
		`{"type":"function","id":"c","function":{"name":"t","arguments":"{\"p\\u0061th\": \"a\\nb\", \"n\": [1e2, -0.0]}"}}`,
		`{"type":"function_call","call_id":"c","name":"t","arguments":" {\"é\":\"\\ud83d\\ude00\"}"}`,
		`{"type":"tool_use","id":"c","name":"t","input":{"a":null,"b":[true,false]}}`,
		`{"jsonrpc":"2.0","id":1.50,"method":"tools/call","params":{"name":"t","arguments":{"a":18446744073709551615}}}`,
		`{"method":"tools/call","params":{"name":"t"}}`,
		ours(`{"path":"a","p\u0061th":"b","Path":"c"}`),
		ours(`{"a":["\ud800",1e309,0.12345678901234567]}`),
		ours(`{"a":` + nest(64) + `}`),
		`{"name":"t","arguments":{},"tool":"u"}`,
		"\ufeff{}", `[]`, `{"a":1} {"a":2}`, "{\"a\":\"x\n{\"b\":2}\n", "{\"a\":1,\n\"b\":[\n{}\n]}\n",
	} {
		f.Add([]byte(raw))
	}
}

// FuzzAdmit: nothing panics; what is admitted reads the same everywhere: as our
// own shape, and to encoding/json.
func FuzzAdmit(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Admit(raw)
		if err != nil {
			var bad *Malformed
			if !errors.As(err, &bad) || c != nil || bad.Rule == "" || bad.Fix == "" || bad.Offset < 0 || bad.Offset > int64(len(raw)) {
				t.Fatalf("refused with %v, %#v", c, err)
			}
			if text := err.Error(); strings.ContainsAny(text, "\n\r\x1b\x00\u202e") {
				t.Fatalf("not printable: %q", text)
			}
			return
		}
		var whole map[string]any
		if err := decode(raw, &whole); err != nil {
			t.Fatalf("encoding/json refuses what Admit takes: %v", err)
		}
		var arguments map[string]any
		if err := decode(c.ArgumentsJSON, &arguments); err != nil || !reflect.DeepEqual(arguments, c.Arguments) {
			t.Fatalf("ArgumentsJSON %q is %v (%v), Arguments %v", c.ArgumentsJSON, arguments, err, c.Arguments)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, c.ArgumentsJSON); err != nil || !bytes.Equal(compact.Bytes(), c.ArgumentsJSON) {
			t.Fatalf("ArgumentsJSON is not compact: %q", c.ArgumentsJSON)
		}
		again, err := Admit(c.JSON())
		if err != nil {
			t.Fatalf("JSON of an admitted call is refused: %v\n%s", err, c.JSON())
		}
		if again.Shape != Ours || again.Name != c.Name || again.ID != c.ID || again.Digest() != c.Digest() ||
			!reflect.DeepEqual(again.Arguments, c.Arguments) || !bytes.Equal(again.JSON(), c.JSON()) {
			t.Fatalf("read back as %+v, was %+v", again, c)
		}
		same(t, whole, c)
	})
}

// same compares c with what encoding/json sees where the shape says it is.
func same(t *testing.T, whole map[string]any, c *Call) {
	inside := func(key string) map[string]any { m, _ := whole[key].(map[string]any); return m }
	text := func(v any) (m map[string]any) {
		s, _ := v.(string)
		if err := decode([]byte(s), &m); err != nil {
			t.Fatalf("encoding/json refuses the argument text: %v", err)
		}
		return m
	}
	var name, arguments any
	switch c.Shape {
	case Ours:
		name, arguments = whole["name"], whole["arguments"]
	case Flat:
		name = whole["tool"]
		delete(whole, "tool")
		delete(whole, "call_id")
		arguments = whole
	case OpenAIChat:
		name, arguments = inside("function")["name"], text(inside("function")["arguments"])
	case OpenAIResponses:
		name, arguments = whole["name"], text(whole["arguments"])
	case Anthropic:
		name, arguments = whole["name"], whole["input"]
	case MCP:
		name, arguments = inside("params")["name"], inside("params")["arguments"]
		if arguments == nil {
			arguments = map[string]any{}
		}
	default:
		t.Fatalf("shape %v", c.Shape)
	}
	if name != c.Name || !reflect.DeepEqual(arguments, c.Arguments) {
		t.Fatalf("encoding/json sees %v %v, Admit %v %v", name, arguments, c.Name, c.Arguments)
	}
}

func decode(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err == nil {
		return errors.New("trailing data")
	}
	return nil
}

// FuzzSplit: values and blanks between them are the whole input, in order; one
// admitted call, however spelt, is one value.
func FuzzSplit(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		rest, n := raw, 0
		for value, err := range Split(bytes.NewReader(raw), 0) {
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(rest, value)
			if len(value) == 0 || at < 0 || len(bytes.Trim(rest[:at], " \t\r\n")) > 0 {
				t.Fatalf("value %q after %q", value, rest)
			}
			rest = rest[at+len(value):]
			n++
		}
		if len(bytes.Trim(rest, " \t\r\n")) > 0 {
			t.Fatalf("%q was dropped", rest)
		}
		if _, err := Admit(raw); err == nil && n != 1 {
			t.Fatalf("one call became %d values", n)
		}
		if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(raw) && n != 1 {
			t.Fatalf("one object became %d values", n)
		}
	})
}
