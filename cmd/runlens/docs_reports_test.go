package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestReportsPage runs the commands of docs/reports.md and holds it to their
// output.
func TestReportsPage(t *testing.T) {
	page := readPage(t, "../../docs/reports.md")
	t.Chdir(t.TempDir())
	for name, text := range page.files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("data", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("data/a.txt", []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(\.rego:)[0-9]+`)
	if len(page.commands) != 2 {
		t.Fatalf("the page has %d commands", len(page.commands))
	}
	for _, c := range page.commands {
		words := regexp.MustCompile(`\s+`).Split(c.line, -1)
		got, stderr, code := command(t, words[1:]...)
		if code != exitDenied {
			t.Errorf("%s: exit code %d: %s", c.line, code, stderr)
		}
		if got, want := line.ReplaceAllString(got, "${1}LINE"), line.ReplaceAllString(c.output, "${1}LINE"); got != want {
			t.Errorf("%s prints\n%s\nthe page says\n%s", c.line, got, want)
		}
	}
}
