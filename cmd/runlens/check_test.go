package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func epoch() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Long jobs tell how far they are, on a terminal alone, and leave nothing of it.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		each     time.Duration
		want     bool
	}{
		{"a long job on a terminal", true, time.Second, true},
		{"a short job on a terminal", true, time.Millisecond, false},
		{"a long job elsewhere", false, time.Second, false},
	} {
		t.Chdir(t.TempDir())
		for i := range 5 {
			if err := os.WriteFile(fmt.Sprintf("%d.json", i), []byte(`{"name": "nobody", "arguments": {}}`), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		now := epoch()
		var stdout, stderr bytes.Buffer
		w := &world{
			stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, stderrTerminal: c.terminal,
			now: func() time.Time { now = now.Add(c.each); return now }, random: zeros{},
			getenv: func(string) string { return "" },
		}
		if code := run([]string{"check", "."}, w); code != exitDenied {
			t.Fatalf("%s: exit code %d: %s", c.name, code, stderr.String())
		}
		text := stderr.String()
		if got := strings.Contains(text, "of 5 files"); got != c.want {
			t.Errorf("%s: progress is shown: %t\n%q", c.name, got, text)
		}
		if c.want && !strings.HasSuffix(text, "\r\x1b[K") {
			t.Errorf("%s: the line is left behind: %q", c.name, text)
		}
		if strings.Contains(stdout.String(), "\x1b") || !strings.Contains(stdout.String(), "5 calls: 0 allowed, 5 denied") {
			t.Errorf("%s: stdout holds something else than the report: %q", c.name, stdout.String())
		}
	}
}

// A person at a terminal is told what to give instead of being waited for.
func TestNobodyHasToTypeACall(t *testing.T) {
	for _, words := range [][]string{{"check"}, {"exec"}, {"ledger", "append", "r1"}} {
		t.Chdir(t.TempDir())
		var stdout, stderr bytes.Buffer
		w := &world{
			stdin: neverRead{t}, stdinTerminal: true, stdout: &stdout, stderr: &stderr,
			now: epoch, random: zeros{}, getenv: func(string) string { return "" },
		}
		if code := run(words, w); code != exitBroken || !strings.Contains(stderr.String(), "stdin is a terminal") {
			t.Errorf("runlens %v: exit code %d, stderr %q", words, code, stderr.String())
		}
	}
}

type neverRead struct{ t *testing.T }

func (n neverRead) Read([]byte) (int, error) {
	n.t.Error("stdin is read")
	return 0, os.ErrClosed
}

func TestNearest(t *testing.T) {
	known := []string{"text", "json", "jsonl", "input", "verify"}
	for word, want := range map[string]string{
		"jsn": "json", "josn": "json", "JSON": "json", "jsonll": "jsonl", "tex": "text", "verif": "verify", "ver": "verify",
		"yaml": "", "": "", "x": "", "json": "", strings.Repeat("j", 1000): "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
