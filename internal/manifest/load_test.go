package manifest

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"
)

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// seed is the first users' file, which must load as it stands.
const seed = `{"schema_version":1,"tools":{
  "read_file":{"operation":"read","roots":["workspace/src","workspace/tests"],"max_bytes":65536},
  "run_tests":{"operation":"execute","commands":[["python","-m","unittest"]]}}}
`

const seedYAML = `# the same in YAML
schema_version: 1
tools:
  run_tests:
    commands:
      - [python, '-m', "unittest"]
    operation: execute
  read_file:
    operation: read
    max_bytes: 65536
    roots:
      - workspace/src
      - workspace/tests
`

func TestSeed(t *testing.T) {
	set := load(t, "tools.json", seed)
	if !slices.Equal(set.Names, []string{"read_file", "run_tests"}) {
		t.Fatalf("names %q", set.Names)
	}
	every := []string{"read", "list", "write", "delete", "execute"}
	read := *set.Tools["read_file"]
	read.Input, read.Output = nil, nil
	if want := (Tool{
		Name: "read_file", Operation: "read", Handler: "read_file",
		Targets: []Target{{Param: "path", Access: "read"}},
		Roots:   []Root{{"workspace/src", every}, {"workspace/tests", every}},
		Payload: []string{}, MaxBytes: 65536, Commands: [][]string{},
		Where: Location{"tools.json", 2},
	}); !reflect.DeepEqual(read, want) {
		t.Errorf("read_file\n got %+v\nwant %+v", read, want)
	}
	run := *set.Tools["run_tests"]
	input := string(run.Input.JSON())
	run.Input, run.Output = nil, nil
	if want := (Tool{
		Name: "run_tests", Operation: "execute", Handler: "run_tests", Targets: []Target{},
		Roots:   []Root{{"data/", []string{"read", "list", "execute"}}, {"runs/{run_id}/artifacts/", []string{"read", "list", "execute"}}},
		Payload: []string{}, TimeoutMS: 60000, Commands: [][]string{{"python", "-m", "unittest"}}, Network: "none", Sandbox: "full",
		Where: Location{"tools.json", 3},
	}); !reflect.DeepEqual(run, want) {
		t.Errorf("run_tests\n got %+v\nwant %+v", run, want)
	}
	if want := `{"additionalProperties":false,"properties":{"argv":{"items":{"type":"string"},"minItems":1,"type":"array"}},"required":[],"type":"object"}`; input != want {
		t.Errorf("run_tests takes\n%s, want\n%s", input, want)
	}
	if set.Record != "proposal" || !slices.Equal(set.Path, []string{"/usr/local/bin", "/usr/bin", "/bin"}) {
		t.Errorf("record %q, path %q", set.Record, set.Path)
	}
}

func TestRevision(t *testing.T) {
	want := load(t, "tools.json", seed).Revision
	for name, data := range map[string]string{
		"tools.yaml":   seedYAML,
		"tools":        seed,
		"spelled.json": `{"tools":{"run_tests":{"operation":"execute","handler":"run_tests","sandbox":"full","commands":[["python","-m","unittest"]],"timeout_ms":60000},` + "\n\n" + `"read_file":{"payload":[],"targets":[{"param":"path"}],"max_bytes":65536,"operation":"\u0072ead","roots":["workspace/src",{"path":"workspace/tests"}]}},"schema_version":1,"path":"/usr/local/bin:/usr/bin:/bin","record":"proposal"}`,
	} {
		if got := load(t, name, data).Revision; got != want {
			t.Errorf("%s: revision %s, want %s", name, got, want)
		}
	}
	for _, other := range []string{
		`{"schema_version":1,"tools":{}}`,
		seed[:len(seed)-2] + `,"record":"full"}`,
		seed[:len(seed)-2] + `,"path":"/bin"}`,
	} {
		if load(t, "tools.json", other).Revision == want {
			t.Errorf("same revision for other content: %s", other)
		}
	}
	// Every part of a tool counts.
	seen := map[string]string{want: "seed"}
	for _, part := range []string{
		`"description":"d"`, `"handler":"read_feedback_csv"`, `"max_bytes":1`, `"timeout_ms":1`, `"absolute":true`,
		`"roots":["a"]`, `"roots":[{"path":"a","access":["read"]}]`, `"targets":[{"param":"path","recursive":true}]`,
		`"targets":[{"param":"path","default":"x"}]`, `"targets":[{"param":"path","template":"a/{path}"}]`,
		`"input_schema":{"type":"object","properties":{"path":{"type":"string"}}}`, `"output_schema":{}`,
		`"input_schema":{"type":"object","properties":{"path":{"type":"string"},"p":{}}},"payload":["p"]`,
	} {
		r := load(t, "tools.json", `{"schema_version":1,"tools":{"t":{"operation":"read",`+part+`}}}`).Revision
		if before, twice := seen[r]; twice {
			t.Errorf("%s has the revision of %s", part, before)
		}
		seen[r] = part
	}
}

