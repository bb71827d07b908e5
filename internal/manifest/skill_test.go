package manifest

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/plan"
)

// workshop are the tools that the skills of these tests use.
const workshop = `{"schema_version":1,"tools":{
"read_file":{"operation":"read","max_bytes":1000,"roots":["data",{"path":"logs","access":["list"]}]},
"write_json_file":{"operation":"write"},
"write_markdown_file":{"operation":"write","timeout_ms":500},
"write_file":{"operation":"write","roots":["out"]},
"run_tests":{"operation":"execute","sandbox":"none","commands":[["go","test"],["go","vet"]]},
"rename_file":{"operation":"rename"},
"count":{"operation":"compute","handler":"external","input_schema":{"type":"object"}}
}}`

// withSkill are the workshop's tools, a skill and perhaps a plan.
func withSkill(skill string, plans ...string) []Source {
	src := []Source{
		{Name: "m/tools.json", Data: []byte(workshop)},
		{Name: "m/skills/s.yaml", Data: []byte(skill), Kind: SkillFile},
	}
	for _, p := range plans {
		src = append(src, Source{Name: "m/plans/p.yaml", Data: []byte(p), Kind: PlanFile})
	}
	return src
}

func mustLoad(t testing.TB, src []Source) *Set {
	t.Helper()
	set, err := Load(src, testHandlers())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return set
}

const goodSkill = `schema_version: 1
name: s
title: A skill
description: >
  reads and writes
instructions: |
  Read {input.feedback}, then {"write": "it"}; {input.words} helps.
inputs:
  feedback: {description: the rows}
  words: {default: data/words.txt}
  more: {required: false}
tools: [write_markdown_file, read_file, write_json_file, run_tests]
narrow:
  read_file: {roots: [./data/feedback/, {path: logs/app, access: [list]}], max_bytes: 900, timeout_ms: 50}
  write_markdown_file: {timeout_ms: 500}
  run_tests: {commands: [[go, vet]]}
limits: {in_row: 0, total: 7}
artifacts:
  - {path: summary.json, schema: {type: object, required: [total]}}
  - path: report.md
plan:
  steps:
    - id: read
      tools: [read_file]
    - id: write
      title: Write it down
      tools: [write_json_file, write_markdown_file, read_file, run_tests]
      completion:
        succeed: {write_markdown_file: 2, run_tests: 1}
        artifacts: [{path: summary.json}]
`

func TestSkill(t *testing.T) {
	set := mustLoad(t, withSkill(goodSkill))
	if !slices.Equal(set.SkillNames, []string{"s"}) || len(set.Notes) != 1 {
		t.Fatalf("skills %q, notes %q", set.SkillNames, set.Notes)
	}
	s := *set.Skills["s"]
	tools := s.Tools
	if !strings.HasPrefix(s.Digest, "sha256:") {
		t.Errorf("digest %q", s.Digest)
	}
	s.Tools, s.Digest = nil, ""
	want := Skill{
		Name: "s", Title: "A skill", Description: "reads and writes", Goal: "reads and writes",
		Instructions: "Read {input.feedback}, then {\"write\": \"it\"}; {input.words} helps.\n",
		Inputs: []SkillInput{
			{Name: "feedback", Description: "the rows", Required: true},
			{Name: "words", Default: "data/words.txt"},
			{Name: "more"},
		},
		Names:  []string{"read_file", "run_tests", "write_json_file", "write_markdown_file"},
		Limits: RunLimits{0, 7, -1},
		Artifacts: []plan.Artifact{
			{Path: "summary.json", Schema: json.RawMessage(`{"required":["total"],"type":"object"}`)},
			{Path: "report.md"},
		},
		Plan: &plan.Plan{Name: "s", Steps: []plan.Step{
			{
				ID: "read", Title: "read", Tools: []string{"read_file"},
				Completion: plan.Completion{Succeed: []plan.Success{{Tool: "read_file", Times: 1}}, Artifacts: []plan.Artifact{}},
			},
			{
				ID: "write", Title: "Write it down", Tools: []string{"write_json_file", "write_markdown_file", "read_file", "run_tests"},
				Completion: plan.Completion{
					Succeed:   []plan.Success{{Tool: "run_tests", Times: 1}, {Tool: "write_markdown_file", Times: 2}},
					Artifacts: []plan.Artifact{{Path: "summary.json"}},
				},
			},
		}},
		Where: Location{"m/skills/s.yaml", 1},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got\n%+v\nwant\n%+v", s, want)
	}
	if r := tools["read_file"]; r.MaxBytes != 900 || r.TimeoutMS != 50 ||
		!reflect.DeepEqual(r.Roots, []Root{{"./data/feedback/", Accesses()}, {"logs/app", []string{"list"}}}) {
		t.Errorf("read_file is narrowed to %+v", r)
	}
	if r := tools["run_tests"]; !reflect.DeepEqual(r.Commands, [][]string{{"go", "vet"}}) {
		t.Errorf("run_tests is narrowed to %+v", r)
	}
	// The set's own are as wide as before, and what is not narrowed is theirs.
	if own := set.Tools["read_file"]; own.MaxBytes != 1000 || own.TimeoutMS != 0 || own.Roots[0].Path != "data" || own.Input != tools["read_file"].Input {
		t.Errorf("the set's read_file is %+v", own)
	}
	if own := set.Tools["run_tests"]; len(own.Commands) != 2 {
		t.Errorf("the set's run_tests is %+v", own)
	}
	if !reflect.DeepEqual(set.Tools["write_json_file"], tools["write_json_file"]) {
		t.Errorf("write_json_file is %+v", tools["write_json_file"])
	}
}

