// Package policy_test proves the shipped policy tree on golden cases: real
// files laid out, a real call, the verdict, its exact codes and where each
// target was found. The same cases run from the directory, from the embedded
// copy and from a bundle that stock `opa build` made.
//
// A case is policy_test/<family>/<case>.txtar. The text before the first
// section tells the story. Sections:
//
//	-- call.json --        the call; in a table, "$PATH" stands for the row's path
//	-- tools.json --       the manifest; without it the shipped one
//	-- <path> --           a file of the project, or with ../ beside it
//	-- layout --           other things to make, one a line: see lay
//	-- door --             cli (default), hook or mcp
//	-- events --           TYPE PAYLOAD a line: the run so far, instead of a fresh
//	                       one; "$DIGEST" is the call's, "$POLICY" and "$MANIFEST"
//	                       are the revisions, "$AFTER" the hash of the line before
//	-- facts --            POINTER = VALUE a line: a state of the run that no
//	                       call makes, put over the facts before they are judged
//	-- want --             verdict and codes, then "param = path" for each target
//	-- table --            one row a line: path, verdict, codes[, where it was found]
//	-- calls --            one row a line: CALL => verdict, codes[, where]
//	-- ledger --           what the run records when the call is executed
//
// A path of a table is a JSON string, or several, each with "*N" for N times,
// joined by "+". Codes stand in order, the primary one first. ":" and what the
// reason's detail says about the cause follow a code: the lexical rules of
// invalid_path, what is missing, the kind of a special file, the class of a
// protected place. A code that goes to the ledger alone has "(ledger)" behind
// it. Where a target was found is told only inside the roots. Paths count from
// the project directory; "$PROJECT" stands for it, "$BESIDE" for the one above.
// `go test ./policy_test -update` writes the sections want, table, calls and
// ledger: read what it wrote before you believe it.
//
// Read TestGolden first, then golden, which is a parsed case, then lay.
package policy_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/rogpeppe/go-internal/txtar"

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

var update = flag.Bool("update", false, "write the wanted sections of the golden cases")

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
	files, err := filepath.Glob("*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	shown := map[string]bool{}
	skipped := false
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := parse(t, archive)
			if c.needsRoot && os.Geteuid() != 0 {
				skipped = true
				t.Skip("the layout needs root")
			}
			got := c.judge(t, loaded["directory"], shown)
			if *update {
				c.write(t, file, archive, got)
			}
			for i, r := range c.rows {
				if got[i] != r.want {
					t.Errorf("%s\n got  %s\n want %s", r.shown, indent(got[i]), indent(r.want))
				}
			}
			for _, from := range []string{"embedded", "bundle"} {
				for i, other := range c.judge(t, loaded[from], shown) {
					if other != got[i] {
						t.Errorf("%s\n from the directory %s\n from the %s %s", c.rows[i].shown, indent(got[i]), from, indent(other))
					}
				}
			}
			if c.ledger != "" {
				c.compareLedger(t, file, archive, loaded["embedded"])
			}
		})
	}
	if !*update && !skipped {
		uncovered(t, loaded["directory"], shown)
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

// judge lays the case out anew and judges its calls, one outcome a row.
func (c *golden) judge(t *testing.T, e *engine.Engine, shown map[string]bool) []string {
	t.Helper()
	project := c.layOut(t)
	run := c.layEvents(t, e, project)
	x := c.open(t, e, project)
	got := make([]string, 0, len(c.rows))
	for _, r := range c.rows {
		out, err := x.Check(context.Background(), []byte(placed(r.call, project)), run)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.facts) > 0 {
			if out.Input == nil {
				t.Fatalf("the call did not reach policy: %+v", out.Verdict.Reasons)
			}
			out.Verdict = e.Decide(context.Background(), altered(t, out.Input, c.facts))
		}
		for _, reason := range out.Verdict.Reasons {
			shown[reason.Code] = true
			shown[reason.Code+":"+causeOf(reason.Detail)] = true
		}
		got = append(got, outcome(out, project, r.sep))
	}
	return got
}

