package manifest

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestSkillSchemaAgrees is TestSchemaAgrees for schemas/skill.json.
func TestSkillSchemaAgrees(t *testing.T) {
	schema, err := compileText(readFile(t, "../../schemas/skill.json"))
	if err != nil {
		t.Fatal(err)
	}
	body := func(s string) string { return bare + s + "\n" }
	head := func(s string) string { return "schema_version: 1\nname: s\n" + s + "\n" }
	step := func(s string) string { return body("plan: {steps: [{" + s + "}]}") }
	agree(t, schema, map[string][]string{
		both: {
			bare,
			goodSkill,
			head("description: d\ntools: [read_file]"),
			body("title: T\ndescription: >\n  one line\ninstructions: |\n  two\n  lines\nread_only: false"),
			body("inputs: {a: {}, b: {default: data/x, required: false}, c: {required: false, description: d}, d: {required: true}}"),
			body("inputs: {}\nnarrow: {}\nlimits: {}"),
			body("narrow: {read_file: {}, run_tests: {commands: [[go, vet]], timeout_ms: 1}}"),
			body("narrow: {read_file: {roots: [data/a, {path: data}, {path: logs, access: [list]}], max_bytes: 1}}"),
			body("limits: {in_row: 0, total: 1, malformed: 2}"),
			body("artifacts: [{path: a.json, schema: {type: object}}, {path: ..a.md}, {path: .a.json}]"),
			step("id: a, title: A, tools: [read_file]"),
			step("id: a, tools: [read_file], completion: {succeed: {read_file: 3}}"),
			step("id: a, tools: [read_file, write_json_file], completion: {artifacts: [{path: a.json}]}"),
		},
		neither: {
			"[]",
			head("goal: g"),
			head("tools: [read_file]"),
			"schema_version: 1\ngoal: g\ntools: [read_file]\n",
			"name: s\ngoal: g\ntools: [read_file]\n",
			"schema_version: 2\nname: s\ngoal: g\ntools: [read_file]\n",
			"schema_version: 1\nname: S\ngoal: g\ntools: [read_file]\n",
			head("goal: g\ntools: []"),
			head("goal: g\ntools: read_file"),
			head("goal: g\ntools: [read_file, read_file]"),
			head("goal: g\ntools: ['']"),
			head("goal: ' '\ntools: [read_file]"),
			body("tolls: []"),
			body("title: ''"),
			body("title: |\n  a\n  b"),
			body("description: 7"),
			body("instructions: ''"),
			body("read_only: 'true'"),
			body("inputs: []"),
			body("inputs: {A: {}}"),
			body("inputs: {a: x}"),
			body("inputs: {a: {reqired: true}}"),
			body("inputs: {a: {required: true, default: x}}"),
			body("inputs: {a: {default: ''}}"),
			body("inputs: {a: {description: ''}}"),
			body("narrow: {read_file: null}"),
			body("narrow: {read_file: {rooots: [data]}}"),
			body("narrow: {read_file: {roots: []}}"),
			body("narrow: {read_file: {roots: data}}"),
			body("narrow: {read_file: {roots: [{access: [read]}]}}"),
			body("narrow: {read_file: {roots: [{path: data, access: []}]}}"),
			body("narrow: {read_file: {roots: [{path: data, access: [search]}]}}"),
			body("narrow: {read_file: {max_bytes: 0}}"),
			body("narrow: {read_file: {timeout_ms: -1}}"),
			body("narrow: {read_file: {timeout_ms: 86400001}}"),
			body("narrow: {run_tests: {commands: []}}"),
			body("narrow: {run_tests: {commands: [[]]}}"),
			body("narrow: {run_tests: {commands: [go test]}}"),
			body("narrow: {run_tests: {commands: [[go, {arg: x}]]}}"),
			body("narrow: {run_tests: {commands: [[go, {arg: x, pattern: y, values: [z]}]]}}"),
			body("narrow: {run_tests: {network: private}}"),
			body("limits: {in_row: -1}"),
			body("limits: {inrow: 1}"),
			body("artifacts: []"),
			body("artifacts: [a.json]"),
			body("artifacts: [{}]"),
			body("artifacts: [{path: ''}]"),
			body("artifacts: [{path: /a.json}]"),
			body("artifacts: [{path: ../a.json}]"),
			body("artifacts: [{path: a/../a.json}]"),
			body("artifacts: [{path: ./a.json}]"),
			body("artifacts: [{path: a/}]"),
			body("artifacts: [{path: a//b.json}]"),
			body("artifacts: [{path: 'a\\b.json'}]"),
			body("artifacts: [{path: 'C:a.json'}]"),
			body("artifacts: [{path: '~a.json'}]"),
			body("artifacts: [{path: '*.json'}]"),
			body("artifacts: [{path: a.json, schema: true}]"),
			body("artifacts: [{path: a.json, scheme: {}}]"),
			body("plan: 7"),
			body("plan: ''"),
			body("plan: {}"),
			body("plan: {steps: []}"),
			body("plan: {name: p, steps: [{id: a, tools: [read_file]}]}"),
			step("tools: [read_file]"),
			step("id: A, tools: [read_file]"),
			step("id: a"),
			step("id: a, tools: []"),
			step("id: a, tools: [read_file], title: ''"),
			step("id: a, tools: [read_file, run_tests]"),
			step("id: a, tools: [read_file], completion: {}"),
			step("id: a, tools: [read_file], completion: {succeed: {}}"),
			step("id: a, tools: [read_file], completion: {succeed: {read_file: 0}}"),
			step("id: a, tools: [read_file], completion: {artifacts: []}"),
			step("id: a, tools: [read_file], complete: {}"),
		},
		loaderAlone: {
			"schema_version: 1\nname: t\ngoal: g\ntools: [read_file]\n",
			head("goal: g\ntools: [raed_file]"),
			body("goal: h"),
			body("read_only: true"),
			body("narrow: {read_file: {roots: [src]}}"),
			body("narrow: {read_file: {max_bytes: 1001}}"),
			body("narrow: {raed_file: {}}"),
			body("narrow: {run_tests: {commands: [[go, {arg: x, pattern: y}]]}}"),
			body("instructions: '{input.a}'"),
			body("inputs: {a: {default: ../x}}"),
			body("artifacts: [{path: a.txt}]"),
			body("artifacts: [{path: a.json}, {path: a.json}]"),
			body("plan: p"),
			step("id: a, tools: [count]"),
			step("id: a, tools: [read_file], completion: {succeed: {run_tests: 1}}"),
			body("plan: {steps: [{id: a, tools: [read_file]}, {id: a, tools: [read_file]}]}"),
		},
	}, func(data string) bool {
		_, err := Load(withSkill(data), testHandlers())
		return err == nil
	})
}

