package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
)

// The worst wins, in whatever order things happen.
func TestWorse(t *testing.T) {
	order := []int{exitBroken, exitDenied, exitAsk, exitNothing, exitAllowed}
	for i, bad := range order {
		for _, better := range order[i:] {
			if worse(bad, better) != bad || worse(better, bad) != bad {
				t.Errorf("worse(%d, %d) = %d, worse(%d, %d) = %d, want %d both times",
					bad, better, worse(bad, better), better, bad, worse(better, bad), bad)
			}
		}
	}
}

func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		effect engine.Effect
		reason string
		want   int
	}{
		{engine.Allow, "allowed", exitAllowed},
		{engine.Deny, "outside_roots", exitDenied},
		{engine.Block, "plan_complete", exitDenied},
		{engine.Ask, "approval_required", exitAsk},
		{engine.Deny, "policy_undefined", exitBroken},
		{engine.Deny, "ledger_failed", exitBroken},
		{engine.Allow, "policy_error", exitBroken},
		{engine.Effect(77), "", exitDenied},
	} {
		if got := codeOf(c.effect, c.reason); got != c.want {
			t.Errorf("codeOf(%s, %q) = %d, want %d", c.effect, c.reason, got, c.want)
		}
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err    error
		code   int
		stderr string
	}{
		{nil, 0, ""},
		{end(exitAllowed), 0, ""},
		{end(exitAsk), exitAsk, ""},
		{errors.New("open x: gone"), exitBroken, "runlens: error: open x: gone\n"},
		{hinted("look there", "open x: gone"), exitBroken, "runlens: error: open x: gone\nrunlens: hint: look there\n"},
		{fmt.Errorf("check: %w", hinted("look there", "gone")), exitBroken, "runlens: error: check: gone\nrunlens: hint: look there\n"},
		{
			together(hinted("a", "one"), nil, hinted("b", "two\nthree"), hinted("a", "four")), exitBroken,
			"runlens: error: one\nrunlens: error: two\nrunlens: error: three\nrunlens: error: four\nrunlens: hint: a\nrunlens: hint: b\n",
		},
		{errors.New("bad \x1b[2J\u202e"), exitBroken, "runlens: error: bad \\x1b[2J\\u202e\n"},
	} {
		var stderr bytes.Buffer
		if code := exitCode(c.err, &stderr); code != c.code || stderr.String() != c.stderr {
			t.Errorf("%v: exit code %d and %q, want %d and %q", c.err, code, stderr.String(), c.code, c.stderr)
		}
	}
}

// A result that could not be written must not pass for an empty one.
func TestResultThatCannotBeWritten(t *testing.T) {
	for _, words := range [][]string{
		{"check", "-"},
		{"check", "--format", "json", "-"},
		{"check", "--format", "jsonl", "-"},
		{"check", "--format", "input", "-"},
		{"tools"},
		{"policy", "codes"},
		{"policy", "input"},
	} {
		t.Chdir(t.TempDir())
		var stderr bytes.Buffer
		w := &world{
			stdin:  strings.NewReader(`{"name": "list_run_files", "arguments": {}}`),
			stdout: full{}, stderr: &stderr, now: epoch, random: zeros{}, getenv: func(string) string { return "" },
		}
		if code := run(words, w); code != exitBroken || !strings.Contains(stderr.String(), "error: write result: no space") {
			t.Errorf("runlens %v to a full disk: exit code %d, stderr %q", words, code, stderr.String())
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
