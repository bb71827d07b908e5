package handlers

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/glyph"
)

func TestObservation(t *testing.T) {
	for _, c := range []struct {
		name  string
		res   Result
		limit int
		text  string
		cut   bool
	}{
		{"its own text", Result{Observation: "abc", Output: map[string]any{"a": 1}}, 10, "abc", false},
		{"output as JSON", Result{Output: map[string]any{"b": "<x>", "a": 1}}, 100, `{"a":1,"b":"<x>"}`, false},
		{"nothing", Result{}, 10, "", false},
		{"exactly the limit", Result{Observation: "0123456789"}, 10, "0123456789", false},
		{"one over", Result{Observation: "0123456789A"}, 10, "0123456\n[… 1 of 11 bytes cut here …]\n89A", true},
		{"head and tail", Result{Observation: strings.Repeat("a", 50) + strings.Repeat("z", 50)}, 9, "aaaaaa\n[… 91 of 100 bytes cut here …]\nzzz", true},
		{"whole characters", Result{Observation: strings.Repeat("é", 20)}, 9, "ééé\n[… 32 of 40 bytes cut here …]\né", true},
		{"no limit", Result{Observation: "abc"}, 0, "\n[… 3 of 3 bytes cut here …]\n", true},
		{"negative limit", Result{Observation: "abc"}, -5, "\n[… 3 of 3 bytes cut here …]\n", true},
		{"terminal escape", Result{Observation: "\x1b[31mred\x1b[0m\a"}, 100, `\x1b[31mred\x1b[0m\x07`, false},
		{"C1", Result{Observation: "\u009b31m"}, 100, `\u{9b}31m`, false},
		{"invalid UTF-8", Result{Observation: "a\xff\xc3"}, 100, `a\xff\xc3`, false},
		{"reordering", Result{Observation: "a\u202eb\u2066c"}, 100, `a\u{202e}b\u{2066}c`, false},
		{"hidden", Result{Observation: "a\U000e0041b"}, 100, `a\u{e0041}b`, false},
		{"real scripts", Result{Observation: "میخواهم 👩💻 é 漢字\u3000かな 한 e\u0301\t1\n"}, 100, "میخواهم 👩💻 é 漢字\u3000かな 한 e\u0301\t1\n", false},
		{"joiners", Result{Observation: "می\u200cخواهم 👩\u200d💻 a\u200db \u200d"}, 100, "می\u200cخواهم 👩\u200d💻 a" + `\u{200d}b \u{200d}`, false},
		{"joiners in a row", Result{Observation: "می\u200c\u200dخ ❤\ufe0f\u200d\u200d\U0001f525"}, 100, "می\u200c" + `\u{200d}` + "خ ❤\ufe0f\u200d" + `\u{200d}` + "\U0001f525", false},
		{"selectors", Result{Observation: "❤\ufe0f 1\ufe0f\u20e3 ❤\ufe0f\ufe0f a\ufe0f\u180b\U000e0100"}, 100, "❤\ufe0f 1\ufe0f\u20e3 ❤\ufe0f" + `\u{fe0f} a\u{fe0f}\u{180b}\u{e0100}`, false},
		{"shown as nothing", Result{Observation: "a\u034fb\u115f\u3164\uffa0\u17b4c"}, 100, `a\u{34f}b\u{115f}\u{3164}\u{ffa0}\u{17b4}c`, false},
		{"private, or none", Result{Observation: "\ue000\ufdd0\U0001fffe\U0010ffff"}, 100, `\u{e000}\u{fdd0}\u{1fffe}\u{10ffff}`, false},
		{"escapes in output", Result{Output: map[string]any{"k\u202e": "\x1b[2J\u009b\x7f\u2066\U000e0041é"}}, 100, `{"k\u202e":"\u001b[2J\u009b\u007f\u2066\udb40\udc41é"}`, false},
		{"line ends", Result{Observation: "a\r\nb\rc"}, 100, "a\nb" + `\x0d` + "c", false},
		{"output that is no JSON", Result{Output: map[string]any{"f": func() {}}}, 200, "(output that is not JSON: *json.UnsupportedTypeError)", false},
	} {
		text, cut := Observation(c.res, c.limit)
		if text != c.text || cut != c.cut {
			t.Errorf("%s:\n got %q %v\nwant %q %v", c.name, text, cut, c.text, c.cut)
		}
	}
}

// Wherever it is cut, it is valid text whose parts are the head and the tail.
func TestPreviewEverywhere(t *testing.T) {
	const text = "aé€😀-z😀€éa"
	for limit := range len(text) {
		got, cut := preview(text, limit)
		head, rest, _ := strings.Cut(got, "\n[… ")
		_, tail, found := strings.Cut(rest, " …]\n")
		if !cut || !found || !utf8.ValidString(got) || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head)+len(tail) > limit {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
}

// Whatever comes in which pieces, the head and the tail are kept.
func TestCapture(t *testing.T) {
	var whole string
	for i := range 40 {
		whole += string(rune('a'+i%26)) + "é"
	}
	for limit := range 60 {
		for piece := 1; piece < 70; piece++ {
			for size := 0; size <= len(whole); size += 11 {
				checkCapture(t, whole[:size], limit, piece)
			}
		}
	}
}

func checkCapture(t *testing.T, in string, limit, piece int) {
	t.Helper()
	in = in[:wholeEnd([]byte(in))]
	c := newCapture(limit)
	for rest := in; rest != ""; {
		n := min(piece, len(rest))
		if wrote, err := c.Write([]byte(rest[:n])); wrote != n || err != nil {
			t.Fatalf("write: %d, %v", wrote, err)
		}
		rest = rest[n:]
	}
	text, total, cut := c.text()
	if total != int64(len(in)) || cut != (len(in) > max(limit, 2)) {
		t.Fatalf("limit %d, piece %d: %d of %d, cut %v", limit, piece, total, len(in), cut)
	}
	if !cut {
		if want := visible(in); text != want {
			t.Fatalf("limit %d, piece %d:\n got %q\nwant %q", limit, piece, text, want)
		}
		return
	}
	head, rest, _ := strings.Cut(text, "\n[… ")
	_, tail, found := strings.Cut(rest, " …]\n")
	if !found || !strings.HasPrefix(in, head) || !strings.HasSuffix(in, tail) || len(head)+len(tail) > max(limit, 2) || len(head)+len(tail)+2 < max(limit, 2)-1 {
		t.Fatalf("limit %d, piece %d: head %q, tail %q of %q", limit, piece, head, tail, in)
	}
}

// What is told of an output is JSON that means the output.
func TestObservationIsJSON(t *testing.T) {
	in := map[string]any{"\u202ekey": []any{"\u0085", "\u200b\ufeff", map[string]any{"\U000e0041": "\u2028\x1b"}}, "漢": "é\u3000"}
	text, _ := Observation(Result{Output: in}, 1000)
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil || !reflect.DeepEqual(in, out) || !strings.Contains(text, "漢") {
		t.Errorf("%v: %q", err, text)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !glyph.Shows(r) }) {
		t.Errorf("something hidden came through: %q", text)
	}
}
