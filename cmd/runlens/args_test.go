package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestArrange(t *testing.T) {
	app := newApp(&world{stdout: io.Discard, stderr: io.Discard})
	for line, want := range map[string]string{
		"check a.json":                           "runlens check -- a.json",
		"check a.json --format json b.json":      "runlens check --format=json -- a.json b.json",
		"check a.json --project p":               "runlens --project=p check -- a.json",
		"--run r1 exec --authorized":             "runlens --run=r1 exec --authorized=true --",
		"exec - --run=r1":                        "runlens --run=r1 exec -- -",
		"ledger append r1 --note a --policies t": "runlens --policies=t ledger append --note=true -- r1 a",
		"ledger --project p verify r1 --head h":  "runlens --project=p ledger verify --head=h -- r1",
		"check -format json -- --format -x":      "runlens check --format=json -- --format -x",
		"check --help a.json --format json":      "runlens check --help",
		"ledger -h":                              "runlens ledger --help",
		"help policy new":                        "runlens policy new --help",
		"--help":                                 "runlens --help",
		"check help":                             "runlens check -- help",
		"check --format=a=b c":                   "runlens check --format=a=b -- c",
	} {
		got, err := arrange(app, strings.Fields(line))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("arrange(%q) = %q, %v, want %q", line, strings.Join(got, " "), err, want)
		}
	}
}

// Whatever is typed is refused or keeps every file name, in its order.
func FuzzArrange(f *testing.F) {
	for _, line := range []string{"check a --format json", "--run", "-- x", "check -", "ledger append r --note", "exec --authorized=1 x", "-=", "--=", "check -h"} {
		f.Add(line)
	}
	app := newApp(&world{stdout: io.Discard, stderr: io.Discard})
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		got, err := arrange(app, words)
		if err != nil || slices.Contains(got, "--help") {
			return
		}
		end := slices.Index(got, "--")
		if end < 2 {
			t.Fatalf("arrange(%q) = %q: no command", words, got)
		}
		rest := words
		for _, file := range got[end+1:] {
			i := slices.Index(rest, file)
			if i < 0 {
				t.Fatalf("arrange(%q) = %q: %q is out of place", words, got, file)
			}
			rest = rest[i+1:]
		}
	})
}
