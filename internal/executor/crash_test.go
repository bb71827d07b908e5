//go:build unix

package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
	case "kill":
		x := open(t, project, func(c *executor.Config) { c.Handlers = dying(args[2]) })
		x.Exec(context.Background(), []byte(`{"name":"write_markdown_file","arguments":{"artifact_name":"a.md","content":"x\n"}}`), "r")
	}
}

// dying are the shipped handlers, whose process is killed before or after the
// effect.
func dying(when string) []handlers.Handler {
	list := slices.Clone(builtin())
	for i := range list {
		run := list[i].Run
		list[i].Run = func(ctx context.Context, g *handlers.Grant) (r handlers.Result, err error) {
			if when == "after" {
				r, err = run(ctx, g)
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			return r, err
		}
	}
	return list
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
	state := executor.NewState()
	verdicts := 0
	for _, ev := range events(t, project, "r") {
		if ev.Type == ledger.ToolAllowed || ev.Type == ledger.ToolDenied {
			verdicts++
			var v struct {
				Input struct {
					Run struct {
						Denials struct {
							InRow int64 `json:"in_row"`
							Total int64 `json:"total"`
						} `json:"denials"`
					} `json:"run"`
				} `json:"input"`
			}
			if err := json.Unmarshal(ev.Payload, &v); err != nil {
				t.Fatal(err)
			}
			if got, want := v.Input.Run.Denials, state.Denials; got.InRow != want.InRow || got.Total != want.Total {
				t.Fatalf("event %d was judged on %+v, the run stood at %+v", ev.Seq, got, want)
			}
		}
		if err := state.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	if verdicts != 2*calls {
		t.Errorf("%d verdicts, want %d", verdicts, 2*calls)
	}
	if len(state.Running) != 0 {
		t.Errorf("starts without an end: %v", state.Running)
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
	ran := false
	watched := slices.Clone(builtin())
	for i := range watched {
		run := watched[i].Run
		watched[i].Run = func(ctx context.Context, g *handlers.Grant) (handlers.Result, error) {
			ran = true
			return run(ctx, g)
		}
	}
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
			ran = false
			project := canonical(t)
			write(t, project, "data/feedback.txt", "x")
			spoil(t, project)
			x := open(t, project, func(c *executor.Config) { c.Handlers = watched })
			r := x.Exec(context.Background(), readCall, "r")
			if r.Status != executor.StatusFailed || r.ErrorCode != "ledger_failed" || r.Seq != 0 || ran {
				t.Errorf("ran %v, %+v", ran, r)
			}
		})
	}
}

// TestDiskFull fills a file system of its own: what was acknowledged is there,
// and no handler ran without its start in the ledger.
func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	runs := filepath.Join(project, "runs")
	if err := os.Mkdir(runs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", runs, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(runs, 0) })
	x, err := newExecutor(t, project, nil)
	if err != nil {
		t.Fatal(err)
	}
	var acknowledged []int64
	failed := 0
	for range 400 {
		r := x.Exec(context.Background(), readCall, "r")
		switch {
		case r.Status == executor.StatusSuccess:
			acknowledged = append(acknowledged, r.Seq)
		case r.ErrorCode == "ledger_failed":
			failed++
		default:
			t.Fatalf("%+v", r)
		}
		if failed > 3 {
			break
		}
	}
	_ = x.Close() // the disk is full: the fold cache may not fit
	if failed == 0 || len(acknowledged) == 0 {
		t.Fatalf("%d acknowledged, %d failed", len(acknowledged), failed)
	}
	have := map[int64]string{}
	for _, ev := range events(t, project, "r") {
		have[ev.Seq] = ev.Type
	}
	for _, seq := range acknowledged {
		if have[seq] != ledger.ToolSucceeded {
			t.Errorf("acknowledged event %d is %q", seq, have[seq])
		}
	}
	fmt.Println(len(acknowledged), "acknowledged before the disk was full")
}
