package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/ledger"
)

const markdown = `{"name":"write_markdown_file","arguments":{"artifact_name":"a.md","content":"x\n"}}`

// TestOutputSchema: what the output schema does not know goes to nobody. The
// tool has run, so it is a failure that the ledger shows.
func TestOutputSchema(t *testing.T) {
	for name, c := range map[string]struct {
		change func(output map[string]any)
		field  string
	}{
		"a field that is not declared": {func(o map[string]any) { o["hidden"] = "x" }, "output.*: unknown field"},
		"a field of another type":      {func(o map[string]any) { o["size"] = "large" }, "size"},
		"a field that is missing":      {func(o map[string]any) { delete(o, "content") }, "content"},
	} {
		t.Run(name, func(t *testing.T) {
			project := canonical(t)
			write(t, project, "data/feedback.txt", "works well\n")
			x := open(t, project, func(cfg *executor.Config) {
				cfg.Handlers = altered(func(h *handlers.Handler) {
					run := h.Run
					h.Run = func(ctx context.Context, g *handlers.Grant) (handlers.Result, error) {
						r, err := run(ctx, g)
						c.change(r.Output)
						r.Truncated = true
						return r, err
					}
				})
			})
			r := x.Exec(context.Background(), readCall, "r")
			if r.Status != executor.StatusFailed || r.ErrorCode != "output_validation_failed" || r.Reason != r.ErrorCode || r.Retryable || r.Output != nil || r.Truncated {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(r.ErrorMessage, `"read_file"`) || !strings.Contains(r.ErrorMessage, c.field) || strings.Contains(r.ErrorMessage, "works well") {
				t.Errorf("message %q", r.ErrorMessage)
			}
			list := events(t, project, "r")
			end := list[len(list)-1]
			var v struct {
				Started int64  `json:"started_seq"`
				Code    string `json:"error_code"`
				Bytes   int    `json:"output_bytes"`
			}
			if err := json.Unmarshal(end.Payload, &v); err != nil {
				t.Fatal(err)
			}
			if end.Type != ledger.ToolFailed || end.Seq != r.Seq || v.Started != r.Seq-1 || v.Code != "output_validation_failed" || v.Bytes != 0 {
				t.Errorf("recorded %s %s", end.Type, end.Payload)
			}
		})
	}
}

// internalError fails the test unless the verdict is RunLens' own fault.
func internalError(t *testing.T, out *executor.Outcome) {
	t.Helper()
	if out == nil || out.Verdict.Effect != engine.Deny || out.ErrorCode != "internal_error" || out.Verdict.Reasons[0].Code != "internal_error" || out.Input != nil {
		t.Errorf("%+v", out)
	}
}

// brokenRenderer is an executor whose handlers panic as they render content
// while faulty is set.
func brokenRenderer(t *testing.T, project string) (x *executor.Executor, faulty *bool, ran *int, logged *strings.Builder) {
	t.Helper()
	faulty, ran, logged = new(bool), new(int), &strings.Builder{}
	x = open(t, project, func(c *executor.Config) {
		c.Log = func(format string, args ...any) { fmt.Fprintf(logged, format, args...) }
		c.Handlers = watched(ran, nil)
		for i := range c.Handlers {
			if render := c.Handlers[i].Render; render != nil {
				c.Handlers[i].Render = func(args map[string]any) ([]byte, string, error) {
					if *faulty {
						panic("the renderer is broken")
					}
					return render(args)
				}
			}
		}
	})
	return x, faulty, ran, logged
}

// TestPanicBeforeTheRecord: a fault of RunLens itself is a refusal with a code
// of its own; nothing is recorded and nothing runs.
func TestPanicBeforeTheRecord(t *testing.T) {
	project := canonical(t)
	x, faulty, ran, logged := brokenRenderer(t, project)
	*faulty = true
	out, err := x.Check(context.Background(), []byte(markdown), "")
	if err != nil {
		t.Error(err)
	}
	internalError(t, out)
	if !strings.Contains(logged.String(), "the renderer is broken") {
		t.Errorf("logged %q", logged)
	}
	logged.Reset()
	r := x.Exec(context.Background(), []byte(markdown), "r")
	if r == nil || r.Status != executor.StatusFailed || r.ErrorCode != "internal_error" || r.Seq != 0 || r.Output != nil || strings.Contains(r.ErrorMessage, "renderer") {
		t.Fatalf("%+v", r)
	}
	internalError(t, r.Outcome)
	if list := events(t, project, "r"); len(list) != 0 || *ran != 0 || !strings.Contains(logged.String(), "the renderer is broken") {
		t.Errorf("ran %d times, events %v, logged %q", *ran, types(list), logged)
	}
	*faulty = false
	if r := x.Exec(context.Background(), []byte(markdown), "r"); r.Status != executor.StatusSuccess || *ran != 1 {
		t.Errorf("afterwards: ran %d times: %+v", *ran, r)
	}
}

// TestPanicInARecordedCall: so it is for a call that another process proposed;
// what was recorded before it stands, and is judged or run once all is well.
func TestPanicInARecordedCall(t *testing.T) {
	project := canonical(t)
	x, faulty, ran, _ := brokenRenderer(t, project)
	if _, err := x.Propose(context.Background(), []byte(markdown), "r"); err != nil {
		t.Fatal(err)
	}
	*faulty = true
	out, err := x.Authorize(context.Background(), "r")
	if err != nil {
		t.Error(err)
	}
	internalError(t, out)
	*faulty = false
	if out, err = x.Authorize(context.Background(), "r"); err != nil || out.Verdict.Effect != engine.Allow {
		t.Fatalf("%v %+v", err, out)
	}
	*faulty = true
	r, err := x.ExecAuthorized(context.Background(), "r")
	if err != nil || r == nil || r.Status != executor.StatusFailed || r.ErrorCode != "internal_error" || *ran != 0 {
		t.Fatalf("ran %d times: %v %+v", *ran, err, r)
	}
	*faulty = false
	if r, err = x.ExecAuthorized(context.Background(), "r"); err != nil || r.Status != executor.StatusSuccess || *ran != 1 {
		t.Errorf("afterwards: ran %d times: %v %+v", *ran, err, r)
	}
	want := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolAllowed, ledger.ToolStarted, ledger.ToolSucceeded}
	if got := types(events(t, project, "r")); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// TestPanicInTheRecord: a panic while the run's lock is held leaves nothing and
// gives the lock back.
func TestPanicInTheRecord(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	ran, readings := 0, 0
	x := open(t, project, func(c *executor.Config) {
		c.Handlers = watched(&ran, nil)
		c.Now = func() time.Time {
			if readings++; readings == 2 { // the first is the decision's, the second the first event's
				panic("the clock is broken")
			}
			return time.Now()
		}
	})
	if r := x.Exec(context.Background(), readCall, "r"); r.Status != executor.StatusFailed || r.ErrorCode != "internal_error" || ran != 0 {
		t.Fatalf("ran %d times: %+v", ran, r)
	}
	if list := events(t, project, "r"); len(list) != 0 {
		t.Errorf("events %v", types(list))
	}
	for _, x := range []*executor.Executor{x, open(t, project, nil)} {
		if r := x.Exec(context.Background(), readCall, "r"); r.Status != executor.StatusSuccess {
			t.Errorf("afterwards: %+v", r)
		}
	}
}

// TestPanicInAHandler is the handler's failure, recorded as the end of its
// start; the next call runs.
func TestPanicInAHandler(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	faulty := true
	x := open(t, project, func(c *executor.Config) {
		c.Handlers = altered(func(h *handlers.Handler) {
			run := h.Run
			h.Run = func(ctx context.Context, g *handlers.Grant) (handlers.Result, error) {
				if faulty {
					panic(errors.New("the handler is broken"))
				}
				return run(ctx, g)
			}
		})
	})
	r := x.Exec(context.Background(), readCall, "r")
	if r.Status != executor.StatusFailed || r.ErrorCode != "handler_failed" || r.Output != nil || r.Seq != 5 {
		t.Errorf("%+v", r)
	}
	want := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolAllowed, ledger.ToolStarted, ledger.ToolFailed}
	if got := types(events(t, project, "r")); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	faulty = false
	if r := x.Exec(context.Background(), readCall, "r"); r.Status != executor.StatusSuccess {
		t.Errorf("afterwards: %+v", r)
	}
}

