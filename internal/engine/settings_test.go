package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

// TestGatesJudgedAgain: a gate that no code has, or that stands in both lists,
// would make refusals final, or not, without anybody noticing.
func TestGatesJudgedAgain(t *testing.T) {
	const shippedList = `"resume": {"judge_again": ["policy"], "judge_again_last": []}`
	e := loadWith(t, edit(t, "runlens/data.json", shippedList, `"resume": {"judge_again": ["registry", "handler"], "judge_again_last": ["paths"]}`))
	s := e.Settings()
	if !slices.Equal(s.JudgeAgain, []string{"registry", "handler"}) || !slices.Equal(s.JudgeAgainLast, []string{"paths"}) {
		t.Errorf("judged again: %q, and as the last one: %q", s.JudgeAgain, s.JudgeAgainLast)
	}
	s.JudgeAgain[0], s.JudgeAgainLast[0] = "x", "x"
	if again := e.Settings(); again.JudgeAgain[0] == "x" || again.JudgeAgainLast[0] == "x" {
		t.Error("who holds the settings can change them for all")
	}
	const at = "load policies/runlens/data.json:11: data.runlens.resume"
	for _, test := range []struct {
		name, list string
		want       []string
	}{
		{"misspelt", `{"judge_again": ["polcy"], "judge_again_last": []}`, []string{
			at + `.judge_again names gate "polcy", which no code has (did you mean "policy"?)`,
		}},
		{"misspelt in the second list", `{"judge_again": [], "judge_again_last": ["registry", "path"]}`, []string{
			at + `.judge_again_last names gate "path", which no code has (did you mean "paths"?)`,
		}},
		{"a code", `{"judge_again": ["approval_required"], "judge_again_last": []}`, []string{
			at + `.judge_again names gate "approval_required", which no code has (name the gate of a code in data.runlens.codes)`,
		}},
		{"in both lists", `{"judge_again": ["paths", "policy"], "judge_again_last": ["policy"]}`, []string{
			at + ` names gate "policy" in both lists (name it in one of them)`,
		}},
		{"no list", `{"judge_again": "policy", "judge_again_last": []}`, []string{at + `.judge_again has the wrong type`}},
		{"empty gate", `{"judge_again": [""], "judge_again_last": []}`, []string{at + `.judge_again must hold strings that are not empty`}},
		{"missing", `{"judge_again_last": []}`, []string{`load policies: data.runlens.resume.judge_again is missing`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(Source{FS: with(edit(t, "runlens/data.json", shippedList, `"resume": `+test.list)), Schemas: testSchemas(t)})
			matchProblems(t, err, test.want)
		})
	}
}

// TestShippedJudgesAgain holds the shipped lists: what says more about the run
// than about the call.
func TestShippedJudgesAgain(t *testing.T) {
	s := shipped(t).Settings()
	if !slices.Equal(s.JudgeAgain, []string{"run", "ask", "policy"}) || !slices.Equal(s.JudgeAgainLast, []string{"plan"}) || len(s.ApprovalTools) > 0 {
		t.Errorf("shipped settings %+v", s)
	}
}

// TestProgramLimits: a limit that is missing, or that could never be kept, doesn't
// load.
func TestProgramLimits(t *testing.T) {
	const all = `"limits": {"cpu_seconds": 600, "file_bytes": 1, "open_files": 2, "processes": 3, "memory_bytes": 0, "temp_bytes": 4, "output_bytes": 5}`
	if got := loadWith(t, edit(t, "runlens/data.json", all, all)).Settings().Programs; got != (ProgramLimits{600, 1, 2, 3, 0, 4, 5}) {
		t.Errorf("limits %+v", got)
	}
	if got := shipped(t).Settings().Programs; got != (ProgramLimits{600, 1 << 30, 1024, 512, 0, 256 << 20, 64 << 10}) {
		t.Errorf("shipped limits %+v", got)
	}
	for _, test := range []struct{ from, to, want string }{
		{`"cpu_seconds": 600, `, ``, `load policies: data.runlens.sandbox.limits.cpu_seconds is missing`},
		{`"processes": 3`, `"processes": 0`, `load policies/runlens/data.json:13: data.runlens.sandbox.limits.processes must be a whole number, 1 or more`},
		{`"memory_bytes": 0`, `"memory_bytes": -1`, `load policies/runlens/data.json:13: data.runlens.sandbox.limits.memory_bytes must be a whole number, 0 or more`},
		{`"temp_bytes": 4`, `"temp_bytes": 4.5`, `load policies/runlens/data.json:13: data.runlens.sandbox.limits.temp_bytes must be a whole number, 1 or more`},
	} {
		_, err := Load(Source{FS: with(edit(t, "runlens/data.json", test.from, test.to)), Schemas: testSchemas(t)})
		matchProblems(t, err, []string{test.want})
	}
}

// TestApprovalsFromData: tools come as they are, since only manifests know them;
// an operation that does not exist would never ask anybody.
func TestApprovalsFromData(t *testing.T) {
	load := func(text string) (*Engine, error) {
		over := fstest.MapFS{"runlens/data.json": {Data: []byte(text)}}
		return Load(Source{FS: os.DirFS("../../policies"), Overlay: over, OverName: "own", Schemas: os.DirFS("../../schemas")})
	}
	e, err := load(`{"approvals": {"tools": {"write_file": true, "send_mail": true},
"operations": {"read": true, "list": true, "search": true, "write": true, "delete": true, "rename": true, "execute": true, "fetch": true, "compute": true}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Settings().ApprovalTools; !slices.Equal(got, []string{"send_mail", "write_file"}) {
		t.Errorf("tools of which a person approves each call: %q", got)
	}
	for operation, fix := range map[string]string{
		"deletes": `did you mean "delete"?`, "Delete": `did you mean "delete"?`, "mail": "schemas/data.json describes it",
	} {
		_, err := load("{\"approvals\": {\"operations\": {\n\"" + operation + "\": true}}}")
		matchProblems(t, err, []string{
			`load own/runlens/data.json:2: data.runlens.approvals.operations.` + operation +
				`: value must be one of "read", "list", "search", "write", "delete", "rename", "execute", "fetch", "compute" (` + fix + `)`,
		})
	}
	_, err = load(`{"approvals": {"tools": {"send_mail": false}}}`)
	matchProblems(t, err, []string{`load own/runlens/data.json:1: data.runlens.approvals.tools.send_mail: value must be true (schemas/data.json describes it)`})
}

// TestDataSchemaSpeaks: a word that the schema of policy data does not know is
// answered with the one that was meant, and a list says each thing once.
func TestDataSchemaSpeaks(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{
			`"accesses": ["list"]`, `"accesses": ["lisst"]`,
			`: data.runlens.operations.list.accesses.0: value must be one of "read", "list", "write", "delete", "execute" (did you mean "list"?)`,
		},
		{`"judge_again": ["run",`, `"judge_again": ["run", "run",`, `: data.runlens.resume.judge_again: items at index 0 and 1 are equal (schemas/data.json describes it)`},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("../../policies")); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "runlens/data.json")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		line := bytes.Count(text[:bytes.Index(text, []byte(test.from))], []byte("\n")) + 1
		if err := os.WriteFile(name, bytes.Replace(text, []byte(test.from), []byte(test.to), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Load(Source{FS: os.DirFS(dir), Schemas: os.DirFS("../../schemas")})
		matchProblems(t, err, []string{fmt.Sprintf("load policies/runlens/data.json:%d%s", line, test.want)})
	}
}
