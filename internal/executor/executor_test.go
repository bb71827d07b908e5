package executor_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
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

// open makes an executor on project with the shipped policies and manifest;
// change, when not nil, alters its configuration first.
func open(t testing.TB, project string, change func(*executor.Config)) *executor.Executor {
	t.Helper()
	cfg := executor.Config{
		Project: project, Engine: shippedEngine(t), Tools: tools(t, ""), Handlers: builtin(),
		Now: time.Now, NewID: func() string { return "run-1" }, Log: t.Logf,
	}
	if change != nil {
		change(&cfg)
	}
	x, err := executor.New(cfg)
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