// TestGrantArguments: of the call's arguments a handler sees those that are
// neither target, payload (the manifest's word, not only the handler's) nor
// command. Content comes as the bytes that were measured, a path as the object
// that was judged.
func TestGrantArguments(t *testing.T) {
	project := canonical(t)
	const manifest = `{"schema_version":1,"tools":{"put":{"operation":"write","handler":"write_file","roots":["data"],"payload":["content","note"],
		"input_schema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"note":{"type":"string"},"mode":{"type":"string"},"argv":{"type":"string"}},
			"required":["path","content"],"additionalProperties":false}}}}`
	write(t, project, "data/a.txt", "a")
	var got *handlers.Grant
	x := open(t, project, func(c *executor.Config) {
		c.Tools = tools(t, manifest)
		c.Handlers = altered(func(h *handlers.Handler) {
			run := h.Run
			h.Run = func(ctx context.Context, g *handlers.Grant) (handlers.Result, error) {
				got = g
				return run(ctx, g)
			}
		})
	})
	call := callOf("put", map[string]any{"path": "data/b.txt", "content": "text", "note": "n", "mode": "m", "argv": "v"})
	if r := x.Exec(context.Background(), call, "r"); r.Status != executor.StatusSuccess {
		t.Fatalf("%+v", r)
	}
	if want := map[string]any{"mode": "m"}; !maps.Equal(got.Args, want) {
		t.Errorf("arguments %v, want %v", got.Args, want)
	}
	if string(got.Data) != "text" || got.Declared["path"] != "data/b.txt" || len(got.Objects) != 1 {
		t.Errorf("data %q, declared %v, objects %v", got.Data, got.Declared, got.Objects)
	}
}

