package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// runners are tools that run programs: two commands with arguments, and a
// handler that is one.
const runners = `{"schema_version":1,"tools":{
"run":{"operation":"execute","dir":"workspace","env":{"A":"b"},"network":"private","limits":{"processes":4},
"roots":[{"path":"workspace","access":["read"]},{"path":"out","access":["read","write"]}],
"commands":[["make"],["test",{"arg":"path","root":"workspace/tests"}],["fmt",{"arg":"path","root":"out","access":"write"},{"arg":"mode","values":["a","b"]}]]},
"count":{"operation":"read","handler":"exec:wc"}
}}`

func withRunners(narrow string) []Source {
	return []Source{
		{Name: "tools.json", Data: []byte(runners)},
		{Name: "skills/s.yaml", Kind: SkillFile, Data: []byte("schema_version: 1\nname: s\ngoal: g\ntools: [run, count]\nnarrow:\n" + narrow)},
	}
}

func TestNarrowPatterns(t *testing.T) {
	set := mustLoad(t, withRunners("  run:\n    roots: [workspace/tests, out/a, workspace]\n    commands:\n      - [test, {root: workspace/tests, access: read, arg: path}]\n"))
	own, got := set.Tools["run"], set.Skills["s"].Tools["run"]
	if len(got.Commands) != 0 || len(got.Patterns) != 1 || got.Patterns[0][0].Word != "test" {
		t.Errorf("commands %v, patterns %v", got.Commands, got.Patterns)
	}
	if got.Dir != own.Dir || !slices.Equal(got.Env, own.Env) || got.Network != own.Network || got.Limits != own.Limits {
		t.Errorf("what the program gets has changed: %+v", got)
	}
	if len(own.Commands) != 1 || len(own.Patterns) != 2 {
		t.Errorf("the set's own tool has changed: %v, %v", own.Commands, own.Patterns)
	}
	// One command is left, which takes its arguments by name; the tool's own asks for argv.
	for args, want := range map[string]string{
		`{}`: "[arguments.path: field is required]", `{"path":"workspace/tests/a"}`: "[]", `{"argv":["test","workspace/tests/a"]}`: "[]",
		`{"path":"a","argv":["test","a"]}`: "[arguments.path: leave it out: argv is given]",
	} {
		if got := fmt.Sprint(issuesOf(got, args)); got != want {
			t.Errorf("%s: issues %s, want %s", args, got, want)
		}
	}
	if got := fmt.Sprint(issuesOf(own, `{}`)); got != "[arguments.argv: field is required]" {
		t.Errorf("the set's own tool has issues %s", got)
	}

	// A skill has another digest for each command that it leaves out.
	seen := map[string]string{}
	for _, narrow := range []string{
		"  run: {}\n", "  run: {commands: [[make]]}\n", "  run: {commands: [[test, {arg: path, root: workspace/tests}]]}\n",
		"  run: {commands: [[make], [test, {arg: path, root: workspace/tests}]]}\n",
	} {
		digest := mustLoad(t, withRunners(narrow)).Revision
		if before, twice := seen[digest]; twice {
			t.Errorf("%s has the revision of %s", narrow, before)
		}
		seen[digest] = narrow
	}
}

