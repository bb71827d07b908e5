package resolve

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

// resolvers are the values of Config.Resolver; every test of facts runs with
// each of them.
var resolvers = []string{"", rootWalkResolver}

// place lays out a project and returns its canonical path. A key that ends in
// "/" is a directory, a value that starts with "-> " a link.
func lay(t testing.TB, files map[string]string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(base, "app")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	add(t, project, files)
	return project
}

func add(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(p, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			must(t, os.Symlink(target, p))
			continue
		}
		must(t, os.WriteFile(p, []byte(content), 0o644))
	}
}

func open(t testing.TB, cfg Config) *Resolver {
	t.Helper()
	r, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// ask resolves a path for an access and closes with the test.
func ask(t testing.TB, r *Resolver, access, p string) *Object {
	t.Helper()
	return asks(t, r, Request{Access: access, Raw: p, Requested: p})
}

func asks(t testing.TB, r *Resolver, req Request) *Object {
	t.Helper()
	o := r.Resolve(req)
	t.Cleanup(func() { o.Close() })
	return o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, o *Object) string {
	t.Helper()
	f, err := o.Open()
	must(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	must(t, err)
	return string(b)
}

func fileAt(t testing.TB, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	must(t, err)
	return string(b)
}

// leftovers lists temp names that were not cleaned up.
func leftovers(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), tempPrefix) {
			out = append(out, p)
		}
		return err
	}))
	return out
}

func wantChanged(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, ErrChanged) {
		t.Fatalf("error %v, want ErrChanged", err)
	}
}

func wantFacts(t testing.TB, o *Object, resolution, kind, path string) {
	t.Helper()
	f := o.Facts
	if f.Resolution != resolution || f.Kind != kind || f.Path != path {
		t.Fatalf("%s %q: got %s %s %q, want %s %s %q", f.Access, f.Requested, f.Resolution, f.Kind, f.Path, resolution, kind, path)
	}
	held := resolution == facts.OK || resolution == facts.Absent
	if f.Handle != held {
		t.Fatalf("%s %q: handle %v with %s", f.Access, f.Requested, f.Handle, f.Resolution)
	}
}

func unwrapAll(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}
