//go:build unix

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/runlens/runlens/internal/ledger"
)

// A signal ends the tool that runs and then the run, and both ends are recorded.
func TestSignalEndsTheRun(t *testing.T) {
	needSh(t)
	dir := waiting(t, `echo runs > started; sleep 60`)
	running, stderr, _ := begin(t, dir, "sh", "-c", `(cat call.json; echo; cat call.json) > calls; exec runlens run --run r1 < calls`)
	if err := running.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = running.Wait()
	if code := running.ProcessState.ExitCode(); code != exitDenied {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	types := recorded(t, dir)
	if n := len(types); n < 2 || types[n-1] != ledger.RunStopped || types[n-2] != ledger.ToolFailed {
		t.Errorf("recorded: %v", types)
	}
	if starts := slices.DeleteFunc(types, func(typ string) bool { return typ != ledger.ToolStarted }); len(starts) != 1 {
		t.Errorf("%d calls began", len(starts))
	}
}

// A person at a terminal is told what is awaited.
func TestRunAtATerminal(t *testing.T) {
	s := layExample(t, "calls.jsonl")
	w, _, stderr := s.world([]byte("{}\n"))
	w.stdinTerminal, w.stderrTerminal = true, true
	if code := run([]string{"--project", s.dir, "run", "--run", "r1"}, w); code != exitAllowed {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"run_id=r1\n", "note: type calls as JSON, one a line", "Ctrl-D", "\n   1  -             ?  ", "\nrun r1 completed: 1 call, 1 denied; input ended\n"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("not told %q:\n%s", want, stderr)
		}
	}
}
