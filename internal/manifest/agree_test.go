package manifest

import (
	"os"
	"strings"
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
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"data"}],["a",{"arg":"x","root":"data/b","access":"read"},{"arg":"_2","values":["-f"]},{"arg":"y","pattern":"b|c"}]]`),
			body(`"operation":"execute","commands":[["a"]],"dir":"a/b","env":{"A_1":"","CI":"1"},"network":"private","limits":{"cpu_seconds":1,"file_bytes":2,"open_files":64,"processes":4,"memory_bytes":16777216,"temp_bytes":4096,"output_bytes":7},"sandbox":"full"`),
			body(`"operation":"execute","commands":[["a"]],"dir":".","env":{},"network":"none","limits":{}`),
			body(`"operation":"execute","commands":[["a"]],"dir":"a","env":{"A":"b"},"limits":{"output_bytes":7},"sandbox":"none"`),
			body(`"operation":"execute","handler":"external","commands":[["a",{"arg":"x","pattern":"b+"}]],"sandbox":"none"`),
			body(`"operation":"execute","handler":"exec:make","network":"private","limits":{"processes":4},"env":{"A":"b"},"dir":"a"`),
			body(`"operation":"read","handler":"exec:./tool","sandbox":"none"`),
			body(`"operation":"list","handler":"exec:tools/x.py"`),
			body(`"operation":"search","handler":"exec:rg"`),
			body(`"operation":"write","handler":"exec:tools/x-y_z.py"`),
			body(`"operation":"compute","handler":"exec:bc","input_schema":{"type":"object"},"output_schema":{"type":"object"}`),
			body(`"operation":"compute","handler":"exec:bc","output_schema":{"type":["object","null"]}`),
			body(`"operation":"read","timeout_ms":86400000`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","pattern":"b"}],["a",{"arg":"x","root":"data"}]]`),
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
			body(`"operation":"read","timeout_ms":86400001`),
			body(`"operation":"read","absolute":"yes"`),
			body(`"operation":"read","roots":[{"path":"a","access":["rename"]}]`),
			body(`"operation":"rename","targets":[{"param":"a","access":"rename"}]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"data","access":"rename"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"Argv","pattern":"b"}]]`),
			body(`"operation":"compute","handler":"exec:a","output_schema":{"type":"array"}`),
			body(`"operation":"compute","handler":"exec:a","output_schema":{"type":["array","string"]}`),
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
			body(`"operation":"execute","commands":[["a",1]]`),
			body(`"operation":"execute","commands":[["a",{}]]`),
			body(`"operation":"execute","commands":[["a",{"root":"data"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"data","pattern":"b"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","rot":"data"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":""}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"data","access":"list"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","pattern":"b","access":"read"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","pattern":""}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","values":[]}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","values":[""]}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","values":["b","b"]}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","values":"b"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"argv","pattern":"b"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"1","pattern":"b"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x-y","pattern":"b"}]]`),
			body(`"operation":"execute","commands":[[{"arg":"x","values":["ls"]}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","pattern":"b"}],["a",{"pattern":"b","arg":"x"}]]`),
			body(`"operation":"execute","commands":[["a"]],"dir":"/srv"`),
			body(`"operation":"execute","commands":[["a"]],"dir":"a/../b"`),
			body(`"operation":"execute","commands":[["a"]],"dir":"a/"`),
			body(`"operation":"execute","commands":[["a"]],"dir":"a//b"`),
			body(`"operation":"execute","commands":[["a"]],"dir":"runs/{run_id}"`),
			body(`"operation":"execute","commands":[["a"]],"dir":""`),
			body(`"operation":"execute","commands":[["a"]],"dir":["a"]`),
			body(`"operation":"execute","commands":[["a"]],"env":["A=b"]`),
			body(`"operation":"execute","commands":[["a"]],"env":{"A":1}`),
			body(`"operation":"execute","commands":[["a"]],"env":{"1":"b"}`),
			body(`"operation":"execute","commands":[["a"]],"env":{"":"b"}`),
			body(`"operation":"execute","commands":[["a"]],"env":{"PATH":"b"}`),
			body(`"operation":"execute","commands":[["a"]],"env":{"LD_PRELOAD":"b"}`),
			body(`"operation":"execute","commands":[["a"]],"env":{"RUNLENS_X":"b"}`),
			body(`"operation":"execute","commands":[["a"]],"network":"host"`),
			body(`"operation":"execute","commands":[["a"]],"network":null`),
			body(`"operation":"execute","commands":[["a"]],"limits":{"cpu_seconds":0}`),
			body(`"operation":"execute","commands":[["a"]],"limits":{"cpu_seconds":86401}`),
			body(`"operation":"execute","commands":[["a"]],"limits":{"cpu":1}`),
			body(`"operation":"execute","commands":[["a"]],"limits":[]`),
			body(`"operation":"execute","commands":[["a"]],"sandbox":"none","network":"private"`),
			body(`"operation":"execute","commands":[["a"]],"sandbox":"none","network":"none"`),
			body(`"operation":"execute","commands":[["a"]],"sandbox":"none","limits":{"processes":1}`),
			body(`"operation":"execute","handler":"external","network":"none"`),
			body(`"operation":"execute","handler":"exec:a","commands":[["a"]]`),
			body(`"operation":"read","handler":"exec:a","commands":[["a"]]`),
			body(`"operation":"delete","handler":"exec:a"`),
			body(`"operation":"rename","handler":"exec:a"`),
			body(`"operation":"fetch","handler":"exec:a"`),
			body(`"operation":"compute","handler":"exec:"`),
			body(`"operation":"compute","handler":"exec:/bin/a"`),
			body(`"operation":"compute","handler":"exec:a/../b"`),
			body(`"operation":"compute","handler":"exec:.."`),
			body(`"operation":"compute","handler":"exec:a/"`),
			body(`"operation":"compute","handler":"exec:a//b"`),
			body(`"operation":"compute","handler":"exec:a b"`),
			body(`"operation":"compute","handler":"exec:~/a"`),
			body(`"operation":"read","dir":"a"`),
			body(`"operation":"read","env":{}`),
			body(`"operation":"read","network":"none"`),
			body(`"operation":"read","limits":{}`),
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
			body(`"operation":"execute","commands":[["a",{"arg":"x","pattern":"("}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","pattern":".+"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"src"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"data","access":"write"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"data"},{"arg":"x","root":"data"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"data"}],["a",{"arg":"x","root":"data","access":"read"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","values":["\u0000"]}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","pattern":"b?-c"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"data"}],["a",{"arg":"x","pattern":"b"}]]`),
			body(`"operation":"execute","commands":[["a",{"arg":"x","root":"data"},{"arg":"X","pattern":"b"}]]`),
			body(`"operation":"execute","commands":[["a"]],"env":{"A":"` + strings.Repeat("b", mostEnv) + `"}`),
			body(`"operation":"compute","handler":"exec:a","output_schema":{"enum":[1]}`),
			body(`"operation":"read","output_schema":{"type":"array"}`),
			body(`"operation":"execute","commands":[["a"]],"dir":"./a"`),
			body(`"operation":"execute","commands":[["a"]],"env":{"A":"\u0000"}`),
			body(`"operation":"compute","handler":"exec:./a/./b"`),
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
