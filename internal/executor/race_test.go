package executor_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

var badCall = []byte(`{"name":"read_file","arguments":{"path":"../x"}}`)

// rivals are two executors on one project, each with a ledger handle of its
// own. What clock.next does happens while the slow one has judged a call and
// recorded nothing. ran counts the handlers of both.
func rivals(t *testing.T, project string) (slow, fast *executor.Executor, clock *between, ran *int) {
	t.Helper()
	clock, ran = &between{}, new(int)
	slow = open(t, project, func(c *executor.Config) { c.Handlers, c.Now = watched(ran, nil), clock.now })
	fast = open(t, project, func(c *executor.Config) { c.Handlers = watched(ran, nil) })
	return slow, fast, clock, ran
}

// count says how many events of a type there are.
func count(list []string, typ string) (n int) {
	for _, have := range list {
		if have == typ {
			n++
		}
	}
	return n
}

// TestOneStart: of two that run one allow, one does.
func TestOneStart(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "works well\n")
	authorized(t, project, nil)
	slow, fast, clock, ran := rivals(t, project)
	clock.next = func() {
		if r, err := fast.ExecAuthorized(context.Background(), "r"); err != nil || r.Status != executor.StatusSuccess {
			t.Errorf("the faster: %v %+v", err, r)
		}
	}
	if r, err := slow.ExecAuthorized(context.Background(), "r"); !errors.Is(err, executor.ErrNotAuthorized) || r != nil {
		t.Errorf("the slower: %v %+v", err, r)
	}
	want := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolAllowed, ledger.ToolStarted, ledger.ToolSucceeded}
	if got := types(events(t, project, "r")); !slices.Equal(got, want) || *ran != 1 {
		t.Errorf("ran %d times, events %v, want %v", *ran, got, want)
	}
}

// TestOneVerdict: of two that judge one proposal, one does.
func TestOneVerdict(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "works well\n")
	slow, fast, clock, _ := rivals(t, project)
	if _, err := fast.Propose(context.Background(), readCall, "r"); err != nil {
		t.Fatal(err)
	}
	clock.next = func() {
		if out, err := fast.Authorize(context.Background(), "r"); err != nil || out.Verdict.Effect != engine.Allow {
			t.Errorf("the faster: %v %+v", err, out)
		}
	}
	if out, err := slow.Authorize(context.Background(), "r"); !errors.Is(err, executor.ErrNothingProposed) || out != nil {
		t.Errorf("the slower: %v %+v", err, out)
	}
	want := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolAllowed}
	if got := types(events(t, project, "r")); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// TestProposedMeanwhile: a verdict is on the last proposal or on none. The one
// that came in between waits for its own.
func TestProposedMeanwhile(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "works well\n")
	slow, fast, clock, _ := rivals(t, project)
	if _, err := fast.Propose(context.Background(), readCall, "r"); err != nil {
		t.Fatal(err)
	}
	var second int64
	clock.next = func() {
		var err error
		if second, err = fast.Propose(context.Background(), badCall, "r"); err != nil {
			t.Error(err)
		}
	}
	if out, err := slow.Authorize(context.Background(), "r"); !errors.Is(err, executor.ErrNothingProposed) {
		t.Errorf("judged an older proposal: %v %+v", err, out)
	}
	out, err := slow.Authorize(context.Background(), "r")
	if err != nil || out.Proposal != second || out.Verdict.Effect != engine.Deny {
		t.Fatalf("%v %+v", err, out)
	}
	want := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ModelProposed, ledger.ToolDenied}
	if got := types(events(t, project, "r")); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// TestJudgedAgain: what another executor was refused between the judging of a
// call and the record of its verdict counts. Five refusals in a row exhaust the
// budget; with four the call is allowed, on an input that tells of them.
func TestJudgedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		judge  func(x *executor.Executor) (*executor.Outcome, error)
		refuse func(x *executor.Executor) string
		reason string
		runs   bool
	}{
		"exec":            {execRead, refuseCall, "outside_roots", true},
		"exec authorized": {execAllow, refuseCall, "outside_roots", true},
		"authorize":       {authorizeLast, refuseAllow, "object_changed", false},
	} {
		for refusals, effect := range map[int64]engine.Effect{4: engine.Allow, 5: engine.Deny} {
			t.Run(name+"/"+effect.String(), func(t *testing.T) {
				project := canonical(t)
				prepare(t, project, name, refusals)
				slow, fast, clock, ran := rivals(t, project)
				clock.next = func() {
					for range refusals {
						if got := c.refuse(fast); got != c.reason {
							t.Errorf("in between: %s, want %s", got, c.reason)
						}
					}
				}
				out, err := c.judge(slow)
				if err != nil || out.Verdict.Effect != effect || out.Input.Run.Denials.InRow != refusals || out.Input.Run.Denials.Total != refusals {
					t.Fatalf("%v %+v", err, out)
				}
				if effect == engine.Deny && out.Verdict.Reasons[0].Code != "denial_budget_exhausted" {
					t.Errorf("%+v", out.Verdict)
				}
				want := 0
				if c.runs && effect == engine.Allow {
					want = 1
				}
				list := events(t, project, "r")
				judgedOnFold(t, list)
				if starts := count(types(list), ledger.ToolStarted); starts != want || *ran != want {
					t.Errorf("%d starts, %d runs, want %d", starts, *ran, want)
				}
			})
		}
	}
}

func execRead(x *executor.Executor) (*executor.Outcome, error) {
	return x.Exec(context.Background(), readCall, "r").Outcome, nil
}

func execAllow(x *executor.Executor) (*executor.Outcome, error) {
	r, err := x.ExecAuthorized(context.Background(), "r")
	if err != nil {
		return nil, err
	}
	return r.Outcome, nil
}

func authorizeLast(x *executor.Executor) (*executor.Outcome, error) {
	return x.Authorize(context.Background(), "r")
}

func refuseCall(x *executor.Executor) string {
	return x.Exec(context.Background(), badCall, "r").Reason
}

// refuseAllow is a denial without a new proposal, which would take the place of
// the one that is being judged: an allow is refused when it is to be run.
func refuseAllow(x *executor.Executor) string {
	r, err := x.ExecAuthorized(context.Background(), "r")
	if err != nil {
		return err.Error()
	}
	return r.Reason
}

// prepare makes the run of TestJudgedAgain: an allow to be run, or a proposal to
// be judged beside allows that are void because their file has changed.
func prepare(t *testing.T, project, door string, refusals int64) {
	t.Helper()
	write(t, project, "data/feedback.txt", "works well\n")
	switch door {
	case "exec authorized":
		authorized(t, project, nil)
	case "authorize":
		write(t, project, "data/old.txt", "old\n")
		x := open(t, project, nil)
		old := []byte(`{"name":"read_file","arguments":{"path":"data/old.txt"}}`)
		for range refusals {
			if _, err := x.Propose(context.Background(), old, "r"); err != nil {
				t.Fatal(err)
			}
			if out, err := x.Authorize(context.Background(), "r"); err != nil || out.Verdict.Effect != engine.Allow {
				t.Fatalf("%v %+v", err, out)
			}
		}
		write(t, project, "data/old.txt", "changed\n")
		if _, err := x.Propose(context.Background(), readCall, "r"); err != nil {
			t.Fatal(err)
		}
	}
}
