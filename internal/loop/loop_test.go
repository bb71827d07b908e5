package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
)

// gate is a Gate that answers every call, numbered as a ledger would.
type gate struct {
	seq   int64
	calls []string
	run   func(ctx context.Context, raw string, r *executor.ToolResult) // changes the answer
}

func (g *gate) ExecTold(ctx context.Context, raw []byte, runID string, limit int, tell executor.Tell) *executor.ToolResult {
	g.calls = append(g.calls, string(raw))
	g.seq += 3
	r := &executor.ToolResult{
		CallID: fmt.Sprintf("c%d", g.seq-2), ToolName: "t", Status: executor.StatusSuccess, RunID: runID,
		Output: map[string]any{"limit": limit, "text": "<a&b>"}, Observation: "seen", Reason: "allowed",
		Reasons: []engine.Reason{{Code: "allowed"}}, Outcome: &executor.Outcome{},
	}
	if g.run != nil {
		g.run(ctx, string(raw), r)
	}
	started := g.seq
	if r.Status == executor.StatusDenied {
		started, r.Seq = 0, g.seq-1
	}
	_ = tell(started, r)
	if started > 0 {
		g.seq++
		r.Seq = g.seq
	}
	return r
}

// drive is a run over a gate, with messages in a directory of its own.
func drive(t *testing.T, g *gate) *Run {
	t.Helper()
	return &Run{Gate: g, ID: "r1", Messages: reopen(t, t.TempDir())}
}

func reopen(t *testing.T, dir string) *Messages {
	t.Helper()
	m, err := OpenMessages(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func text(t *testing.T, r *executor.ToolResult) string {
	t.Helper()
	line, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

func TestCall(t *testing.T) {
	g := &gate{}
	r := drive(t, g)
	r.Limit = 77
	var seen []string
	r.Seen = func(res *executor.ToolResult, _ time.Duration, answered bool) {
		seen = append(seen, fmt.Sprintf("%s %t", res.CallID, answered))
	}
	res, answered, err := r.Call(t.Context(), []byte("{}"))
	if err != nil || answered || res.Output["limit"] != 77 {
		t.Fatalf("%v %t %v", res, answered, err)
	}
	if strings.Join(seen, " ") != "c1 false" || len(g.calls) != 1 {
		t.Errorf("seen %v, called %v", seen, g.calls)
	}
	if _, kept := r.Messages.Told(3); !kept {
		t.Error("nothing was kept")
	}
}

// What was told before is told again byte for byte, whether the call ran or was
// refused.
func TestRecall(t *testing.T) {
	g := &gate{run: func(_ context.Context, raw string, r *executor.ToolResult) {
		if raw == "no" {
			r.Status, r.Output, r.Reason, r.ErrorMessage, r.Observation = executor.StatusDenied, nil, "outside_roots", "path: <x>", "denied <x>"
			r.Reasons = []engine.Reason{{Code: "outside_roots", Detail: map[string]any{"roots": []any{"data/"}}}}
			return
		}
		r.Output = map[string]any{"n": 1.5, "big": int64(1) << 60, "list": []any{"<&>", nil, map[string]any{"b": 1, "a": 2}}}
		r.Plan = &executor.Standing{Status: "active", Step: "one", Tools: []string{"t"}}
	}}
	r := drive(t, g)
	for _, raw := range []string{"yes", "no"} {
		first, _, err := r.Call(t.Context(), []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		past := pastOf(t, first)
		for range 2 {
			got := r.recall(past)
			if text(t, got) != text(t, first) {
				t.Errorf("%s: told again:\n%swant:\n%s", raw, text(t, got), text(t, first))
			}
			r.Messages = again(t, r)
		}
	}
}

// again opens a run's messages anew, as another process would.
func again(t *testing.T, r *Run) *Messages {
	t.Helper()
	dir := strings.TrimSuffix(r.Messages.name, messagesName)
	if err := r.Messages.Close(); err != nil {
		t.Fatal(err)
	}
	return reopen(t, dir)
}

// pastOf is what a ledger would know of a result.
func pastOf(t *testing.T, r *executor.ToolResult) *executor.Past {
	t.Helper()
	past := &executor.Past{Seq: r.Seq, Started: r.Seq - 1, ToldDigest: r.ToldDigest()}
	if r.Output != nil {
		recorded, err := json.Marshal(r.Output)
		if err != nil {
			t.Fatal(err)
		}
		past.OutputDigest = executor.OutputDigest(recorded)
	}
	if r.Status == executor.StatusDenied {
		past.Started = 0
	}
	known := *r
	known.Output, known.Observation, known.Plan, known.Seq = nil, "", nil, 0
	past.Result = &known
	return past
}

// What was kept counts only when it is what the ledger says.
func TestRecallChanged(t *testing.T) {
	r := drive(t, &gate{})
	first, _, err := r.Call(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*executor.Past){
		"another output": func(p *executor.Past) { p.OutputDigest = "sha256:0" },
		"other words":    func(p *executor.Past) { p.ToldDigest = "sha256:0" },
		"nothing told":   func(p *executor.Past) { p.ToldDigest = "" },
	} {
		past := pastOf(t, first)
		change(past)
		got := r.recall(past)
		if got.Output != nil || got.Observation != notKept || got.Seq != past.Seq {
			t.Errorf("%s: %s", name, text(t, got))
		}
	}
	past := pastOf(t, first)
	past.Result.Status, past.Result.ErrorMessage, past.Result.Reason, past.OutputDigest = executor.StatusDenied, "no", "outside_roots", ""
	if got := r.recall(past); got.Observation != "denied (outside_roots): no" {
		t.Errorf("a refusal from the ledger: %q", got.Observation)
	}
}

// A result that cannot be kept is not told, and what happened stays recorded.
func TestNotKept(t *testing.T) {
	g := &gate{}
	r := drive(t, g)
	full := errors.New("no space left")
	r.Messages.file = &faulty{keeper: r.Messages.file, write: full}
	seen, told := 0, 0
	r.Seen = func(*executor.ToolResult, time.Duration, bool) { seen++ }
	cause, err := r.Lines(t.Context(), strings.NewReader("{}\n{}\n"), func(*executor.ToolResult) error { told++; return nil })
	if cause != CauseNotKept || !errors.Is(err, full) {
		t.Errorf("%s: %v", cause, err)
	}
	if len(g.calls) != 1 || seen != 1 || told != 0 {
		t.Errorf("called %v, seen %d, told %d", g.calls, seen, told)
	}
}
