package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/resolve"
)

// project is a directory with files and a resolver of it.
type project struct {
	t   testing.TB
	dir string
	r   *resolve.Resolver
}

// newProject lays out files: a name that ends in "/" is a directory, content
// that begins with "-> " a link.
func newProject(t testing.TB, files map[string]string) *project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: dir}
	for name, content := range files {
		p.put(name, content)
	}
	if p.r, err = resolve.Open(resolve.Config{Project: dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.r.Close() })
	return p
}

func (p *project) put(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if strings.HasSuffix(name, "/") {
		p.must(os.MkdirAll(path, 0o755))
		return
	}
	p.must(os.MkdirAll(filepath.Dir(path), 0o755))
	if target, ok := strings.CutPrefix(content, "-> "); ok {
		p.must(os.Symlink(target, path))
		return
	}
	p.must(os.WriteFile(path, []byte(content), 0o644))
}

func (p *project) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// content is a file's bytes, or "(none)".
func (p *project) content(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	p.must(err)
	return string(data)
}

// object resolves a path as the executor would.
func (p *project) object(access, path string) *resolve.Object {
	p.t.Helper()
	o := p.r.Resolve(resolve.Request{Param: "path", Access: access, Raw: path, Requested: path, Absolute: true})
	p.t.Cleanup(func() { o.Close() })
	if o.Facts.Resolution != facts.OK && o.Facts.Resolution != facts.Absent {
		p.t.Fatalf("resolve %s: %s", path, o.Facts.Resolution)
	}
	return o
}

// grant is a grant for one object.
func (p *project) grant(param, access, path string) *Grant {
	p.t.Helper()
	return &Grant{
		Tool: "tool", RunID: "r1", MaxBytes: 1 << 20,
		Objects:  map[string]*resolve.Object{param: p.object(access, path)},
		Declared: map[string]string{param: path},
		Args:     map[string]any{},
		Admit:    func(*resolve.Object) bool { return true },
	}
}

// builtin is a handler by its name.
func builtin(t testing.TB, name string) Handler {
	t.Helper()
	for _, h := range Builtin() {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("no handler %q", name)
	return Handler{}
}

// run runs a handler and holds its output against its own schema.
func run(t testing.TB, name string, g *Grant) Result {
	t.Helper()
	h := builtin(t, name)
	res, err := Run(context.Background(), h, g)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	checkOutput(t, h, res.Output)
	return res
}

// code is the code of a handler's error.
func code(t testing.TB, err error) (*Error, string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is a %T, not an *Error: %v", err, err)
	}
	return e, e.Code
}

func compile(t testing.TB, name string, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, bytes.NewReader(schema)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func checkOutput(t testing.TB, h Handler, output map[string]any) {
	t.Helper()
	data, err := json.Marshal(output)
	if err != nil {
		t.Fatal(err)
	}
	if err := compile(t, h.Name+".json", h.Output).Validate(decode(t, data)); err != nil {
		t.Fatalf("output of %s: %v\n%s", h.Name, err, data)
	}
}

func decode(t testing.TB, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("decode %q: %v", data, err)
	}
	return v
}

// want compares output with JSON, field by field; fields it does not name are
// left out.
func want(t testing.TB, output map[string]any, expected string) {
	t.Helper()
	data, err := json.Marshal(output)
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, data).(map[string]any)
	for name, value := range decode(t, []byte(expected)).(map[string]any) {
		a, _ := json.Marshal(got[name])
		b, _ := json.Marshal(value)
		if !bytes.Equal(a, b) {
			t.Errorf("%s:\n got %s\nwant %s", name, a, b)
		}
	}
}

func TestBuiltinDeclarations(t *testing.T) {
	operations := map[string]string{
		"read_file": facts.Read, "read_feedback_csv": facts.Read,
		"extract_evidence": facts.Read, "count_categories": facts.Read,
		"list_files": facts.List, "list_run_files": facts.List,
		"write_file": facts.Write, "write_json_file": facts.Write, "write_markdown_file": facts.Write,
		"delete_file": facts.Delete, "rename_file": facts.Rename, "run_tests": facts.Execute,
	}
	var names []string
	for _, h := range Builtin() {
		names = append(names, h.Name)
		if len(h.Operations) != 1 || h.Operations[0] != operations[h.Name] {
			t.Errorf("%s serves %v", h.Name, h.Operations)
		}
		if h.Run == nil {
			t.Errorf("%s runs nothing", h.Name)
		}
		if (h.Render != nil) != (len(h.Payload) > 0) {
			t.Errorf("%s: a payload and Render belong together", h.Name)
		}
		for kind, schema := range map[string]json.RawMessage{"input": h.Input, "output": h.Output} {
			compile(t, h.Name, schema)
			if closed := decode(t, schema).(map[string]any)["additionalProperties"]; closed != false {
				t.Errorf("%s: the %s schema is open", h.Name, kind)
			}
		}
	}
	if !sort.StringsAreSorted(names) || len(names) != len(operations) {
		t.Errorf("names: %v", names)
	}
}

// The zero Grant grants nothing, whatever the handler.
func TestZeroGrant(t *testing.T) {
	for _, h := range Builtin() {
		_, err := Run(context.Background(), h, &Grant{})
		if _, code := code(t, err); code != CodeFailed {
			t.Errorf("%s: code %q", h.Name, code)
		}
	}
}