// now is when the calls of golden cases are judged.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// open makes an executor on project with the case's manifest.
func (c *golden) open(t testing.TB, e *engine.Engine, project string) *executor.Executor {
	t.Helper()
	x, err := executor.New(executor.Config{
		Project: project, Engine: e, Tools: toolSet(t, placed(c.tools, project)), Handlers: builtin, Door: c.door,
		Now:   func() time.Time { return now },
		NewID: func() string { return "golden" },
		// Whatever this machine can do; a case alters it.
		Sandbox: facts.Sandbox{Level: "none"},
		Log:     t.Logf,
	})
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

var builtin = handlers.Builtin()

// toolSet loads a manifest, or the shipped one when text is "".
func toolSet(t testing.TB, text string) *manifest.Set {
	t.Helper()
	set, err := loadTools(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func loadTools(text string) (*manifest.Set, error) {
	if text == "" {
		data, err := manifests.FS.ReadFile("tools.json")
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	return manifest.Load([]manifest.Source{{Name: "tools.json", Data: []byte(text)}}, declared())
}

func declared() []manifest.Handler {
	list := make([]manifest.Handler, 0, len(builtin))
	for _, h := range builtin {
		list = append(list, h.Handler)
	}
	return list
}

// outcome tells verdict, codes and places in the form of the want section.
func outcome(out *executor.Outcome, project, sep string) string {
	text := []string{told(out.Verdict)}
	unfound := asked(out)
	params := make([]string, 0, len(out.Normalized))
	for p := range out.Normalized {
		params = append(params, p)
	}
	sort.Strings(params)
	for _, p := range params {
		if out.Normalized[p] == unfound[p] {
			continue
		}
		where := quoted(fromProject(out.Normalized[p], project))
		if sep == "\n" {
			where = fmt.Sprintf("%s = %s", p, where)
		}
		text = append(text, where)
	}
	return strings.Join(text, sep)
}

// asked holds, for each target that was not found inside a root, the path that
// was asked for: all that may go back of it.
func asked(out *executor.Outcome) map[string]string {
	paths := map[string]string{}
	if out.Input == nil {
		return paths
	}
	for _, t := range out.Input.Targets {
		outside := slices.ContainsFunc(out.Verdict.Reasons, func(r engine.Reason) bool {
			return r.Code == "outside_roots" && r.Param == t.Param
		})
		if outside || t.Resolution != facts.OK && t.Resolution != facts.Absent {
			paths[t.Param] = t.Requested
		}
	}
	return paths
}

// quoted spells out what does not show.
func quoted(s string) string {
	for _, r := range s {
		if unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return strconv.QuoteToASCII(s)
		}
	}
	return strconv.Quote(s)
}

// told is the verdict with its codes in order, each once.
func told(v engine.Verdict) string {
	parts := []string{v.Effect.String()}
	for _, r := range v.Reasons {
		code := r.Code
		if cause := causeOf(r.Detail); cause != "" {
			code += ":" + cause
		}
		if r.LedgerOnly {
			code += "(ledger)"
		}
		if !slices.Contains(parts, code) {
			parts = append(parts, code)
		}
	}
	return strings.Join(parts, " ")
}

// causeOf is what a reason's detail says about its cause, in one word.
func causeOf(detail map[string]any) string {
	for _, key := range []string{"rules", "missing", "class", "kind", "counter", "resolution"} {
		switch v := detail[key].(type) {
		case string:
			return v
		case []any:
			words := make([]string, 0, len(v))
			for _, w := range v {
				words = append(words, fmt.Sprint(w))
			}
			sort.Strings(words)
			return strings.Join(words, "+")
		}
	}
	return ""
}

func fromProject(where, project string) string {
	rel, err := filepath.Rel(project, where)
	if err != nil || !filepath.IsAbs(where) || rel == ".." || strings.HasPrefix(rel, "../") {
		return where
	}
	return rel
}

// compareLedger executes the case's call in a new run and compares what the
// run recorded: type, reason and place of each event.
func (c *golden) compareLedger(t *testing.T, file string, a *txtar.Archive, e *engine.Engine) {
	t.Helper()
	project := c.layOut(t)
	x := c.open(t, e, project)
	x.Exec(context.Background(), []byte(placed(c.rows[0].call, project)), "golden")
	var lines []string
	for ev, err := range ledger.Read(filepath.Join(project, "runs", "golden")) {
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			Reason    string `json:"reason"`
			ErrorCode string `json:"error_code"`
			Path      string `json:"path"`
		}
		if err := json.Unmarshal(ev.Payload, &p); err != nil {
			t.Fatal(err)
		}
		line := ev.Type
		for _, word := range []string{p.Reason, p.ErrorCode} {
			if word != "" {
				line += " " + word
			}
		}
		if p.Path != "" {
			line += " " + quoted(fromProject(p.Path, project))
		}
		lines = append(lines, line)
	}
	beside := filepath.Dir(project)
	got := strings.NewReplacer(beside, "$BESIDE", filepath.Dir(beside), "$ABOVE").Replace(strings.Join(lines, "\n"))
	if *update {
		c.ledger = got
		replace(t, file, a, "ledger", got)
	}
	if got != c.ledger {
		t.Errorf("the ledger:\n got  %s\n want %s", indent(got), indent(c.ledger))
	}
}
