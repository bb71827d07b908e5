package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/plan"
	shippedmanifests "github.com/runlens/runlens/manifests"
)

func (w *world) skillsCommand() *cli.Command {
	return &cli.Command{
		Name:      "skills",
		Usage:     "print the declared skills, or all that one of them says",
		ArgsUsage: "[NAME]",
		Description: `A skill is one kind of agent task; docs/skills.md says how to write one. With NAME it
prints what an agent's author needs: goal, inputs, tools and what is taken from them,
limits, plan, artifacts, and the instructions that a model is told. In these the path of
an input stands for {input.NAME}: its default, or the one that --input gives.

  runlens skills
  runlens skills feedback_analysis
  runlens skills feedback_analysis --input feedback=data/june.csv
  runlens tools --skill feedback_analysis     the tools as a model sees them`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT`: text or json"},
			&cli.StringSliceFlag{Name: "input", Usage: "`NAME=PATH` of an input, for the instructions; may be given again"},
		},
		Action: w.skills,
	}
}

func (w *world) skills(c *cli.Context) error {
	if err := countFiles(c, 0, 1); err != nil {
		return err
	}
	format, err := oneOf(c, "format", "text", "json")
	if err != nil {
		return err
	}
	given, err := inputPaths(c.StringSlice("input"))
	if err != nil {
		return err
	}
	name := c.Args().First()
	if name == "" && given != nil {
		return hinted("`runlens skills NAME --input …`", "read arguments: --input is for one skill")
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	set, err := p.loadTools()
	if err != nil {
		return err
	}
	if name == "" {
		return w.listSkills(p, set, format)
	}
	s, err := p.skill(set, name)
	if err != nil {
		return err
	}
	told, err := tellSkill(set, s, given)
	if err != nil {
		return err
	}
	if p.tools.kind == embedded {
		told.Source += inRunlens
	}
	if format == "json" {
		return w.writeJSON(told)
	}
	return w.print(told.text())
}

// inRunlens marks a file that no project has.
const inRunlens = " (inside runlens)"

// listSkills prints one line a skill.
func (w *world) listSkills(p *project, set *manifest.Set, format string) error {
	type row struct {
		Name   string `json:"name"`
		Title  string `json:"title"`
		Steps  int    `json:"steps"`
		Source string `json:"source"`
	}
	rows := []row{}
	for _, name := range set.SkillNames {
		s := set.Skills[name]
		r := row{Name: name, Title: s.Title, Source: s.Where.File}
		if s.Plan != nil {
			r.Steps = len(s.Plan.Steps)
		}
		if p.tools.kind == embedded {
			r.Source += inRunlens
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		w.note("%s", p.skillHint("", nil))
	}
	if format == "json" {
		return w.writeJSON(map[string]any{"skills": rows})
	}
	table := [][]string{}
	for _, r := range rows {
		steps := "no plan"
		if r.Steps > 0 {
			steps = counted(int64(r.Steps), "step")
		}
		table = append(table, []string{r.Name, r.Title, steps, r.Source})
	}
	return w.print(columns("", table))
}

// writeJSON prints a value as one indented document.
func (w *world) writeJSON(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return hinted("", "write result: %w", err)
	}
	return w.print(b.String())
}

// skill finds a declared skill.
func (p *project) skill(set *manifest.Set, name string) (*manifest.Skill, error) {
	if s := set.Skills[name]; s != nil {
		return s, nil
	}
	return nil, hinted(p.skillHint(name, set.SkillNames), "find skill: unknown skill %s", quoted(name))
}

// skillHint says what to do about a skill that is not among those known.
func (p *project) skillHint(name string, known []string) string {
	shipped := slices.Contains(shippedSkills(), name)
	switch hint := didYouMean(name, known); {
	case shipped && p.tools.kind != embedded:
		return fmt.Sprintf("%s counts in the place of what is shipped with runlens, and declares no such skill: copy it, and the tools that it lists; see docs/skills.md", p.tools.path)
	case hint != "":
		return hint
	case len(known) > 0:
		return "one of: " + strings.Join(known, ", ") + "; docs/skills.md says how to write another"
	case p.tools.kind == manifestFile || p.tools.kind == looseFile:
		return "skills stand in a directory of manifests, beside the file of tools: skills/NAME.yaml; see docs/skills.md"
	}
	return "no skill is declared; each is a file manifests/skills/NAME.yaml; see docs/skills.md"
}

// shippedSkills are the names of the skills inside this program.
func shippedSkills() (names []string) {
	sources, err := manifest.Files(shippedmanifests.FS, "manifests")
	if err != nil {
		return nil // what is embedded can be read
	}
	for _, s := range sources {
		if s.Kind == manifest.SkillFile {
			base := s.Name[strings.LastIndexByte(s.Name, '/')+1:]
			names = append(names, strings.TrimSuffix(base, ".yaml"))
		}
	}
	return names
}

// skillTold is all that is told of one skill.
type skillTold struct {
	Name         string         `json:"name"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	Goal         string         `json:"goal"`
	Source       string         `json:"source"`
	Digest       string         `json:"digest"`
	ReadOnly     bool           `json:"read_only"`
	Inputs       []inputTold    `json:"inputs"`
	Tools        []toolTold     `json:"tools"`
	Limits       limitsTold     `json:"limits"` // of refused calls; null: the policy's alone
	Plan         *plan.Plan     `json:"plan"`
	Artifacts    []artifactTold `json:"artifacts"` // that must be there when the run stops, those of the plan too
	Instructions string         `json:"instructions"`
}

type inputTold struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Default     string `json:"default,omitempty"`
	Given       string `json:"given,omitempty"` // by --input
}

