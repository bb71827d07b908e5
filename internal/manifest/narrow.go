package manifest

import (
	"path"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// allow reads which tools a run under the skill may call.
func (d *skillDraft) allow() {
	n := d.decl.get("tools")
	switch {
	case n == nil:
		d.at.add(d.decl.line, "list the tools that a run may call", "tools is missing")
		d.unread, d.unsure = true, true
		return
	case n.kind == listKind && len(n.items) == 0:
		d.at.add(n.line, "list the tools that a run may call", "tools is empty, so nothing could be called")
	}
	d.listed = d.at.namedTexts(n, "tools")
	d.unread = n.kind != listKind || n.bad
	d.unsure = d.unread
	for _, t := range d.listed {
		d.l.knownTool(t, d.at)
		tool := d.l.set.Tools[t.name]
		if tool == nil {
			d.unsure = true // reported above, or where it is declared
			continue
		}
		if d.ReadOnly && tool.changes() {
			d.at.add(t.line, "leave it out, or take read_only away", "tool %s changes something, and the skill is read_only", quoted(t.name))
		}
		narrowed := *tool
		d.Tools[t.name] = &narrowed
		d.Names = append(d.Names, t.name)
	}
	slices.Sort(d.Names)
}

// knownTool reports a tool that no file declares. A tool that is declared and
// did not load is known.
func (l *loader) knownTool(t named, at place) bool {
	if _, declared := l.where[t.name]; declared || l.unread {
		return declared
	}
	known := make([]string, 0, len(l.where))
	for name := range l.where {
		known = append(known, name)
	}
	slices.Sort(known)
	fix := meant(t.name, known)
	if fix == "" {
		fix = "declare it among the tools, or leave it out"
	}
	at.add(t.line, fix, "unknown tool %s", quoted(t.name))
	return false
}

// changes tells whether a call of the tool may change something; a read-only
// run refuses such calls.
func (t *Tool) changes() bool {
	changing := []string{facts.Write, facts.Delete, facts.Execute}
	return t.Operation == facts.Rename || slices.Contains(changing, t.Operation) ||
		slices.ContainsFunc(t.Targets, func(g Target) bool { return slices.Contains(changing, g.Access) })
}

func (d *skillDraft) lists(tool string) bool {
	return slices.ContainsFunc(d.listed, func(n named) bool { return n.name == tool })
}

var narrowKeys = []string{"roots", "max_bytes", "timeout_ms", "commands"}

// narrow takes away from tools what the skill does not need. Nothing is added:
// what the tool itself may not is refused.
func (d *skillDraft) narrow() {
	n := d.decl.get("narrow")
	if n == nil || !d.at.want(n, "narrow", objectKind) {
		return
	}
	for _, f := range n.fields {
		at := d.at
		if !d.lists(f.name) && !d.unread {
			fix := meant(f.name, namesOf(d.listed))
			if fix == "" {
				fix = "add it there, or leave it out here"
			}
			at.add(f.line, fix, "narrow names %s, which tools does not list", quoted(f.name))
			continue
		}
		at.subject += "narrow " + quoted(f.name) + ": "
		if !at.want(f.value, "the declaration", objectKind) {
			continue
		}
		at.unknownKeys(f.value, narrowKeys, "")
		if tool := d.Tools[f.name]; tool != nil {
			(&narrowing{tool: tool, declared: d.l.drafts[f.name], at: at}).read(f.value)
		}
	}
}

// narrowing is one tool while it is narrowed: a copy of the set's own.
type narrowing struct {
	tool     *Tool
	declared *draft // as the set has it
	at       place
}

func (w *narrowing) read(decl *node) {
	for _, f := range decl.fields {
		switch f.name {
		case "max_bytes":
			w.limit(f, w.at.positive(f.value, f.name, ownLimit), &w.tool.MaxBytes)
		case "timeout_ms":
			w.limit(f, w.at.deadline(f.value, f.name, ownLimit), &w.tool.TimeoutMS)
		case "commands":
			w.commands(f.value)
		case "roots":
			w.roots(f.value)
		}
	}
	if decl.get("roots") != nil {
		w.pathsFit(decl)
	}
}

// own says where the tool itself is declared.
func (w *narrowing) own() string {
	return "a skill only narrows; the tool is declared in " + w.tool.Where.String()
}

// ownRoots says which roots the tool itself has for some accesses.
func (w *narrowing) ownRoots(accesses ...string) string {
	var own []string
	for _, r := range w.tool.Roots {
		if slices.ContainsFunc(accesses, func(a string) bool { return slices.Contains(r.Access, a) }) {
			own = append(own, quoted(r.Path))
		}
	}
	if own == nil {
		own = []string{"none"}
	}
	return w.own() + ", with " + strings.Join(own, ", ")
}

const ownLimit = "leave it out for the tool's own"

// limit lowers a limit to v, or sets one that the tool does not have.
func (w *narrowing) limit(f field, v int64, limit *int64) {
	if v > 0 && *limit > 0 && v > *limit {
		w.at.add(f.value.line, w.own(), "%s is %d, more than the tool's %d", f.name, v, *limit)
		return
	}
	if v > 0 {
		*limit = v
	}
}

func (w *narrowing) commands(n *node) {
	switch {
	case w.tool.Program != "":
		w.at.add(n.line, "leave it out", "the tool has no commands: handler %s runs it", quoted(w.tool.Handler))
		return
	case w.tool.Operation != facts.Execute:
		w.at.add(n.line, "leave it out", "commands is for operation %s, not %s", quoted(facts.Execute), quoted(w.tool.Operation))
		return
	}
	if !w.at.want(n, "commands", listKind) {
		return
	}
	if len(n.items) == 0 {
		w.at.add(n.line, "leave the tool out of tools", "commands is empty, so nothing could run")
	}
	d := &draft{Tool: &Tool{Absolute: true, Commands: [][]string{}}, at: w.at} // as root: the tool has no absolute one unless it may
	for _, item := range n.items {
		if parts, ok := d.command(item); ok && !w.tool.has(parts) {
			w.at.add(item.line, w.own(), "commands has one that the tool does not have")
		}
	}
	w.tool.Commands, w.tool.Patterns = d.Commands, kept(w.tool.Patterns, d)
	w.input()
}

// kept are those of a tool's patterns that are left, in the tool's own order:
// the first that fits counts, and a skill does not change which that is.
func kept(own [][]facts.Part, left *draft) (out [][]facts.Part) {
	for _, pattern := range own {
		if left.has(pattern) {
			out = append(out, pattern)
		}
	}
	return out
}

// input builds the default input schema anew: with one command left, its arguments
// come by name. A tool without arguments keeps its schema, and with it the revision
// of every skill that was written before there were any.
func (w *narrowing) input() {
	if len(w.declared.Patterns) == 0 || w.declared.said("input_schema") {
		return
	}
	d := *w.declared
	d.Tool, d.at = w.tool, w.at
	if s := compileSchema(d.derivedInput(), "input_schema", w.at, d.known); s != nil {
		w.tool.Input = s
	}
}

// pathsFit refuses a command that is left with a path below no root that is left.
func (w *narrowing) pathsFit(decl *node) {
	for _, pattern := range w.tool.Patterns {
		for _, p := range pattern {
			if p.Kind == facts.Path && !w.tool.hasRoot(p.Root, p.Access) {
				w.at.add(decl.lineOf("roots"), "keep that root, or leave the command out of commands",
					"no root is left for argument %s, a path in %s", quoted(p.Arg), quoted(p.Root))
			}
		}
	}
}

// roots replaces the tool's roots by some that lie inside them. A root that
// names no access is for those that the tool has there.
func (w *narrowing) roots(n *node) {
	if !w.at.want(n, "roots", listKind) {
		return
	}
	if len(n.items) == 0 {
		w.at.add(n.line, "leave it out for the tool's own, or name a directory", "roots is empty, so nothing could be touched")
		return
	}
	before := len(w.at.problems.list)
	roots := []Root{}
	for _, item := range n.items {
		r, ok := w.root(item)
		if !ok {
			continue
		}
		if slices.ContainsFunc(roots, func(o Root) bool { return path.Clean(o.Path) == path.Clean(r.Path) }) {
			w.at.add(item.line, "", "roots names %s twice", quoted(r.Path))
		}
		roots = append(roots, r)
	}
	if len(w.at.problems.list) > before {
		return
	}
	for _, t := range w.tool.Targets {
		if !slices.ContainsFunc(roots, func(r Root) bool { return slices.Contains(r.Access, t.Access) }) {
			w.at.add(n.line, "", "no root is left for access %s, which a target has", quoted(t.Access))
		}
	}
	w.tool.Roots = roots
}

func (w *narrowing) root(n *node) (Root, bool) {
	before := len(w.at.problems.list)
	d := &draft{Tool: &Tool{Absolute: true}, at: w.at} // an absolute one lies outside those of a tool that has none
	d.declaredRoot(n)
	if len(w.at.problems.list) > before || len(d.Roots) != 1 {
		return Root{}, false
	}
	r := d.Roots[0]
	said := n.kind == objectKind && n.get("access") != nil
	var has []string
	for _, a := range r.Access {
		if w.tool.hasRoot(r.Path, a) {
			has = append(has, a)
		} else if said {
			w.at.add(n.line, w.ownRoots(a), "root %s lies outside the tool's own roots for access %s", quoted(r.Path), quoted(a))
		}
	}
	if !said {
		if has == nil {
			w.at.add(n.line, w.ownRoots(Accesses()...), "root %s lies outside the tool's own roots", quoted(r.Path))
		}
		r.Access = has
	}
	return r, len(w.at.problems.list) == before
}

// hasRoot tells whether a path is, or lies below, a root for an access.
func (t *Tool) hasRoot(p, access string) bool {
	return slices.ContainsFunc(t.Roots, func(r Root) bool {
		return slices.Contains(r.Access, access) && inside(p, r.Path)
	})
}

// inside tells whether p is dir or lies below it, going by the names. Neither
// holds "..", and {run_id} is one name like any other.
func inside(p, dir string) bool {
	if isAbsolute(p) != isAbsolute(dir) {
		return false
	}
	p, dir = path.Clean(p), path.Clean(dir)
	return p == dir || dir == "." || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

func isAbsolute(p string) bool { return path.IsAbs(p) || isDrive(p) }