// TestWithheldKey: a key that looks like a secret withholds the whole object,
// and no target is looked up by what was withheld.
func TestWithheldKey(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/a.txt", "a")
	const manifest = `{"schema_version":1,"tools":{"read_file":{"operation":"read","roots":["data"],
		"input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":true}}}}`
	x := open(t, project, func(c *executor.Config) { c.Tools = tools(t, manifest) })
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	out, err := x.Check(context.Background(), callOf("read_file", map[string]any{"path": "data/a.txt", secret: 1}), "")
	if err != nil || out.Verdict.Effect != engine.Deny || out.Verdict.Reasons[0].Code != "argument_withheld" {
		t.Fatalf("%v %+v", err, out)
	}
	if w := out.Input.Call.Withheld; len(w) != 1 || w[0].Pointer != "/*" || len(out.Input.Call.Arguments) != 0 {
		t.Errorf("withheld %+v, arguments %v", w, out.Input.Call.Arguments)
	}
	for _, target := range out.Input.Targets {
		if target.Raw != "" || target.Requested != "" || target.Handle {
			t.Errorf("looked up %+v", target)
		}
	}
	if len(out.Input.Targets) != 1 || strings.Contains(string(out.InputJSON()), secret) || len(out.Normalized) != 0 && out.Normalized["path"] != "" {
		t.Errorf("input %s, normalized %v", out.InputJSON(), out.Normalized)
	}
	out, err = x.Check(context.Background(), callOf("read_file", map[string]any{"path": "data/a.txt", "k": 1}), "")
	if err != nil || out.Verdict.Effect != engine.Allow {
		t.Errorf("another key: %v %+v", err, out)
	}
}

// TestPanicAfterAHandler: when RunLens fails between the work and its record,
// the start is given up, and whoever opens the run next says that its outcome is
// unknown.
func TestPanicAfterAHandler(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	ran, panicked := 0, false
	x := open(t, project, func(c *executor.Config) {
		c.Handlers = watched(&ran, nil)
		c.Now = func() time.Time {
			if ran > 0 && !panicked {
				panicked = true
				panic("the clock is broken")
			}
			return time.Now()
		}
	})
	r := x.Exec(context.Background(), readCall, "r")
	if r.Status != executor.StatusFailed || r.ErrorCode != "internal_error" || ran != 1 || r.Seq != 4 {
		t.Fatalf("ran %d times: %+v", ran, r)
	}
	other := open(t, project, nil)
	if r := other.Exec(context.Background(), readCall, "r"); r.Status != executor.StatusSuccess {
		t.Fatalf("%+v", r)
	}
	want := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolAllowed, ledger.ToolStarted, ledger.ToolUnknown}
	if got := types(events(t, project, "r")); !slices.Equal(got[:5], want) {
		t.Errorf("events %v, want %v first", got, want)
	}
}
