package manifest

import (
	"fmt"
	"testing"
)

func TestProgram(t *testing.T) {
	const reading = `[{data/ [read list]} {runs/{run_id}/artifacts/ [read list]}]`
	for _, c := range []struct{ body, targets, roots, payload, input string }{
		{`"operation":"read"`, `[{path read  false }]`, reading, `[]`, `{"path":{"type":"string"}},"required":["path"]`},
		{`"operation":"list"`, `[{path list  false .}]`, reading, `[]`, `{"path":{"type":"string"}},"required":[]`},
		{`"operation":"search"`, `[{path read  true }]`, reading, `[]`, `{"path":{"type":"string"}},"required":["path"]`},
		{`"operation":"write"`, `[{path write  false }]`, `[{runs/{run_id}/artifacts/ [write delete]}]`, `[content]`, `{"content":{},"path":{"type":"string"}},"required":["path","content"]`},
		{`"operation":"compute"`, `[]`, `[]`, `[]`, `{},"required":[]`},
		{`"operation":"execute"`, `[]`, `[{data/ [read list execute]} {runs/{run_id}/artifacts/ [read list execute]}]`, `[]`, `{},"required":[]`},
		{`"operation":"compute","targets":[{"param":"p","access":"read"}],"payload":["q"],"roots":["a"]`, `[{p read  false }]`, `[{a [read list write delete execute]}]`, `[q]`, `{"p":{"type":"string"},"q":{}},"required":["p","q"]`},
	} {
		tool := load(t, "tools.json", `{"schema_version":1,"tools":{"t":{"handler":"exec:tools/x.py",`+c.body+`}}}`).Tools["t"]
		if got := fmt.Sprint(tool.Targets); got != c.targets {
			t.Errorf("%s: targets %s, want %s", c.body, got, c.targets)
		}
		if got := fmt.Sprint(tool.Roots); got != c.roots {
			t.Errorf("%s: roots %s, want %s", c.body, got, c.roots)
		}
		if got := fmt.Sprint(tool.Payload); got != c.payload {
			t.Errorf("%s: payload %s, want %s", c.body, got, c.payload)
		}
		if got, want := string(tool.Input.JSON()), `{"additionalProperties":false,"properties":`+c.input+`,"type":"object"}`; got != want {
			t.Errorf("%s: takes\n%s, want\n%s", c.body, got, want)
		}
		if got, want := string(tool.Output.JSON()), `{"type":"object"}`; got != want {
			t.Errorf("%s: gives %s, want %s", c.body, got, want)
		}
		if got, want := fmt.Sprintln(tool.Handler, tool.Program, tool.Commands, tool.Patterns, tool.Sandbox, tool.Network, tool.TimeoutMS), "exec:tools/x.py tools/x.py [[tools/x.py]] [] full none 60000\n"; got != want {
			t.Errorf("%s: %s, want %s", c.body, got, want)
		}
	}
	own := load(t, "tools.json", `{"schema_version":1,"tools":{"t":{"operation":"compute","handler":"exec:bc","timeout_ms":7,"output_schema":{"type":"object","required":["n"]}}}}`).Tools["t"]
	if got := fmt.Sprintln(own.CheckOutput(map[string]any{}), own.Program, own.TimeoutMS); got != "[output.n: field is required] bc 7\n" {
		t.Error(got)
	}
}

