package manifest

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzSkill: whatever stands in the files of a skill and a plan, Load never
// panics, and what it takes allows nothing that the set's own tools do not.
func FuzzSkill(f *testing.F) {
	f.Add(goodSkill, planOf("  - {id: a, tools: [read_file]}\n"))
	f.Add(bare+"plan: p\n", planOf("  - {id: a, tools: [read_file], completion: {succeed: {read_file: 2}, artifacts: [{path: a.json}]}}\n"))
	f.Add(bare+"narrow: {read_file: {roots: [data/x/./y, {path: logs//z, access: [list]}]}, write_json_file: {roots: ['runs/{run_id}/artifacts/q']}}\n", "")
	f.Add(bare+"narrow: {read_file: {roots: [/, .., '{run_id}', 'C:/', ~, data/..]}}\n", "x")
	f.Add(bare+"artifacts: [{path: '{x}.json', schema: {$ref: '#'}}, {path: a/b.md}]\ninstructions: '{input.{input.'\n", "[")
	f.Add(`{"schema_version":1,"name":"s","goal":"g","tools":["rename_file"],"artifacts":[{"path":"x"}]}`, "{}")
	handlers := testHandlers()
	f.Fuzz(func(t *testing.T, skill, steps string) {
		src := withSkill(skill, steps)
		if steps == "" {
			src = withSkill(skill)
		}
		set, err := Load(src, handlers)
		if err != nil {
			var problems *LoadError
			if !errors.As(err, &problems) || len(problems.Problems) == 0 || set != nil {
				t.Fatalf("a refusal without a problem: %v, %v", set, err)
			}
			return
		}
		again, err := Load(src, handlers)
		if err != nil || again.Revision != set.Revision || again.Skills["s"].Digest != set.Skills["s"].Digest {
			t.Fatalf("loads otherwise the second time: %v", err)
		}
		s := set.Skills["s"]
		if s == nil || s.Goal == "" || s.Title == "" || len(s.Names) == 0 || len(s.Names) != len(s.Tools) || s.Inputs == nil || s.Artifacts == nil {
			t.Fatalf("not total: %+v", s)
		}
		for name, tool := range s.Tools {
			narrower(t, set.Tools[name], tool)
		}
		for _, a := range s.Artifacts {
			local(t, a.Path)
		}
		if specs, err := s.Specs("mcp"); err != nil || !json.Valid(specs) {
			t.Fatalf("specs: %v", err)
		}
		planned(t, s)
	})
}

// narrower fails unless tool may do nothing that own may not.
func narrower(t *testing.T, own, tool *Tool) {
	t.Helper()
	if own == nil {
		t.Fatalf("%s is no tool of the set", tool.Name)
	}
	for _, r := range tool.Roots {
		for _, a := range r.Access {
			if !slices.ContainsFunc(own.Roots, func(o Root) bool {
				rel, err := filepath.Rel(o.Path, r.Path)
				return err == nil && filepath.IsLocal(rel) && slices.Contains(o.Access, a)
			}) {
				t.Fatalf("%s may %s in %q", tool.Name, a, r.Path)
			}
		}
	}
	wider := func(own, narrow int64) bool { return own > 0 && (narrow == 0 || narrow > own) }
	if wider(own.MaxBytes, tool.MaxBytes) || wider(own.TimeoutMS, tool.TimeoutMS) || len(tool.Roots) == 0 {
		t.Fatalf("%s is %+v", tool.Name, tool)
	}
	if len(own.Commands) > 0 && len(tool.Commands) == 0 {
		t.Fatalf("%s has no command left", tool.Name)
	}
	for _, argv := range tool.Commands {
		if !slices.ContainsFunc(own.Commands, func(o []string) bool { return slices.Equal(o, argv) }) {
			t.Fatalf("%s may run %q", tool.Name, argv)
		}
	}
}

func local(t *testing.T, path string) {
	t.Helper()
	if !filepath.IsLocal(path) || filepath.ToSlash(filepath.Clean(path)) != path || strings.ContainsAny(path, "\\\x00") {
		t.Fatalf("artifact %q", path)
	}
}

// planned fails unless the skill's plan can be followed with its tools.
func planned(t *testing.T, s *Skill) {
	t.Helper()
	if s.Plan == nil {
		return
	}
	if len(s.Plan.Steps) == 0 {
		t.Fatal("a plan without steps")
	}
	ids := map[string]bool{}
	for _, step := range s.Plan.Steps {
		if ids[step.ID] || step.ID == "" || step.Title == "" || len(step.Tools) == 0 ||
			len(step.Completion.Succeed)+len(step.Completion.Artifacts) == 0 {
			t.Fatalf("step %+v", step)
		}
		ids[step.ID] = true
		for _, tool := range step.Tools {
			if s.Tools[tool] == nil {
				t.Fatalf("step %q has tool %q", step.ID, tool)
			}
		}
		for _, one := range step.Completion.Succeed {
			if one.Times < 1 || !slices.Contains(step.Tools, one.Tool) {
				t.Fatalf("step %q waits for %+v", step.ID, one)
			}
		}
		for _, a := range step.Completion.Artifacts {
			local(t, a.Path)
		}
	}
}
