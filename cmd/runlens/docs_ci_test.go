package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestCIPage does what docs/ci.md says, step by step: a change that lets a call
// through is green in check and test, and is caught by replay. With -update it
// writes what the commands print into the page.
func TestCIPage(t *testing.T) {
	name, err := filepath.Abs("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	page := readPage(t, name)
	if len(page.files) != 4 || len(page.commands) != 15 {
		t.Fatalf("the page shows %d files and %d commands", len(page.files), len(page.commands))
	}
	const missing = "policy_test/files/staging.txtar" // written when the change is caught
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	// What differs from one tree of policies to the next, and says nothing here.
	vary := regexp.MustCompile(`(\.rego:)[0-9]+|\b[0-9a-f]{12}\b|\b[0-9]{3,}( Rego tests:| passed)`)
	last, caught := exitAllowed, false
	for _, c := range page.commands {
		words, got := strings.Fields(c.line), ""
		switch words[0] {
		case "cd":
			t.Chdir(words[1])
			for file, text := range page.files {
				if file != missing {
					writePageFile(t, file, text)
				}
			}
		case "echo":
			got = fmt.Sprintln(last)
		case "sed":
			substitute(t, c.line)
		case "runlens":
			got, last = pageCommand(t, c.line)
		default:
			t.Errorf("the page runs %q, which this test can't", c.line)
		}
		if last == exitDenied && !caught {
			caught = true
			writePageFile(t, missing, page.files[missing])
			// As the page says, generated calls see the change as well.
			words := []string{"policy", "diff", "--no-runs", "--no-cases", "embedded", "policies"}
			if out, stderr, code := command(t, words...); code != exitDenied || !strings.Contains(out, ".env.staging") {
				t.Errorf("policy diff: exit code %d: %s\n%s", code, stderr, out)
			}
		}
		got = strings.ReplaceAll(got, top, "/home/me")
		if vary.ReplaceAllString(got, "$1…$2") == vary.ReplaceAllString(c.output, "$1…$2") {
			continue
		}
		if *update {
			rewrite(t, name, "$ "+c.line+"\n"+c.output, "$ "+c.line+"\n"+got)
			continue
		}
		t.Errorf("%s prints\n%s\nthe page says\n%s", c.line, got, c.output)
	}
	if !caught {
		t.Error("nothing catches the change")
	}
}

func writePageFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// substitute is `sed -i 's/OLD/NEW/' FILE` of plain texts.
func substitute(t *testing.T, line string) {
	t.Helper()
	parts := regexp.MustCompile(`^sed -i 's/([^/]+)/([^/]+)/' (\S+)$`).FindStringSubmatch(line)
	if parts == nil {
		t.Fatalf("the page runs %q, which this test can't", line)
	}
	text, err := os.ReadFile(parts[3])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), parts[1]) != 1 {
		t.Fatalf("%s: %s holds the text %d times", line, parts[3], strings.Count(string(text), parts[1]))
	}
	writePageFile(t, parts[3], strings.Replace(string(text), parts[1], parts[2], 1))
}

// pageCommand runs a command of a page. What it shows of one that reads a file
// and writes another is what is left, stderr.
func pageCommand(t *testing.T, line string) (shown string, code int) {
	t.Helper()
	from, to, redirected := strings.Cut(line, " > ")
	line, in, _ := strings.Cut(from, " < ")
	if !redirected {
		out, stderr, code := command(t, strings.Fields(line)[1:]...)
		if code == exitBroken {
			t.Errorf("%s: %s", line, stderr)
		}
		return out, code
	}
	input, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	w := &world{
		stdin: bytes.NewReader(input), stdout: &out, stderr: &errs, now: time.Now, random: zeros{},
		getenv: func(string) string { return "" },
	}
	code = run(strings.Fields(line)[1:], w)
	writePageFile(t, to, out.String())
	return errs.String(), code
}
