//go:build unix

package executor_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/ledger"
)

// child starts this test binary again to play one part in a process of its own.
func child(t *testing.T, part, project string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestChild$", "-test.v", "--", part, project}, args...)...)
	cmd.Env = append(os.Environ(), "RUNLENS_TEST_CHILD=1")
	return cmd
}

// TestChild is the other process of the tests below.
func TestChild(t *testing.T) {
	if os.Getenv("RUNLENS_TEST_CHILD") == "" {
		t.Skip("only as a child of another test")
	}
	args := os.Args[slices.Index(os.Args, "--")+1:]
	project := args[1]
	switch args[0] {
	case "calls":
		n, _ := strconv.Atoi(args[2])
		x := open(t, project, nil)
		for i := range n {
			call := readCall
			if i%4 == 3 {
				call = []byte(`{"name":"read_file","arguments":{"path":"../x"}}`)
			}
			if r := x.Exec(context.Background(), call, "r"); r.Seq == 0 {
				t.Fatalf("call %d: %+v", i, r)
			}
		}
	case "authorize":
		out, err := open(t, project, nil).Authorize(context.Background(), "r")
		if err != nil || out.Verdict.Effect != engine.Allow {
			t.Fatalf("%v %+v", err, out)
		}
	case "exec authorized":
		r, err := open(t, project, nil).ExecAuthorized(context.Background(), "r")
		if err != nil || r.Status != executor.StatusSuccess {
			t.Fatalf("%v %+v", err, r)
		}
	case "kill":
		x := open(t, project, func(c *executor.Config) { c.Handlers = dying(args[2]) })
		x.Exec(context.Background(), []byte(`{"name":"write_markdown_file","arguments":{"artifact_name":"a.md","content":"x\n"}}`), "r")
	}
}

// dying are the shipped handlers, whose process is killed before or after the
// effect.
func dying(when string) []handlers.Handler {
	return altered(func(h *handlers.Handler) {
		run := h.Run
		h.Run = func(ctx context.Context, g *handlers.Grant) (r handlers.Result, err error) {
			if when == "after" {
				r, err = run(ctx, g)
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			return r, err
		}
	})
}

// TestTwoProcesses: 200 calls each on one run at once give one unbroken chain,
// in which every verdict was judged on all events before it.
func TestTwoProcesses(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	const calls = 200
	a, b := child(t, "calls", project, strconv.Itoa(calls)), child(t, "calls", project, strconv.Itoa(calls))
	outA, outB := &strings.Builder{}, &strings.Builder{}
	a.Stdout, a.Stderr, b.Stdout, b.Stderr = outA, outA, outB, outB
	for _, c := range []*exec.Cmd{a, b} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*exec.Cmd{a, b} {
		if err := c.Wait(); err != nil {
			t.Errorf("%v\n%s%s", err, outA, outB)
		}
	}
	state, verdicts := judgedOnFold(t, events(t, project, "r"))
	if verdicts != 2*calls {
		t.Errorf("%d verdicts, want %d", verdicts, 2*calls)
	}
	if len(state.Running) != 0 {
		t.Errorf("starts without an end: %v", state.Running)
	}
}

// TestOtherProcessFaster: while this process judges, another authorizes the same
// proposal, then runs the same allow. This one does neither.
func TestOtherProcessFaster(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "works well\n")
	slow, _, clock, ran := rivals(t, project)
	if _, err := slow.Propose(context.Background(), readCall, "r"); err != nil {
		t.Fatal(err)
	}
	other := func(part string) func() {
		return func() {
			if out, err := child(t, part, project).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", part, err, out)
			}
		}
	}
	clock.next = other("authorize")
	if out, err := slow.Authorize(context.Background(), "r"); !errors.Is(err, executor.ErrNothingProposed) {
		t.Errorf("%v %+v", err, out)
	}
	clock.next = other("exec authorized")
	if r, err := slow.ExecAuthorized(context.Background(), "r"); !errors.Is(err, executor.ErrNotAuthorized) {
		t.Errorf("%v %+v", err, r)
	}
	want := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolAllowed, ledger.ToolStarted, ledger.ToolSucceeded}
	if got := types(events(t, project, "r")); !slices.Equal(got, want) || *ran != 0 {
		t.Errorf("ran %d times here, events %v, want %v", *ran, got, want)
	}
}

// TestKilled kills the process between verdict and effect, and after the
// effect. Either way the start is in the ledger, and the next opening of the
// run records that the outcome is unknown.
func TestKilled(t *testing.T) {
	for when, written := range map[string]bool{"before": false, "after": true} {
		t.Run(when, func(t *testing.T) {
			project := canonical(t)
			write(t, project, "data/feedback.txt", "x")
			out, err := child(t, "kill", project, when).CombinedOutput()
			if err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the child lived: %v\n%s", err, out)
			}
			_, err = os.Stat(filepath.Join(project, "runs/r/artifacts/a.md"))
			if (err == nil) != written {
				t.Errorf("artifact: %v", err)
			}
			before := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolAllowed, ledger.ToolStarted}
			if got := types(events(t, project, "r")); !slices.Equal(got, before) {
				t.Fatalf("events %v, want %v", got, before)
			}
			x := open(t, project, nil)
			succeeded := x.Exec(context.Background(), readCall, "r")
			if succeeded.Status != executor.StatusSuccess {
				t.Fatalf("%+v", succeeded)
			}
			if got := types(events(t, project, "r")); !slices.Equal(got[:5], append(before, ledger.ToolUnknown)) {
				t.Errorf("events %v", got)
			}
		})
	}
}

// TestLedgerUnavailable: when nothing can be recorded, nothing runs.
func TestLedgerUnavailable(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, project string){
		"runs is a file": func(t *testing.T, project string) { write(t, project, "runs", "") },
		"ledger is a directory": func(t *testing.T, project string) {
			if err := os.MkdirAll(filepath.Join(project, "runs/r/events.jsonl"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"ledger is corrupt": func(t *testing.T, project string) {
			write(t, project, "runs/r/events.jsonl", "{}\n{}\n")
		},
		"ledger may not be written": func(t *testing.T, project string) {
			if os.Geteuid() == 0 {
				t.Skip("root may write anything")
			}
			write(t, project, "runs/r/events.jsonl", "")
			if err := os.Chmod(filepath.Join(project, "runs/r/events.jsonl"), 0o400); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			project := canonical(t)
			write(t, project, "data/feedback.txt", "x")
			spoil(t, project)
			x := open(t, project, func(c *executor.Config) { c.Handlers = watched(&ran, nil) })
			r := x.Exec(context.Background(), readCall, "r")
			if r.Status != executor.StatusFailed || r.ErrorCode != "ledger_failed" || r.Seq != 0 || ran != 0 {
				t.Errorf("ran %d times, %+v", ran, r)
			}
		})
	}
}
