package executor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/manifests"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// The shipped tree is compiled once for all tests of this package.
var (
	shippedOnce sync.Once
	shipped     *engine.Engine
	errShipped  error
	builtin     = sync.OnceValue(handlers.Builtin)
)

func shippedEngine(t testing.TB) *engine.Engine {
	t.Helper()
	shippedOnce.Do(func() {
		shipped, errShipped = engine.Load(engine.Source{FS: policies.FS, Schemas: schemas.FS})
	})
	if errShipped != nil {
		t.Fatal(errShipped)
	}
	return shipped
}

// tools loads a manifest, or the shipped one when text is "".
func tools(t testing.TB, text string) *manifest.Set {
	t.Helper()
	src := []manifest.Source{{Name: "manifests/tools.json", Data: shippedManifest(t)}}
	if text != "" {
		src = []manifest.Source{{Name: "tools.json", Data: []byte(text)}}
	}
	declared := make([]manifest.Handler, 0, len(builtin()))
	for _, h := range builtin() {
		declared = append(declared, h.Handler)
	}
	set, err := manifest.Load(src, declared)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// readCall reads the standard file of these tests.
var readCall = []byte(`{"name":"read_file","arguments":{"path":"data/feedback.txt"}}`)

// altered are the shipped handlers, each changed by fn.
func altered(fn func(h *handlers.Handler)) []handlers.Handler {
	list := slices.Clone(builtin())
	for i := range list {
		fn(&list[i])
	}
	return list
}

// watched are the shipped handlers; they count their calls, and call then, when
// not nil, after each.
func watched(ran *int, then func()) []handlers.Handler {
	return altered(func(h *handlers.Handler) {
		run := h.Run
		h.Run = func(ctx context.Context, g *handlers.Grant) (handlers.Result, error) {
			*ran++
			if then != nil {
				defer then()
			}
			return run(ctx, g)
		}
	})
}

// between is a clock that lets something happen at its next reading. The first
// reading of a call is when it is judged: after the run was looked at and
// before the verdict is recorded.
type between struct{ next func() }

func (b *between) now() time.Time {
	if fn := b.next; fn != nil {
		b.next = nil
		fn()
	}
	return time.Now()
}

// judgedOnFold fails the test unless every verdict was judged on the denials of
// all events before it. It returns the run's state and how many verdicts
// policy gave.
func judgedOnFold(t testing.TB, list []*ledger.Event) (state *executor.State, verdicts int) {
	t.Helper()
	state = executor.NewState()
	for _, ev := range list {
		if ev.Type == ledger.ToolAllowed || ev.Type == ledger.ToolDenied || ev.Type == ledger.ToolBlocked {
			var v struct {
				Input *struct {
					Run struct {
						Denials facts.Denials `json:"denials"`
					} `json:"run"`
				} `json:"input"`
			}
			if err := json.Unmarshal(ev.Payload, &v); err != nil {
				t.Fatal(err)
			}
			if v.Input != nil {
				verdicts++
				if got, want := v.Input.Run.Denials, state.Denials; got != want {
					t.Fatalf("event %d was judged on %+v, the run stood at %+v", ev.Seq, got, want)
				}
			}
		}
		if err := state.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	return state, verdicts
}

// open makes an executor on project with the shipped policies and manifest;
// change, when not nil, alters its configuration first.
func open(t testing.TB, project string, change func(*executor.Config)) *executor.Executor {
	t.Helper()
	x, err := newExecutor(t, project, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func newExecutor(t testing.TB, project string, change func(*executor.Config)) (*executor.Executor, error) {
	t.Helper()
	cfg := executor.Config{
		Project: project, Engine: shippedEngine(t), Tools: tools(t, ""), Handlers: builtin(),
		Now: time.Now, NewID: func() string { return "run-1" }, Log: t.Logf,
	}
	if change != nil {
		change(&cfg)
	}
	return executor.New(cfg)
}

// write puts a file into the project.
func write(t testing.TB, project, name, text string) {
	t.Helper()
	at := filepath.Join(project, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func shippedManifest(t testing.TB) []byte {
	t.Helper()
	data, err := manifests.FS.ReadFile("tools.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// walkFiles hands every regular file of a tree to fn.
func walkFiles(tree fs.FS, fn func(name string, data []byte)) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err == nil {
			fn(name, data)
		}
		return err
	})
}

// replaceOnce fails the test when old is not there exactly once.
func replaceOnce(t testing.TB, text []byte, old, new string) []byte {
	t.Helper()
	if n := bytes.Count(text, []byte(old)); n != 1 {
		t.Fatalf("%q is there %d times", old, n)
	}
	return bytes.Replace(text, []byte(old), []byte(new), 1)
}
