package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTestingPage writes the cases of docs/testing.md, and runs its commands.
func TestTestingPage(t *testing.T) {
	page := readPage(t, "../../docs/testing.md")
	if len(page.files) < 7 || len(page.commands) < 9 {
		t.Fatalf("the page shows %d cases and %d commands", len(page.files), len(page.commands))
	}
	t.Chdir(t.TempDir())
	for _, c := range page.commands {
		words := strings.Fields(c.line)
		got, stderr := "", ""
		switch words[0] {
		case "cd":
			t.Chdir(words[1])
			for name, text := range page.files {
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		case "cat":
			data, err := os.ReadFile(words[1])
			if err != nil {
				t.Fatal(err)
			}
			got = string(data)
		case "runlens":
			code := 0
			got, stderr, code = command(t, words[1:]...)
			if want := strings.Contains(c.output, "fail  "); (code == exitDenied) != want || code > exitDenied {
				t.Errorf("%s: exit code %d: %s", c.line, code, stderr)
			}
		default:
			t.Errorf("the page runs %q, which this test can't", c.line)
		}
		if got != c.output {
			t.Errorf("%s prints\n%s\nthe page says\n%s", c.line, got, c.output)
		}
	}
}
