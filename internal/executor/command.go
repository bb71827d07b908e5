package executor

import (
	"path"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// openCommand finds the program of an execute tool in the manifest's path, opens
// the directory that it would work in, and what its arguments point at.
func (p *proposal) openCommand() {
	if p.tool.Program != "" {
		p.openProgram()
		return
	}
	if p.tool.Operation != facts.Execute {
		return
	}
	argv := p.argv()
	p.input.Command = facts.Command{Present: true, Argv: argv, Run: argv, Dir: p.openDir()}
	p.input.Command.Executable.Resolution = facts.NotFound
	p.input.Command.Executable.Kind = facts.None
	if len(argv) > 0 {
		p.input.Command.Executable, p.exe = p.x.executable(argv[0])
	}
	p.openArguments()
	p.openConfinement()
}

// argv is the call's own argv without what must not be recorded, else what the
// tool makes of its other arguments.
func (p *proposal) argv() []string {
	args := p.input.Call.Arguments
	list, given := args["argv"].([]any)
	if !given {
		if _, any := p.call.Arguments["argv"]; any {
			return []string{} // withheld as a whole, or no list
		}
		if argv, ok := p.tool.Argv(args); ok {
			return argv
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

// openDir opens the directory that the tool's program works in, and returns its
// canonical path; "" when it is no directory of the project, in a protected place,
// whatever links lead there, or behind a link that a tool could have made.
func (p *proposal) openDir() string {
	dir := p.tool.Dir
	if dir == "" {
		dir = "."
	}
	o := p.x.resolver.Resolve(resolve.Request{Access: facts.Execute, Raw: dir, Requested: dir})
	f := &o.Facts
	refused := f.Resolution != facts.OK || f.Kind != facts.Directory || !f.InProject || f.Protected != "" || p.x.planted()(dir, f.Path)
	if !refused && p.tool.Dir != "" {
		refused = slices.ContainsFunc(p.x.resolver.Shadowed(), func(place string) bool { return within(f.Path, place) })
	}
	if refused {
		o.Close()
		return ""
	}
	p.dir = o
	return f.Path
}

// openArguments finds the one declared command that counts for the call, and opens
// what its path arguments point at: only that command says which arguments are
// paths, and how it is run. A command that is declared word by word has no paths.
func (p *proposal) openArguments() {
	c := &p.input.Command
	if slices.ContainsFunc(p.tool.Commands, func(argv []string) bool { return slices.Equal(argv, c.Argv) }) {
		return
	}
	i := slices.IndexFunc(p.tool.Patterns, func(pattern []facts.Part) bool { return takes(pattern, c.Argv) })
	c.Pattern = int64(i + 1)
	if i < 0 || p.dir == nil {
		return
	}
	c.Run = slices.Clone(c.Argv)
	for at, part := range p.tool.Patterns[i] {
		if part.Kind != facts.Path {
			continue
		}
		if word, found := p.argumentWord(p.openArgument(part, at)); found {
			c.Run[at] = word
		}
	}
}

// takes says whether argv is an instance of a pattern by its text.
func takes(pattern []facts.Part, argv []string) bool {
	if len(pattern) != len(argv) || len(argv) == 0 {
		return false
	}
	for i, part := range pattern {
		if !part.Takes(argv[i]) {
			return false
		}
	}
	return true
}

// openArgument opens the target that one argument of the command is.
func (p *proposal) openArgument(part facts.Part, at int) facts.Target {
	raw := p.input.Command.Argv[at]
	o := p.run.open(resolve.Request{
		Param: part.Arg, Access: part.Access, Raw: raw, Requested: raw, Absolute: p.tool.Absolute, Dir: p.dir,
	})
	o.Facts.Position = int64(at + 1)
	p.targets = append(p.targets, target{Target: manifest.Target{Param: part.Arg, Access: part.Access}, object: o})
	p.input.Targets = append(p.input.Targets, o.Facts)
	return o.Facts
}

// argumentWord is how an argument that is a path is given to the program: by the
// canonical path of what was opened, from the working directory where it lies in
// that. No program can take it for an option, or for a list of other arguments.
func (p *proposal) argumentWord(t facts.Target) (word string, found bool) {
	if t.Resolution != facts.OK && t.Resolution != facts.Absent {
		return "", false
	}
	dir := p.input.Command.Dir
	if !within(t.Path, dir) {
		return t.Path, true
	}
	word = strings.TrimPrefix(strings.TrimPrefix(t.Path, dir), "/")
	switch {
	case word == "":
		return ".", true
	case strings.ContainsRune("-@+", rune(word[0])):
		return "./" + word, true
	}
	return word, true
}

// childEnv is the whole environment of a child. Nothing of RunLens' own
// environment reaches it; more is what its tool declares.
func childEnv(path []string, confined bool, more ...string) []string {
	home, temp := "/nonexistent", "/tmp"
	if confined {
		home, temp = sandbox.Home, sandbox.Temp
	}
	env := []string{"PATH=" + strings.Join(path, ":"), "HOME=" + home, "TMPDIR=" + temp}
	if !slices.ContainsFunc(more, func(v string) bool { return strings.HasPrefix(v, "LANG=") }) {
		env = append(env, "LANG=C.UTF-8")
	}
	return append(env, more...)
}

// argumentRoots are the roots of path arguments: each counts only while it lies in
// one of the tool's roots, as they are now, that has its access, and no tool could
// have made the link that leads there.
func (r *run) argumentRoots(t *manifest.Tool, roots []facts.Root) (list []facts.Root) {
	for _, parts := range t.Patterns {
		for _, part := range parts {
			if part.Kind != facts.Path {
				continue
			}
			f := r.x.rootsOf([]resolve.RootSpec{{Declared: fill(part.Root, r.id), Access: []string{part.Access}}})
			if r.virtual {
				r.x.virtualRoots(f)
			} else if r.isElsewhere(f[0]) {
				continue
			}
			root := f[0]
			root.Param = part.Arg
			inside := root.Place == "" && slices.ContainsFunc(roots, func(w facts.Root) bool {
				return slices.Contains(w.Access, part.Access) && strings.HasPrefix(root.Prefix, w.Prefix)
			})
			if inside && !slices.ContainsFunc(list, func(have facts.Root) bool { return equalRoots(have, root) }) {
				list = append(list, root)
			}
		}
	}
	return list
}

// patterns are the tool's in a run.
func patterns(t *manifest.Tool, runID string) [][]facts.Part {
	list := make([][]facts.Part, 0, len(t.Patterns))
	for _, parts := range t.Patterns {
		parts = slices.Clone(parts)
		for i := range parts {
			parts[i].Root = fill(parts[i].Root, runID)
		}
		list = append(list, parts)
	}
	return list
}

// fill puts the run's name into a path that the manifest declares.
func fill(declared, runID string) string { return strings.ReplaceAll(declared, "{run_id}", runID) }

// fromProject is a request for something below a directory of the project as one
// that counts from the project; false when it can't be told as that.
func fromProject(req resolve.Request) (resolve.Request, bool) {
	if req.Dir == nil {
		return req, true
	}
	if req.Requested == "" || path.IsAbs(req.Requested) || !req.Dir.Facts.InProject {
		return req, false
	}
	req.Requested = relative(req.Dir.Facts) + "/" + req.Requested
	req.Dir = nil
	return req, true
}
