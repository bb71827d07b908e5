package main

import (
	"fmt"

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
the skill may call; ` + "`runlens skills NAME`" + ` says the rest of it.

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
