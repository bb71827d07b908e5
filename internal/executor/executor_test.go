package executor_test

import (
	"bytes"
	"io/fs"
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
