package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const byName = `["run",{"arg":"path","root":"data"},"--",{"arg":"mode","values":["fast","slow\nly"]},{"arg":"text","pattern":"[^/]+"}]`

func TestDerivedArguments(t *testing.T) {
	const argv = `"argv":{"items":{"type":"string"},"minItems":1,"type":"array"}`
	const whole = `"argv":{"description":"the whole command, in place of its arguments by name","items":{"type":"string"},"minItems":1,"type":"array"}`
	const props = `,"mode":{"enum":["fast","slow\nly"],"type":"string"},"path":{"description":"a path, counted from the working directory","type":"string"},"text":{"pattern":"^(?:[^/]+)$","type":"string"}`
	for _, c := range []struct{ name, body, want string }{
		{"one", `"operation":"execute","commands":[` + byName + `]`, `{"additionalProperties":false,"properties":{` + whole + props + `},"required":[],"type":"object"}`},
		{"several", `"operation":"execute","commands":[` + byName + `,["b"]]`, `{"additionalProperties":false,"properties":{` + argv + `},"required":["argv"],"type":"object"}`},
		{
			"beside a target", `"operation":"execute","commands":[["run",{"arg":"mode","values":["a"]}]],"targets":[{"param":"p","access":"read"}]`,
			`{"additionalProperties":false,"properties":{"argv":{"description":"the whole command, in place of its arguments by name","items":{"type":"string"},"type":"array"},"mode":{"enum":["a"],"type":"string"},"p":{"type":"string"}},"required":["p"],"type":"object"}`,
		},
		{
			"judged alone", `"operation":"execute","handler":"external","commands":[["run",{"arg":"mode","values":["a"]}]]`,
			`{"additionalProperties":false,"properties":{"argv":{"description":"the whole command, in place of its arguments by name","items":{"type":"string"},"type":"array"},"mode":{"enum":["a"],"type":"string"}},"required":[],"type":"object"}`,
		},
	} {
		if got := string(load(t, "tools.json", `{"schema_version":1,"tools":{"t":{`+c.body+`}}}`).Tools["t"].Input.JSON()); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

func TestCommandIssues(t *testing.T) {
	one := load(t, "tools.json", executing(byName)).Tools["t"]
	own := load(t, "tools.json", executing(byName, `"input_schema":{"type":"object","properties":{"argv":{"type":"array"}}}`)).Tools["t"]
	names := load(t, "tools.json", executing(byName, `"input_schema":`+closed(`"path":{"type":"string"},"mode":{"type":"string"},"text":{"type":"string"}`))).Tools["t"]
	two := load(t, "tools.json", executing(byName+`,["run","a\nb","--","fast","c\nd"],["other"]`)).Tools["t"]
	seen := load(t, "tools.json", executing(`["run","\u200d"],["run",{"arg":"v","values":["a\u2028"]}],["run","--",{"arg":"t","pattern":".+"}],["go",{"arg":"t","pattern":"[^/-].*"}]`)).Tools["t"]
	for _, c := range []struct {
		name string
		tool *Tool
		args string
		want string
	}{
		{"by name", one, `{"path":"data/a","mode":"fast","text":"x"}`, "[]"},
		{"argv", one, `{"argv":["run","data/a","--","fast","x"]}`, "[]"},
		{"argv of another command, which policy refuses", one, `{"argv":["rm"]}`, "[]"},
		{"neither", one, `{}`, "[arguments.mode: field is required arguments.path: field is required arguments.text: field is required]"},
		{"one missing", one, `{"mode":"fast","text":"x"}`, "[arguments.path: field is required]"},
		{"both", one, `{"argv":["run"],"path":"a","mode":"slow\nly"}`, "[arguments.mode: leave it out: argv is given arguments.path: leave it out: argv is given]"},
		{"argv null is given", one, `{"argv":null,"path":"a"}`, "[arguments.argv: must be an array, not null arguments.path: leave it out: argv is given]"},
		{"null is given", one, `{"path":null,"mode":"fast","text":"x"}`, "[arguments.path: must be a string, not null]"},
		{"no such value", one, `{"path":"a","mode":"secret","text":"x"}`, `[arguments.mode: must be one of "fast", "slow\nly"]`},
		{"pattern", one, `{"path":"a","mode":"fast","text":"x/secret"}`, `[arguments.text: must match the pattern "^(?:[^/]+)$"]`},
		{"pattern, not a part", one, `{"path":"a","mode":"fast","text":"/"}`, `[arguments.text: must match the pattern "^(?:[^/]+)$"]`},
		{"unknown", one, `{"pth":"a","path":"a","mode":"fast","text":"x"}`, `[arguments.pth: unknown field (did you mean "path"?)]`},

		{"newline that the pattern takes", one, `{"path":"a","mode":"fast","text":"x\ny"}`, "[arguments.text: must not hold a control character]"},
		{"newline in argv", one, `{"argv":["run","data/a","--","fast","x\ny"]}`, "[arguments.argv[4]: must not hold a control character]"},
		{"NUL in argv", one, `{"argv":["run","data/a","--","slow\nly","x\u0000"]}`, "[arguments.argv[4]: must not hold a control character]"},
		{"line separator", one, `{"path":"a","mode":"fast","text":"x\u2028y"}`, "[arguments.text: must not hold a line or paragraph separator]"},
		{"paragraph separator in argv", one, `{"argv":["run","data/a","--","fast","x\u2029y"]}`, "[arguments.argv[4]: must not hold a line or paragraph separator]"},
		{"written from right to left", one, `{"path":"a","mode":"fast","text":"x\u202ey"}`, "[arguments.text: must not hold a format character]"},
		{"zero width in argv", one, `{"argv":["run","data/a","--","fast","x\u200b"]}`, "[arguments.argv[4]: must not hold a format character]"},
		{"soft hyphen", one, `{"path":"a","mode":"fast","text":"\u00ad"}`, "[arguments.text: must not hold a format character]"},
		{"tag", one, `{"path":"a","mode":"fast","text":"x\udb40\udc41"}`, "[arguments.text: must not hold a format character]"},
		{"C1 control", one, `{"path":"a","mode":"fast","text":"\u0085"}`, "[arguments.text: must not hold a control character]"},
		{"letters of any script, and spaces", one, `{"path":"a","mode":"fast","text":"ä 日\u00a0\u3000e\u0301"}`, "[]"},
		{"format character in a declared word", seen, `{"argv":["run","\u200d"]}`, "[]"},
		{"format character in a declared value", seen, `{"argv":["run","a\u2028"]}`, "[]"},
		{"format character that is a value of another command", seen, `{"argv":["go","a\u2028"]}`, "[arguments.argv[1]: must not hold a line or paragraph separator]"},
		{"newline for which no command takes it", seen, `{"argv":["go","-a\n"]}`, "[arguments.argv[1]: must not hold a control character]"},
		{"newline in a word, beside what no command takes", seen, `{"argv":["run","\u200d","\n"]}`, "[arguments.argv[2]: must not hold a control character]"},
		{"format character in text that comes later", seen, `{"argv":["run","--","b\u2028"]}`, "[arguments.argv[2]: must not hold a line or paragraph separator]"},
		{"in a path, which policy judges", one, `{"path":"a\nb","mode":"slow\nly","text":"x"}`, "[]"},
		{"in a word of another command", two, `{"argv":["run","a\nb","--","fast","c\nd"]}`, "[]"},
		{"in no word", two, `{"argv":["run","a\nb","--","fast","c\ne"]}`, "[arguments.argv[4]: must not hold a control character]"},
		{"in no command of that length", two, `{"argv":["run","a\nb"]}`, "[]"},

		{"schema without names", own, `{}`, "[arguments.argv: field is required]"},
		{"schema without argv", names, `{"path":"a","mode":"fast"}`, "[arguments.text: field is required]"},
		{"schema without argv, given", names, `{"argv":["run"]}`, `[arguments.argv: unknown field (known: "mode", "path", "text")]`},
		{"several commands", two, `{"path":"a"}`, `[arguments.argv: field is required arguments.path: unknown field (known: "argv")]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fmt.Sprint(issuesOf(c.tool, c.args)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestManyCommandIssues: how many are left out is counted once.
func TestManyCommandIssues(t *testing.T) {
	tool := load(t, "tools.json", executing(byName, `"input_schema":`+closed(`"argv":{},"l":{"type":"array","items":{"type":"string"}}`))).Tools["t"]
	got := issuesOf(tool, `{"l":[`+strings.Repeat("1,", 99)+`1]}`)
	if len(got) != maxIssues+1 || got[maxIssues].String() != "arguments: and 50 more" {
		t.Errorf("%d issues, the last %v", len(got), got[len(got)-1])
	}
}

func TestArgv(t *testing.T) {
	one, two := &Tool{Commands: [][]string{{"go", "test"}}}, &Tool{Commands: [][]string{{"a"}, {"b"}}}
	named := load(t, "tools.json", executing(byName)).Tools["t"]
	several := load(t, "tools.json", executing(byName+`,["b"]`)).Tools["t"]
	program := &Tool{Program: "tools/x.py", Commands: [][]string{{"tools/x.py"}}}
	full := map[string]any{"path": "data/a", "mode": "no such", "text": "x"}
	for _, c := range []struct {
		tool *Tool
		args map[string]any
		want []string
		ok   bool
	}{
		{one, nil, []string{"go", "test"}, true},
		{two, nil, nil, false},
		{two, map[string]any{"argv": []any{"b"}}, []string{"b"}, true},
		{one, map[string]any{"argv": []any{"rm", "-r"}}, []string{"rm", "-r"}, true}, // policy compares
		{one, map[string]any{"argv": []any{}}, nil, false},
		{one, map[string]any{"argv": nil}, nil, false},
		{one, map[string]any{"argv": "go test"}, nil, false},
		{one, map[string]any{"argv": []any{"go", json.Number("1")}}, nil, false},
		{named, full, []string{"run", "data/a", "--", "no such", "x"}, true}, // and here too
		{named, map[string]any{"path": "data/a", "mode": "fast"}, nil, false},
		{named, map[string]any{"path": "data/a", "mode": "fast", "text": nil}, nil, false},
		{named, nil, nil, false},
		{named, map[string]any{"argv": []any{"run"}, "path": "x"}, []string{"run"}, true},
		{several, full, nil, false},
		{several, map[string]any{"argv": []any{"b"}}, []string{"b"}, true},
		{program, map[string]any{"argv": []any{"b"}}, []string{"tools/x.py"}, true}, // argv is an argument like any other
		{&Tool{}, nil, nil, false},
	} {
		got, ok := c.tool.Argv(c.args)
		if ok != c.ok || !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, %t; want %q, %t", c.args, got, ok, c.want, c.ok)
		}
	}
	got, _ := one.Argv(nil)
	got[0] = "rm"
	if one.Commands[0][0] != "go" {
		t.Error("what Argv returns is the tool's own")
	}
}
