package engine

import (
	"encoding/json"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/facts"
)

// moved loads the shipped tree with the rules of these codes moved from deny to
// ask, as it is loaded and as it is written. A code is "family/code".
func moved(t *testing.T, codes ...string) (loaded, written *Engine) {
	t.Helper()
	tree := fstest.MapFS{}
	shipped := os.DirFS("../../policies")
	if err := fs.WalkDir(shipped, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(shipped, name)
		tree[name] = &fstest.MapFile{Data: data}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range codes {
		family, code, _ := strings.Cut(c, "/")
		f := tree["runlens/rules/"+family+"/"+family+".rego"]
		before, after, found := strings.Cut(string(f.Data), "code: "+code+"\n")
		if !found {
			t.Fatalf("%s emits no %s", family, code)
		}
		f.Data = []byte(before + "code: " + code + "\n" + strings.Replace(after, "\ndeny contains", "\nask contains", 1))
	}
	engines := [2]*Engine{}
	for i := range engines {
		e, err := Load(Source{FS: tree, Schemas: os.DirFS("../../schemas"), asWritten: i == 1})
		if err != nil {
			t.Fatal(err)
		}
		engines[i] = e
	}
	return engines[0], engines[1]
}

// outsideCall is readCall on a file outside the roots.
func outsideCall() *facts.Input {
	in := readCall()
	in.Targets[0].Raw, in.Targets[0].Requested = "../notes/a.txt", "../notes/a.txt"
	in.Targets[0].Path, in.Targets[0].Segments, in.Targets[0].Folded = "/notes/a.txt", []string{"notes", "a.txt"}, []string{"a.txt", "notes"}
	in.Targets[0].InProject = false
	return in
}

func approve(in *facts.Input) *facts.Input {
	in.Approvals = []facts.Approval{{Seq: 7, Tool: in.Call.Tool, Digest: in.Call.Digest, By: "ada", Remaining: 1, MatchesCall: true}}
	return in
}

// TestMovedRule moves rules from deny to ask, as docs/approvals.md tells teams
// to, and expects an approval to lift them and nothing else. The tree as it was
// written must give the same answers.
func TestMovedRule(t *testing.T) {
	with := func(in *facts.Input, change func(in *facts.Input)) *facts.Input {
		change(in)
		return in
	}
	refuse := func(in *facts.Input) { in.Approvals[0].Refused, in.Approvals[0].Remaining = true, 0 }
	closed := func(in *facts.Input) {
		t := &in.Targets[0]
		t.Resolution, t.Handle, t.Kind, t.Path = facts.NoAccess, false, facts.None, "/p/workspace/src"
	}
	hook := func(in *facts.Input) { in.Run.Door = "hook" }
	tests := []struct {
		name string
		in   *facts.Input
		want string
	}{
		{"inside", readCall(), "allow allowed"},
		{"inside, approved", approve(readCall()), "allow allowed"},
		{"outside", outsideCall(), "ask outside_roots"},
		{"outside, approved", approve(outsideCall()), "allow allowed by 7"},
		{"outside, another file approved", with(approve(outsideCall()), func(in *facts.Input) { in.Approvals[0].MatchesCall = false }), "ask outside_roots"},
		{"outside, used up", with(approve(outsideCall()), func(in *facts.Input) { in.Approvals[0].Remaining = 0 }), "ask outside_roots"},
		{"outside, refused", with(approve(outsideCall()), refuse), "deny approval_refused outside_roots"},
		{"outside and an environment file", with(approve(outsideCall()), func(in *facts.Input) { in.Targets[0].Folded = []string{".env"} }), "deny forbidden_path outside_roots"},
		{"outside and a folder", with(approve(outsideCall()), func(in *facts.Input) { in.Targets[0].Kind = facts.Directory }), "deny is_a_directory outside_roots"},
		{"outside and blocked", with(approve(outsideCall()), func(in *facts.Input) { in.Plan.Status = "complete" }), "block plan_complete outside_roots"},
		{"outside and not held", with(approve(outsideCall()), func(in *facts.Input) { in.Targets[0].Handle = false }), "deny unresolved outside_roots"},
		{"no access", with(readCall(), closed), "ask no_access"},
		{"no access, approved, our handler", with(approve(readCall()), closed), "ask no_access"},
		{"no access, approved, another program", with(with(approve(readCall()), closed), hook), "allow allowed by 7"},
		{"no access, refused", with(with(with(approve(readCall()), closed), hook), refuse), "deny approval_refused no_access"},
	}
	loaded, written := moved(t, "paths/outside_roots", "resolution/no_access")
	for _, test := range tests {
		v := loaded.Decide(t.Context(), test.in)
		got := v.Effect.String()
		for _, r := range v.Reasons {
			got += " " + r.Code
			if seq, ok := r.Detail["approval"]; ok {
				got += " by " + string(seq.(json.Number))
			}
		}
		if got != test.want {
			t.Errorf("%s\n got  %s\n want %s", test.name, got, test.want)
		}
		if other := written.Decide(t.Context(), test.in); !reflect.DeepEqual(v, other) {
			t.Errorf("%s\n as loaded  %+v\n as written %+v", test.name, v, other)
		}
	}
	for i, in := range corpus() {
		if i%2 == 0 {
			approve(in)
		}
		if a, b := loaded.Decide(t.Context(), in), written.Decide(t.Context(), in); !reflect.DeepEqual(a, b) {
			t.Errorf("input %d: %+v, as written %+v", i, a, b)
		}
	}
}
