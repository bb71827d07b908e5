package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/manifest"
)

func (w *world) toolsCommand() *cli.Command {
	return &cli.Command{
		Name:  "tools",
		Usage: "print the declared tools as a model sees them",
		Description: `Name, description and input schema of each tool, never its handler, roots or limits.
How many were loaded stands on stderr. With --skill exactly those that a run under
the skill may call.

  runlens tools --format openai > tools.openai.json
  loaded_tools=2 schema_version=1`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "json", Usage: "`FORMAT`: openai, anthropic, mcp or json"},
			&cli.StringFlag{Name: "skill", Usage: "only the tools of the skill `NAME`"},
		},
		Action: w.tools,
	}
}

func (w *world) tools(c *cli.Context) error {
	if err := countFiles(c, 0, 0); err != nil {
		return err
	}
	format, err := oneOf(c, "format", manifest.SpecFormats()...)
	if err != nil {
		return err
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	set, err := p.loadTools()
	if err != nil {
		return err
	}
	write := set.Specs
	if name := c.String("skill"); name != "" {
		skill, err := p.skill(set, name)
		if err != nil {
			return err
		}
		write = skill.Specs
	}
	specs, err := write(format)
	if err != nil {
		return err
	}
	w.loaded(set)
	return w.write(specs)
}

// skill finds a declared skill.
func (p *project) skill(set *manifest.Set, name string) (*manifest.Skill, error) {
	if s := set.Skills[name]; s != nil {
		return s, nil
	}
	hint := didYouMean(name, set.SkillNames)
	switch {
	case hint != "":
	case len(set.SkillNames) > 0:
		hint = "one of: " + strings.Join(set.SkillNames, ", ")
	case p.tools.kind == manifestFile || p.tools.kind == looseFile:
		hint = "skills stand in a directory of manifests, beside the file of tools: skills/NAME.yaml"
	default:
		hint = "a skill is declared in manifests/skills/NAME.yaml"
	}
	return nil, hinted(hint, "find skill: unknown skill %s", quoted(name))
}

// loaded says on stderr what was loaded.
func (w *world) loaded(set *manifest.Set) {
	fmt.Fprintf(w.stderr, "loaded_tools=%d schema_version=%d\n", len(set.Names), manifest.Version)
}

// openNoted is open, and says on stderr which tools a project declares.
func (p *project) openNoted() (*executor.Executor, error) {
	x, set, err := p.open(true)
	if err == nil && p.tools.kind != embedded {
		p.w.loaded(set)
	}
	return x, err
}