// TestPlanSchemaAgrees is TestSchemaAgrees for schemas/plan.json. What a step
// may say is the schema of skills, word for word.
func TestPlanSchemaAgrees(t *testing.T) {
	text := readFile(t, "../../schemas/plan.json")
	schema, err := compileText(text)
	if err != nil {
		t.Fatal(err)
	}
	steps := "steps: [{id: a, tools: [read_file]}]\n"
	agree(t, schema, map[string][]string{
		both: {planOf("  - {id: a, tools: [read_file]}\n"), "schema_version: 1\nname: p\n" + steps},
		neither: {
			"7", "schema_version: 1\nname: p\n", "name: p\n" + steps, "schema_version: 1\n" + steps,
			"schema_version: 1\nname: P\n" + steps, "schema_version: 1\nname: p\ntitle: x\n" + steps,
			"schema_version: 1\nname: p\nsteps: []\n", "schema_version: 1\nname: p\nsteps: {}\n",
			planOf("  - {tools: [read_file]}\n"),
		},
		loaderAlone: {"schema_version: 1\nname: q\n" + steps, planOf("  - {id: a, tools: [raed_file]}\n")},
	}, func(data string) bool {
		_, err := Load(withSkill(bare+"plan: p\n", data), testHandlers())
		return err == nil
	})

	defs := func(text []byte) map[string]json.RawMessage {
		var doc struct {
			Defs map[string]json.RawMessage `json:"$defs"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Defs
	}
	plans, skills := defs(text), defs(readFile(t, "../../schemas/skill.json"))
	for name, def := range plans {
		if !bytes.Equal(def, skills[name]) {
			t.Errorf("plan.json and skill.json say different things of %s", name)
		}
	}
}