// TestRevisionOfSkills: skills, their plans and approvers count; a set without
// them has the revision that it always had.
func TestRevisionOfSkills(t *testing.T) {
	const before = "sha256:0abf77271e6708bd4190ba49a46c76c90f93ef135766690c047c67b654a496e6"
	alone := mustLoad(t, []Source{{Name: "tools.json", Data: []byte(workshop)}})
	if alone.Revision != before {
		t.Errorf("a set of tools has revision %s, want %s", alone.Revision, before)
	}
	set := mustLoad(t, withSkill(goodSkill))
	twin := mustLoad(t, []Source{
		{Name: "x.json", Data: []byte(workshop)},
		{Name: "skills/s.json", Kind: SkillFile, Data: []byte(`{"tools":["run_tests","write_json_file","read_file","write_markdown_file"],
"name":"s","title":"A skill","goal":"reads and writes\n","description":"reads and writes","instructions":"Read {input.feedback}, then {\"write\": \"it\"}; {input.words} helps.\n",
"inputs":{"more":{"required":false},"words":{"required":false,"default":"data/words.txt"},"feedback":{"required":true,"description":"the rows"}},
"narrow":{"run_tests":{"commands":[["go","vet"]]},"read_file":{"timeout_ms":50,"max_bytes":900,"roots":["./data/feedback/",{"access":["list"],"path":"logs/app"}]}},
"limits":{"total":7,"in_row":0,"malformed":99},"read_only":false,"schema_version":1,
"artifacts":[{"schema":{"required":["total"],"type":"object"},"path":"summary.json"},{"path":"report.md"}],
"plan":{"steps":[{"tools":["read_file"],"title":"read","id":"read","completion":{"succeed":{"read_file":1}}},
{"id":"write","title":"Write it down","tools":["write_json_file","write_markdown_file","read_file","run_tests"],"completion":{"artifacts":[{"path":"summary.json"}],"succeed":{"run_tests":1,"write_markdown_file":2}}}]}}`)},
	})
	if twin.Revision == set.Revision {
		t.Error("another limit has the same revision")
	}
	twin.Skills["s"].Limits.Malformed = -1
	if again, err := digest(twin.Skills["s"].canonical()); err != nil || again != set.Skills["s"].Digest {
		t.Errorf("the twin in JSON has digest %s, want %s", again, set.Skills["s"].Digest)
	}
	seen := map[string]string{alone.Revision: "no skill", set.Revision: "the good skill"}
	for _, change := range [][2]string{
		{"title: A skill", "title: Askill"},
		{"reads and writes", "reads"},
		{"description: >", "goal: x\ndescription: >"},
		{"then", "and then"},
		{"the rows", "rows"},
		{"data/words.txt", "data/word.txt"},
		{"more: {required: false}", "more: {}"},
		{"./data/feedback/", "data/feedback"},
		{"max_bytes: 900", "max_bytes: 901"},
		{"timeout_ms: 50}", "timeout_ms: 51}"},
		{"[[go, vet]]", "[[go, test]]"},
		{"in_row: 0", "in_row: 1"},
		{"limits:", "limits: {malformed: 1}\nold:"},
		{"{type: object, required: [total]}", "{type: object}"},
		{"path: report.md", "path: r.md"},
		{"id: read\n", "id: first\n"},
		{"Write it down", "Write"},
		{"write_markdown_file: 2", "write_markdown_file: 3"},
		{"[{path: summary.json}]", "[{path: s.json}]"},
	} {
		data := strings.Replace(goodSkill, change[0], change[1], 1)
		if strings.Contains(data, "old:") { // one key instead of another
			data = strings.Replace(data, "old: {in_row: 0, total: 7}\n", "", 1)
		}
		s := mustLoad(t, withSkill(data))
		if before, twice := seen[s.Revision]; twice || data == goodSkill || s.Skills["s"].Digest == set.Skills["s"].Digest {
			t.Errorf("%q instead of %q has the revision of %s", change[1], change[0], before)
		}
		seen[s.Revision] = change[1]
	}
}

