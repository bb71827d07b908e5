package engine

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// reading is the shipped tree with a rule of this body in a family of its own.
func reading(t *testing.T, body, more string) *Engine {
	t.Helper()
	rego := fmt.Sprintf(`package runlens.rules.site

import data.runlens.lib

# METADATA
# title: the site refuses this
# custom:
#   code: site_refused
deny contains lib.reason(rego.metadata.rule(), {}) if {
	%s
}

%s
`, body, more)
	over := fstest.MapFS{
		"runlens/rules/site/site.rego":         {Data: []byte(rego)},
		"runlens/codes/site_refused/data.json": {Data: []byte(`{"gate": "registry", "retryable": false, "remedy": "use another tool"}`)},
	}
	e, err := Load(Source{FS: os.DirFS("../../policies"), Overlay: over, Schemas: os.DirFS("../../schemas")})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestMayRead(t *testing.T) {
	fields := []string{"now", "call.id", "call.digest", "run.id"}
	read := func(e *Engine) string {
		var list []string
		for _, f := range fields {
			if e.MayRead(f) {
				list = append(list, f)
			}
		}
		return strings.Join(list, " ")
	}
	if got := read(shipped(t)); got != "" {
		t.Fatalf("the shipped policies read %s", got)
	}
	if e := shipped(t); !e.MayRead("targets") || !e.MayRead("call.tool") || !e.MayRead("run.denials.total") || !e.MayRead("call") {
		t.Error("what the shipped policies read is said to be unread")
	}
	for _, c := range []struct{ name, body, more, want string }{
		{"by name", `startswith(input.now, "2020")`, "", "now"},
		{"by a bracket", `input["call"]["id"] == "x"`, "", "call.id"},
		{"through a part", "some c in [input.call]\n\tc.id == \"x\"", "", "call.id call.digest"},
		{"through a local", "c := input.run\n\tc.id == \"x\"", "", "run.id"},
		{"over all members", "some _, v in input.call\n\tv == \"x\"", "", "call.id call.digest"},
		{"by a computed key", "some key in {\"id\", \"tool\"}\n\tinput.call[key] == \"x\"", "", "call.id call.digest"},
		{"by a computed first key", "some key in {\"now\", \"v\"}\n\tinput[key] == \"x\"", "", "now call.id call.digest run.id"},
		{"as a whole", `count(input) == 3`, "", "now call.id call.digest run.id"},
		{"as an argument", "_f(input.run)", `_f(r) if r.id == "x"`, "run.id"},
		{"whole, as an argument", "_f(input)", `_f(i) if i.now == "x"`, "now call.id call.digest run.id"},
		{"in a comprehension", `count([x | x := input.call.digest; x == "y"]) > 0`, "", "call.digest"},
		{"in a rule that the family uses", "_late", `_late if input.now == "x"`, "now"},
		{"below a text", `input.run.denials.total > 3`, "", ""},
		{"replaced", `_late with input.now as "2020"`, `_late if input.run.door == "cli"`, "now"},
		{"inside an index", `input.tool.roots[count(input.run.id)].path == "x"`, "", "run.id"},
		{"by object.get", `object.get(input, ["call", "id"], "") == "x"`, "", "now call.id call.digest run.id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := read(reading(t, c.body, c.more)); got != c.want {
				t.Errorf("read: %q, want %q", got, c.want)
			}
		})
	}
}

// TestMayReadIsTrue changes each text that the shipped policies are said not to
// read, and a field that they do read, on an input of each verdict.
func TestMayReadIsTrue(t *testing.T) {
	e := shipped(t)
	in := readCall()
	before := e.Decide(t.Context(), in)
	in.Now, in.Call.ID, in.Call.Digest, in.Run.ID = "2030-01-02T03:04:05.000000Z", "other", "sha256:00", "another"
	if after := e.Decide(t.Context(), in); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("unread texts changed %v to %v", before, after)
	}
	undeclared := *in.Tool
	undeclared.Declared = false
	in.Tool = &undeclared
	if after := e.Decide(t.Context(), in); fmt.Sprint(after) == fmt.Sprint(before) {
		t.Errorf("this test can't see a change: %v", after)
	}
}
