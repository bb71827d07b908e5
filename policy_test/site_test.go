package policy_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/golden"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// What the tests of reported failures share: trees of a site's own, and one
// question to the gate.

// siteRule is the place of the site's family, siteHead what it begins with.
const (
	siteRule = "runlens/rules/site/site.rego"
	siteHead = "package runlens.rules.site\n\nimport data.runlens.lib\n\n"
)

// denyIf is a family with one rule for each name and body; a rule's reasons
// have the code site_refused and the name as their parameter.
func denyIf(rules ...string) string {
	var b strings.Builder
	b.WriteString(siteHead)
	for i := 0; i+1 < len(rules); i += 2 {
		b.WriteString("# METADATA\n# title: the site refuses the call\n# custom:\n#   code: site_refused\n" +
			"deny contains lib.reason(rego.metadata.rule(), {\"param\": \"" + rules[i] + "\"}) if {\n\t" + rules[i+1] + "\n}\n\n")
	}
	return b.String()
}

// overlay is a tree of a site on top of the shipped one.
func overlay(files map[string]string) engine.Source {
	over := fstest.MapFS{"runlens/codes/site_refused/data.json": {
		Data: []byte(`{"gate": "forbidden", "retryable": false, "remedy": "leave it"}`),
	}}
	for name, text := range files {
		over[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return engine.Source{FS: policies.FS, Overlay: over, Schemas: schemas.FS}
}

// withSite loads the shipped tree with a family of the site.
func withSite(t *testing.T, text string) *engine.Engine {
	t.Helper()
	e, err := engine.Load(overlay(map[string]string{siteRule: text}))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// changed is a copy of the shipped tree in which old is replaced by new; a file
// that is not there is added.
func changed(t *testing.T, name, old, new string) engine.Source {
	t.Helper()
	tree := shippedTree(t)
	if old == "" {
		tree[name] = &fstest.MapFile{Data: []byte(new)}
		return engine.Source{FS: tree, Schemas: schemas.FS}
	}
	text := string(tree[name].Data)
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%s holds %q %d times", name, old, n)
	}
	tree[name] = &fstest.MapFile{Data: []byte(strings.Replace(text, old, new, 1))}
	return engine.Source{FS: tree, Schemas: schemas.FS}
}

func shippedTree(t *testing.T) fstest.MapFS {
	t.Helper()
	tree := fstest.MapFS{}
	err := fs.WalkDir(policies.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(policies.FS, name)
		tree[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func load(t *testing.T, src engine.Source) *engine.Engine {
	t.Helper()
	e, err := engine.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// refuses expects that a tree does not load, and that a line begins with want,
// in which "*" stands for a line number and what else may change.
func refuses(t *testing.T, src engine.Source, want string) {
	t.Helper()
	_, err := engine.Load(src)
	if _, ok := errors.AsType[*engine.LoadError](err); !ok {
		t.Errorf("loads, or error %T: %v; want %q", err, err, want)
		return
	}
	before, after, _ := strings.Cut(want, "*")
	if !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool {
		rest, found := strings.CutPrefix(line, before)
		return found && strings.Contains(rest, after)
	}) {
		t.Errorf("no line begins with %q in:\n%v", want, err)
	}
}

// shippedEngine is the embedded tree, loaded once.
var shippedEngine = sync.OnceValues(func() (*engine.Engine, error) {
	return engine.Load(engine.Source{FS: policies.FS, Schemas: schemas.FS})
})

func shipped(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := shippedEngine()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// free declares a tool whose arguments are anything, so that a site's rules
// meet them as they came; strict one whose arguments are typed.
const (
	free   = `{"schema_version":1,"tools":{"think":{"operation":"compute","handler":"external","input_schema":{"type":"object"}}}}`
	strict = `{"schema_version":1,"tools":{"think":{"operation":"compute","handler":"external","input_schema":{"type":"object",
	  "properties":{"path":{"type":"string"},"amount":{"type":"number"},"k":{}},"required":["path","amount"],"additionalProperties":false}}}}`
	reads = `{"schema_version":1,"tools":{"read_file":{"operation":"read","roots":["ws"],"max_bytes":65536}}}`
)

// gate is a project with a manifest, judged by an engine.
type gate struct {
	x       *executor.Executor
	project string
	e       *engine.Engine
}

// open lays a project out: lines are those of a layout section.
func open(t *testing.T, e *engine.Engine, tools string, layout ...string) *gate {
	t.Helper()
	p := layOut(t, layout...)
	return &gate{execute(t, e, p, tools), p.Dir, e}
}

func (g *gate) ask(t *testing.T, call string) *executor.Outcome {
	t.Helper()
	out, err := g.x.Check(context.Background(), []byte(placed(call, g.project)), "")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// think is a call of the tool think.
func think(arguments string) string { return `{"name":"think","arguments":` + arguments + `}` }

// read is a call of the tool read_file; path is spelt as in JSON.
func read(path string) string { return `{"name":"read_file","arguments":{"path":"` + path + `"}}` }

// answers expects verdict and codes of each call.
func (g *gate) answers(t *testing.T, calls map[string]string) {
	t.Helper()
	for call, want := range calls {
		if got := golden.Told(g.ask(t, call).Verdict); got != want {
			t.Errorf("%.200s\n got  %s\n want %s", call, got, want)
		}
	}
}

// params are the parameters that a verdict's reasons name, sorted.
func params(v engine.Verdict) []string {
	list := []string{}
	for _, r := range v.Reasons {
		list = append(list, r.Param)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
