package executor

import (
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/resolve"
)

// openCommand finds the program of an execute tool in the manifest's path.
func (p *proposal) openCommand() {
	if p.tool.Program != "" {
		p.openProgram()
		return
	}
	if p.tool.Operation != facts.Execute {
		return
	}
	argv := p.argv()
	p.input.Command = facts.Command{Present: true, Argv: argv, Run: argv}
	p.input.Command.Executable.Resolution = facts.NotFound
	p.input.Command.Executable.Kind = facts.None
	if len(argv) > 0 {
		p.input.Command.Executable, p.exe = p.x.resolver.Executable(argv[0], p.x.cfg.Tools.Path)
	}
	p.dir = p.x.resolver.Resolve(resolve.Request{Access: facts.Execute, Raw: ".", Requested: "."})
	p.openConfinement()
}

// argv is the call's own argv without what must not be recorded, else the only
// declared command.
func (p *proposal) argv() []string {
	list, given := p.input.Call.Arguments["argv"].([]any)
	if !given {
		if _, any := p.call.Arguments["argv"]; !any && len(p.tool.Commands) == 1 {
			return slices.Clone(p.tool.Commands[0])
		}
		return []string{}
	}
	argv := make([]string, 0, len(list))
	for _, e := range list {
		s, _ := e.(string)
		argv = append(argv, s)
	}
	return argv
}

// childEnv is the whole environment of a child. Nothing of RunLens' own
// environment reaches it.
func childEnv(path []string, confined bool) []string {
	home, temp := "/nonexistent", "/tmp"
	if confined {
		home, temp = sandbox.Home, sandbox.Temp
	}
	return []string{"PATH=" + strings.Join(path, ":"), "LANG=C.UTF-8", "HOME=" + home, "TMPDIR=" + temp}
}
