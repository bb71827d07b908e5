package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/ledger"
)

// deaf is a handler that heeds neither deadline nor caller: it works when it is let.
type deaf struct {
	begun, let chan struct{}
	panics     bool
}

func newDeaf() *deaf { return &deaf{begun: make(chan struct{}), let: make(chan struct{})} }

// stubborn are the shipped handlers, of which one is deaf.
func (d *deaf) stubborn(name string) []handlers.Handler {
	return altered(func(h *handlers.Handler) {
		if h.Name != name {
			return
		}
		run := h.Run
		h.Run = func(ctx context.Context, g *handlers.Grant) (handlers.Result, error) {
			close(d.begun)
			<-d.let
			if d.panics {
				panic("too late")
			}
			return run(context.WithoutCancel(ctx), g)
		}
	})
}

// hasty lets write_json_file take 50 ms.
func hasty(text string) string {
	return strings.Replace(text, `"write_json_file": {`, `"write_json_file": {"timeout_ms": 50,`, 1)
}

// late is the payload of a note about a late result, as another program reads it.
type late struct {
	Kind      string `json:"kind"`
	Started   int64  `json:"started_seq"`
	Verdict   int64  `json:"verdict_seq"`
	CallID    string `json:"call_id"`
	Tool      string `json:"tool"`
	ErrorCode string `json:"error_code"`
	Bytes     int    `json:"output_bytes"`
	Digest    string `json:"output_digest"`
	Artifacts []struct {
		Path   string `json:"path"`
		Bytes  int64  `json:"bytes"`
		Digest string `json:"digest"`
	} `json:"artifacts"`
	Micros int64 `json:"duration_us"`
}

