package manifest

import (
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

var targetKeys = []string{"param", "access", "template", "recursive", "default"}

func (d *draft) targets() {
	n := d.decl.get("targets")
	if n == nil {
		d.Targets = append([]Target{}, d.handler.Targets...)
		return
	}
	d.Targets = []Target{}
	if !d.at.want(n, "targets", listKind) {
		return
	}
	for _, item := range n.items {
		if !d.at.want(item, "a target", objectKind) {
			continue
		}
		d.at.unknownKeys(item, targetKeys, "target: ")
		d.Targets = append(d.Targets, d.target(item))
	}
}

func (d *draft) target(n *node) Target {
	var t Target
	for _, f := range n.fields {
		switch f.name {
		case "param":
			if t.Param = d.at.text(f.value, "param"); t.Param == "" && f.value.kind == stringKind {
				d.at.add(f.line, "", "a target's param is empty")
			}
		case "access":
			t.Access = d.at.oneOf(f.value, "access", Accesses())
		case "template":
			if t.Template = d.at.text(f.value, "template"); t.Template == "" && f.value.kind == stringKind {
				d.at.add(f.line, "", "a target's template is empty")
			}
		case "recursive":
			t.Recursive = d.at.boolean(f.value, "recursive")
		case "default":
			if t.Default = d.at.text(f.value, "default"); t.Default == "" && f.value.kind == stringKind {
				d.at.add(f.line, "", "a target's default is empty")
			}
		}
	}
	if n.get("access") == nil {
		needs := neededAccess(d.Operation)
		if len(needs) != 1 || len(needs[0]) != 1 {
			d.at.add(n.line, "one of "+strings.Join(Accesses(), ", "), "a target's access is missing")
		} else {
			t.Access = needs[0][0]
		}
	}
	if n.get("param") == nil && n.get("template") == nil {
		d.at.add(n.line, "", "a target has neither param nor template")
	}
	return t
}

// neededAccess is what an operation does to objects: a target for one of each
// group must be declared.
func neededAccess(operation string) [][]string {
	switch operation {
	case facts.Read, facts.List, facts.Write, facts.Delete:
		return [][]string{{operation}}
	case facts.Search:
		return [][]string{{facts.Read, facts.List}}
	case facts.Rename:
		return [][]string{{facts.Read}, {facts.Delete}, {facts.Write}}
	}
	return nil
}

// possibleAccess is what targets of an operation may do: a tool that says it
// reads must not declare that it writes.
func possibleAccess(operation string) []string {
	switch operation {
	case facts.Read, facts.List, facts.Search, facts.Compute:
		return []string{facts.Read, facts.List}
	case facts.Write:
		return []string{facts.Read, facts.List, facts.Write}
	case facts.Delete:
		return []string{facts.Read, facts.List, facts.Delete}
	case facts.Rename:
		return []string{facts.Read, facts.List, facts.Delete, facts.Write}
	case facts.Fetch:
		return []string{facts.Read, facts.List, facts.Write}
	}
	return Accesses()
}

var rootKeys = []string{"path", "access"}

func (d *draft) roots() {
	n := d.decl.get("roots")
	switch {
	case n == nil && d.handler.Roots != nil:
		d.Roots = []Root{}
		for _, r := range d.handler.Roots {
			d.root(r, d.Where.Line, nil)
		}
	case n == nil:
		d.Roots = d.defaultRoots()
	case d.at.want(n, "roots", listKind):
		d.Roots = []Root{}
		if len(n.items) == 0 {
			d.at.add(n.line, "leave it out for the defaults, or name a directory", "roots is empty, so nothing could be touched")
		}
		for _, item := range n.items {
			d.declaredRoot(item)
		}
	}
}

func (d *draft) declaredRoot(n *node) {
	if n.kind == stringKind && !n.bad {
		d.root(Root{Path: n.text}, n.line, nil)
		return
	}
	if n.bad {
		return
	}
	if n.kind != objectKind {
		d.at.add(n.line, "", "a root must be a string or an object, not %s", n.kind)
		return
	}
	d.at.unknownKeys(n, rootKeys, "root: ")
	p, access := n.get("path"), n.get("access")
	if p == nil {
		d.at.add(n.line, "", "a root's path is missing")
		return
	}
	d.root(Root{Path: d.at.text(p, "a root's path")}, p.line, access)
}

// root checks one root and adds it. Without access it counts for every access.
func (d *draft) root(r Root, line int, access *node) {
	if cause, fix := rootTrouble(r.Path, d.Absolute); cause != "" {
		d.at.add(line, fix, "root %s %s", quoted(r.Path), cause)
	}
	switch {
	case access != nil:
		r.Access = d.at.texts(access, "access")
		for _, a := range r.Access {
			if !slices.Contains(Accesses(), a) {
				d.at.add(access.line, meant(a, Accesses()), "root: unknown access %s", quoted(a))
			}
		}
		if access.kind == listKind && len(access.items) == 0 {
			d.at.add(access.line, "leave it out for every access", "a root's access is empty")
		}
	case r.Access == nil:
		r.Access = Accesses()
	}
	d.Roots = append(d.Roots, r)
}

// rootTrouble says why a path is no root, and what to do.
func rootTrouble(p string, absolute bool) (cause, fix string) {
	plain := strings.ReplaceAll(p, "{"+runIDName+"}", "run")
	switch {
	case p == "":
		return "is empty", `"." is the project`
	case strings.ContainsFunc(p, isControl):
		return "holds NUL or a control character", ""
	case strings.ContainsRune(p, '\\'):
		return "holds a backslash", "use /"
	case hasDotDot(p):
		return `holds ".."`, ""
	case strings.HasPrefix(p, "~"):
		return "begins with ~, which nobody expands", "write the directory out"
	case strings.ContainsAny(p, "*?"):
		return "is a pattern", "a root is a directory; everything below it is inside"
	case strings.ContainsAny(plain, "{}"):
		return "has a placeholder other than {run_id}", ""
	case (strings.HasPrefix(p, "/") || isDrive(p)) && !absolute:
		return "is absolute", `add "absolute": true, or name it from the project directory`
	}
	return "", ""
}

// defaultRoots are by what the tool does: reading in data/ and the run's
// artifacts, writing in the run's artifacts alone.
func (d *draft) defaultRoots() []Root {
	does := make(map[string]bool)
	for _, t := range d.Targets {
		does[t.Access] = true
	}
	for _, group := range neededAccess(d.Operation) {
		does[group[0]] = true
	}
	var artifacts []string
	roots := []Root{}
	if does[facts.Read] || does[facts.List] || d.Operation == facts.Execute {
		reading := []string{facts.Read, facts.List}
		if d.Operation == facts.Execute {
			reading = append(reading, facts.Execute)
		}
		roots = append(roots, Root{Path: "data/", Access: reading})
		artifacts = append(artifacts, reading...)
	}
	if does[facts.Write] || does[facts.Delete] {
		artifacts = append(artifacts, facts.Write, facts.Delete)
	}
	if artifacts != nil {
		roots = append(roots, Root{Path: "runs/{run_id}/artifacts/", Access: inOrder(artifacts)})
	}
	return roots
}

// inOrder sorts accesses as Accesses does.
func inOrder(list []string) []string {
	var out []string
	for _, a := range Accesses() {
		if slices.Contains(list, a) {
			out = append(out, a)
		}
	}
	return out
}
