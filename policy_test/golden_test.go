// Package policy_test proves the shipped policy tree on golden cases: real
// files laid out, a real call, the verdict, its exact codes and where each
// target was found. The same cases run from the directory, from the embedded
// copy and from a bundle that stock `opa build` made.
//
// Package golden says what a case is. `runlens test --update` writes what is
// wanted: read what it wrote before you believe it.
//
// Read TestGolden first, then uncovered, then site_test.go, which has what the
// other tests share.
package policy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/golden"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/manifests"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// engines loads the shipped tree in each of the three ways.
func engines(t *testing.T) map[string]*engine.Engine {
	t.Helper()
	bundle := filepath.Join(t.TempDir(), "bundle.tar.gz")
	build := exec.Command("go", "tool", "opa", "build", "-b", "policies", "-o", bundle)
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("opa build: %v\n%s", err, out)
	}
	bytes, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]engine.Source{
		"directory": {FS: os.DirFS("../policies"), Schemas: schemas.FS},
		"embedded":  {FS: policies.FS, Schemas: schemas.FS},
		"bundle":    {Bundle: bytes, Schemas: schemas.FS},
	}
	loaded := map[string]*engine.Engine{}
	for name, src := range sources {
		if loaded[name], err = engine.Load(src); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, e := range loaded {
		if e.Revision() != loaded["embedded"].Revision() {
			t.Errorf("%s has revision %s, embedded %s", name, e.Revision(), loaded["embedded"].Revision())
		}
	}
	return loaded
}

func TestGolden(t *testing.T) {
	loaded := engines(t)
	files, err := golden.Find(".")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	shown := map[string]bool{}
	skipped := false
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".txtar"), func(t *testing.T) {
			c, err := golden.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if why := c.Skip(); why != "" {
				skipped = true
				t.Skip(why)
			}
			for from, e := range loaded {
				if err := c.CheckCodes(e); err != nil {
					t.Errorf("from the %s: %v", from, err)
				}
				for _, j := range judge(t, c, e) {
					show(shown, &j)
					if !j.AsWanted() {
						t.Errorf("%s:%d: %s from the %s\n got  %s\n want %s", c.File, j.Line, j.Name, from, indent(j.Got), indent(j.Want))
					}
				}
			}
		})
	}
	if !skipped {
		uncovered(t, loaded["directory"], shown)
	}
}

// judge judges a case, its ledger section too.
func judge(t *testing.T, c *golden.Case, e *engine.Engine) []golden.Judged {
	t.Helper()
	env := env(t, e)
	list, err := c.Judge(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := c.Record(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	if recorded != nil {
		list = append(list, *recorded)
	}
	return list
}

// show notes the codes of a verdict, with their causes.
func show(shown map[string]bool, j *golden.Judged) {
	if j.Outcome == nil {
		return
	}
	for _, reason := range j.Outcome.Verdict.Reasons {
		shown[reason.Code] = true
		shown[reason.Code+":"+golden.Cause(reason.Detail)] = true
	}
}

// env is what cases are judged with here: without a manifest of its own a case is
// judged with the shipped one.
func env(t testing.TB, e *engine.Engine) golden.Env {
	t.Helper()
	tools, err := manifests.FS.ReadFile("tools.json")
	if err != nil {
		t.Fatal(err)
	}
	return golden.Env{
		Engine: e, Manifest: []manifest.Source{{Name: "tools.json", Data: tools}},
		Handlers: builtin, TempDir: t.TempDir(), Log: t.Logf,
	}
}

// elsewhere are codes of the tree that no call and no state of a run can
// reach, with the place that tests them.
var elsewhere = map[string]string{
	"policy_unannotated": "policies/runlens/lib/reason_test.rego: a tree with such a rule does not load",
	"approval_required":  "TestPolicyData: the shipped data leaves nothing to a person",
}

// uncovered fails for every code of a rule that no case shows.
func uncovered(t *testing.T, e *engine.Engine, shown map[string]bool) {
	t.Helper()
	known := map[string]bool{}
	for _, c := range e.Codes() {
		known[c.Code] = true
		if c.File != "" && !shown[c.Code] && elsewhere[c.Code] == "" {
			t.Errorf("%s:%d: no golden case shows code %s", c.File, c.Line, c.Code)
		}
	}
	// Each oddity of a path is refused by itself in some row.
	for field := range reflect.TypeFor[facts.Lexical]().Fields() {
		rule := field.Tag.Get("json")
		if !strings.HasPrefix(rule, "parent_") && !shown["invalid_path:"+rule] {
			t.Errorf("no golden case shows invalid_path for %s alone", rule)
		}
	}
	for code := range elsewhere {
		if !known[code] || shown[code] {
			t.Errorf("elsewhere names %s, which is unknown or has a golden case", code)
		}
	}
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n      ") }

// now is when the calls of tests are judged.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var builtin = handlers.Builtin()

// loadTools loads a manifest of tools.
func loadTools(text string) (*manifest.Set, error) {
	return manifest.Load([]manifest.Source{{Name: "tools.json", Data: []byte(text)}}, declared())
}

// toolSet is loadTools of a manifest that loads.
func toolSet(t testing.TB, text string) *manifest.Set {
	t.Helper()
	set, err := loadTools(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func declared() []manifest.Handler {
	list := make([]manifest.Handler, 0, len(builtin))
	for _, h := range builtin {
		list = append(list, h.Handler)
	}
	return list
}

// layOut makes a project for the test.
func layOut(t testing.TB, layout ...string) *golden.Project {
	t.Helper()
	p, err := golden.Make(t.TempDir(), layout...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// execute makes an executor on a project.
func execute(t testing.TB, e *engine.Engine, p *golden.Project, tools string) *executor.Executor {
	t.Helper()
	x, err := env(t, e).Open(p, toolSet(t, placed(tools, p.Dir)), "cli")
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

// placed is text with the directories of this run of the test put in.
func placed(text, project string) string {
	return strings.NewReplacer("$PROJECT", project, "$BESIDE", filepath.Dir(project)).Replace(text)
}

// altered is in with changes put over it: pointer, value, pointer, value.
func altered(t *testing.T, in *facts.Input, changes ...string) *facts.Input {
	t.Helper()
	var list []golden.Change
	for i := 0; i+1 < len(changes); i += 2 {
		list = append(list, golden.Change{Pointer: strings.Split(changes[i][1:], "/"), Value: []byte(changes[i+1])})
	}
	out, err := golden.Alter(in, list)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