func TestPlanFile(t *testing.T) {
	const skill = "schema_version: 1\nname: s\ngoal: g\ntools: [read_file, count]\nplan: p\n"
	const steps = "schema_version: 1\nname: p\nsteps:\n  - {id: a, tools: [read_file]}\n"
	set := mustLoad(t, withSkill(skill, steps))
	if p := set.Skills["s"].Plan; p.Name != "p" || len(p.Steps) != 1 {
		t.Errorf("%+v", p)
	}
	if set.Source != "m/tools.json, m/plans/p.yaml, m/skills/s.yaml" {
		t.Errorf("source %q", set.Source)
	}
	if want := []string{
		"skill s: in no step of its plan, so never called: count",
		"run by another program, so judged here and refused by exec: count",
	}; !slices.Equal(set.Notes, want) {
		t.Errorf("notes %q, want %q", set.Notes, want)
	}
	unused := mustLoad(t, withSkill(strings.Replace(skill, "plan: p\n", "", 1), steps))
	if !slices.Contains(unused.Notes, "plans that no skill uses: p") || unused.Skills["s"].Plan != nil {
		t.Errorf("notes %q, plan %v", unused.Notes, unused.Skills["s"].Plan)
	}
	if inline := mustLoad(t, withSkill(strings.Replace(skill, "plan: p\n", "plan: {steps: [{id: a, tools: [read_file]}]}\n", 1))); inline.Revision == set.Revision {
		t.Error("the plan's name does not count")
	}
}

func TestSkillSpecs(t *testing.T) {
	set := mustLoad(t, withSkill(goodSkill))
	only := mustLoad(t, []Source{{Name: "tools.json", Data: []byte(`{"schema_version":1,"tools":{
"read_file":{"operation":"read"},"write_json_file":{"operation":"write"},"write_markdown_file":{"operation":"write"},
"run_tests":{"operation":"execute","commands":[["a"],["b"]]}}}`)}})
	for _, format := range SpecFormats() {
		got, err := set.Skills["s"].Specs(format)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := only.Specs(format); !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
	}
	if _, err := set.Skills["s"].Specs("x"); err == nil {
		t.Error("an unknown format is written")
	}
}

func TestFiles(t *testing.T) {
	one := &fstest.MapFile{Data: []byte("x")}
	got, err := Files(fstest.MapFS{
		"tools.yml": one, "plans/b.yml": one, "plans/a.JSON": one, "skills/s.yaml": one, "skills/README.md": one,
		"skills/.keep": one, "other/x.yaml": one, "s.yaml": one,
	}, "m")
	if err != nil {
		t.Fatal(err)
	}
	data := []byte("x")
	if want := []Source{
		{"m/tools.yml", data, ToolFile},
		{"m/plans/a.JSON", data, PlanFile},
		{"m/plans/b.yml", data, PlanFile},
		{"m/skills/s.yaml", data, SkillFile},
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, err := Files(fstest.MapFS{"skills/README.md": one}, ""); err != nil || got != nil {
		t.Errorf("no manifest: %v, %v", got, err)
	}

	many := fstest.MapFS{"skills/deep/s.yaml": one, "plans/x.yaml/y": one}
	_, err = Files(many, "m")
	if want := "load manifests m/plans/x.yaml: is a directory; a plan is one file right in plans/\n" +
		"load manifests m/skills/deep: is a directory; a skill is one file right in skills/"; err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	many = fstest.MapFS{}
	for i := range maxEntries + 1 {
		many["skills/"+strings.Repeat("s", i%100+1)+strings.Repeat("t", i/100)+".yaml"] = one
	}
	if _, err = Files(many, ""); err == nil || err.Error() != "load manifests skills: more than 1000 files" {
		t.Errorf("too many: %v", err)
	}
	// What is too large is cut, and Load says so.
	src, err := Files(fstest.MapFS{"tools.json": {Data: make([]byte, 2*maxFile)}}, "")
	if err != nil || len(src[0].Data) != maxFile+1 {
		t.Fatal(err)
	}
}

// TestFilesThatCannotBeRead: a name that is no file is an error, not a gap.
func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/skills", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/tools.json", 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Files(os.DirFS(dir), "m")
	if err == nil || !strings.Contains(err.Error(), "load manifests m/tools.json: ") || !strings.Contains(err.Error(), "load manifests m/skills: ") {
		t.Errorf("got %v", err)
	}
}