func TestMerge(t *testing.T) {
	files, err := Files(fstest.MapFS{
		"tools.json":       {Data: []byte(seed)},
		"tools.yaml":       {Data: []byte("schema_version: 1\nrecord: facts\ntools:\n  list_files: {operation: list}\n")},
		"other.json":       {Data: []byte("not read")},
		"skills/README.md": {Data: []byte("not read")},
	}, "manifests")
	if err != nil {
		t.Fatal(err)
	}
	set, err := Load(files, testHandlers())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(set.Names, []string{"list_files", "read_file", "run_tests"}) || set.Record != "facts" {
		t.Errorf("names %q, record %q", set.Names, set.Record)
	}
	if want := "manifests/tools.json, manifests/tools.yaml"; set.Source != want {
		t.Errorf("source %q, want %q", set.Source, want)
	}
	if want := (Location{"manifests/tools.yaml", 4}); set.Tools["list_files"].Where != want {
		t.Errorf("list_files stands at %v, want %v", set.Tools["list_files"].Where, want)
	}
}

func TestEmptyToolsAllowNothing(t *testing.T) {
	set := load(t, "tools.json", `{"schema_version":1,"tools":{}}`)
	if len(set.Tools) != 0 || len(set.Names) != 0 || len(set.Notes) != 1 {
		t.Errorf("tools %v, names %v, notes %q", set.Tools, set.Names, set.Notes)
	}
}

func TestNotes(t *testing.T) {
	set := load(t, "tools.yaml", "schema_version: 1\ntools:\n  b: {operation: compute, handler: external}\n  a: {operation: fetch, handler: external}\n  c: {operation: read, roots: [.], targets: [{param: p, default: ./x}]}\n")
	if want := []string{"run by another program, so judged here and refused by exec: a, b"}; !slices.Equal(set.Notes, want) {
		t.Errorf("notes %q, want %q", set.Notes, want)
	}
	if c := set.Tools["c"]; c.Roots[0].Path != "." || c.Targets[0].Default != "./x" {
		t.Errorf("%+v", c)
	}
}

func TestDefaultRoots(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`"operation":"read"`, `[{data/ [read list]} {runs/{run_id}/artifacts/ [read list]}]`},
		{`"operation":"list"`, `[{data/ [read list]} {runs/{run_id}/artifacts/ [read list]}]`},
		{`"operation":"search","handler":"external","targets":[{"param":"p","access":"read","recursive":true}]`, `[{data/ [read list]} {runs/{run_id}/artifacts/ [read list]}]`},
		{`"operation":"write"`, `[{runs/{run_id}/artifacts/ [write delete]}]`},
		{`"operation":"delete"`, `[{runs/{run_id}/artifacts/ [write delete]}]`},
		{`"operation":"rename"`, `[{data/ [read list]} {runs/{run_id}/artifacts/ [read list write delete]}]`},
		{`"operation":"execute","commands":[["a"]]`, `[{data/ [read list execute]} {runs/{run_id}/artifacts/ [read list execute]}]`},
		{`"operation":"compute","handler":"external"`, `[]`},
		{`"operation":"fetch","handler":"external","targets":[{"param":"p","access":"write"}]`, `[{runs/{run_id}/artifacts/ [write delete]}]`},
	} {
		set := load(t, "tools.json", `{"schema_version":1,"tools":{"t":{`+c.body+`}}}`)
		if got := fmt.Sprint(set.Tools["t"].Roots); got != c.want {
			t.Errorf("%s: roots %s, want %s", c.body, got, c.want)
		}
	}
}

