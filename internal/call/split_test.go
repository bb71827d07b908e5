package call

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// pieces collects what Split gives; a value that is too large is "<rule>".
func pieces(t testing.TB, r io.Reader, max int64) (list []string, failed error) {
	t.Helper()
	for value, err := range Split(r, max) {
		var bad *Malformed
		switch {
		case failed != nil:
			t.Fatalf("Split went on after %v", failed)
		case errors.As(err, &bad):
			list = append(list, "<"+bad.Rule+">")
		case err != nil:
			failed = err
		default:
			list = append(list, string(value))
		}
	}
	return list, failed
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"blanks", " \n\t\r\n", nil},
		{"one", `{"a":1}`, []string{`{"a":1}`}},
		{"one over lines", "\n{\n  \"a\": [\n    {\n},\n{}\n  ]\n}\n\n", []string{"{\n  \"a\": [\n    {\n},\n{}\n  ]\n}"}},
		{"a bracket alone on a line", "{\"a\":\n{\"b\":\n[1]\n}\n}", []string{"{\"a\":\n{\"b\":\n[1]\n}\n}"}},
		{"lines", "{\"a\":1}\n{\"b\":2}\r\n\n{\"c\":3}", []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}},
		{"no newline", `{"a":1}{"b":2} {"c":3}`, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}},
		{"brackets in text", `{"a":"}{\"]\\"}{"b":"["}`, []string{`{"a":"}{\"]\\"}`, `{"b":"["}`}},
		{"a list", "[{\"a\":1},\n{\"b\":2}]", []string{"[{\"a\":1},\n{\"b\":2}]"}},
		{"other values", "1 2\nnull\n\"a\"", []string{`1 2`, `null`, `"a"`}},
		{"data behind a value", "{\"a\":1} x\n{\"b\":2}", []string{`{"a":1}`, `x`, `{"b":2}`}},
		{"byte order mark", "\ufeff{\"a\":\n1}\n{\"b\":2}", []string{"\ufeff{\"a\":\n1}", `{"b":2}`}},
		{"byte order mark alone", "\ufeff", []string{"\ufeff"}},
		{"cut at the end", `{"a":1}{"b":`, []string{`{"a":1}`, `{"b":`}},
		{"cut in text", `{"a":"x`, []string{`{"a":"x`}},
		{"cut in an escape", `{"a":"x\`, []string{`{"a":"x\`}},
		{"text without an end", "{\"a\":\"x}\n{\"b\":2}", []string{`{"a":"x}`, `{"b":2}`}},
		{"escaped newline", "{\"a\":\"x\\\n{\"b\":2}", []string{`{"a":"x\`, `{"b":2}`}},
		{"object without an end", "{\"a\":{\"c\":1}\n{\"b\":2}\n{\"d\":3}", []string{`{"a":{"c":1}`, `{"b":2}`, `{"d":3}`}},
		{"comma before the next line", "{\"a\":1,\n{\"b\":2}", []string{`{"a":1,`, `{"b":2}`}},
		{"list without an end", "[1\n{\"b\":2}", []string{`[1`, `{"b":2}`}},
		{"bracket where none can be", "{\"a\" {\"x\":1}}\n{\"b\":2}", []string{`{"a" {"x":1}}`, `{"b":2}`}},
		{"wrong bracket", "{\"a\":[1}, \"x\": 1\n{\"b\":2}", []string{`{"a":[1}, "x": 1`, `{"b":2}`}},
		{"closing bracket first", "} {\"a\":1}\n{\"b\":2}", []string{`} {"a":1}`, `{"b":2}`}},
		{"bytes of no text", "\xff\x00\n{\"b\":2}", []string{"\xff\x00", `{"b":2}`}},
		{"too long", "{\"a\":\"" + strings.Repeat("x", 100) + "\"}\n{\"b\":2}\n" + strings.Repeat("y", 100) + "\n", []string{"<too_large>", `{"b":2}`, "<too_large>"}},
		{"just long enough", "  {\"a\":\"" + strings.Repeat("x", 41) + "\"}   \n", []string{"{\"a\":\"" + strings.Repeat("x", 41) + "\"}"}},
		{"a byte too long", "  {\"a\":\"" + strings.Repeat("x", 42) + "\"}   \n", []string{"<too_large>"}},
		{"blanks to the limit", "{\"a\":" + strings.Repeat(" ", 44) + "1}", []string{"<too_large>"}},
		{"short with many blanks behind", "x" + strings.Repeat(" ", 100) + "\n", []string{"x"}},
		{"brackets without an end", strings.Repeat("[", 20_000) + "\n{\"b\":2}", []string{"<too_large>", `{"b":2}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(tt.in), "bytewise": iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, err := pieces(t, r, 49)
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("%s: got %q, %v; want %q", name, got, err, tt.want)
				}
			}
		})
	}
}

func TestSplitReadError(t *testing.T) {
	broken := errors.New("broken")
	for _, in := range []string{"", `{"a":1}`, `{"a":1}{"b"`, `{"a":1} {"b":"x`, "{\"a\":1}\nx"} {
		got, err := pieces(t, io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), 0)
		want := []string{`{"a":1}`}
		if in == "" {
			want = nil
		}
		if err != broken || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v; want %q and the error", in, got, err, want)
		}
	}
}

func TestSplitStops(t *testing.T) {
	for _, in := range []string{"1\n2\n", strings.Repeat("x", 50) + "\n2\n"} {
		n := 0
		for range Split(strings.NewReader(in), 10) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d values after the first", n-1)
		}
	}
}

// TestSplitKeeps: a value stays what it was when the next ones are read.
func TestSplitKeeps(t *testing.T) {
	var first []byte
	for value, err := range Split(strings.NewReader(`{"a":1}{"b":2}`), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = value
		}
	}
	if string(first) != `{"a":1}` {
		t.Errorf("the first value is now %s", first)
	}
}
