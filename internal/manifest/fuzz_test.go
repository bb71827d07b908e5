package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/facts"
)

// FuzzLoad: Load never panics; what it refuses has a problem to name; what it
// takes is total, has a spec and a stable revision, and can be checked against.
func FuzzLoad(f *testing.F) {
	f.Add("tools.json", []byte(seed))
	f.Add("tools.yaml", []byte(seedYAML))
	f.Add("tools.yaml", []byte("a: &x [*x]\n<<: *x\n? {}\n: !!binary x\n--- |\n\t"))
	f.Add("tools.json", []byte(`{"schema_version":1,"tools":{"t":{"operation":"read","input_schema":{"type":"object","properties":{"path":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string","pattern":"^a","anyOf":[{"$ref":"#/$defs/a"}]}}}}}}`))
	f.Add("tools.json", []byte(`{"schema_version":1,"path":"/bin","record":"full","tools":{"t":{"operation":"rename","handler":"external","targets":[{"param":"a","access":"read","template":"{run_id}/{a}"},{"param":"a","access":"delete","template":"{run_id}/{a}"},{"param":"b","access":"write","default":"x"}],"roots":[{"path":"/x","access":["read","write","delete"]}],"absolute":true,"create_parents":true,"payload":["c"],"output_schema":{"$dynamicRef":"#"}}}}`))
	f.Add("tools.json", []byte(executing(byName, `"dir":"a","env":{"A":"b"},"network":"private","limits":{"cpu_seconds":1,"output_bytes":2}`)))
	f.Add("tools.json", []byte(executing(`["a"],["b",{"arg":"path","root":"runs/{run_id}/artifacts","access":"write"},"--",{"arg":"a","pattern":"(?i)[^-]|\\Q-\\E."}]`, `"roots":["."],"sandbox":"none"`)))
	f.Add("tools.yaml", []byte("schema_version: 1\ntools:\n  t: {operation: write, handler: 'exec:./x', payload: [a], targets: [{param: argv}]}\n"))
	handlers := testHandlers()
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		src := []Source{{Name: name, Data: data}}
		set, err := Load(src, handlers)
		if err != nil {
			var problems *LoadError
			if !errors.As(err, &problems) || len(problems.Problems) == 0 || set != nil {
				t.Fatalf("a refusal without a problem: %v, %v", set, err)
			}
			return
		}
		again, err := Load(src, handlers)
		if err != nil || again.Revision != set.Revision {
			t.Fatalf("loads otherwise the second time: %v", err)
		}
		if specs, err := set.Specs("mcp"); err != nil || !json.Valid(specs) {
			t.Fatalf("specs: %v", err)
		}
		for _, name := range set.Names {
			tool := set.Tools[name]
			if tool.Input == nil || tool.Operation == "" || tool.Handler == "" || tool.Targets == nil ||
				tool.Roots == nil || tool.Payload == nil || tool.Commands == nil {
				t.Fatalf("%q is not total: %+v", name, tool)
			}
			for _, p := range slices.Concat(tool.Patterns...) {
				if p.Kind == facts.Text && regexp.MustCompile(p.Pattern).MatchString("") {
					t.Fatalf("%q: pattern %q takes nothing", name, p.Pattern)
				}
			}
			for _, args := range []map[string]any{
				{}, {"path": "x"}, {"path": json.Number("1"), "Path": nil}, {"argv": []any{"a"}, "a": map[string]any{"b": true, "B": ""}}, {"argv": []any{"run", "x", "--", "\n", "\x00"}, "mode": nil, "text": "\n"},
			} {
				for _, issue := range tool.CheckInput(&call.Call{Name: name, Arguments: args}) {
					if issue.Pointer == "" || issue.Message == "" {
						t.Fatalf("an issue without words: %+v", issue)
					}
				}
				if argv, ok := tool.Argv(args); ok != (len(argv) > 0) {
					t.Fatalf("%q: argv %q, %t", name, argv, ok)
				}
				tool.CheckOutput(args)
				for _, target := range tool.Targets {
					if raw, _, present := tool.Expand(target, args, "r"); !present && raw != "" {
						t.Fatal("an absent target with a value")
					}
				}
			}
		}
	})
}

// FuzzTwin: JSON read as YAML is refused or has the same content, so that the
// two readers can never disagree about a file.
func FuzzTwin(f *testing.F) {
	f.Add([]byte(seed))
	f.Add([]byte(`{"a":[1,1.0,1e5,-0,true,null,"\u00e9\n\t\/"],"b":{"":"yes"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var refused problems
		jsonTree := parse(Source{Name: "t.json", Data: data}, place{problems: &refused})
		yamlTree := parse(Source{Name: "t.yaml", Data: data}, place{problems: &refused})
		if len(refused.list) > 0 {
			return
		}
		if a, b := jsonTree.appendJSON(nil), yamlTree.appendJSON(nil); !bytes.Equal(a, b) {
			t.Errorf("JSON reads\n%s\nYAML reads\n%s", a, b)
		}
	})
}