func TestDerivedInput(t *testing.T) {
	for _, c := range []struct{ name, body, handler, want string }{
		{"own name", `"operation":"write"`, "write_file", `{"additionalProperties":false,"properties":{"content":{},"path":{"type":"string"}},"required":["path","content"],"type":"object"}`},
		{"optional by default", `"operation":"read","targets":[{"param":"p","default":"x"}]`, "read_file", `{"additionalProperties":false,"properties":{"p":{"type":"string"}},"required":[],"type":"object"}`},
		{"template", `"operation":"write","payload":["body"],"targets":[{"param":"n","template":"out/{dir}/{run_id}/{n}"}]`, "write_file", `{"additionalProperties":false,"properties":{"body":{},"dir":{"type":"string"},"n":{"type":"string"}},"required":["n","dir","body"],"type":"object"}`},
		{"handler's where it fits", `"operation":"list","targets":[{"param":"path","default":"src"}]`, "list_files", `{"additionalProperties":false,"properties":{"path":{"type":"string"},"recursive":{"type":"boolean"}},"type":"object"}`},
		{"several commands", `"operation":"execute","commands":[["a"],["b"]]`, "run_tests", `{"additionalProperties":false,"properties":{"argv":{"items":{"type":"string"},"minItems":1,"type":"array"}},"required":["argv"],"type":"object"}`},
		{"nothing", `"operation":"compute","handler":"external"`, "external", `{"additionalProperties":false,"properties":{},"required":[],"type":"object"}`},
	} {
		tool := load(t, "tools.json", `{"schema_version":1,"tools":{"t":{`+c.body+`}}}`).Tools["t"]
		if got := string(tool.Input.JSON()); got != c.want || tool.Handler != c.handler {
			t.Errorf("%s: handler %s, input\n%s, want %s\n%s", c.name, tool.Handler, got, c.handler, c.want)
		}
	}
	// A handler with the tool's own name comes before the operation's.
	set := load(t, "tools.json", `{"schema_version":1,"tools":{"list_run_files":{"operation":"list"},"read_file":{"operation":"list"}}}`)
	if a, b := set.Tools["list_run_files"].Handler, set.Tools["read_file"].Handler; a != "list_run_files" || b != "list_files" {
		t.Errorf("handlers %s, %s", a, b)
	}
}

func TestExpand(t *testing.T) {
	tool := &Tool{}
	args := map[string]any{"path": "a/../b", "n": "{run_id}/{path}", "empty": "", "number": json.Number("1"), "null": nil}
	for _, c := range []struct {
		target         Target
		raw, requested string
		present        bool
	}{
		{Target{Param: "path"}, "a/../b", "a/../b", true},
		{Target{Param: "n", Template: "runs/{run_id}/artifacts/{n}"}, "{run_id}/{path}", "runs/r1/artifacts/{run_id}/{path}", true},
		{Target{Param: "n", Template: "{path}/{n}/{path}"}, "{run_id}/{path}", "a/../b/{run_id}/{path}/a/../b", true},
		{Target{Template: "runs/{run_id}/artifacts"}, "", "runs/r1/artifacts", true},
		{Target{Param: "empty"}, "", "", true},
		{Target{Param: "absent"}, "", "", false},
		{Target{Param: "absent", Default: "."}, ".", ".", true},
		{Target{Param: "absent", Default: "x", Template: "out/{absent}"}, "x", "out/x", true},
		{Target{Param: "null", Default: "."}, "", "", false}, // null is not absent
		{Target{Param: "number"}, "", "", false},
		{Target{Param: "path", Template: "{path}/{absent}"}, "", "", false},
		{Target{}, "", "", false},
	} {
		raw, requested, present := tool.Expand(c.target, args, "r1")
		if raw != c.raw || requested != c.requested || present != c.present {
			t.Errorf("%+v: %q, %q, %t; want %q, %q, %t", c.target, raw, requested, present, c.raw, c.requested, c.present)
		}
	}
}

// TestRefStaysInside shows that what is in the document may be referred to, and
// that nothing is fetched for an $id.
func TestRefStaysInside(t *testing.T) {
	tool := load(t, "tools.json", `{"schema_version":1,"tools":{"t":{"operation":"read","input_schema":{
		"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://example.com/t.json","type":"object",
		"properties":{"path":{"$ref":"#/definitions/name"}},"required":["path"],"additionalProperties":false,
		"definitions":{"name":{"type":"string","maxLength":3}}}}}}`).Tools["t"]
	if got := fmt.Sprint(issuesOf(tool, `{"path":"abcd"}`)); got != "[arguments.path: must be at most 3 characters long]" {
		t.Error(got)
	}
}

