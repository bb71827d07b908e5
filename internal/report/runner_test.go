package report

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/runlens/runlens/internal/glyph"
)

// command is what a runner takes from a line of output.
type command struct {
	name       string
	properties map[string]string
	data       string
}

// commandIn reads a line as a GitHub Actions runner does: "::" behind blanks
// begins a command, else "##[" anywhere, and characters that show nothing are not
// there. It takes any name for a command's, where a runner knows some.
func commandIn(line string) (command, bool) {
	line = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || glyph.Shows(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(line, ""))
	if rest, ok := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::"); ok {
		if head, data, ok := strings.Cut(rest, "::"); ok {
			name, list, _ := strings.Cut(head, " ")
			c := command{name: name, properties: map[string]string{}, data: strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%").Replace(data)}
			for pair := range strings.SplitSeq(list, ",") {
				if key, value, ok := strings.Cut(pair, "="); ok {
					c.properties[key] = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(value)
				}
			}
			return c, true
		}
	}
	if _, rest, ok := strings.Cut(line, "##["); ok {
		if name, data, ok := strings.Cut(rest, "]"); ok {
			return command{name: name, data: data}, true
		}
	}
	return command{}, false
}

// lines are what a runner reads, which ends them at either character.
func runnerLines(text string) []string { return regexp.MustCompile(`\r\n|\r|\n`).Split(text, -1) }

// Each line is one command of ours, however the text in it is spelt.
func TestGitHub(t *testing.T) {
	all := findings()
	text := string(GitHub(all))
	var told []Finding
	for _, f := range all {
		if f.Status != Pass && f.Status != Skip {
			told = append(told, f)
		}
	}
	lines := runnerLines(strings.TrimSuffix(text, "\n"))
	if len(lines) != len(told) {
		t.Fatalf("%d lines for %d findings", len(lines), len(told))
	}
	for i, line := range lines {
		c, ok := commandIn(line)
		want := map[Status]string{Fail: "error", Broken: "error", Ask: "warning"}[told[i].Status]
		if !ok || c.name != want {
			t.Errorf("line %d: got %q, want %s: %q", i, c.name, want, line)
		}
		for key := range c.properties {
			if !slices.Contains([]string{"file", "line", "col", "title"}, key) {
				t.Errorf("line %d has a property %q", i, key)
			}
		}
		if strings.ContainsAny(c.properties["title"], "\r\n") || !strings.HasPrefix(c.properties["title"], "runlens: ") {
			t.Errorf("line %d: title %q", i, c.properties["title"])
		}
		if strings.Contains(line, "##[") || len(c.data) > mostMessage {
			t.Errorf("line %d holds too much: %d bytes, %q", i, len(c.data), line)
		}
	}
	c, _ := commandIn(lines[0])
	if c.properties["file"] != "calls/b.jsonl" || c.properties["line"] != "3" || c.properties["col"] != "7" || c.properties["title"] != "runlens: outside_roots" ||
		c.data != "path: x is outside\nalso hard_link: x\nfix: stay inside\nrule: policies/p.rego:26" {
		t.Errorf("the first is %+v", c)
	}
	if len(GitHub(nil)) != 0 || len(GitHub(all[:1])) != 0 {
		t.Error("there is something to tell when nothing failed")
	}
	stdin := GitHub([]Finding{{Place: Place{File: Stdin, Line: 3}, Message: "x", Code: "c"}})
	if string(stdin) != "::error title=runlens%3A c::x\n" {
		t.Errorf("stdin is a file: %s", stdin)
	}
}

// Nothing that goes through the guard is a command, however it is cut; what can't
// be one comes through as it is.
func TestGuard(t *testing.T) {
	texts := slices.Concat(hostile, []string{
		"\t::error::x", "\u00a0::error::x", "x\r::error::x", "###[error]x", "##\x00[error]x", ":\x01:error::x", "#\n#[x]\n", ": :error::x",
		"##[a]##[b]", "::::error::", "a: b\n  c: d", "https://x/y::z", "# # [x]", "[#[x]",
	})
	for _, text := range texts {
		for _, n := range []int{1, 2, 3, 1 << 20} {
			var out bytes.Buffer
			w := Guard(&out)
			for chunk := range slices.Chunk([]byte(text), n) {
				if k, err := w.Write(chunk); err != nil || k != len(chunk) {
					t.Fatalf("%d of %d, %v", k, len(chunk), err)
				}
			}
			for _, line := range runnerLines(out.String()) {
				if c, ok := commandIn(line); ok {
					t.Errorf("%q in pieces of %d: %q gives the command %q", text, n, line, c.name)
				}
			}
			innocent := true
			for _, line := range runnerLines(text) {
				_, is := commandIn(line + "]::")
				innocent = innocent && !is
			}
			if innocent && out.String() != text {
				t.Errorf("%q comes out as %q", text, out.String())
			}
		}
	}
}

func FuzzGuard(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		if _, err := io.WriteString(Guard(&out), text); err != nil {
			t.Fatal(err)
		}
		for _, line := range runnerLines(out.String()) {
			if c, ok := commandIn(line); ok {
				t.Errorf("%q gives the command %q", text, c.name)
			}
		}
	})
}

func TestUnguarded(t *testing.T) {
	var out bytes.Buffer
	if w, guarded := Unguarded(&out); guarded || w != io.Writer(&out) {
		t.Error("a plain stream counts as guarded")
	}
	if w, guarded := Unguarded(Guard(&out)); !guarded || w != io.Writer(&out) {
		t.Error("a guard is not taken off")
	}
}