func TestProgramNames(t *testing.T) {
	for name, want := range map[string]string{
		"rg": "", "./rg": "", "tools/x-y_z.py": "", "./tools/x": "", ".hidden/x": "", "a..b": "",
		"":          "names no program",
		"/bin/ls":   "is absolute",
		"C:/x":      "is absolute",
		"..":        `holds ".."`,
		"../x":      `holds ".."`,
		"a/../b":    `holds ".."`,
		"tools/":    "names a directory",
		"./":        "names a directory",
		".":         "names no program",
		"./.":       "is not plain",
		"a/./b":     "is not plain",
		"a//b":      "is not plain",
		".//a":      "is not plain",
		"././a":     "is not plain",
		"a b":       "holds a space",
		"a\u00a0b":  "holds a space",
		"a\nb":      "holds NUL or a control character",
		"a\x00":     "holds NUL or a control character",
		`a\b`:       "holds a backslash",
		"~/x":       "begins with ~, which nobody expands",
		"x*":        "is a pattern",
		"{run_id}x": "is a pattern",
	} {
		if got, _ := programTrouble(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestProgramRefusals(t *testing.T) {
	with := func(operation, more string) string {
		return tool("t", `"operation":"`+operation+`",`+"\n"+more)
	}
	const serves = `(a program serves read, list, search, write, execute, compute)`
	holdRefusals(t, []struct{ name, data, want string }{
		{"no name", with("read", `"handler":"exec:"`), `4: handler "exec:" names no program ("exec:NAME" is looked up in path, "exec:./NAME" lies in the project)`},
		{"absolute", with("read", `"handler":"exec:/bin/ls"`), `4: handler "exec:/bin/ls" is absolute (name it from the project directory, or without / to look it up in path)`},
		{"..", with("read", `"handler":"exec:../x"`), `4: handler "exec:../x" holds ".." (name it from the project directory)`},
		{"directory", with("read", `"handler":"exec:tools/"`), `4: handler "exec:tools/" names a directory (name the program in it)`},
		{"NUL", with("read", `"handler":"exec:a\u0000"`), `4: handler "exec:a\x00" holds NUL or a control character`},
		{"arguments", with("read", `"handler":"exec:python3 x.py"`), `4: handler "exec:python3 x.py" holds a space (name the program alone: no shell reads it, and its arguments come on stdin)`},
		{"not plain", with("read", `"handler":"exec:./a/./b"`), `4: handler "exec:./a/./b" is not plain (write "exec:./a/b")`},
		{"delete", with("delete", `"handler":"exec:a"`), `4: handler "exec:a" does not serve operation "delete" ` + serves},
		{"target removed", with("execute", `"handler":"exec:a","targets":[{"param":"path","access":"delete"}]`), `4: a target has access "delete", which handler "exec:a" does not have (a program is given files to read and write, and directories to see)`},
		{"rename", with("rename", `"handler":"exec:a"`), `4: handler "exec:a" does not serve operation "rename" ` + serves},
		{"fetch", with("fetch", `"handler":"exec:a"`), `4: handler "exec:a" does not serve operation "fetch" ` + serves},
		{"commands", with("execute", `"handler":"exec:a",`+"\n"+`"commands":[["a"]]`), `5: commands is set beside handler "exec:a", which is the command (leave it out: the program reads its arguments on stdin)`},
		{"commands of a read", with("read", `"handler":"exec:a",`+"\n"+`"commands":[["a",{"arg":"x","values":["b"]}]]`), `5: commands is set beside handler "exec:a", which is the command (leave it out: the program reads its arguments on stdin)`},
		{"no target", with("read", `"handler":"exec:a",`+"\n"+`"targets":[]`), `5: operation "read" needs a target with access "read" (add {"param": …, "access": "read"} to targets)`},
		{"compute that writes", with("compute", `"handler":"exec:a",`+"\n"+`"targets":[{"param":"p","access":"write"}]`), `5: a target has access "write", which operation "compute" does not have`},
		{"output that is no object", with("read", `"handler":"exec:a",`+"\n"+`"output_schema":{"type":"array"}`), `5: output_schema takes no object, and what a tool returns is one (its schema must say "type": "object")`},
		{"no sandbox, limits", with("read", `"handler":"exec:a","sandbox":"none",`+"\n"+`"limits":{"processes":1}`), `5: processes is set beside "sandbox": "none", and holds in the sandbox alone (leave one of the two out)`},
	})
}

// TestOutputs: what no object fits is refused, however it is said; what some may
// fit is not.
func TestOutputs(t *testing.T) {
	for schema, want := range map[string]bool{
		`{}`: true, `{"type":"object"}`: true, `{"type":["null","object"]}`: true, `{"properties":{}}`: true, `{"not":{"type":"array"}}`: true,
		`{"anyOf":[{"type":"string"},{"required":["a"]}]}`: true, `{"enum":["a",{"b":1}]}`: true, `{"const":{}}`: true,
		`{"$ref":"#/$defs/o","$defs":{"o":{"type":"object"}}}`: true, `{"properties":{"a":{"$ref":"#"}}}`: true,

		`{"type":"array"}`: false, `{"type":["null","string"]}`: false, `{"enum":["a",1]}`: false, `{"const":[]}`: false,
		`{"$ref":"#/$defs/l","$defs":{"l":{"type":"array"}}}`: false, `{"allOf":[{},{"type":"number"}]}`: false, `{"allOf":[false]}`: false,
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`: false, `{"oneOf":[{"type":"string"},false]}`: false,
	} {
		for handler, want := range map[string]bool{"exec:a": want, "read_file": want, "external": true} {
			if got := loads(`{"schema_version":1,"tools":{"t":{"operation":"read","handler":"` + handler + `","targets":[{"param":"path","access":"read"}],"output_schema":` + schema + `}}}`); got != want {
				t.Errorf("%s: %s loads: %t", handler, schema, got)
			}
		}
	}
}
