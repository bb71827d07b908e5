package replay

import (
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// declared puts tools as the manifests declare them in the place of those that were
// recorded. It looks at no file, so that it can answer only for what the record
// knows: the objects that the call pointed at, and where the project lies. It is
// safe for concurrent use.
type declared struct {
	set *manifest.Set

	mu   sync.Mutex
	held map[declaredKey]*facts.Tool // one for all calls that have it, as the engine likes it
}

// declaredKey: the recorded tool is shared too.
type declaredKey struct {
	recorded       *facts.Tool
	now            *manifest.Tool
	runID, project string
	mount, device  int64 // of a root that the record doesn't know
}

const maxDeclared = 1000 // tools that are held

// found is an input with the tool of the manifests.
type found struct {
	in      *facts.Input
	assumed bool // with a root of which nobody knows what is there
}

// declare is the input as it would have been under the manifests; else the cause
// for which nobody can tell, and what exactly. reset: a person has reset the run's
// count of denials before.
func (d *declared) declare(in *facts.Input, reset bool) (found, Cause, string) {
	out := *in
	now := d.set.Tools[in.Call.Tool]
	if in.Skill.Present {
		skill := d.set.Skills[in.Skill.Name]
		if skill == nil {
			return found{}, Skill, in.Skill.Name
		}
		if narrowed := skill.Tools[in.Call.Tool]; narrowed != nil {
			now = narrowed
		}
		out.Skill.Tools = skill.Names
	}
	out.Run.SignedApprovals = len(d.set.Approvers) > 0
	if note := d.wholeSet(in, reset); note != "" {
		return found{}, Targets, note
	}
	if now == nil {
		if len(in.Call.Payloads) > 0 {
			return found{}, Targets, "nobody declares the tool, and what it was to write is not in the record"
		}
		if in.Tool.Declared {
			out.Tool = facts.TotalTool(&facts.Tool{Name: in.Call.Tool})
			out.Targets, out.Command, out.Sandbox = []facts.Target{}, facts.Total(&facts.Input{}).Command, noSandbox
		}
		return found{in: &out}, "", ""
	}
	if note := d.differs(in, now); note != "" {
		return found{}, Targets, note
	}
	tool, note := d.tool(in, now, projectOf(in))
	if note != "" {
		return found{}, Targets, note
	}
	out.Tool = tool
	assumed := slices.ContainsFunc(tool.Roots, func(r facts.Root) bool { return r.Param == "" && recorded(in.Tool, r.Declared) == nil })
	return found{in: &out, assumed: assumed}, "", ""
}

// wholeSet says which facts follow from all tools together and are not in the
// record: whose signature counts, which programs are protected, where links may
// have been made.
func (d *declared) wholeSet(in *facts.Input, reset bool) string {
	signed := len(d.set.Approvers) > 0 || in.Run.SignedApprovals
	if signed && (len(in.Approvals) > 0 || reset) {
		return "who may sign approvals is declared elsewhere, and nobody looked whose signature counts"
	}
	if in.Command.Executable.Planted || slices.ContainsFunc(in.Tool.Roots, func(r facts.Root) bool { return r.Place == facts.PlacePlanted }) {
		return "a link leads to a root or program that a tool could have made then, and nobody looked whether one can now"
	}
	project := projectOf(in)
	for i := range in.Targets {
		t := &in.Targets[i]
		above := t.Protected == facts.ProtectedAncestor && len(t.Segments) > 0
		if t.Protected == facts.ProtectedHandler || above {
			return "target " + t.Param + " is protected, maybe as a program of the tools of then"
		}
		if t.Protected == "" && !slices.Contains([]string{facts.Read, facts.List, facts.Search}, t.Access) && d.servedBelow(t.Path, project) {
			return "target " + t.Param + " is, or holds, a program of the tools of now"
		}
	}
	if note := d.plantedNow(in, project); note != "" {
		return note
	}
	if exe := &in.Command.Executable; exe.InProject && exe.Protected == facts.ProtectedHandler {
		return "the program is protected, maybe as one of the tools of then"
	}
	return ""
}

// servedBelow tells whether the program of a tool is at a path or below it.
func (d *declared) servedBelow(at, project string) bool {
	serves := func(tools map[string]*manifest.Tool) bool {
		for _, t := range tools {
			if program := from(project, t.Program); strings.Contains(t.Program, "/") && strings.HasPrefix(program+"/", strings.TrimRight(at, "/")+"/") {
				return true
			}
		}
		return false
	}
	for _, s := range d.set.Skills {
		if serves(s.Tools) {
			return true
		}
	}
	return serves(d.set.Tools)
}

// from is a path that counts from the project.
func from(project, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(project, name)
}

// noSandbox is what a call has that starts no program.
var noSandbox = facts.Sandbox{Level: "none"}

// differs says what the call would have pointed at, or would have been, that the
// record doesn't hold; "" when it holds all.
func (d *declared) differs(in *facts.Input, now *manifest.Tool) string {
	was := in.Tool
	switch {
	case !was.Declared:
		if len(now.Targets) > 0 || now.Operation == facts.Execute || now.Program != "" || len(now.Payload) > 0 {
			return "the tool was declared by nobody then, so that nobody looked"
		}
		return ""
	case (was.Operation == facts.Execute) != (now.Operation == facts.Execute), in.Command.Present != (now.Operation == facts.Execute || now.Program != ""),
		in.Command.Present && (was.Handler != now.Handler || was.Sandbox != now.Sandbox || was.Network != now.Network):
		return "the tool runs another program, or runs it otherwise"
	case in.Command.Present && in.Command.Dir != from(projectOf(in), now.Dir):
		return "the program works in another directory, or in one that nobody looked at"
	case len(in.Targets) > 0 && (was.Absolute != now.Absolute || was.CreateParents != now.CreateParents):
		return "absolute or create_parents is declared otherwise"
	case len(was.Patterns) != len(now.Patterns), !d.samePatterns(in, now):
		return "the commands of which a call fills in some arguments are others"
	}
	if note := differentPayload(in, now); note != "" {
		return note
	}
	return differentTargets(in, now)
}

func (d *declared) samePatterns(in *facts.Input, now *manifest.Tool) bool {
	return reflect.DeepEqual(in.Tool.Patterns, filledPatterns(now, in.Run.ID)) || len(now.Patterns) == 0 && len(in.Tool.Patterns) == 0
}

// filledPatterns are the tool's in a run, in their recorded form.
func filledPatterns(t *manifest.Tool, runID string) [][]facts.Part {
	list := make([][]facts.Part, len(t.Patterns))
	for i, parts := range t.Patterns {
		list[i] = slices.Clone(parts)
		for k := range list[i] {
			list[i][k].Root = fill(list[i][k].Root, runID)
			if list[i][k].Values == nil {
				list[i][k].Values = []string{}
			}
		}
	}
	return list
}

// differentPayload: which arguments are content decides what the record holds, and
// the handler how many bytes it is.
func differentPayload(in *facts.Input, now *manifest.Tool) string {
	if len(in.Call.Payloads) > 0 && in.Tool.Handler != now.Handler {
		return "another handler would make other bytes of the content"
	}
	for _, p := range in.Call.Payloads {
		if !slices.ContainsFunc(now.Payload, func(name string) bool { return "/"+escapePointer(name) == p.Pointer }) {
			return "what was content then, " + p.Pointer + ", is an ordinary argument now"
		}
	}
	for _, name := range now.Payload {
		if _, given := in.Call.Arguments[name]; given {
			return "what was an ordinary argument then, " + name + ", is content now"
		}
	}
	return ""
}

// differentTargets compares what the call points at by the manifests with what was
// looked at. Targets that are arguments of a command follow from its pattern.
func differentTargets(in *facts.Input, now *manifest.Tool) string {
	var own []facts.Target
	for _, t := range in.Targets {
		if t.Position == 0 && !t.Entry {
			own = append(own, t)
		}
	}
	if len(own) != len(now.Targets) {
		return "the tool has another number of targets"
	}
	for i, t := range now.Targets {
		raw, requested, present := now.Expand(t, in.Call.Arguments, in.Run.ID)
		if !present || slices.ContainsFunc(t.Params(), func(name string) bool { return withheld(in, name) }) {
			raw, requested = "", ""
		} else if len(t.Params()) == 0 {
			raw = requested
		}
		was := own[i]
		if was.Param != t.Param || was.Access != t.Access || was.Recursive != t.Recursive || was.Raw != raw || was.Requested != requested {
			return "target " + t.Param + " (" + t.Access + ") is another object, or is looked at otherwise"
		}
	}
	return ""
}

func withheld(in *facts.Input, param string) bool {
	return slices.ContainsFunc(in.Call.Withheld, func(w facts.Withheld) bool {
		return w.Pointer == "/"+escapePointer(param) || w.Pointer == "/*"
	})
}

func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// tool is the recorded form of a declared tool in the run of an input.
func (d *declared) tool(in *facts.Input, now *manifest.Tool, project string) (*facts.Tool, string) {
	key := declaredKey{recorded: in.Tool, now: now, runID: in.Run.ID, project: project}
	key.mount, key.device = mountOf(in)
	d.mu.Lock()
	defer d.mu.Unlock()
	if have := d.held[key]; have != nil {
		return have, ""
	}
	roots, note := rootsNow(in, now, &key)
	if note != "" {
		return nil, note
	}
	t := facts.TotalTool(&facts.Tool{
		Declared: true, Name: now.Name, Operation: now.Operation, Handler: now.Handler, Roots: roots,
		MaxBytes: now.MaxBytes, TimeoutMS: now.TimeoutMS, Commands: now.Commands, Patterns: filledPatterns(now, in.Run.ID),
		Absolute: now.Absolute, CreateParents: now.CreateParents, Network: now.Network, Sandbox: now.Sandbox,
	})
	if d.held == nil || len(d.held) >= maxDeclared {
		d.held = map[declaredKey]*facts.Tool{}
	}
	d.held[key] = t
	return t, ""
}

// rootsNow are the roots that the manifests declare. What the record knows of a
// root is kept; one that it doesn't know is taken to be a directory of that name.
func rootsNow(in *facts.Input, now *manifest.Tool, key *declaredKey) ([]facts.Root, string) {
	list := make([]facts.Root, 0, len(now.Roots))
	for _, r := range now.Roots {
		name := fill(r.Path, in.Run.ID)
		root := facts.Root{Declared: name, Access: r.Access, MountID: key.mount, Device: key.device}
		switch have := recorded(in.Tool, name); {
		case have != nil:
			root = *have
			root.Declared, root.Access = name, r.Access
		case in.Command.Present:
			return nil, "a program sees the root " + name + ", and nobody looked how that stands to protected places"
		case key.project == "" && !path.IsAbs(name):
			return nil, "nothing tells where the project lies, so nobody knows the root " + name
		default:
			root.Path, root.Exists = from(key.project, name), true
		}
		root.Prefix = strings.TrimRight(root.Path, "/") + "/"
		list = append(list, root)
	}
	for _, r := range in.Tool.Roots {
		if r.Param != "" { // of a command's argument; the commands are the same
			list = append(list, r)
		}
	}
	return list, ""
}

// mountOf is the mount that a root which the record doesn't know is taken to be on:
// that of what the call points at, so that a call which such a root could let through
// is told.
func mountOf(in *facts.Input) (id, device int64) {
	for _, t := range in.Targets {
		if t.Resolution == facts.OK || t.Resolution == facts.Absent {
			return t.MountID, t.Device
		}
	}
	for _, r := range in.Tool.Roots {
		if r.Exists {
			return r.MountID, r.Device
		}
	}
	return 0, 0
}

// recorded is what the record knows of a root.
func recorded(t *facts.Tool, declared string) *facts.Root {
	for i := range t.Roots {
		if r := &t.Roots[i]; path.Clean(r.Declared) == path.Clean(declared) && r.Param == "" {
			return r
		}
	}
	return nil
}

// projectOf is the directory of the project, "" when nothing in the input tells: an
// object that lies in it does, else roots that agree about it.
func projectOf(in *facts.Input) string {
	for _, t := range in.Targets {
		if !t.InProject || t.Path == "" {
			continue
		}
		if len(t.Segments) == 0 {
			return t.Path
		}
		if p, ok := strings.CutSuffix(t.Path, "/"+strings.Join(t.Segments, "/")); ok {
			return p
		}
	}
	project := ""
	for _, r := range in.Tool.Roots {
		if path.IsAbs(r.Declared) || r.Param != "" {
			continue
		}
		p, ok := r.Path, path.Clean(r.Declared) == "."
		if !ok {
			p, ok = strings.CutSuffix(r.Path, "/"+path.Clean(r.Declared))
		}
		if !ok || project != "" && p != project {
			return ""
		}
		project = p
	}
	return project
}

// fill puts the run's name into a path that the manifests declare.
func fill(declared, runID string) string { return strings.ReplaceAll(declared, "{run_id}", runID) }