// toolTold is a tool as a run under the skill has it.
type toolTold struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Operation   string       `json:"operation"`
	Narrowed    narrowedTold `json:"narrowed"`
}

// narrowedTold is what the skill takes away; what it leaves alone is empty.
type narrowedTold struct {
	Roots     []string   `json:"roots,omitempty"`
	MaxBytes  int64      `json:"max_bytes,omitempty"`
	TimeoutMS int64      `json:"timeout_ms,omitempty"`
	Commands  [][]string `json:"commands,omitempty"`
	Patterns  []string   `json:"patterns,omitempty"` // commands with arguments that a call fills in
}

type limitsTold struct {
	InRow     *int64 `json:"in_row"`
	Total     *int64 `json:"total"`
	Malformed *int64 `json:"malformed"`
}

type artifactTold struct {
	Path   string          `json:"path"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Step   string          `json:"step,omitempty"` // that waits for it; "": only the end does
}

// tellSkill gathers what is told of a skill; given are paths of inputs.
func tellSkill(set *manifest.Set, s *manifest.Skill, given map[string]string) (*skillTold, error) {
	t := &skillTold{
		Name: s.Name, Title: s.Title, Description: s.Description, Goal: s.Goal, Source: s.Where.File, Digest: s.Digest,
		ReadOnly: s.ReadOnly, Plan: s.Plan, Inputs: []inputTold{}, Tools: []toolTold{}, Artifacts: []artifactTold{},
		Limits: limitsTold{limitOf(s.Limits.InRow), limitOf(s.Limits.Total), limitOf(s.Limits.Malformed)},
	}
	var pairs, known []string
	for _, in := range s.Inputs {
		known = append(known, in.Name)
		path := in.Default
		if given[in.Name] != "" {
			path = given[in.Name]
		}
		if path != "" {
			pairs = append(pairs, "{input."+in.Name+"}", path)
		}
		t.Inputs = append(t.Inputs, inputTold{in.Name, in.Description, in.Required, in.Default, given[in.Name]})
	}
	var errs []error
	for name := range given {
		if !slices.Contains(known, name) {
			errs = append(errs, hinted(inputHint(s), "read arguments: --input: skill %s has no input %s", s.Name, quoted(name)))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	t.Instructions = strings.NewReplacer(pairs...).Replace(s.Instructions)
	for _, name := range s.Names {
		tool := s.Tools[name]
		t.Tools = append(t.Tools, toolTold{name, tool.Description, tool.Operation, narrowedFrom(set.Tools[name], tool)})
	}
	if s.Plan != nil {
		for _, step := range s.Plan.Steps {
			for _, a := range step.Completion.Artifacts {
				t.Artifacts = append(t.Artifacts, artifactTold{a.Path, a.Schema, step.ID})
			}
		}
	}
	for _, a := range s.Artifacts {
		t.Artifacts = append(t.Artifacts, artifactTold{Path: a.Path, Schema: a.Schema})
	}
	return t, together(errs...)
}

// inputHint says which inputs a skill takes; "" when it takes none.
func inputHint(s *manifest.Skill) string {
	if len(s.Inputs) == 0 {
		return "skill " + s.Name + " takes no input"
	}
	var words []string
	for _, in := range s.Inputs {
		words = append(words, "--input "+in.Name+"=PATH")
	}
	return fmt.Sprintf("skill %s takes %s; paths count from the project", s.Name, strings.Join(words, " "))
}

func limitOf(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// narrowedFrom is what a skill's tool has less than the set's own.
func narrowedFrom(own, tool *manifest.Tool) (n narrowedTold) {
	if roots := rootWords(tool); !slices.Equal(roots, rootWords(own)) {
		n.Roots = roots
	}
	if tool.MaxBytes != own.MaxBytes {
		n.MaxBytes = tool.MaxBytes
	}
	if tool.TimeoutMS != own.TimeoutMS {
		n.TimeoutMS = tool.TimeoutMS
	}
	if !slices.EqualFunc(tool.Commands, own.Commands, slices.Equal[[]string]) {
		n.Commands = tool.Commands
	}
	if patterns := patternLines(tool); !slices.Equal(patterns, patternLines(own)) {
		n.Patterns = patterns
	}
	return n
}

func patternLines(t *manifest.Tool) (lines []string) {
	for _, parts := range t.Patterns {
		lines = append(lines, facts.CommandLine(parts))
	}
	return lines
}

// rootWords are a tool's roots, each with what it is for unless that is everything.
func rootWords(t *manifest.Tool) (words []string) {
	for _, r := range t.Roots {
		word := r.Path
		if len(r.Access) < len(manifest.Accesses()) {
			word += " (" + strings.Join(r.Access, ", ") + ")"
		}
		words = append(words, word)
	}
	return words
}