func TestNarrowPatternRefusals(t *testing.T) {
	const wider = `6: skill "s": narrow "run": commands has one that the tool does not have (a skill only narrows; the tool is declared in tools.json:2)`
	for _, c := range []struct{ name, narrow, want string }{
		{"another name", "  run: {commands: [[test, {arg: p, root: workspace/tests}]]}\n", wider},
		{"a wider root", "  run: {commands: [[test, {arg: path, root: workspace}]]}\n", wider},
		{"a narrower root", "  run: {commands: [[test, {arg: path, root: workspace/tests/a}]]}\n", wider},
		{"another access", "  run: {commands: [[test, {arg: path, root: workspace/tests, access: write}]]}\n", wider},
		{"fewer values", "  run: {commands: [[fmt, {arg: path, root: out, access: write}, {arg: mode, values: [a]}]]}\n", wider},
		{"another kind", "  run: {commands: [[test, {arg: path, pattern: 'a+'}]]}\n", wider},
		{"a word for an argument", "  run: {commands: [[test, workspace/tests/a]]}\n", wider},
		{"not a command", "  run: {commands: [[test, {arg: path}]]}\n", `6: skill "s": narrow "run": argument "path": nothing says what it may be (add "root" for a path, "values" or "pattern")`},
		{"twice", "  run: {commands: [[test, {arg: path, root: workspace/tests}], [test, {root: workspace/tests, arg: path}]]}\n", `6: skill "s": narrow "run": commands holds the same command twice`},
		{"deadline", "  run: {timeout_ms: 18446744073710}\n", `6: skill "s": narrow "run": timeout_ms is 18446744073710, more than 24 hours (86400000 at most: it counts milliseconds)`},
		{"env", "  run: {env: {A: c}}\n", `6: skill "s": narrow "run": unknown key "env"`},
		{"network, dir and limits", "  run: {network: none, dir: a, limits: {}, sandbox: full}\n", strings.Join([]string{`6: skill "s": narrow "run": unknown key "network"`, `6: skill "s": narrow "run": unknown key "dir"`, `6: skill "s": narrow "run": unknown key "limits"`, `6: skill "s": narrow "run": unknown key "sandbox"`}, "\n")},
		{"commands of a program", "  count: {commands: [[wc]]}\n", `6: skill "s": narrow "count": the tool has no commands: handler "exec:wc" runs it (leave it out)`},
		{
			"roots that leave a path without one", "  run:\n    roots: [out]\n",
			`7: skill "s": narrow "run": no root is left for argument "path", a path in "workspace/tests" (keep that root, or leave the command out of commands)`,
		},
		{
			"roots that leave a path without its access", "  run:\n    commands: [[fmt, {arg: path, root: out, access: write}, {arg: mode, values: [a, b]}]]\n    roots: [{path: out, access: [read]}]\n",
			`8: skill "s": narrow "run": no root is left for argument "path", a path in "out" (keep that root, or leave the command out of commands)`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := refusals(t, withRunners(c.narrow)...)
			want := strings.Split(c.want, "\n")
			for i := range want {
				want[i] = "load skills/s.yaml:" + want[i]
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestNarrowedInput: the default schema is that of the commands that are left; the
// manifest's own stays.
func TestNarrowedInput(t *testing.T) {
	const (
		argv  = `"argv":{"items":{"type":"string"},"minItems":1,"type":"array"}`
		whole = `"argv":{"description":"the whole command, in place of its arguments by name","items":{"type":"string"},"minItems":1,"type":"array"}`
		bare  = `"argv":{"items":{"type":"string"},"type":"array"}`
		v     = `["a",{"arg":"v","values":["b"]}]`
		w     = `["a","x",{"arg":"w","values":["c"]}]`
	)
	schema := func(properties, required string) string {
		return `{"additionalProperties":false,"properties":{` + properties + `},"required":[` + required + `],"type":"object"}`
	}
	own := schema(argv, `"argv"`)
	for _, c := range []struct{ name, body, commands, want string }{
		{"one with arguments", `"commands":[["z"],` + v + `]`, `[` + v + `]`, schema(whole+`,"v":{"enum":["b"],"type":"string"}`, ``)},
		{"the other", `"commands":[` + v + `,` + w + `]`, `[` + w + `]`, schema(whole+`,"w":{"enum":["c"],"type":"string"}`, ``)},
		{"one written out", `"commands":[["z"],` + v + `]`, `[["z"]]`, schema(argv, ``)},
		{"two", `"commands":[["z"],` + v + `,` + w + `]`, `[` + v + `,` + w + `]`, own},
		{"of words alone, as before", `"commands":[["z"],["y"]]`, `[["z"]]`, own},
		{"judged alone", `"handler":"external","commands":[["z"],` + v + `]`, `[["z"]]`, schema(bare, ``)},
		{"of its own", `"commands":[["z"],` + v + `],"input_schema":` + own, `[` + v + `]`, own},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := mustLoad(t, []Source{
				{Name: "tools.json", Data: []byte(`{"schema_version":1,"tools":{"t":{"operation":"execute",` + c.body + `}}}`)},
				{Name: "skills/s.yaml", Kind: SkillFile, Data: []byte("schema_version: 1\nname: s\ngoal: g\ntools: [t]\nnarrow: {t: {commands: " + c.commands + "}}\n")},
			})
			if got := string(set.Skills["s"].Tools["t"].Input.JSON()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			specs, err := set.Skills["s"].Specs("json")
			var shown struct {
				Tools []struct {
					Schema json.RawMessage `json:"input_schema"`
				}
			}
			var line bytes.Buffer
			if err != nil || json.Unmarshal(specs, &shown) != nil || json.Compact(&line, shown.Tools[0].Schema) != nil || line.String() != c.want {
				t.Errorf("a model is shown %s (%v)", line.String(), err)
			}
		})
	}
}

// TestNarrowedOrder: a skill names commands in any order; the tool's own holds, so
// that what a call counts as is what the tool says.
func TestNarrowedOrder(t *testing.T) {
	const text, path = `[a, {arg: t, pattern: "[a-z]+"}]`, `[a, {arg: p, root: data}]`
	digests := map[string]bool{}
	for _, commands := range []string{text + ", " + path, path + ", " + text} {
		set := mustLoad(t, []Source{
			{Name: "tools.yaml", Data: []byte("schema_version: 1\ntools: {t: {operation: execute, commands: [" + text + ", " + path + ", [z]]}}\n")},
			{Name: "skills/s.yaml", Kind: SkillFile, Data: []byte("schema_version: 1\nname: s\ngoal: g\ntools: [t]\nnarrow: {t: {commands: [" + commands + "]}}\n")},
		})
		if got := set.Skills["s"].Tools["t"].Patterns; len(got) != 2 || got[0][1].Arg != "t" || got[1][1].Arg != "p" {
			t.Errorf("%s: %v", commands, got)
		}
		digests[set.Skills["s"].Digest] = true
	}
	if len(digests) != 1 {
		t.Error("the order in which a skill names commands counts")
	}
}
