package call

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPiecesTellTheirPlace(t *testing.T) {
	in := "\n  {\"a\":\n1} {\"é\":\"日\"}{\"b\":2}\r\n\"x\n{\"c\":3,\n{\"d\":4}\n" + strings.Repeat("y", 60) + "\n\n 7"
	want := []Piece{{Line: 2, Column: 3}, {Line: 3, Column: 4}, {Line: 3, Column: 13}, {Line: 4, Column: 1}, {Line: 5, Column: 1}, {Line: 6, Column: 1}, {Line: 7, Column: 1}, {Line: 9, Column: 2}}
	var got []Piece
	for p, err := range Pieces(iotest.OneByteReader(strings.NewReader(in)), 50) {
		if bad := (*Malformed)(nil); err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
		if (p.Raw == nil) != (err != nil) {
			t.Errorf("line %d: value %q with error %v", p.Line, p.Raw, err)
		}
		p.Raw = nil
		got = append(got, p)
	}
	if !slices.EqualFunc(got, want, func(a, b Piece) bool { return a.Line == b.Line && a.Column == b.Column }) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestPieceAt(t *testing.T) {
	p := Piece{Raw: []byte("{\"é\":\n  \"日本\": 1,\r\n\"x\":2}"), Line: 4, Column: 9}
	for _, tt := range []struct {
		text         string
		line, column int
	}{{"{", 4, 9}, {":\n", 4, 13}, {"1,", 5, 9}, {"\"x\"", 6, 1}, {"2}", 6, 5}} {
		line, column := p.At(strings.Index(string(p.Raw), tt.text))
		if line != tt.line || column != tt.column {
			t.Errorf("%q is at %d:%d, want %d:%d", tt.text, line, column, tt.line, tt.column)
		}
	}
	if line, column := p.At(-1); line != 4 || column != 9 {
		t.Errorf("before it: %d:%d", line, column)
	}
	if line, column := p.At(1000); line != 6 || column != 7 {
		t.Errorf("behind it: %d:%d", line, column)
	}
}

// The value of an argument is found in every shape, and nothing else is taken for it.
func TestLocate(t *testing.T) {
	const value = `"DATA/a.txt"`
	for name, raw := range map[string]string{
		"ours":             `{"name":"path","arguments":{"x":{"path":"no"},"path":"DATA/a.txt"},"call_id":"path"}`,
		"ours, spread out": "{\"arguments\" : {\n \"path\" : \n \"DATA/a.txt\"} ,\"name\":\"r\"}",
		"ours, escaped":    `{"name":"r","arguments":{"p\u0061th":"DATA/a.txt"}}`,
		"flat":             `{"tool":"r","x":{"path":1},"path":"DATA/a.txt"}`,
		"anthropic":        `{"type":"tool_use","id":"1","name":"r","input":{"path":"DATA/a.txt"}}`,
		"mcp":              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"r","arguments":{"path":"DATA/a.txt"}}}`,
	} {
		at, found := Locate([]byte(raw), "path")
		if want := strings.Index(raw, value); !found || at != want {
			t.Errorf("%s: got %d, %t; want %d", name, at, found, want)
		}
	}
	for name, raw := range map[string]string{
		"chat":      `{"type":"function","id":"1","function":{"name":"r","arguments":"{\"é\\u0041\": 1, \"path\": \"DATA/a.txt\"}"}}`,
		"responses": `{"type":"function_call","call_id":"1","name":"r","arguments":"{\n \"path\":\"DATA/a.txt\"}"}`,
	} {
		at, found := Locate([]byte(raw), "path")
		if want := strings.Index(raw, `\"DATA`); !found || at != want {
			t.Errorf("%s: got %d, %t; want %d", name, at, found, want)
		}
	}
	for name, raw := range map[string]string{
		"another":              `{"name":"r","arguments":{"other":1}}`,
		"below another":        `{"name":"r","arguments":{"other":{"path":1}}}`,
		"none":                 `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"r"}}`,
		"no call":              `[1]`,
		"no call, but for one": `{"name":"r","arguments":{"path":1}} x`,
		"nothing":              ``,
	} {
		if at, found := Locate([]byte(raw), "path"); found {
			t.Errorf("%s: found at %d", name, at)
		}
	}
	for _, word := range []string{"tool", "call_id"} {
		if at, found := Locate([]byte(`{"tool":"r","call_id":"1"}`), word); found {
			t.Errorf("%s of a flat call is taken for an argument, at %d", word, at)
		}
	}
}

func FuzzLocate(f *testing.F) {
	f.Add([]byte(`{"name":"r","arguments":{"path":"a"}}`), "path")
	f.Add([]byte(`{"type":"function","function":{"name":"r","arguments":"{\"path\":\"\\ud83d\\ude00\"}"}}`), "path")
	f.Fuzz(func(t *testing.T, raw []byte, argument string) {
		at, found := Locate(raw, argument)
		c, err := Admit(raw)
		if !found {
			if err == nil {
				if _, there := c.Arguments[argument]; there {
					t.Errorf("%q is not found in %q", argument, raw)
				}
			}
			return
		}
		if err != nil || at <= 0 || at >= len(raw) {
			t.Fatalf("found at %d of %q, which gives %v", at, raw, err)
		}
		if _, there := c.Arguments[argument]; !there {
			t.Errorf("%q is found in %q, which has none", argument, raw)
		}
	})
}
