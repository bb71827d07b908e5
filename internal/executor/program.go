package executor

import (
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// openProgram finds the program that is the tool's handler, opens the directory
// that it would work in, and what it would see.
func (p *proposal) openProgram() {
	argv := []string{p.tool.Program}
	p.input.Command = facts.Command{Present: true, Argv: argv, Run: argv, Dir: p.openDir()}
	p.input.Command.Executable, p.exe = p.x.executable(p.tool.Program)
	p.placeTargets()
	p.openConfinement()
}

// grantProgram adds what a handler that is a program gets and no other.
func (p *proposal) grantProgram(g *handlers.Grant) {
	g.Payload = map[string]any{}
	for _, name := range p.tool.Payload {
		if v, given := p.call.Arguments[name]; given {
			g.Payload[name] = v
		}
	}
	if v, given := p.call.Arguments["argv"]; given && g.Objects["argv"] == nil && g.Payload["argv"] == nil {
		g.Args["argv"] = v // an argument like any other
	}
	for _, t := range p.targets {
		name := t.Param
		if name == "" {
			name = t.Template
		}
		g.Targets = append(g.Targets, handlers.Target{
			Name: name, Access: t.Access, Object: t.object, Declared: relative(t.object.Facts),
		})
	}
	g.Writes = smallest(p.out.MaxBytes, p.x.settings.WriteBytes)
	g.Fits = func(output map[string]any) error {
		if err := p.fits(output); err != nil {
			return err
		}
		return nil
	}
}

// programPlaces are the programs that the set binds to tools by their path: whoever
// could change one would do what its tools may. A skill's tools have the programs
// of the set's own.
func programPlaces(set *manifest.Set) []resolve.Place {
	var list []resolve.Place
	add := func(tools map[string]*manifest.Tool) {
		for _, t := range tools {
			place := resolve.Place{Path: t.Program, Class: facts.ProtectedHandler}
			if strings.Contains(t.Program, "/") && !slices.ContainsFunc(list, func(have resolve.Place) bool { return have.Path == place.Path }) {
				list = append(list, place)
			}
		}
	}
	add(set.Tools)
	for _, s := range set.Skills {
		add(s.Tools)
	}
	slices.SortFunc(list, func(a, b resolve.Place) int { return strings.Compare(a.Path, b.Path) })
	return list
}
