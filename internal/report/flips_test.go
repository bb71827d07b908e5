package report

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/replay"
)

// TestFlipsAsText and the next two hold the formats to their bytes: whoever
// changes one sees it here.
func TestFlipsAsText(t *testing.T) { golden(t, "flips.txt", FlipsText(sample())) }

func TestFlipsAsJSON(t *testing.T) {
	data, err := FlipsJSON(sample())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "flips.json", data)
}

func TestFlipsAsLines(t *testing.T) {
	first := loosened(12, "c7", 900)
	data, err := FlipJSONL(&first)
	if err != nil {
		t.Fatal(err)
	}
	end, err := FlipsJSONLEnd(sample())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "flips.jsonl", slices.Concat(data, end))
}

func TestFlipsAsFindings(t *testing.T) {
	data, err := JUnit("runlens replay", sample().Findings())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "flips.xml", data)
	golden(t, "flips.github", GitHub(sample().Findings()))
	for _, f := range sample().Findings() {
		if strings.ContainsAny(f.Name+f.Message, "\n") {
			t.Errorf("finding %q is no line", f.Name)
		}
	}
}

var updateFlips = flag.Bool("update-flips", false, "write the reports on flips in testdata")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *updateFlips {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs, got\n%s", name, got)
	}
}

// Whatever foreign text a comparison holds, no line of it is forged and nothing
// moves the cursor.
func TestFlipsEscape(t *testing.T) {
	evil := "x\n::error::\x1b[2J\u202e0 flips"
	f := sample()
	flip := loosened(3, evil, 1)
	flip.Where, flip.File, flip.Tool, flip.Name = evil, evil, evil, evil
	flip.Old.Codes, flip.Targets, flip.Was.Message = []string{evil}, []replay.Object{{Param: evil, Path: evil}}, evil
	f.Groups.Add(flip)
	f.Mismatches.Add(flip)
	e := &replay.Example{Count: 1, Where: evil, File: evil, Line: 1, Tool: evil, Note: evil}
	f.Unjudged = []Unjudged{{Cause: evil, Meaning: evil, Example: e}}
	f.Apart, f.Trouble = map[string]int{evil: 1}, map[string]*replay.Example{evil: e}
	f.Broken, f.Torn = []replay.Broken{{Where: evil, Err: errors.New(evil)}}, []string{evil}
	f.Notes, f.Name, f.New.Name = []string{evil}, evil, evil
	f.Covered[0].What, f.Covered[0].Notes = evil, []string{evil}
	xml, err := JUnit(evil, f.Findings())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := FlipsJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string][]byte{"text": FlipsText(f), "json": doc, "junit": xml, "github": GitHub(f.Findings())} {
		text := string(out)
		if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\n::error::") || strings.Contains(text, "\n0 flips") {
			t.Errorf("%s lets foreign text through:\n%s", name, text)
		}
	}
}

// What was not judged is never taken for the same, and a report in which nothing
// was judged is not green.
func TestFlipsWithoutInput(t *testing.T) {
	f := &Flips{Name: "replay"}
	if got := f.Findings(); len(got) != 1 || got[0].Status != Broken || got[0].Code != "nothing_judged" {
		t.Errorf("an empty comparison has the findings %+v", got)
	}
	if f.Over() || f.Failed() {
		t.Error("an empty comparison has failures")
	}
	f.Covered = []Covered{{What: "recorded runs", Inputs: 2, Judged: 1, Same: 1}}
	f.Unjudged = []Unjudged{{Cause: "altered", Example: &replay.Example{Count: 1}}}
	if got := f.Summary(); got != "2 inputs: 1 judged, 1 the same, 0 flips, 0 loosened; 1 not judged" {
		t.Errorf("the summary is %q", got)
	}
	for limit, over := range map[float64]bool{0: true, 49.9: true, 50: false, 100: false} {
		if f.Limit = limit; f.Over() != over {
			t.Errorf("one of two not judged with a limit of %v %%: over is %t", limit, !over)
		}
	}
}

func TestFailOn(t *testing.T) {
	for _, c := range replay.Classes() {
		if FailOnAny.Counts(c) != true || FailOnNone.Counts(c) || FailOnLoosened.Counts(c) != c.Loosened() {
			t.Errorf("class %s is counted wrongly", c)
		}
		if classWords(c) == c.String() || classTitle(c) == "" {
			t.Errorf("class %s has no words", c)
		}
	}
	if FailOnAny.Counts(replay.Same) {
		t.Error("the same verdict is a failure")
	}
	for _, cause := range replay.AllCauses() {
		if meaningOf(cause) == meaningOf("") {
			t.Errorf("cause %s has no meaning", cause)
		}
	}
}

