package manifest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/plan"
)

// planDraft is a plan as a file spells it, before a skill uses it.
type planDraft struct {
	name  string
	file  string
	steps []stepDraft // nil: they could not be read
	used  bool
}

type stepDraft struct {
	id, title string
	subject   string // `step "read": `
	line      int
	tools     []named // nil: they could not be read
	succeed   []success
	artifacts []artifact
}

// success is a plan.Success and where it stands.
type success struct {
	plan.Success
	line int
}

// artifact is a plan.Artifact and where it stands.
type artifact struct {
	plan.Artifact
	line int
}

// planFile reads the file of one plan.
func (l *loader) planFile(src Source) {
	name := fileName(src.Name)
	p := &planDraft{name: name, file: src.Name}
	if l.plans[name] == nil {
		l.plans[name] = p // also one that did not load: a skill that names it is not to blame
	}
	at := l.at(src.Name)
	root := parse(src, at)
	if root == nil || !at.want(root, "a plan", objectKind) {
		return
	}
	at.subject = "plan " + quoted(name) + ": "
	l.header(root, "plan", name, at, []string{"schema_version", "name", "steps"})
	p.steps = l.steps(root, at)
}

// planned reads the skill's plan and holds it, and the artifacts that the skill
// itself asks for, to what the skill's tools can do.
func (d *skillDraft) planned(own []artifact) {
	n := d.decl.get("plan")
	var p *planDraft
	at := d.at
	switch {
	case n == nil || n.bad:
	case n.kind == stringKind:
		if p = d.l.plans[n.text]; p == nil {
			known := make([]string, 0, len(d.l.plans))
			for name := range d.l.plans {
				known = append(known, name)
			}
			slices.Sort(known)
			fix := meant(n.text, known)
			if fix == "" {
				fix = "write its steps here, or into a file of that name in " + PlanDir + "/"
			}
			d.at.add(n.line, fix, "plan %s has no file", quoted(n.text))
			break
		}
		at = d.l.at(p.file)
		at.subject = "plan " + quoted(p.name) + " of skill " + quoted(d.Name) + ": "
	case n.kind == objectKind:
		for _, f := range n.fields {
			if f.name != "steps" {
				d.at.add(f.line, cmp.Or(meant(f.name, []string{"steps"}), "a plan in a skill's file has steps alone"), "plan: unknown key %s", quoted(f.name))
			}
		}
		p = &planDraft{name: d.Name, file: d.at.file, steps: d.l.steps(n, d.at)}
	default:
		d.at.add(n.line, "steps: […], or the name of a file in "+PlanDir+"/", "plan must be an object or a string, not %s", n.kind)
	}
	if p == nil {
		d.makeable(own, d.listed, d.at, "skill")
		return
	}
	p.used = true
	var called []named
	d.Plan, called = d.follow(p, at)
	d.unsure = d.unsure || p.steps == nil
	d.makeable(own, called, d.at, "plan")
	d.idle(called)
}

// follow holds each step to the skill's tools and returns the plan, and what its
// steps call.
func (d *skillDraft) follow(p *planDraft, at place) (out *plan.Plan, called []named) {
	out = &plan.Plan{Name: p.name}
	for _, s := range p.steps {
		here := at
		here.subject += s.subject
		for _, t := range s.tools {
			if _, known := d.l.where[t.name]; known && !d.unread && !d.lists(t.name) {
				fix := meant(t.name, namesOf(d.listed))
				if fix == "" {
					fix = "add it there"
				}
				here.add(t.line, fix, "tool %s is not among the skill's tools", quoted(t.name))
			}
		}
		called = append(called, s.tools...)
		d.unsure = d.unsure || s.tools == nil
		d.makeable(s.artifacts, called, here, "step")
		out.Steps = append(out.Steps, s.step())
	}
	return out, called
}

func (s stepDraft) step() plan.Step {
	done := plan.Completion{Succeed: []plan.Success{}, Artifacts: withoutLines(s.artifacts)}
	for _, one := range s.succeed {
		done.Succeed = append(done.Succeed, one.Success)
	}
	return plan.Step{ID: s.id, Title: s.title, Tools: namesOf(s.tools), Completion: done}
}

// idle notes tools that the plan never comes to.
func (d *skillDraft) idle(called []named) {
	var idle []string
	for _, t := range d.listed {
		if !slices.Contains(namesOf(called), t.name) {
			idle = append(idle, t.name)
		}
	}
	if len(idle) > 0 {
		d.l.set.Notes = append(d.l.set.Notes, "skill "+d.Name+": in no step of its plan, so never called: "+strings.Join(idle, ", "))
	}
}

