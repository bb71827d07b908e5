package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReplayPage does what docs/replay.md says, step by step: a flip, a policy that
// asks for what the record doesn't hold, a wider root. With -update it writes what
// the commands print into the page.
func TestReplayPage(t *testing.T) {
	name, err := filepath.Abs("../../docs/replay.md")
	if err != nil {
		t.Fatal(err)
	}
	page := readPage(t, name)
	if len(page.files) != 4 || len(page.commands) != 11 {
		t.Fatalf("the page shows %d files and %d commands", len(page.files), len(page.commands))
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	vary := regexp.MustCompile(`(\.rego:)[0-9]+|\b[0-9a-f]{12}\b`)
	last, codes := exitAllowed, []int{}
	for _, c := range page.commands {
		words, got := strings.Fields(c.line), ""
		switch words[0] {
		case "cd":
			t.Chdir(words[1])
			for file, text := range page.files {
				writePageFile(t, file, text)
			}
		case "echo":
			got = fmt.Sprintln(last)
		case "sed":
			substitute(t, c.line)
		case "runlens":
			got, last = pageCommand(t, c.line)
			if words[1] == "replay" {
				codes = append(codes, last)
			}
		default:
			t.Errorf("the page runs %q, which this test can't", c.line)
		}
		got = strings.ReplaceAll(got, top, "/home/me")
		if vary.ReplaceAllString(got, "$1…") == vary.ReplaceAllString(c.output, "$1…") {
			continue
		}
		if *update {
			rewrite(t, name, "$ "+c.line+"\n"+c.output, "$ "+c.line+"\n"+got)
			continue
		}
		t.Errorf("%s prints\n%s\nthe page says\n%s", c.line, got, c.output)
	}
	if got, want := fmt.Sprint(codes), fmt.Sprint([]int{exitDenied, exitRecord, exitDenied}); got != want {
		t.Errorf("the replays end with %s, want %s", got, want)
	}
}