// Beyond what a group keeps, calls are counted and not lost.
func TestFlipsManyCalls(t *testing.T) {
	f := &Flips{Name: "replay", Groups: &replay.Groups{}}
	for i := range 2500 {
		f.Groups.Add(loosened(int64(i+1), "", 500))
	}
	text := string(FlipsText(f))
	if !strings.Contains(text, "deny → allow  read_file  2,500 calls") || !strings.Contains(text, ", 20 and 2,480 more\n") {
		t.Errorf("the text does not count them all:\n%s", text)
	}
	data, err := FlipsJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Loosened int
		Groups   []struct {
			Count, More int
			Calls       []any
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if g := doc.Groups[0]; doc.Loosened != 2500 || g.Count != 2500 || len(g.Calls)+g.More != 2500 || g.More == 0 {
		t.Errorf("%d loosened, group of %d: %d calls and %d more", doc.Loosened, g.Count, len(g.Calls), g.More)
	}
}

// loosened is a flip from outside_roots to allow.
func loosened(seq int64, id string, size int) replay.Flip {
	f := replay.Flip{
		Where: "runs/demo", Name: number(int(seq)), File: "runs/demo/events.jsonl", Line: int(seq), Seq: seq, CallID: id,
		Tool: "read_file", Declared: true, Size: size,
		Old:     replay.Verdict{Effect: engine.Deny, Codes: []string{"outside_roots", "not_found"}, MaxBytes: 65536},
		New:     replay.Verdict{Effect: engine.Allow, Codes: []string{"allowed"}, MaxBytes: 65536},
		Was:     engine.Reason{Code: "outside_roots", Message: "path: secret/a.txt is outside the roots", Param: "path", File: "policies/paths.rego", Line: 26},
		Reason:  engine.Reason{Code: "allowed", Message: "allowed", File: "changed/decision.rego", Line: 40},
		Targets: []replay.Object{{Param: "path", Access: "read", Path: "/shop/secret/a.txt"}},
	}
	f.Class = replay.Compare(f.Old, f.New)
	return f
}

// sample is a comparison that has everything.
func sample() *Flips {
	f := &Flips{
		Name: "replay",
		Old: []Side{
			{Name: "policies", Revision: "sha256:1111111111111111", Known: true, Inputs: 8, Judged: 7, Same: 6},
			{Name: "recorded", Revision: "sha256:2222222222222222", Inputs: 3},
		},
		New:     Side{Name: "changed", Revision: "sha256:3333333333333333", Known: true},
		Covered: []Covered{{What: "recorded runs", Counts: []Count{{"runs", 2}, {"events", 1204}}, Inputs: 11, Judged: 8, Same: 4, Notes: []string{"in 1 of them a root is taken to be there"}}},
		Groups:  &replay.Groups{}, Mismatches: &replay.Groups{}, Limit: 12.5,
		Apart:   map[string]int{"malformed_call": 2, "input_validation_failed": 1},
		Trouble: map[string]*replay.Example{"policy_error": {Count: 1, Where: "runs/demo", File: "runs/demo/events.jsonl", Line: 40, Seq: 40, Tool: "list_files", Note: "changed/x.rego:3: divide by zero"}},
		Broken:  []replay.Broken{{Where: "runs/bad", Err: errors.New("read runs/bad/events.jsonl:3: broken chain: at byte 812")}},
		Torn:    []string{"runs/demo"},
		Notes:   []string{"something else to know"},
	}
	f.Unjudged = UnjudgedOf(map[replay.Cause]*replay.Example{
		replay.Mismatch:   {Count: 1, Where: "runs/demo", File: "runs/demo/events.jsonl", Line: 33, Seq: 33, Tool: "read_file", Note: "deny outside_roots, now allow"},
		replay.Incomplete: {Count: 2, Where: "runs/demo", File: "runs/demo/events.jsonl", Line: 35, Seq: 35, Tool: "read_file", Note: "/sandbox/network is missing"},
	})
	f.Groups.Add(loosened(12, "c7", 900))
	f.Groups.Add(loosened(8, "c5", 700))
	tightened := loosened(16, "c9", 500)
	tightened.Old, tightened.New, tightened.Was, tightened.Reason = tightened.New, tightened.Old, tightened.Reason, tightened.Was
	tightened.Class, tightened.Tool, tightened.Declared = replay.AllowToDeny, "made_up", false
	f.Groups.Add(tightened)
	wide := loosened(20, "", 500)
	wide.Old, wide.Was = wide.New, wide.Reason
	wide.New.MaxBytes, wide.Class = 0, replay.GrantWidened
	f.Groups.Add(wide)
	f.Mismatches.Add(loosened(33, "c17", 400))
	return f
}