// planNotes notes plans that no skill uses.
func (l *loader) planNotes() {
	var idle []string
	for name, p := range l.plans {
		if !p.used {
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		slices.Sort(idle)
		l.set.Notes = append(l.set.Notes, "plans that no skill uses: "+strings.Join(idle, ", "))
	}
}

var stepKeys = []string{"id", "title", "tools", "completion"}

// steps reads the steps of a plan.
func (l *loader) steps(decl *node, at place) (out []stepDraft) {
	n := decl.get("steps")
	switch {
	case n == nil:
		at.add(decl.line, "", "steps is missing")
		return nil
	case !at.want(n, "steps", listKind):
		return nil
	case len(n.items) == 0:
		at.add(n.line, "leave the plan out", "steps is empty, so the plan would be complete at once")
	}
	for i, item := range n.items {
		s := stepDraft{line: item.line, subject: "step " + strconv.Itoa(i+1) + ": "}
		here := at
		here.subject += s.subject
		if !here.want(item, "the declaration", objectKind) {
			out = append(out, s)
			continue
		}
		if id := item.get("id"); id == nil {
			here.add(item.line, "", "id is missing")
		} else if s.id = here.text(id, "id"); id.kind == stringKind && !id.bad {
			if !isPlainName(s.id) {
				here.add(id.line, plainNameRule, "bad id %s", quoted(s.id))
			} else {
				s.subject = "step " + quoted(s.id) + ": "
				here.subject = at.subject + s.subject
			}
			if first := slices.IndexFunc(out, func(o stepDraft) bool { return o.id == s.id && s.id != "" }); first >= 0 {
				here.add(id.line, "", "the id is used twice, first in line %d", out[first].line)
			}
		}
		l.step(&s, item, here)
		out = append(out, s)
	}
	return out
}

func (l *loader) step(s *stepDraft, n *node, at place) {
	at.unknownKeys(n, stepKeys, "")
	s.title = s.id
	if t := n.get("title"); t != nil {
		s.title = at.line(t, "title")
	}
	switch t := n.get("tools"); {
	case t == nil:
		at.add(n.line, "name those that may be called in it", "the step has no tools")
	case t.kind == listKind && len(t.items) == 0:
		at.add(t.line, "name those that may be called in it", "the step has no tools")
	default:
		s.tools = at.namedTexts(t, "tools")
	}
	for _, t := range s.tools {
		l.knownTool(t, at)
	}
	c := n.get("completion")
	switch {
	case c != nil:
		l.completion(s, c, at)
	case len(s.tools) == 1:
		s.succeed = []success{{plan.Success{Tool: s.tools[0].name, Times: 1}, s.tools[0].line}}
	case len(s.tools) > 1:
		at.add(n.line, "say which must succeed: completion: {succeed: {"+printable(s.tools[0].name)+": 1}}",
			"completion is missing, and the step has several tools")
	}
}

// completion reads when a step is complete.
func (l *loader) completion(s *stepDraft, n *node, at place) {
	if !at.want(n, "completion", objectKind) {
		return
	}
	at.unknownKeys(n, []string{"succeed", "artifacts"}, "completion: ")
	if len(n.fields) == 0 {
		at.add(n.line, "say which tool must succeed, or which artifact must be there", "completion is empty")
	}
	for _, f := range n.fields {
		switch f.name {
		case "succeed":
			s.succeed = at.successes(f.value, s.tools)
		case "artifacts":
			s.artifacts = l.artifacts(f.value, at)
		}
	}
}

func (p place) successes(n *node, tools []named) (out []success) {
	if !p.want(n, "succeed", objectKind) {
		return nil
	}
	if len(n.fields) == 0 {
		p.add(n.line, "leave it out, or name a tool", "succeed is empty")
	}
	for _, f := range n.fields {
		if names := namesOf(tools); !slices.Contains(names, f.name) {
			fix := meant(f.name, names)
			if fix == "" {
				fix = "add it to the step's tools"
			}
			p.add(f.line, fix, "completion needs %s, which is no tool of the step", quoted(f.name))
		}
		if times, ok := p.whole(f.value, "succeed: "+printable(f.name), 1, "how often the tool must succeed"); ok {
			out = append(out, success{plan.Success{Tool: f.name, Times: times}, f.line})
		}
	}
	// An object's keys have no order, and the digest must not have one.
	slices.SortFunc(out, func(a, b success) int { return cmp.Compare(a.Tool, b.Tool) })
	return out
}