// TestStringParameters: a target's parameter may say in any of these ways that
// it is a string, and in none of those.
func TestStringParameters(t *testing.T) {
	for schema, want := range map[string]bool{
		`"properties":{"p":{"type":"string"}}`:                                                      true,
		`"properties":{"p":{"type":["string"]}}`:                                                    true,
		`"properties":{"p":{"enum":["a","b"]}}`:                                                     true,
		`"properties":{"p":{"const":"a"}}`:                                                          true,
		`"properties":{"p":{"allOf":[{"minLength":1},{"type":"string"}]}}`:                          true,
		`"properties":{"p":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}`:                   true,
		`"properties":{"p":{"$ref":"#/x-l/0"}},"x-l":[{"type":"string"}]`:                           true,
		`"properties":{"p":{"$ref":"#s"}},"$defs":{"s":{"$anchor":"s","type":"string"}}`:            true,
		`"$ref":"#/$defs/o","$defs":{"o":{"properties":{"p":{"type":"string"}}}}`:                   true,
		`"allOf":[{},{"properties":{"p":{"type":"string"}}}]`:                                       true,
		`"properties":{"p":{"enum":["a",1]}}`:                                                       false,
		`"properties":{"p":{"const":null}}`:                                                         false,
		`"properties":{"p":{"anyOf":[{"type":"string"},{"type":"null"}]}}`:                          false,
		`"properties":{"p":true}`:                                                                   false,
		`"properties":{"p":{"type":"array","items":{"type":"string"}}}`:                             false,
		`"patternProperties":{"p":{"type":"string"}}`:                                               false,
		`"anyOf":[{"properties":{"p":{"type":"string"}}}]`:                                          false,
		`"properties":{"p":{"allOf":[{"type":["string","null"]}]}}`:                                 false,
		`"properties":{"p":{"$ref":"#/$defs/s"}},"$defs":{"s":{"anyOf":[{"type":"string"},true]}}`:  false,
		`"properties":{"p":{"$ref":"#/properties/q"},"q":{"$ref":"#/$defs/s"}},"$defs":{"s":false}`: false,
	} {
		data := `{"schema_version":1,"tools":{"t":{"operation":"read","targets":[{"param":"p"}],"input_schema":{"type":"object",` + schema + `}}}}`
		if got := loads(data); got != want {
			t.Errorf("%s: loads %t, want %t", schema, got, want)
		}
	}
}

// TestRequiredArgv: the number of commands decides, whatever a handler says.
func TestRequiredArgv(t *testing.T) {
	handler := Handler{
		Name: "run_tests", Operations: []string{"execute"},
		Input: json.RawMessage(`{"type":"object","properties":{"argv":{},"dir":{}},"required":["argv","dir"]}`),
	}
	for commands, want := range map[string]string{`[["a"]]`: `["dir"]`, `[["a"],["b"]]`: `["dir","argv"]`} {
		set, err := Load([]Source{{Name: "tools.json", Data: []byte(`{"schema_version":1,"tools":{"t":{"operation":"execute","commands":` + commands + `}}}`)}}, []Handler{handler})
		if err != nil {
			t.Fatal(err)
		}
		if got := `{"properties":{"argv":{},"dir":{}},"required":` + want + `,"type":"object"}`; string(set.Tools["t"].Input.JSON()) != got {
			t.Errorf("%s: %s, want %s", commands, set.Tools["t"].Input.JSON(), got)
		}
	}
}

// TestHandlerRoots: a handler's own roots come before the defaults.
func TestHandlerRoots(t *testing.T) {
	handler := Handler{
		Name: "read_file", Operations: []string{"read"}, Targets: []Target{{Param: "p", Access: "read"}},
		Roots: []Root{{Path: "docs"}, {Path: "more", Access: []string{"read"}}},
	}
	set, err := Load([]Source{{Name: "tools.json", Data: []byte(`{"schema_version":1,"tools":{"t":{"operation":"read"}}}`)}}, []Handler{handler})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(set.Tools["t"].Roots), "[{docs [read list write delete execute]} {more [read]}]"; got != want {
		t.Errorf("roots %s, want %s", got, want)
	}
}

func TestJSONNumber(t *testing.T) {
	for s, want := range map[string]bool{
		"0": true, "-0": true, "10": true, "1.0": true, "-1.50e+3": true, "1E5": true, "1e-5": true,
		"": false, "-": false, "01": false, "+1": false, "1.": false, ".5": false, "1e": false, "1e+": false,
		"1e5x": false, "1x": false, "1.5.5": false, "0x1": false, "1_0": false, "--1": false, "1e5.5": false,
	} {
		if _, got := jsonNumber(s); got != want || want != json.Valid([]byte(s)) {
			t.Errorf("%q is a number: %t, want %t", s, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"roots", "rooots", 1},
		{"raed", "read", 1},
		{"path", "pth", 1},
		{"abc", "xyz", 3},
		{"payload", "playoad", 2},
		{"a", "abcd", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
