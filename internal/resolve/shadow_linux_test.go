package resolve

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

func shadowProject(t *testing.T) (*Resolver, string) {
	t.Helper()
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runs/a", "runs/a/artifacts", "policies/runlens", "manifests", "space", "keys"} {
		if err := os.MkdirAll(filepath.Join(project, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"runs/a/events.jsonl", "tools.json"} {
		if err := os.WriteFile(filepath.Join(project, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	places := append(DefaultPlaces(""), Place{Path: filepath.Join(project, "keys"), Class: facts.ProtectedKey})
	r, err := Open(Config{Project: project, Places: places})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, project
}

// A place that counts is shadowed, all runs as one folder; an empty manifests is
// an ordinary folder until it counts.
func TestShadowed(t *testing.T) {
	r, project := shadowProject(t)
	want := []string{project + "/keys", project + "/policies", project + "/runs", project + "/tools.json"}
	if got := r.Shadowed(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.Mkdir(project+"/manifests/skills", 0o755); err != nil {
		t.Fatal(err)
	}
	want = slices.Insert(want, 1, project+"/manifests")
	if got := r.Shadowed(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHolds(t *testing.T) {
	r, project := shadowProject(t)
	for folder, want := range map[string]bool{
		"": true, "/runs": true, "/manifests": true, "/policies": true,
		"/space": false, "/runs/a/artifacts": false, "/keysx": false,
	} {
		if got := r.Holds(project + folder); got != want {
			t.Errorf("%q: %t, want %t", folder, got, want)
		}
	}
	if !r.Holds("/") {
		t.Error("the whole machine holds no place")
	}
}

// A root opens again while it is what facts said, and its file stands for it.
func TestFolder(t *testing.T) {
	r, project := shadowProject(t)
	roots := r.Roots([]RootSpec{{Declared: "space"}, {Declared: "policies/runlens"}})
	o, err := r.Folder(roots[0])
	if err != nil {
		t.Fatal(err)
	}
	f, err := o.File()
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	is, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if was, err := os.Stat(project + "/space"); err != nil || !os.SameFile(is, was) {
		t.Errorf("the file is another object: %v", err)
	}
	f.Close()
	if _, err := o.File(); err == nil {
		t.Error("a closed object gave a file")
	}
	if _, err := r.Folder(roots[1]); err == nil {
		t.Error("a place of policies was opened")
	}
	if err := os.Rename(project+"/space", project+"/moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Folder(roots[0]); err == nil {
		t.Error("a root that is gone was opened")
	}
	if err := os.Symlink("moved", project+"/space"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Folder(roots[0]); !errors.Is(err, ErrChanged) {
		t.Errorf("a link in the place of a root: %v, want ErrChanged", err)
	}
}
