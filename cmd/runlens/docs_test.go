package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/engine/regotest"
	"github.com/runlens/runlens/schemas"
)

// command runs one command line in this process, in the working directory.
func command(t *testing.T, words ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	w := &world{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs, now: time.Now, random: zeros{},
		getenv: func(string) string { return "" },
	}
	code = run(words, w)
	return out.String(), errs.String(), code
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestPagesAreFresh holds the generated pages to what the program says.
func TestPagesAreFresh(t *testing.T) {
	for page, words := range map[string][]string{
		"reason-codes.md": {"policy", "codes", "--format", "markdown"},
		"input.md":        {"policy", "input", "--format", "markdown"},
	} {
		t.Run(page, func(t *testing.T) {
			t.Chdir("../..")
			want, stderr, code := command(t, words...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			name := filepath.Join("docs", page)
			if *update {
				if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("%s is stale: make docs", name)
			}
		})
	}
}

// TestReadmeFirstCommand runs the command of the README's first screen, and
// holds the page to its real output.
func TestReadmeFirstCommand(t *testing.T) {
	t.Chdir("../..")
	page := readPage(t, "README.md")
	for _, c := range page.commands {
		words, ours := strings.CutPrefix(c.line, "go run ./cmd/runlens ")
		if !ours {
			continue
		}
		got, stderr, code := command(t, strings.Fields(words)...)
		if code != exitDenied {
			t.Errorf("%s: exit code %d, want a denial: %s", c.line, code, stderr)
		}
		if got != c.output && *update {
			rewrite(t, "README.md", c.output, got)
		} else if got != c.output {
			t.Errorf("%s prints\n%s\nthe README says\n%s", c.line, got, c.output)
		}
		return
	}
	t.Error("the README shows no `go run ./cmd/runlens check examples/…`")
}

func rewrite(t *testing.T, name, old, text string) {
	t.Helper()
	whole, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.Replace(string(whole), old, text, 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFirstRule does what docs/first-rule.md says, step by step.
func TestFirstRule(t *testing.T) {
	page := readPage(t, "../../docs/first-rule.md")
	if lines := strings.Count(strings.ReplaceAll(page.files["policies/runlens/rules/drafts/drafts.rego"], "\n\n", "\n"), "\n"); lines != 10 {
		t.Errorf("the page says ten lines, the rule has %d", lines)
	}
	t.Chdir(t.TempDir())
	line := regexp.MustCompile(`(decision\.rego:)[0-9]+`)
	for _, c := range page.commands {
		words := strings.Fields(c.line)
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
		case "opa":
			opa(t, words[2:])
		case "runlens":
			got, stderr, code := command(t, words[1:]...)
			if code == exitBroken {
				t.Fatalf("%s: %s", c.line, stderr)
			}
			dir, err := os.Getwd()
			if err == nil {
				dir, err = filepath.EvalSymlinks(dir)
			}
			if err != nil {
				t.Fatal(err)
			}
			got = line.ReplaceAllString(strings.ReplaceAll(got, dir, "/home/me/shop"), "${1}LINE")
			if got != c.output {
				t.Errorf("%s prints\n%s\nthe page says\n%s", c.line, got, c.output)
			}
		default:
			t.Errorf("the page runs %q, which this test can't", c.line)
		}
	}
}

// opa is `opa test DIR...` in this process; a project's first family has no
// tests yet, so those are the shipped ones, with the family beside them.
func opa(t *testing.T, dirs []string) {
	t.Helper()
	all := t.TempDir()
	for _, dir := range dirs {
		if err := os.CopyFS(all, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	report, err := regotest.Run(context.Background(), engine.Source{FS: os.DirFS(all), Schemas: schemas.FS}, regotest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if failed := report.Failed(); len(report.Results) == 0 || len(failed) > 0 {
		t.Errorf("opa test: %d tests, failed: %v", len(report.Results), failed)
	}
}

// page is what a Markdown page has a reader do.
type page struct {
	commands []transcript
	files    map[string]string
}

// transcript is a command and what the page shows below it.
type transcript struct{ line, output string }

// readPage reads the fenced blocks of a page: console blocks hold commands
// behind "$ ", and a line "`name`:" before another block makes it a file.
func readPage(t *testing.T, name string) page {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := page{files: map[string]string{}}
	fence, file := "", ""
	for l := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(l)
		switch {
		case fence == "" && strings.HasPrefix(trimmed, "```"):
			fence = strings.TrimPrefix(trimmed, "```")
			if fence == "" {
				t.Fatalf("%s: a block without a language", name)
			}
		case trimmed == "```":
			fence, file = "", ""
		case fence == "console" && strings.HasPrefix(l, "$ "):
			p.commands = append(p.commands, transcript{line: strings.TrimSpace(l[2:])})
		case fence == "console" && len(p.commands) > 0:
			p.commands[len(p.commands)-1].output += l
		case fence != "" && file != "":
			p.files[file] += l
		case fence == "" && strings.HasPrefix(trimmed, "`") && strings.HasSuffix(trimmed, "`:"):
			file = strings.Trim(trimmed, "`:")
		}
	}
	return p
}
