package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFirstSkill does what docs/skills.md says, and holds the page to what the
// program prints.
func TestFirstSkill(t *testing.T) {
	page := readPage(t, "../../docs/skills.md")
	t.Chdir(t.TempDir())
	for name, text := range page.files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(page.commands) != 1 {
		t.Fatalf("the page runs %d commands", len(page.commands))
	}
	c := page.commands[0]
	line, _, _ := strings.Cut(c.line, " > ")
	line, input, _ := strings.Cut(line, " < ")
	calls, err := os.Open(input)
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	var out, errs bytes.Buffer
	w := &world{
		stdin: calls, stdout: &out, stderr: &errs, now: time.Now, random: zeros{},
		getenv: func(string) string { return "" },
	}
	if code := run(strings.Fields(line)[1:], w); code != exitAllowed {
		t.Errorf("%s: exit code %d", c.line, code)
	}
	got := errs.String()
	if got != c.output {
		t.Errorf("%s prints\n%s\nthe page says\n%s", c.line, errs.String(), c.output)
	}
	answers := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(answers) != 3 || !strings.Contains(answers[0], `"error_message":"tool write_json_file is not allowed for current plan step read"`) {
		t.Errorf("answered %s", out.String())
	}
}
