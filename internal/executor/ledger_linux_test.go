package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// faults spoil an open ledger so that it takes no event, and mend it again.
var faults = map[string]func(t *testing.T, name string) (mend func()){
	"moved away": func(t *testing.T, name string) func() {
		move(t, name, name+".away")
		return func() { move(t, name+".away", name) }
	},
	"another in its place": func(t *testing.T, name string) func() {
		move(t, name, name+".away")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Error(err)
		}
		return func() { move(t, name+".away", name) }
	},
	"no room": noRoom,
}

func move(t *testing.T, from, to string) {
	if err := os.Rename(from, to); err != nil {
		t.Error(err)
	}
}

// noRoom lets the file grow by some bytes of a line and no more. The limit is
// the process's: tests that use it do not run beside others.
func noRoom(t *testing.T, name string) func() {
	info, err := os.Stat(name)
	if err != nil {
		t.Error(err)
		return func() {}
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Error(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(info.Size()) + 10, Max: was.Max}); err != nil {
		t.Error(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	}
}

// doors are the two ways to run a tool.
var doors = map[string]func(x *executor.Executor) (*executor.ToolResult, error){
	"exec": func(x *executor.Executor) (*executor.ToolResult, error) {
		return x.Exec(context.Background(), readCall, "r"), nil
	},
	"exec authorized": func(x *executor.Executor) (*executor.ToolResult, error) {
		return x.ExecAuthorized(context.Background(), "r")
	},
}

// eachFault runs fn for every fault in every door. The run holds an allow that
// has not started.
func eachFault(t *testing.T, fn func(t *testing.T, project string, spoil func() (mend func()), door func(*executor.Executor) (*executor.ToolResult, error))) {
	for fault, spoil := range faults {
		for name, door := range doors {
			t.Run(fault+"/"+name, func(t *testing.T) {
				project := canonical(t)
				write(t, project, "data/feedback.txt", "works well\n")
				// What else this process writes, such as the log of its own tests,
				// must stay below the limit that one of the faults sets.
				room := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
				if _, err := open(t, project, nil).Note(context.Background(), room, "r"); err != nil {
					t.Fatal(err)
				}
				authorized(t, project, nil)
				at := filepath.Join(project, "runs/r/events.jsonl")
				fn(t, project, func() func() { return spoil(t, at) }, door)
			})
		}
	}
}

// TestVerdictNotRecorded: an allow that the ledger did not take starts nothing,
// leaves nothing, and the same call runs once the ledger is whole again.
func TestVerdictNotRecorded(t *testing.T) {
	eachFault(t, func(t *testing.T, project string, spoil func() func(), door func(*executor.Executor) (*executor.ToolResult, error)) {
		before := types(events(t, project, "r"))
		ran, clock := 0, &between{}
		x := open(t, project, func(c *executor.Config) { c.Handlers, c.Now = watched(&ran, nil), clock.now })
		mend := func() {}
		clock.next = func() { mend = spoil() } // the call is judged, nothing is recorded yet
		r, err := door(x)
		mend()
		if err != nil {
			t.Fatal(err)
		}
		if ran != 0 || r.Status != executor.StatusFailed || r.ErrorCode != "ledger_failed" || r.Reason != "ledger_failed" || r.Retryable || r.Seq != 0 || r.Output != nil {
			t.Errorf("ran %d times, %+v", ran, r)
		}
		if r.ToolName != "read_file" || r.RunID != "r" || r.Outcome == nil {
			t.Errorf("the result does not say what was called: %+v", r)
		}
		if after := types(events(t, project, "r")); !slices.Equal(after, before) {
			t.Errorf("events %v, want %v", after, before)
		}
		if r, err = door(x); err != nil || r.Status != executor.StatusSuccess || ran != 1 {
			t.Errorf("afterwards: ran %d times, %v %+v", ran, err, r)
		}
	})
}

// TestResultNotRecorded: a handler whose end the ledger did not take is no
// success, and who opens the run next says that its outcome is unknown, while
// the process that ran it lives on.
func TestResultNotRecorded(t *testing.T) {
	eachFault(t, func(t *testing.T, project string, spoil func() func(), door func(*executor.Executor) (*executor.ToolResult, error)) {
		ran, mend := 0, func() {}
		x := open(t, project, func(c *executor.Config) { c.Handlers = watched(&ran, func() { mend = spoil() }) })
		r, err := door(x)
		mend()
		if err != nil {
			t.Fatal(err)
		}
		if ran != 1 || r.Status != executor.StatusFailed || r.ErrorCode != "ledger_failed" || r.Seq != 0 || r.Output != nil {
			t.Errorf("ran %d times, %+v", ran, r)
		}
		before := types(events(t, project, "r"))
		if last := before[len(before)-1]; last != ledger.ToolStarted {
			t.Fatalf("events %v", before)
		}
		other := open(t, project, nil)
		if r := other.Exec(context.Background(), readCall, "r"); r.Status != executor.StatusSuccess {
			t.Fatalf("%+v", r)
		}
		if after := types(events(t, project, "r")); after[len(before)] != ledger.ToolUnknown {
			t.Errorf("events %v: want %s after the %s without an end", after, ledger.ToolUnknown, ledger.ToolStarted)
		}
	})
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
