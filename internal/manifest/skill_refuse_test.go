package manifest

import (
	"slices"
	"strings"
	"testing"
)

// bare is a skill that loads; the cases add lines from line 5 on.
const bare = "schema_version: 1\nname: s\ngoal: g\ntools: [read_file, write_json_file, write_markdown_file, run_tests]\n"

// planOf is a plan file with these steps, the first in line 4.
func planOf(steps string) string { return "schema_version: 1\nname: p\nsteps:\n" + steps }

func TestSkillRefusals(t *testing.T) {
	for _, c := range []struct{ name, skill, want string }{
		// head
		{"no object", "[]\n", `1: a skill must be an object, not a list`},
		{"empty", "\n", `1: the file is empty`},
		{"comment alone", "# x\n", `1: the file is empty`},
		{"not YAML", "a: [", `1: not valid YAML: did not find expected node content`},
		{"nothing", "tolls: []\n", `1: skill "s": unknown key "tolls" (did you mean "tools"?)` + "\n" + `1: skill "s": schema_version is missing (add schema_version: 1)` + "\n" + `1: skill "s": name is missing (add name: s)` + "\n" + `1: skill "s": goal and description are both missing (add description: what a run is for)` + "\n" + `1: skill "s": tools is missing (list the tools that a run may call)`},
		{"version", strings.Replace(bare, "1", "2", 1), `1: skill "s": unknown schema_version (this version reads 1)`},
		{"name of another file", strings.Replace(bare, "name: s", "name: t", 1), `2: skill "s": name is "t" (a skill is named as its file: write "s", or rename the file)`},
		{"name null", strings.Replace(bare, "name: s", "name:", 1), `2: skill "s": name must be a string, not null`},
		{"key twice", bare + "goal: h\n", `5: key "goal" appears twice, first in line 3`},
		{"unknown key", bare + "tolls: []\n", `5: skill "s": unknown key "tolls" (did you mean "tools"?)`},
		{"no goal", strings.Replace(bare, "goal: g\n", "", 1), `1: skill "s": goal and description are both missing (add description: what a run is for)`},
		{"goal empty", strings.Replace(bare, "goal: g\n", "goal: ' '\n", 1), `3: skill "s": goal is empty (leave it out)`},
		{"title of two lines", bare + "title: |\n  a\n  b\n", `5: skill "s": title must be one line, without tabs`},
		{"description with an escape", bare + "description: \"a\\eb\"\n", `5: skill "s": description holds a control character`},
		{"instructions number", bare + "instructions: 7\n", `5: skill "s": instructions must be a string, not a number`},
		{"read_only as text", bare + "read_only: 'true'\n", `5: skill "s": read_only must be a boolean, not a string`},

		// tools
		{"no tools", "schema_version: 1\nname: s\ngoal: g\nnarrow: {read_file: {}}\n", `1: skill "s": tools is missing (list the tools that a run may call)`},
		{"tools empty", "schema_version: 1\nname: s\ngoal: g\ntools: []\n", `4: skill "s": tools is empty, so nothing could be called (list the tools that a run may call)`},
		{"tools as text", "schema_version: 1\nname: s\ngoal: g\ntools: read_file\nnarrow: {read_file: {}}\nplan: {steps: [{id: a, tools: [read_file]}]}\n", `4: skill "s": tools must be a list, not a string`},
		{"unknown tool", "schema_version: 1\nname: s\ngoal: g\ntools:\n  - read_file\n  - raed_file\n", `6: skill "s": unknown tool "raed_file" (did you mean "read_file"?)`},
		{"unknown tool, no near one", "schema_version: 1\nname: s\ngoal: g\ntools: [paint]\n", `4: skill "s": unknown tool "paint" (declare it among the tools, or leave it out)`},
		{"tool twice", "schema_version: 1\nname: s\ngoal: g\ntools:\n  - read_file\n  - read_file\n", `6: skill "s": tools names "read_file" twice`},
		{"tool number", "schema_version: 1\nname: s\ngoal: g\ntools: [7, '']\n", `4: skill "s": an item of tools must be a string, not a number` + "\n" + `4: skill "s": an item of tools is empty`},
		{"writes and read_only", bare + "read_only: true\n", `4: skill "s": tool "write_json_file" changes something, and the skill is read_only (leave it out, or take read_only away)` + "\n" + `4: skill "s": tool "write_markdown_file" changes something, and the skill is read_only (leave it out, or take read_only away)` + "\n" + `4: skill "s": tool "run_tests" changes something, and the skill is read_only (leave it out, or take read_only away)`},

		// narrow
		{"narrow as list", bare + "narrow: []\n", `5: skill "s": narrow must be an object, not a list`},
		{"narrow unlisted", bare + "narrow: {raed_file: {}}\n", `5: skill "s": narrow names "raed_file", which tools does not list (did you mean "read_file"?)`},
		{"narrow another", bare + "narrow: {rename_file: {}}\n", `5: skill "s": narrow names "rename_file", which tools does not list (add it there, or leave it out here)`},
		{"narrow null", bare + "narrow:\n  read_file:\n", `6: skill "s": narrow "read_file": the declaration must be an object, not null`},
		{"narrow key", bare + "narrow: {read_file: {rooots: [data]}}\n", `5: skill "s": narrow "read_file": unknown key "rooots" (did you mean "roots"?)`},
		{"max_bytes wider", bare + "narrow:\n  read_file:\n    max_bytes: 1001\n", `7: skill "s": narrow "read_file": max_bytes is 1001, more than the tool's 1000 (a skill only narrows; the tool is declared in m/tools.json:2)`},
		{"max_bytes zero", bare + "narrow: {read_file: {max_bytes: 0}}\n", `5: skill "s": narrow "read_file": max_bytes must be a whole number above zero (leave it out for the tool's own)`},
		{"timeout wider", bare + "narrow: {write_markdown_file: {timeout_ms: 501}, run_tests: {timeout_ms: 60001}}\n", `5: skill "s": narrow "write_markdown_file": timeout_ms is 501, more than the tool's 500 (a skill only narrows; the tool is declared in m/tools.json:4)` + "\n" + `5: skill "s": narrow "run_tests": timeout_ms is 60001, more than the tool's 60000 (a skill only narrows; the tool is declared in m/tools.json:6)`},
		{"command of nobody", bare + "narrow:\n  run_tests:\n    commands:\n      - [go, test]\n      - [go, test, -race]\n", `9: skill "s": narrow "run_tests": commands has one that the tool does not have (a skill only narrows; the tool is declared in m/tools.json:6)`},
		{"command twice", bare + "narrow: {run_tests: {commands: [[go, test], [go, test]]}}\n", `5: skill "s": narrow "run_tests": commands holds the same command twice`},
		{"command as text", bare + "narrow: {run_tests: {commands: [go test]}}\n", `5: skill "s": narrow "run_tests": a command must be a list of strings, not a string (split it: ["program", "argument"]; no shell reads it)`},
		{"no command", bare + "narrow: {run_tests: {commands: []}}\n", `5: skill "s": narrow "run_tests": commands is empty, so nothing could run (leave the tool out of tools)`},
		{"commands on a read", bare + "narrow: {read_file: {commands: [[go, test]]}}\n", `5: skill "s": narrow "read_file": commands is for operation "execute", not "read" (leave it out)`},

		// default inputs
		{"default in no root", bare[:strings.Index(bare, ", run_tests")] + "]\ninputs:\n  rows:\n    description: the rows\n    default: exports/rows.csv\n", `8: skill "s": input "rows": no tool of the skill can read the default "exports/rows.csv" (name one below "data" or "logs", or give a tool that reads a root there)`},
		{"default narrowed away", bare[:strings.Index(bare, ", run_tests")] + "]\nnarrow: {read_file: {roots: [data/feedback, logs]}}\ninputs:\n  rows: {default: data/rows.csv}\n", `7: skill "s": input "rows": no tool of the skill can read the default "data/rows.csv" (name one below "data/feedback" or "logs", or give a tool that reads a root there)`},
		{"default that nobody reads", "schema_version: 1\nname: s\ngoal: g\ntools: [write_json_file]\ninputs: {rows: {default: data/rows.csv}}\n", `5: skill "s": input "rows": no tool of the skill can read the default "data/rows.csv" (list a tool that reads)`},

		// roots
		{"roots empty", bare + "narrow: {read_file: {roots: []}}\n", `5: skill "s": narrow "read_file": roots is empty, so nothing could be touched (leave it out for the tool's own, or name a directory)`},
		{"roots as text", bare + "narrow: {read_file: {roots: data}}\n", `5: skill "s": narrow "read_file": roots must be a list, not a string`},
		{"root wider", bare + "narrow: {read_file: {roots: [.]}}\n", `5: skill "s": narrow "read_file": root "." lies outside the tool's own roots (a skill only narrows; the tool is declared in m/tools.json:2, with "data", "logs")`},
		{"root of a sibling", bare + "narrow:\n  read_file:\n    roots:\n      - data/x\n      - data-copy\n", `9: skill "s": narrow "read_file": root "data-copy" lies outside the tool's own roots (a skill only narrows; the tool is declared in m/tools.json:2, with "data", "logs")`},
		{"root elsewhere", bare + "narrow: {read_file: {roots: [src]}}\n", `5: skill "s": narrow "read_file": root "src" lies outside the tool's own roots (a skill only narrows; the tool is declared in m/tools.json:2, with "data", "logs")`},
		{"root for another access", bare + "narrow: {read_file: {roots: [{path: logs, access: [list, read]}]}}\n", `5: skill "s": narrow "read_file": root "logs" lies outside the tool's own roots for access "read" (a skill only narrows; the tool is declared in m/tools.json:2, with "data")`},
		{"no root left", bare + "narrow: {read_file: {roots: [logs/a]}}\n", `5: skill "s": narrow "read_file": no root is left for access "read", which a target has`},
		{"root ..", bare + "narrow: {read_file: {roots: [data/../..]}}\n", `5: skill "s": narrow "read_file": root "data/../.." holds ".."`},
		{"root absolute", bare + "narrow: {read_file: {roots: [/data]}}\n", `5: skill "s": narrow "read_file": root "/data" lies outside the tool's own roots (a skill only narrows; the tool is declared in m/tools.json:2, with "data", "logs")`},
		{"root of another run", bare + "narrow: {write_json_file: {roots: [runs/r1/artifacts]}}\n", `5: skill "s": narrow "write_json_file": root "runs/r1/artifacts" lies outside the tool's own roots (a skill only narrows; the tool is declared in m/tools.json:3, with "runs/{run_id}/artifacts/")`},
		{"root with another template", bare + "narrow: {write_json_file: {roots: ['runs/{run}/artifacts']}}\n", `5: skill "s": narrow "write_json_file": root "runs/{run}/artifacts" has a placeholder other than {run_id}`},
		{"root of the whole run", bare + "narrow: {write_json_file: {roots: ['runs/{run_id}']}}\n", `5: skill "s": narrow "write_json_file": root "runs/{run_id}" lies outside the tool's own roots (a skill only narrows; the tool is declared in m/tools.json:3, with "runs/{run_id}/artifacts/")`},
		{"root twice", bare + "narrow: {read_file: {roots: [data, data/.]}}\n", `5: skill "s": narrow "read_file": roots names "data/." twice`},
		{"root without path", bare + "narrow: {read_file: {roots: [{access: [read]}]}}\n", `5: skill "s": narrow "read_file": a root's path is missing`},
		{"root access", bare + "narrow: {read_file: {roots: [{path: data, access: [reed]}]}}\n", `5: skill "s": narrow "read_file": root: unknown access "reed" (did you mean "read"?)`},

		// limits, inputs
		{"limit below zero", bare + "limits: {in_row: -1}\n", `5: skill "s": limits: in_row must be a whole number, 0 or more (leave it out for the policy's own limit)`},
		{"limit fraction", bare + "limits: {total: 1.5}\n", `5: skill "s": limits: total must be a whole number, 0 or more (leave it out for the policy's own limit)`},
		{"limit key", bare + "limits: {inrow: 1}\n", `5: skill "s": limits: unknown key "inrow" (did you mean "in_row"?)`},
		{"input name", bare + "inputs: {Feed Back: {}}\n", `5: skill "s": input "Feed Back": bad input name (a small letter, then small letters, digits, _ -, at most 64 in all)`},
		{"input as text", bare + "inputs: {a: data/a.csv}\n", `5: skill "s": input "a": the declaration must be an object, not a string`},
		{"input key", bare + "inputs: {a: {defualt: x}}\n", `5: skill "s": input "a": unknown key "defualt" (did you mean "default"?)`},
		{"required with a default", bare + "inputs: {a: {required: true, default: data/a.csv}}\n", `5: skill "s": input "a": has a default and is required (keep one: an input with a default may be left out)`},
		{"default leaves", bare + "inputs: {a: {default: ../a}, b: {default: /etc/passwd}, c: {default: ''}, d: {default: a//b}}\n", `5: skill "s": input "a": default "../a" holds ".."` + "\n" + `5: skill "s": input "b": default "/etc/passwd" is absolute (count it from the project)` + "\n" + `5: skill "s": input "c": default "" is empty` + "\n" + `5: skill "s": input "d": default "a//b" is not plain (write "a/b")`},
		{"undeclared input", bare + "inputs: {feedback: {}}\ninstructions: |\n  Read {input.fedback}.\n", `6: skill "s": instructions names input "fedback", which is not declared (did you mean "feedback"?)`},
		{"undeclared input, no near one", bare + "instructions: Read {input.x}.\n", `5: skill "s": instructions names input "x", which is not declared (declare it in inputs)`},
		{"input without a value", bare + "inputs: {a: {required: false}}\ninstructions: Read {input.a}.\n", `6: skill "s": instructions names input "a", which a run may leave out (give it a default, or make it required)`},
		{"input without brace", bare + "instructions: 'Read {input.a'\n", `5: skill "s": instructions has "{input." without its brace`},

		// artifacts
		{"artifacts empty", bare + "artifacts: []\n", `5: skill "s": artifacts is empty (leave it out)`},
		{"artifact as text", bare + "artifacts: [a.json]\n", `5: skill "s": an artifact must be an object, not a string`},
		{"artifact without path", bare + "artifacts: [{}]\n", `5: skill "s": an artifact's path is missing`},
		{"artifact key", bare + "artifacts: [{path: a.json, shema: {}}]\n", `5: skill "s": artifact: unknown key "shema" (did you mean "schema"?)`},
		{"artifact leaves", bare + "artifacts: [{path: ../a.json}, {path: a/../../b.json}]\n", `5: skill "s": artifact "../a.json": the path holds ".."` + "\n" + `5: skill "s": artifact "a/../../b.json": the path holds ".."`},
		{"artifact absolute", bare + "artifacts: [{path: /a.json}, {path: 'C:/a.json'}, {path: ~/a.json}]\n", `5: skill "s": artifact "/a.json": the path is absolute (count it from the run's artifacts/)` + "\n" + `5: skill "s": artifact "C:/a.json": the path is absolute (count it from the run's artifacts/)` + "\n" + `5: skill "s": artifact "~/a.json": the path begins with ~, which nobody expands`},
		{"artifact not plain", bare + "artifacts: [{path: ./a.json}, {path: a//b.json}, {path: a/}, {path: 'a\\b'}, {path: '*.json'}, {path: ''}, {path: \"a\\0\"}]\n", `5: skill "s": artifact "./a.json": the path is not plain (write "a.json")` + "\n" + `5: skill "s": artifact "a//b.json": the path is not plain (write "a/b.json")` + "\n" + `5: skill "s": artifact "a/": the path names a directory (name one file)` + "\n" + `5: skill "s": artifact "a\\b": the path holds a backslash (use /)` + "\n" + `5: skill "s": artifact "*.json": the path is a pattern (name one file)` + "\n" + `5: skill "s": artifact "": the path is empty` + "\n" + `5: skill "s": artifact "a\x00": the path holds NUL or a control character`},
		{"artifact twice", bare + "artifacts: [{path: a.json}, {path: a.json}]\n", `5: skill "s": artifact "a.json": is listed twice`},
		{"schema leaves", bare + "artifacts:\n  - path: a.json\n    schema:\n      $ref: other.json\n", `8: skill "s": artifact "a.json": schema.$ref: "other.json" leaves the document (only "#…" is allowed)`},
		{"schema as text", bare + "artifacts: [{path: a.json, schema: object}]\n", `5: skill "s": artifact "a.json": schema must be an object, not a string`},
		{"schema type", bare + "artifacts: [{path: a.json, schema: {type: objekt}}]\n", `5: skill "s": artifact "a.json": schema.type: "objekt" is no JSON type (did you mean "object"?)`},
		{"nobody makes it", bare + "artifacts: [{path: a.txt}]\n", `5: skill "s": artifact "a.txt": no tool of the skill can make it: write_json_file writes .json, write_markdown_file writes .md (name it otherwise, or add a tool that can)`},
		{"nobody writes", "schema_version: 1\nname: s\ngoal: g\ntools: [read_file]\nartifacts: [{path: a.json}]\n", `5: skill "s": artifact "a.json": no tool of the skill can make it: none writes (name it otherwise, or add a tool that can)`},
		{"no root for it", "schema_version: 1\nname: s\ngoal: g\ntools: [write_file, rename_file]\nnarrow:\n  rename_file: {roots: ['runs/{run_id}/artifacts/in', data]}\nartifacts: [{path: a.json}]\n", `7: skill "s": artifact "a.json": no tool of the skill can make it: write_file has no root there, rename_file has no root there (name it otherwise, or add a tool that can)`},
		{"counted from elsewhere", bare + "artifacts: [{path: artifacts/a.json}]\n", `5: skill "s": artifact "artifacts/a.json": no tool of the skill can make it: its folder is not there, and none makes folders (create_parents) (its path counts from the run's artifacts/)`},
		{"no folder for it", bare + "artifacts: [{path: deep/a.json}]\n", `5: skill "s": artifact "deep/a.json": no tool of the skill can make it: its folder is not there, and none makes folders (create_parents) (name it otherwise, or add a tool that can)`},

		// plan
		{"plan number", bare + "plan: 7\n", `5: skill "s": plan must be an object or a string, not a number (steps: […], or the name of a file in plans/)`},
		{"plan without a file", bare + "plan: q\n", `5: skill "s": plan "q" has no file (write its steps here, or into a file of that name in plans/)`},
		{"plan and its name", bare + "plan: {name: p, steps: [{id: a, tools: [read_file]}]}\n", `5: skill "s": plan: unknown key "name" (a plan in a skill's file has steps alone)`},
		{"no steps", bare + "plan: {}\n", `5: skill "s": steps is missing`},
		{"steps empty", bare + "plan: {steps: []}\n", `5: skill "s": steps is empty, so the plan would be complete at once (leave the plan out)`},
		{"steps as object", bare + "plan: {steps: {}}\n", `5: skill "s": steps must be a list, not an object`},
		{"step as text", bare + "plan: {steps: [read]}\nartifacts: [{path: a.json}]\n", `5: skill "s": step 1: the declaration must be an object, not a string`},
		{"step key", bare + "plan: {steps: [{id: a, tools: [read_file], complete: {}}]}\n", `5: skill "s": step "a": unknown key "complete"`},
		{"step without id", bare + "plan: {steps: [{tools: [read_file]}]}\n", `5: skill "s": step 1: id is missing`},
		{"step with a bad id", bare + "plan: {steps: [{id: Read it, tools: [read_file]}]}\n", `5: skill "s": step 1: bad id "Read it" (a small letter, then small letters, digits, _ -, at most 64 in all)`},
		{"id twice", bare + "plan:\n  steps:\n    - {id: a, tools: [read_file]}\n    - {id: a, tools: [read_file]}\n", `8: skill "s": step "a": the id is used twice, first in line 7`},
		{"step without tools", bare + "plan: {steps: [{id: a}, {id: b, tools: []}]}\n", `5: skill "s": step "a": the step has no tools (name those that may be called in it)` + "\n" + `5: skill "s": step "b": the step has no tools (name those that may be called in it)`},
		{"unknown tool in a step", bare + "plan: {steps: [{id: a, tools: [raed_file]}]}\n", `5: skill "s": step "a": unknown tool "raed_file" (did you mean "read_file"?)`},
		{"tool of another skill", bare + "plan: {steps: [{id: a, tools: [count]}]}\n", `5: skill "s": step "a": tool "count" is not among the skill's tools (add it there)`},
		{"tool twice in a step", bare + "plan: {steps: [{id: a, tools: [read_file, read_file]}]}\n", `5: skill "s": step "a": tools names "read_file" twice`},
		{"no completion", bare + "plan: {steps: [{id: a, tools: [read_file, run_tests]}]}\n", `5: skill "s": step "a": completion is missing, and the step has several tools (say which must succeed: completion: {succeed: {read_file: 1}})`},
		{"completion empty", bare + "plan: {steps: [{id: a, tools: [read_file], completion: {}}]}\n", `5: skill "s": step "a": completion is empty (say which tool must succeed, or which artifact must be there)`},
		{"completion key", bare + "plan: {steps: [{id: a, tools: [read_file], completion: {suceed: {read_file: 1}}}]}\n", `5: skill "s": step "a": completion: unknown key "suceed" (did you mean "succeed"?)`},
		{"succeed empty", bare + "plan: {steps: [{id: a, tools: [read_file], completion: {succeed: {}}}]}\n", `5: skill "s": step "a": succeed is empty (leave it out, or name a tool)`},
		{"succeed as list", bare + "plan: {steps: [{id: a, tools: [read_file], completion: {succeed: [read_file]}}]}\n", `5: skill "s": step "a": succeed must be an object, not a list`},
		{"completion by another tool", bare + "plan: {steps: [{id: a, tools: [read_file], completion: {succeed: {run_tests: 1}}}]}\n", `5: skill "s": step "a": completion needs "run_tests", which is no tool of the step (add it to the step's tools)`},
		{"completion by a misspelt tool", bare + "plan: {steps: [{id: a, tools: [read_file], completion: {succeed: {read_fil: 1}}}]}\n", `5: skill "s": step "a": completion needs "read_fil", which is no tool of the step (did you mean "read_file"?)`},
		{"never", bare + "plan: {steps: [{id: a, tools: [read_file], completion: {succeed: {read_file: 0}}}]}\n", `5: skill "s": step "a": succeed: read_file must be a whole number above zero (how often the tool must succeed)`},
		{"too early", bare + "plan:\n  steps:\n    - id: read\n      tools: [read_file]\n      completion:\n        artifacts:\n          - path: a.json\n    - id: write\n      tools: [write_json_file]\n", `11: skill "s": step "read": artifact "a.json": no tool of this or an earlier step can make it: none writes (name it otherwise, or add a tool that can)`},
		{"of another kind", bare + "plan:\n  steps:\n    - id: write\n      tools: [write_json_file, write_markdown_file]\n      completion:\n        artifacts:\n          - path: a.csv\n", `11: skill "s": step "write": artifact "a.csv": no tool of this or an earlier step can make it: write_json_file writes .json, write_markdown_file writes .md (name it otherwise, or add a tool that can)`},
		{"in no step", bare + "artifacts:\n  - path: a.md\nplan: {steps: [{id: write, tools: [write_json_file]}]}\n", `6: skill "s": artifact "a.md": no tool of the plan's steps can make it: write_json_file writes .json (name it otherwise, or add a tool that can)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := refusals(t, withSkill(c.skill)...)
			want := strings.Split(c.want, "\n")
			for i := range want {
				want[i] = "load m/skills/s.yaml:" + want[i]
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestPlanRefusals: what is wrong with a plan's file is said there, whether it
// is wrong by itself or under one skill.
func TestPlanRefusals(t *testing.T) {
	skill := bare + "plan: p\n"
	for _, c := range []struct{ name, skill, plan, want string }{
		{"no object", skill, "7\n", `plans/p.yaml:1: a plan must be an object, not a number`},
		{"name", skill, strings.Replace(planOf("  - {id: a, tools: [read_file]}\n"), "name: p", "name: q", 1), `plans/p.yaml:2: plan "p": name is "q" (a plan is named as its file: write "p", or rename the file)`},
		{"key", skill, planOf("  - {id: a, tools: [read_file]}\n") + "title: x\n", `plans/p.yaml:5: plan "p": unknown key "title"`},
		{"no steps", skill, "schema_version: 1\nname: p\n", `plans/p.yaml:1: plan "p": steps is missing`},
		{"unknown tool", skill, planOf("  - {id: a, tools: [raed_file]}\n"), `plans/p.yaml:4: plan "p": step "a": unknown tool "raed_file" (did you mean "read_file"?)`},
		{"tool of another skill", skill, planOf("  - {id: a, tools: [read_file]}\n  - {id: b, tools: [write_file]}\n"), `plans/p.yaml:5: plan "p" of skill "s": step "b": tool "write_file" is not among the skill's tools (add it there)`},
		{"out of reach for this skill", skill, planOf("  - {id: a, tools: [read_file]}\n  - id: b\n    tools: [write_json_file]\n    completion: {artifacts: [{path: a.md}]}\n"), `plans/p.yaml:7: plan "p" of skill "s": step "b": artifact "a.md": no tool of this or an earlier step can make it: write_json_file writes .json (name it otherwise, or add a tool that can)`},
		{"no such file", bare + "plan: q_plan\n", planOf("  - {id: a, tools: [read_file]}\n"), `skills/s.yaml:5: skill "s": plan "q_plan" has no file (write its steps here, or into a file of that name in plans/)`},
		{"misspelt", bare + "plan: pp\n", planOf("  - {id: a, tools: [read_file]}\n"), `skills/s.yaml:5: skill "s": plan "pp" has no file (write its steps here, or into a file of that name in plans/)`},
		{"used by nobody", bare, planOf("  - {id: a, tools: [paint]}\n"), `plans/p.yaml:4: plan "p": step "a": unknown tool "paint" (declare it among the tools, or leave it out)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := refusals(t, withSkill(c.skill, c.plan)...)
			want := strings.Split(c.want, "\n")
			for i := range want {
				want[i] = "load m/" + want[i]
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestOneMistakeOnce: a tool that did not load, or that nobody could read, is
// not reported again by the skills that use it; everything else is.
func TestOneMistakeOnce(t *testing.T) {
	skill := Source{Name: "m/skills/s.yaml", Kind: SkillFile, Data: []byte("schema_version: 1\nname: s\ngoal: g\ntools: [a, b]\nnarrow: {a: {max_bytes: 5, roots: [x]}}\n" +
		"artifacts: [{path: x.json}]\nplan: {steps: [{id: one, tools: [a]}, {id: two, tools: [c]}]}\nlimit: {}\n")}
	tools := func(data string) Source { return Source{Name: "m/tools.json", Data: []byte(data)} }
	for _, c := range []struct {
		name string
		src  []Source
		want []string
	}{
		{
			"broken tool",
			[]Source{skill, tools(`{"schema_version":1,"tools":{"a":{"operation":"raed"},"b":{"operation":"read"}}}`)},
			[]string{
				`load m/tools.json:1: tool "a": unknown operation "raed" (did you mean "read"?)`,
				`load m/skills/s.yaml:7: skill "s": step "two": unknown tool "c" (declare it among the tools, or leave it out)`,
				`load m/skills/s.yaml:8: skill "s": unknown key "limit" (did you mean "limits"?)`,
			},
		},
		{
			"unread tools",
			[]Source{skill, tools(`{`)},
			[]string{
				`load m/tools.json:1: not valid JSON: unexpected end of JSON input`,
				`load m/skills/s.yaml:8: skill "s": unknown key "limit" (did you mean "limits"?)`,
			},
		},
		{
			"no tools",
			[]Source{skill},
			[]string{
				`load manifests: no file declares tools (add tools.json, tools.yaml or tools.yml beside skills/ and plans/: they name tools that stand there)`,
				`load m/skills/s.yaml:8: skill "s": unknown key "limit" (did you mean "limits"?)`,
			},
		},
	} {
		if got := refusals(t, c.src...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestNamesOfFiles(t *testing.T) {
	file := func(name string, kind SourceKind, data string) Source {
		return Source{Name: name, Kind: kind, Data: []byte(data)}
	}
	steps := "steps: [{id: a, tools: [read_file]}]\n"
	got := refusals(t, file("tools.json", ToolFile, workshop),
		file("plans/p.json", PlanFile, `{"schema_version":1,"name":"p","steps":[{"id":"a","tools":["read_file"]}]}`),
		file("plans/p.yaml", PlanFile, "schema_version: 1\nname: p\n"+steps),
		file("skills/s.yaml", SkillFile, bare), file("skills/s.yml", SkillFile, bare),
		file("skills/S.yaml", SkillFile, strings.Replace(bare, "name: s", "name: S", 1)), file("skills/.yaml", SkillFile, bare),
		file("skills/"+strings.Repeat("s", 65)+".yaml", SkillFile, strings.Replace(bare, "name: s", "name: "+strings.Repeat("s", 65), 1)))
	const rule = "(rename the file: a small letter, then small letters, digits, _ -, at most 64 in all)"
	if want := []string{
		`load plans/p.yaml:1: plan "p": declared twice, first in plans/p.json (keep one)`,
		`load skills/s.yml:1: skill "s": declared twice, first in skills/s.yaml (keep one)`,
		`load skills/S.yaml:1: skill "S": bad skill name ` + rule,
		`load skills/.yaml:1: skill "": bad skill name ` + rule,
		`load skills/` + strings.Repeat("s", 65) + `.yaml:1: skill "` + strings.Repeat("s", 65) + `": bad skill name ` + rule,
	}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
