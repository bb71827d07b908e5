package manifest

import (
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// TestSchemaAgrees holds schemas/manifest.json, which editors use, to the
// loader: whatever loads fits the schema, and whatever the schema refuses does
// not load. The reverse cannot hold; the third group is what only the loader sees.
func TestSchemaAgrees(t *testing.T) {
	schema, err := compileText(readFile(t, "../../schemas/manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	body := func(s string) string { return `{"schema_version":1,"tools":{"t":{` + s + `}}}` }
	keys := testKeys(t)
	approvers := func(list string) string { return `{"schema_version":1,"tools":{},"approvers":` + list + `}` }
	cases := map[string][]string{
		both: {
			seed,
			string(readFile(t, "../../manifests/tools.json")),
			`{"schema_version":1,"tools":{},"path":"/usr/bin","record":"full"}`,
			`{"schema_version":1,"tools":{},"path":["/usr/bin","/bin"],"record":"facts"}`,
			approvers(`["` + keys["alice"] + `","` + keys["bob"] + `"]`),
			body(`"operation":"read","description":"","handler":"read_file","max_bytes":1,"timeout_ms":9,"absolute":true,"roots":["/srv",{"path":".","access":["read","list"]}]`),
			body(`"operation":"write","create_parents":true,"payload":["content"],"targets":[{"param":"path","access":"write","template":"out/{path}","default":"x","recursive":false}]`),
			body(`"operation":"write","payload":[]`),
			body(`"operation":"execute","commands":[["a"],["b","c"]],"sandbox":"none"`),
			body(`"operation":"execute","handler":"external"`),
			body(`"operation":"rename"`),
			body(`"operation":"fetch","handler":"external","targets":[],"input_schema":{"type":"object","properties":{"url":{"type":"string"}}},"output_schema":{}`),
			`{"schema_version":1,"tools":{"_":{"operation":"read"},"a.b-c":{"operation":"list"}}}`,
		},
		neither: {
			`[]`,
			`{}`,
			`{"schema_version":1}`,
			`{"tools":{}}`,
			`{"schema_version":2,"tools":{}}`,
			`{"schema_version":"1","tools":{}}`,
			`{"schema_version":1,"tools":[]}`,
			`{"schema_version":1,"tools":{},"x":1}`,
			`{"schema_version":1,"tools":{},"path":""}`,
			`{"schema_version":1,"tools":{},"path":[]}`,
			`{"schema_version":1,"tools":{},"path":null}`,
			`{"schema_version":1,"tools":{},"record":"none"}`,
			approvers(`[]`),
			approvers(`"` + keys["alice"] + `"`),
			approvers(`["alice"]`),
			approvers(`["` + keys["secret"] + `"]`),
			approvers(`["` + keys["alice"] + `","` + keys["alice"] + `"]`),
			`{"schema_version":1,"tools":{"1st":{"operation":"read"}}}`,
			`{"schema_version":1,"tools":{"runlens_x":{"operation":"read"}}}`,
			`{"schema_version":1,"tools":{"t":null}}`,
			body(``),
			body(`"operation":"raed"`),
			body(`"operation":"read","rooots":["a"]`),
			body(`"operation":"read","description":null`),
			body(`"operation":"read","handler":""`),
			body(`"operation":"read","max_bytes":0`),
			body(`"operation":"read","max_bytes":1.5`),
			body(`"operation":"read","timeout_ms":-1`),
			body(`"operation":"read","absolute":"yes"`),
			body(`"operation":"read","roots":[]`),
			body(`"operation":"read","roots":"a"`),
			body(`"operation":"read","roots":[""]`),
			body(`"operation":"read","roots":[{"access":["read"]}]`),
			body(`"operation":"read","roots":[{"path":"a","access":[]}]`),
			body(`"operation":"read","roots":[{"path":"a","access":["read","read"]}]`),
			body(`"operation":"read","roots":[{"path":"a","access":["search"]}]`),
			body(`"operation":"read","commands":[["a"]]`),
			body(`"operation":"read","sandbox":"full"`),
			body(`"operation":"read","targets":[{}]`),
			body(`"operation":"read","targets":[{"param":""}]`),
			body(`"operation":"read","targets":[{"param":"path","acces":"read"}]`),
			body(`"operation":"read","targets":[{"param":"path","default":""}]`),
			body(`"operation":"read","input_schema":true`),
			body(`"operation":"read","input_schema":{"properties":{"path":{"type":"string"}}}`),
			body(`"operation":"read","output_schema":[]`),
			body(`"operation":"write","payload":["content","content"]`),
			body(`"operation":"execute"`),
			body(`"operation":"execute","commands":[]`),
			body(`"operation":"execute","commands":[[]]`),
			body(`"operation":"execute","commands":[[""]]`),
			body(`"operation":"execute","commands":["a b"]`),
			body(`"operation":"execute","commands":[["a"],["a"]]`),
			body(`"operation":"execute","commands":[["a"]],"sandbox":"partial"`),
		},
		loaderAlone: {
			`{"schema_version":1.0,"tools":{}}`,
			`{"schema_version":1,"tools":{},"path":"bin"}`,
			approvers(`["x` + keys["alice"] + `"]`),
			approvers(`["` + keys["alice"] + `","` + keys["alice 2"] + `"]`),
			body(`"operation":"read","handler":"reed_file"`),
			body(`"operation":"search"`),
			body(`"operation":"read","roots":["/srv"]`),
			body(`"operation":"read","roots":["a/.."]`),
			body(`"operation":"read","targets":[]`),
			body(`"operation":"read","create_parents":true`),
			body(`"operation":"read","input_schema":{"type":"object"}`),
			body(`"operation":"read","output_schema":{"pattern":"("}`),
			body(`"operation":"read","max_bytes":9223372036854775808`),
			`{"schema_version":1,"tools":{"t":{"operation":"read"},"t":{"operation":"read"}}}`,
		},
	}
	agree(t, schema, cases, loads)
}

// Groups of files, by who takes them.
const both, neither, loaderAlone = "both take it", "neither takes it", "only the loader refuses it"

func agree(t *testing.T, schema *jsonschema.Schema, cases map[string][]string, loads func(string) bool) {
	t.Helper()
	for group, files := range cases {
		for _, data := range files {
			loads, fits := loads(data), fits(t, schema, data)
			if wantLoads, wantFits := group == both, group != neither; loads != wantLoads || fits != wantFits {
				t.Errorf("%s: loads %t, fits the schema %t:\n%s", group, loads, fits, data)
			}
		}
	}
}

func loads(data string) bool {
	_, err := Load([]Source{{Name: "tools.json", Data: []byte(data)}}, testHandlers())
	return err == nil
}

// fits reads data as a plain JSON reader does, duplicates and all.
func fits(t testing.TB, schema *jsonschema.Schema, data string) bool {
	t.Helper()
	n, err := parseTree(Source{Name: "file", Data: []byte(data)}, place{problems: &problems{}}, maxFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(n.value()) == nil
}

// TestShipped holds the embedded manifests to what they promise.
func TestShipped(t *testing.T) {
	files, err := Files(os.DirFS("../../manifests"), "manifests")
	if err != nil {
		t.Fatal(err)
	}
	skills, err := compileText(readFile(t, "../../schemas/skill.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Kind == SkillFile && !fits(t, skills, string(f.Data)) {
			t.Errorf("%s does not fit schemas/skill.json", f.Name)
		}
	}
	set := mustLoad(t, files)
	if len(set.Notes) != 0 {
		t.Errorf("notes %q", set.Notes)
	}
	for _, name := range set.Names {
		tool := set.Tools[name]
		if tool.Handler != name || tool.Description == "" || tool.Absolute || tool.CreateParents {
			t.Errorf("%s: %+v", name, tool)
		}
		for _, root := range tool.Roots {
			if root.Path != "runs/{run_id}/artifacts/" && (root.Path != "data/" || tool.Operation == "write") {
				t.Errorf("%s has root %v", name, root)
			}
		}
	}
}
