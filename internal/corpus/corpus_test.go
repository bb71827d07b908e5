//go:build !race

// Making a corpus takes no goroutines, and seconds: there is nothing here for the
// race detector. That inputs are judged side by side is tested by cmd/runlens.

package corpus

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/manifests"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

func loaded(t testing.TB, text string) *manifest.Set {
	t.Helper()
	if text == "" {
		data, err := manifests.FS.ReadFile("tools.json")
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	var list []manifest.Handler
	for _, h := range handlers.Builtin() {
		list = append(list, h.Handler)
	}
	set, err := manifest.Load([]manifest.Source{{Name: "tools.json", Data: []byte(text)}}, list)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func shipped(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.Load(engine.Source{FS: policies.FS, Schemas: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func made(t testing.TB, set *manifest.Set, e *engine.Engine, limit int) *Corpus {
	t.Helper()
	c, err := Make(t.Context(), Config{Tools: set, Handlers: handlers.Builtin(), Old: e, New: e, Limit: limit, Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// everything declares a tool for each operation and each way to run a program.
const everything = `{"schema_version":1,"tools":{
	"read_file":{"operation":"read","roots":["data","more"],"max_bytes":4096},
	"read_all":{"operation":"read","handler":"read_file","roots":["data"]},
	"list_files":{"operation":"list","roots":["data"]},
	"grep":{"operation":"search","handler":"external","roots":["data"],"targets":[{"param":"path","access":"read","recursive":true}]},
	"write_json_file":{"operation":"write","handler":"write_json_file"},
	"write_file":{"operation":"write","roots":["out"],"create_parents":true},
	"delete_file":{"operation":"delete","roots":["out"]},
	"rename_file":{"operation":"rename","roots":["out"]},
	"machine":{"operation":"read","handler":"read_file","roots":["/srv/data"],"absolute":true},
	"report":{"operation":"write","handler":"external","roots":["reports"],"payload":["content"],
		"targets":[{"param":"name","access":"write","template":"reports/r-{name}.md"}]},
	"run_tests":{"operation":"execute","roots":["data"],"commands":[["python3","-m","unittest"],
		["pytest",{"arg":"file","root":"data"},{"arg":"how","values":["-v","-q"]}]],"sandbox":"full"},
	"count":{"operation":"read","handler":"exec:tools/count.sh","roots":["data"],
		"targets":[{"param":"path","access":"read"}],"output_schema":{"type":"object"}},
	"think":{"operation":"compute","handler":"external","input_schema":{"type":"object"}}}}`

// elsewhere are codes that no single call reaches.
var elsewhere = map[string]string{
	"policy_unannotated": "a tree with such a rule does not load",
	"approval_required":  "the shipped data leaves nothing to a person",
}

// TestReaches is the corpus' test of strength: every code of the shipped tree that
// a call can reach is reached by one.
func TestReaches(t *testing.T) {
	e := shipped(t)
	c := made(t, loaded(t, everything), e, 8000) // what is cut repeats it at other positions of plans
	if len(c.Unreached) > 0 {
		t.Errorf("unreached %v", c.Unreached)
	}
	shown, effects := map[string]bool{}, map[string]int{}
	for i := range c.Inputs {
		in := &c.Inputs[i]
		if in.Old != in.New {
			t.Fatalf("%s: one policy looks twice", in.Name())
		}
		v := e.Decide(t.Context(), in.Old)
		for _, r := range v.Reasons {
			shown[r.Code] = true
			if r.File == "" {
				t.Errorf("%s: %s %s", in.Name(), r.Code, r.Message)
			}
		}
		if in.State == "" && in.Facts == "" && in.Plan == "none" {
			effects[in.Tool+" "+v.Effect.String()]++
		}
	}
	for _, code := range e.Codes() {
		if code.File != "" && shown[code.Code] == (elsewhere[code.Code] != "") {
			t.Errorf("%s: shown %t, and elsewhere says %q", code.Code, shown[code.Code], elsewhere[code.Code])
		}
	}
	for name := range loaded(t, everything).Tools {
		if effects[name+" allow"] == 0 || name != "think" && effects[name+" deny"] == 0 {
			t.Errorf("%s: no call of it is allowed, or none denied: %v", name, effects)
		}
	}
}

// TestEvery is that every tool meets every class of path at every position in a
// plan, and files of every size.
func TestEvery(t *testing.T) {
	c := made(t, loaded(t, ""), shipped(t), 0)
	plans := []string{"none", "step", "other_step", "complete", "failed", "failing"}
	have := map[string]bool{}
	for i := range c.Inputs {
		in := &c.Inputs[i]
		if in.State == "" && in.Facts == "" {
			have[in.Tool+" "+in.Path+" "+in.Size+" "+in.Plan] = true
		}
		if have[in.Name()] {
			t.Errorf("%s is there twice", in.Name())
		}
		have[in.Name()] = true
	}
	for at := range have {
		tool, rest, _ := strings.Cut(at, " ")
		if i := strings.LastIndexByte(rest, ' '); !strings.Contains(rest, "=") {
			for _, plan := range plans {
				if !have[tool+" "+rest[:i]+" "+plan] {
					t.Errorf("%s %s is not judged at %s", tool, rest[:i], plan)
				}
			}
		}
	}
	for _, want := range []string{
		"read_file file max step", "read_file file over_max complete", "read_file link_outside over_limit failed",
		"read_feedback_csv file over_limit none", "write_json_file new content_over_limit step", "read_file name_.env none none",
		"read_file nul none complete", "read_file secret_github_token none none", "write_markdown_file hard_link empty other_step",
	} {
		if !have[want] {
			t.Errorf("no input %q", want)
		}
	}
}

// TestSame is that the same manifests make the same calls: what differs is where
// the temporary project is.
func TestSame(t *testing.T) {
	e := shipped(t)
	a, b := made(t, loaded(t, everything), e, 0), made(t, loaded(t, everything), e, 0)
	if len(a.Inputs) != len(b.Inputs) || len(a.Inputs) == 0 {
		t.Fatalf("%d and %d inputs", len(a.Inputs), len(b.Inputs))
	}
	for i := range a.Inputs {
		x, y := &a.Inputs[i], &b.Inputs[i]
		if x.Name() != y.Name() {
			t.Fatalf("%s and %s", x.Name(), y.Name())
		}
		if i%100 > 0 {
			continue
		}
		if v, w := e.Decide(t.Context(), x.Old).Effect, e.Decide(t.Context(), y.Old).Effect; v != w {
			t.Errorf("%s: %s and %s", x.Name(), v, w)
		}
	}
}

// TestLimit is that a corpus is bounded, that what is cut is counted, and that the
// plain calls of each tool are cut last.
func TestLimit(t *testing.T) {
	whole, cut := made(t, loaded(t, ""), shipped(t), 0), made(t, loaded(t, ""), shipped(t), 1500)
	n := 0
	for _, left := range cut.Cut {
		n += left
	}
	undeclared := 0
	for i := range cut.Inputs {
		if cut.Inputs[i].Tool == "undeclared" {
			undeclared++
		}
	}
	if len(cut.Inputs)-undeclared > 1500 || len(cut.Inputs)+n != len(whole.Inputs) || cut.Cut[rankPaths] > 0 {
		t.Errorf("%d inputs, %v cut; %d without a limit", len(cut.Inputs), cut.Cut, len(whole.Inputs))
	}
}

// TestTwoViews is that each policy looks at a call with its own settings.
func TestTwoViews(t *testing.T) {
	old, tree := shipped(t), fstest.MapFS{}
	if err := fs.WalkDir(policies.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(policies.FS, name)
		tree[name] = &fstest.MapFile{Data: data}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	data := tree["runlens/data.json"].Data
	tree["runlens/data.json"].Data = []byte(strings.Replace(string(data), `      "github_token": "gh[oprsu]_[0-9A-Za-z]{36}",`+"\n", "", 1))
	now, err := engine.Load(engine.Source{FS: tree, Schemas: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Make(t.Context(), Config{Tools: loaded(t, ""), Handlers: handlers.Builtin(), Old: old, New: now, Temp: t.TempDir()})
	if err != nil || !c.TwoViews {
		t.Fatalf("two views: %t, %v", c != nil && c.TwoViews, err)
	}
	for i := range c.Inputs {
		in := &c.Inputs[i]
		if in.Path == "secret_github_token" && len(in.Old.Call.Withheld) == 1 && len(in.New.Call.Withheld) == 0 {
			return
		}
	}
	t.Error("nothing shows that a kind of secret is gone")
}

// TestLeavesNothing is that the temporary project goes, also on an early end, and
// that nothing is made beside it.
func TestLeavesNothing(t *testing.T) {
	temp, e := t.TempDir(), shipped(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{t.Context(), ctx} {
		_, err := Make(ctx, Config{Tools: loaded(t, everything), Handlers: handlers.Builtin(), Old: e, New: e, Temp: temp})
		if errors.Is(err, context.Canceled) != (ctx.Err() != nil) || err != nil && ctx.Err() == nil {
			t.Errorf("made: %v", err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
	if _, err := os.Lstat("/srv/data/f1"); err == nil {
		t.Error("/srv/data/f1 is there")
	}
}

// TestMatching is that a pattern's text fits it.
func TestMatching(t *testing.T) {
	for pattern, want := range map[string]string{
		`AKIA[0-9A-Z]{4}`: "AKIAAAAA", `sk-(?:proj|admin)-x+`: "sk-proj-x", `^\S$`: "a", `a*b?c`: "c", `[^a-z]`: "A",
		`-----BEGIN (?:[0-9A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----`: "-----BEGIN PRIVATE KEY-----",
	} {
		if got, ok := matching(pattern); got != want || !ok {
			t.Errorf("%s: %q %t, want %q", pattern, got, ok, want)
		}
	}
	if got, ok := matching(`x\by`); ok {
		t.Errorf("a pattern that nothing fits is said to be fitted by %q", got)
	}
}