// awaitNote waits for the run's note.
func awaitNote(t *testing.T, project, run string) (ev *ledger.Event, note late) {
	t.Helper()
	for range 500 {
		list := events(t, project, run)
		if i := slices.IndexFunc(list, func(ev *ledger.Event) bool { return ev.Type == ledger.Note }); i >= 0 {
			if err := json.Unmarshal(list[i].Payload, &note); err != nil {
				t.Fatal(err)
			}
			return list[i], note
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("no note: %v", types(events(t, project, run)))
	return nil, late{}
}

// A handler that heeds no deadline is a handler_timeout. What it does afterwards is
// recorded and nothing goes by it.
func TestLateResult(t *testing.T) {
	project := sumsProject(t)
	d := newDeaf()
	x := open(t, project, func(c *executor.Config) {
		c.Tools, c.Handlers = skillTools(t, skillText, hasty), d.stubborn("write_json_file")
	})
	run := started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"}).RunID
	if r := x.Exec(context.Background(), readNumbers(), run); r.Status != executor.StatusSuccess {
		t.Fatalf("%+v", r)
	}
	var r *executor.ToolResult
	var calls sync.WaitGroup
	calls.Go(func() { r = x.Exec(context.Background(), writeSum(map[string]any{"sum": 6}), run) })
	<-d.begun
	if plan := x.Exec(context.Background(), readNumbers(), run); plan.ErrorCode != "pre_hook_blocked" {
		t.Errorf("beside it: %s %s", plan.Status, plan.ErrorCode)
	}
	calls.Wait()
	if r.Status != executor.StatusFailed || r.ErrorCode != "handler_timeout" || r.Output != nil {
		t.Fatalf("%+v", r)
	}
	// Whoever proposes it again is told that it may still be done.
	if again := x.Exec(context.Background(), writeSum(map[string]any{"sum": 6}), run); again.Status != executor.StatusBlocked || again.Reason != "outcome_unknown" {
		t.Errorf("again: %s %s %s", again.Status, again.ErrorCode, again.Reason)
	}
	if _, err := x.Stop(context.Background(), run, "input_ended"); err != nil {
		t.Fatal(err)
	}
	before := events(t, project, run)
	close(d.let)
	ev, note := awaitNote(t, project, run)

	made, err := os.ReadFile(filepath.Join(project, "runs/r/artifacts/sum.json"))
	if err != nil {
		t.Fatalf("it has not worked: %v", err)
	}
	ended := payloadOf[struct {
		Started int64 `json:"started_seq"`
		Verdict int64 `json:"verdict_seq"`
	}](t, before, ledger.ToolFailed)
	if note.Kind != "late_result" || note.Started != ended.Started || note.Verdict != ended.Verdict || note.CallID != r.CallID ||
		note.Tool != "write_json_file" || note.ErrorCode != "" || note.Bytes == 0 || !strings.HasPrefix(note.Digest, "sha256:") || note.Micros < 3_000_000 {
		t.Errorf("recorded %s", ev.Payload)
	}
	if a := note.Artifacts; len(a) != 1 || a[0].Path != "runs/r/artifacts/sum.json" || a[0].Bytes != int64(len(made)) {
		t.Errorf("artifacts %+v", a)
	}
	const order = `"kind" "started_seq" "verdict_seq" "call_id" "tool" "error_code" "output_bytes" "output_digest" "artifacts" "duration_us"`
	at := 0
	for _, name := range strings.Fields(order) {
		next := strings.Index(string(ev.Payload), name+":")
		if next < at {
			t.Errorf("%s is not in its place: %s", name, ev.Payload)
		}
		at = next
	}

	after := events(t, project, run)
	if got := types(after[len(before):]); !slices.Equal(got, []string{ledger.Note}) || types(before)[len(before)-1] != ledger.RunStopped {
		t.Errorf("after %v came %v", types(before), got)
	}
	was, now := folded(t, before), folded(t, after)
	now.Seq = was.Seq
	if !reflect.DeepEqual(was, now) {
		t.Errorf("the fold has changed: %+v, %+v", was, now)
	}
	if slices.Contains(types(after), ledger.PlanStepCompleted) && payloadOf[struct{ Step string }](t, after, ledger.PlanStepCompleted).Step != "read" {
		t.Error("a late result has completed a step")
	}
	if report, err := ledger.Verify(project+"/runs/r", nil, nil); err != nil || !report.Stopped || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	// The artifact is there now, and the plan has not moved.
	if s, err := x.Stop(context.Background(), run, "input_ended"); err != nil || s.Status != executor.RunFailed || s.Reasons[0].Code != "plan_incomplete" {
		t.Errorf("%+v, %v", s, err)
	}
}

func folded(t *testing.T, list []*ledger.Event) *executor.State {
	t.Helper()
	state, _ := judgedOnFold(t, list)
	return state
}

// The other ends that a handler which comes late can meet, at the same time.
func TestLateEnds(t *testing.T) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, end := range []struct {
		name, code, late string
		cancel, close    bool
	}{
		{name: "panics", code: "handler_timeout", late: "handler_failed"},
		{name: "cancelled", code: "handler_cancelled", cancel: true},
		{name: "closed", code: "handler_timeout", close: true},
	} {
		d := newDeaf()
		d.panics = end.late != ""
		project := canonical(t)
		var mu sync.Mutex
		var logged []string
		x, err := newExecutor(t, project, func(c *executor.Config) {
			c.Tools = tools(t, hasty(`{"schema_version":1,"tools":{"write_json_file": {"operation":"write","handler":"write_json_file"}}}`))
			c.Handlers = d.stubborn("write_json_file")
			c.Log = func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				logged = append(logged, fmt.Sprintf(format, args...))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if end.cancel {
				go func() { <-d.begun; cancel() }()
			}
			r := x.Exec(ctx, propose("write_json_file", map[string]any{"artifact_name": "a.json", "content": 1}), "r")
			if r.ErrorCode != end.code {
				t.Errorf("%s: %s %s %q", end.name, r.Status, r.ErrorCode, r.ErrorMessage)
			}
			if end.close {
				if err := x.Close(); err != nil {
					t.Errorf("%s: %v", end.name, err)
				}
				before := len(events(t, project, "r"))
				close(d.let)
				made := filepath.Join(project, "runs/r/artifacts/a.json")
				for range 500 {
					if _, err := os.Stat(made); err == nil {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(100 * time.Millisecond) // nothing comes of it
				if _, err := os.Stat(made); err != nil || len(events(t, project, "r")) != before {
					t.Errorf("%s: %v, events %v", end.name, err, types(events(t, project, "r")))
				}
			} else {
				close(d.let)
				if _, note := awaitNote(t, project, "r"); note.ErrorCode != end.late || len(note.Artifacts) != map[bool]int{true: 1}[end.late == ""] {
					t.Errorf("%s: %+v", end.name, note)
				}
				if err := x.Close(); err != nil {
					t.Errorf("%s: %v", end.name, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if len(logged) > 0 {
				t.Errorf("%s: logged %q", end.name, logged)
			}
		})
	}
}
