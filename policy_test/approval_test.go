package policy_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// askedAboutRoots is the shipped tree with outside_roots moved from deny to ask,
// by the change that docs/approvals.md shows.
func askedAboutRoots(t *testing.T) *gate {
	t.Helper()
	page, err := os.ReadFile("../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	_, diff, _ := strings.Cut(string(page), "```diff\n")
	diff, _, found := strings.Cut(diff, "```")
	if !found {
		t.Fatal("docs/approvals.md shows no change")
	}
	var before, after string
	for line := range strings.Lines(diff) {
		if line[0] != '+' {
			before += line[1:]
		}
		if line[0] != '-' {
			after += line[1:]
		}
	}
	e := load(t, changed(t, "runlens/rules/paths/paths.rego", before, after))
	return open(t, e, `{"schema_version":1,"tools":{
		"read_file":{"operation":"read","roots":["ws"],"max_bytes":65536},
		"list_files":{"operation":"list","roots":["ws"]}}}`,
		"file ws/f.txt other/a.txt other/b.txt other/.env secret/c.txt", "link other/out -> ../secret/c.txt", "link other/in -> a.txt")
}

// exec runs a call in the run "r" and returns what its caller is told.
func (g *gate) exec(t *testing.T, call string) (r *executor.ToolResult, told string) {
	t.Helper()
	r = g.x.Exec(context.Background(), []byte(call), "r")
	return r, r.Status + " " + r.Reason
}

// approve lets a person approve the last call that was asked about in "r".
func (g *gate) approve(t *testing.T) {
	t.Helper()
	var asked struct{ Proposal int64 }
	for ev, err := range ledger.Read(g.project + "/runs/r") {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == ledger.ApprovalRequested {
			if err := json.Unmarshal(ev.Payload, &asked); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := g.x.Approve(context.Background(), executor.AnswerSpec{RunID: "r", Call: asked.Proposal, By: "ada", TTL: time.Minute, Times: 1}); err != nil {
		t.Fatal(err)
	}
}

// TestMovedRule executes calls under a tree in which a team has moved a rule to
// ask: an approval lets exactly the approved call through, once.
func TestMovedRule(t *testing.T) {
	g := askedAboutRoots(t)
	want := func(call, want string) *executor.ToolResult {
		t.Helper()
		r, told := g.exec(t, call)
		if told != want {
			t.Errorf("%s\n got  %s %s\n want %s", call, told, r.ErrorMessage, want)
		}
		return r
	}
	want(read("ws/f.txt"), "success allowed")
	want(read("other/a.txt"), "blocked outside_roots")
	g.approve(t)
	want(read("other/b.txt"), "blocked outside_roots")
	want(read("other/.env"), "denied forbidden_path")
	if r := want(read("other/a.txt"), "success allowed"); r.Output["content"] != "text\n" {
		t.Errorf("read %v", r.Output)
	}
	want(read("other/a.txt"), "blocked outside_roots") // used up
	want(read("other/nope.txt"), "denied not_found")
}

// TestMovedRuleLists: who approves that a folder is listed approves what lies in
// it, and not where its links lead.
func TestMovedRuleLists(t *testing.T) {
	g := askedAboutRoots(t)
	list := `{"name":"list_files","arguments":{"path":"other"}}`
	if _, told := g.exec(t, list); told != "blocked outside_roots" {
		t.Fatal(told)
	}
	g.approve(t)
	r, told := g.exec(t, list)
	if told != "success allowed" {
		t.Fatalf("%s %s", told, r.ErrorMessage)
	}
	var shown struct {
		Entries []struct{ Name string }
		Dropped int64 `json:"withheld_entries"`
	}
	text, err := json.Marshal(r.Output)
	if err == nil {
		err = json.Unmarshal(text, &shown)
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range shown.Entries {
		names = append(names, e.Name)
	}
	if !slices.Equal(names, []string{"a.txt", "b.txt", "in"}) || shown.Dropped != 2 { // .env, and out
		t.Errorf("shows %s", text)
	}
}
