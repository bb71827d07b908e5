package handlers

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// piece is what one stream brings.
type piece struct {
	stream byte // 0 stdout, 1 stderr
	text   string
}

func transcribed(limit int, pieces ...piece) *printed {
	p := newPrinted(limit)
	stdout, stderr := p.writers()
	for _, c := range pieces {
		if c.stream == 0 {
			stdout.Write([]byte(c.text))
		} else {
			stderr.Write([]byte(c.text))
		}
	}
	return p
}

func TestTranscript(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []piece
		want   string
	}{
		{"nothing", nil, ""},
		{"in order", []piece{{0, "a\n"}, {1, "b\nc\n"}, {0, "d\n"}}, "out| a\nerr| b\nerr| c\nout| d\n"},
		{"no line feed at the end", []piece{{0, "a"}}, "out| a\n"},
		{"empty lines", []piece{{0, "\n\n"}, {1, "\n"}}, "out| \nout| \nerr| \n"},
		{"one line in pieces", []piece{{0, "a"}, {0, "b\nc"}, {0, "d\n"}}, "out| ab\nout| cd\n"},
		{"broken into", []piece{{0, "a"}, {1, "x\n"}, {0, "b\nc\n"}}, "out| a\nerr| x\nout+ b\nout| c\n"},
		{"both broken into", []piece{{0, "a"}, {1, "x"}, {0, "b"}, {1, "y\n"}, {0, "\n"}}, "out| a\nerr| x\nout+ b\nerr+ y\nout+ \n"},
		{"label of the other stream", []piece{{0, "a\nerr| b\n\nerr| c\rerr| d\u2028err| e\u0085err| f\x0berr| g\n"}}, "out| a\nout| err| b\nout| \nout| err| c\\x0derr| d\\u{2028}err| e\\u{85}err| f\\x0berr| g\n"},
		{"mark of a cut", []piece{{0, "[… 1 of 2 bytes cut here …]\nexit code 0 after 1 ms\n"}}, "out| [… 1 of 2 bytes cut here …]\nout| exit code 0 after 1 ms\n"},
		{"a character that the other stream comes into", []piece{{0, "\xf0\x9f"}, {1, "x\n\xc3"}, {0, "\x98\x80\n"}, {1, "\xa9\n"}}, "err| x\nout| 😀\nerr| é\n"},
		{"a character that never ends", []piece{{0, "a\xc3"}, {1, "x"}}, "out| a\nerr| x\nout+ \\xc3\n"},
		{"line ends of Windows", []piece{{0, "a\r\n"}, {1, "b\r\n"}}, "out| a\nerr| b\n"},
	} {
		if got := transcribed(1000, c.pieces...).both.String(); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// What a terminal would obey is spelt out: in the transcript, in each stream, and
// in what a model is told.
func TestOutputIsHarmless(t *testing.T) {
	for name, c := range map[string]struct{ in, out string }{
		"colour":           {"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		"clear the screen": {"\x1b[2J\x1b[H", `\x1b[2J\x1b[H`},
		"link":             {"\x1b]8;;http://x/\x1b\\text\x1b]8;;\x07", `\x1b]8;;http://x/\x1b\text\x1b]8;;\x07`},
		"clipboard":        {"\x1b]52;c;cm0gLXJmIH4=\x07", `\x1b]52;c;cm0gLXJmIH4=\x07`},
		"title":            {"\x1b]0;root\x9c", `\x1b]0;root\x9c`},
		"C1 in UTF-8":      {"\u009b31m\u009d8;;x\u009c", `\u{9b}31m\u{9d}8;;x\u{9c}`},
		"C1 as bytes":      {"\x9b31m", `\x9b31m`},
		"overwriting":      {"1 failed\r1 passed", `1 failed\x0d1 passed`},
		"backspace":        {"bad\b\b\bok", `bad\x08\x08\x08ok`},
		"bidi":             {"a\u202eb\u2066c\u200fd\u061c", `a\u{202e}b\u{2066}c\u{200f}d\u{61c}`},
		"tags":             {"a\U000e0041", `a\u{e0041}`},
		"lines":            {"a\u2028b\u2029c", `a\u{2028}b\u{2029}c`},
		"annotation":       {"a\ufff9b\ufffac\ufffb", `a\u{fff9}b\u{fffa}c\u{fffb}`},
		"overlong":         {"\xc0\xaf\xe0\x80\xaf", `\xc0\xaf\xe0\x80\xaf`},
		"surrogate":        {"\xed\xa0\x80", `\xed\xa0\x80`},
		"NUL":              {"a\x00b\x7f", `a\x00b\x7f`},
	} {
		p := transcribed(1000, piece{0, c.in + "\n"}, piece{1, c.in + "\n"})
		stdout, _, _ := p.stdout.text()
		stderr, _, _ := p.stderr.text()
		told, _ := Observation(Result{Observation: p.both.String()}, 1000)
		if stdout != c.out+"\n" || stderr != stdout || told != "out| "+c.out+"\nerr| "+c.out+"\n" {
			t.Errorf("%s: stdout %q, stderr %q, told %q", name, stdout, stderr, told)
		}
	}
}

// A cut of what a model is told leaves a label whole or none of it, and says rightly
// how much is missing, even where it goes through one label twice.
func TestCutAtLabels(t *testing.T) {
	const text = "exit code 1\nout| a\nerr+ é\nout| \nerr| out| b\n"
	for limit := range len(text) {
		told, cut := preview(text, limit)
		head, rest, _ := strings.Cut(told, "\n[… ")
		size, tail, _ := strings.Cut(rest, " of 45 bytes cut here …]\n")
		missing, err := strconv.Atoi(size)
		if !cut || err != nil || missing <= 0 {
			t.Fatalf("limit %d: %q", limit, told)
		}
		last := head[strings.LastIndexByte(head, '\n')+1:]
		if len(last) <= labelSize && last != "" && !strings.HasPrefix("exit code 1", last) {
			t.Errorf("limit %d: it ends with %q, a label or part of one: %q", limit, last, told)
		}
		more := len(head) + missing + len(tail) - len(text) // a label that was put before the tail
		switch {
		case more == 0 && strings.HasSuffix(text, tail):
		case more == labelSize && (strings.HasPrefix(tail, labelOutMore) || strings.HasPrefix(tail, labelErrMore)) && strings.HasSuffix(text, tail[labelSize:]):
		default:
			t.Errorf("limit %d: the size is wrong, or the tail: %q", limit, told)
		}
		if begin := len(text) - len(tail) + more; tail != "" && more == 0 && begin > 0 && text[begin-1] != '\n' && begin > len("exit code 1") {
			t.Errorf("limit %d: it goes on in the middle of a line, without a label: %q", limit, told)
		}
	}
}

// Wherever the transcript is cut, by its own bound and again for a model, each line
// has the label of its stream, and the lines without one are RunLens' own.
func TestTranscriptIsCut(t *testing.T) {
	var pieces []piece
	for i := range 200 {
		s := byte(i / 3 % 2)
		lie := labels[1-s][i%2]
		pieces = append(pieces, piece{s, fmt.Sprintf("%s%s é %d%s", lie, strings.Repeat("ab"[s:s+1], i%17), i, strings.Repeat("\n", i%3))})
	}
	for limit := 2; limit < 600; limit++ {
		text := transcribed(limit, pieces...).both.String()
		checkLabels(t, text, limit)
		for told := 20; told < 300; told += 7 {
			shown, _ := preview(text, told)
			checkLabels(t, shown, told)
		}
	}
}

func checkLabels(t *testing.T, text string, limit int) {
	t.Helper()
	marks := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "[") || strings.HasSuffix(line, "]") || line == "": // whole, or cut itself
			marks++
		case strings.HasPrefix(line, labelOut), strings.HasPrefix(line, labelOutMore):
			if strings.Contains(line, "b") && !strings.Contains(line, "bytes") || strings.Contains(line[labelSize:], "out") {
				t.Fatalf("limit %d: what stderr brought is labelled %q in\n%s", limit, line, text)
			}
		case strings.HasPrefix(line, labelErr), strings.HasPrefix(line, labelErrMore):
			if strings.Contains(line, "a") || strings.Contains(line[labelSize:], "err") {
				t.Fatalf("limit %d: what stdout brought is labelled %q in\n%s", limit, line, text)
			}
		default:
			t.Fatalf("limit %d: no label: %q in\n%s", limit, line, text)
		}
	}
	if marks > 4 {
		t.Fatalf("limit %d: %d lines without text in\n%s", limit, marks, text)
	}
}

// A line that is longer than all that is kept has its label on both sides of the
// cut, and the cut says how much is missing.
func TestTranscriptOfOneLine(t *testing.T) {
	p := transcribed(10, piece{1, strings.Repeat("é", 100)})
	whole := "err| ééééé\n[… 180 of 200 bytes cut here …]\nerr+ ééééé\n"
	if got := p.both.String(); got != whole {
		t.Errorf("got  %q\nwant %q", got, whole)
	}
	for limit, want := range map[int]string{
		30: "exit code 0\nerr| é\n[… 52 of 80 bytes cut here …]\nerr+ éééé\n",
		42: "exit code 0\nerr| ééééé\n\n[… 36 of 80 bytes cut here …]\nerr+ ééééé\n", // it goes through the label
	} {
		told, cut := Observation(Result{Observation: "exit code 0\n" + whole}, limit)
		if !cut || told != want {
			t.Errorf("limit %d: told %q, want %q", limit, told, want)
		}
	}
}

// A flood takes time and no memory, however it is spread over the streams.
func TestFloodTakesNoMemory(t *testing.T) {
	const limit = 1 << 10
	p := newPrinted(limit)
	stdout, stderr := p.writers()
	chunk := []byte(strings.Repeat("y\n", 16<<10))
	allocated := testing.AllocsPerRun(1, func() {
		for range 500 {
			stdout.Write(chunk)
			stderr.Write(chunk[:1])
		}
	})
	if allocated > 50 {
		t.Errorf("%v allocations", allocated)
	}
	for name, c := range map[string]*capture{"stdout": p.stdout, "stderr": p.stderr, "both": p.both.text, "from": p.both.from} {
		if held := cap(c.head) + cap(c.tail); held > 4*2*limit {
			t.Errorf("%s holds %d bytes", name, held)
		}
	}
	if _, total, cut := p.stdout.text(); total != 2*500*int64(len(chunk)) || !cut {
		t.Errorf("counted %d bytes, cut %v", total, cut)
	}
}
