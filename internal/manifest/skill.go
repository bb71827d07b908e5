package manifest

import (
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/plan"
)

// Skill is one kind of agent task: the tools it needs, narrowed, what the model
// is told, and a plan. It is immutable after Load.
type Skill struct {
	Name, Title, Description string

	Goal         string // of a run that is given none; never empty
	Instructions string // for the model; may hold {input.<name>}

	Inputs []SkillInput // in the order of the file

	// Tools are the tools of a run under this skill, by name: the set's own,
	// with what the skill narrows. No other may be called.
	Tools map[string]*Tool
	Names []string // of Tools, sorted

	Limits   RunLimits // of refused calls; -1 leaves it to policy
	ReadOnly bool

	Artifacts []plan.Artifact // that must be there and fit when the run stops
	Plan      *plan.Plan      // nil: none

	Digest string // sha256:<hex> over the canonical content, defaults filled in
	Where  Location
}

// SkillInput is a file that a run is given by name.
type SkillInput struct {
	Name, Description string
	Required          bool
	Default           string // path; "": none
}

// RunLimits are limits on refused calls; -1 sets none.
type RunLimits struct{ InRow, Total, Malformed int64 }

var skillKeys = []string{
	"schema_version", "name", "title", "description", "goal", "instructions", "inputs", "tools", "narrow",
	"limits", "read_only", "artifacts", "plan",
}

// skillDraft is one skill while it is read.
type skillDraft struct {
	*Skill
	l      *loader
	at     place
	decl   *node
	listed []named // tools, as the file names them
	unread bool    // tools could not be read
	unsure bool    // a tool did not load: what it can do is not known
}

// skillFile reads the file of one skill.
func (l *loader) skillFile(src Source) {
	before := len(l.problems.list)
	at := l.at(src.Name)
	root := parse(src, at)
	if root == nil || !at.want(root, "a skill", objectKind) {
		return
	}
	name := fileName(src.Name)
	at.subject = "skill " + quoted(name) + ": "
	l.header(root, "skill", name, at, skillKeys)
	d := &skillDraft{
		Skill: &Skill{
			Name: name, Inputs: []SkillInput{}, Tools: make(map[string]*Tool), Names: []string{},
			Limits: RunLimits{-1, -1, -1}, Where: Location{src.Name, root.line},
		},
		l: l, at: at, decl: root,
	}
	d.words()
	d.inputs()
	d.placeholders()
	d.allow()
	d.narrow()
	d.readable()
	d.limits()
	d.planned(d.ownArtifacts())
	if len(l.problems.list) > before {
		return
	}
	var err error
	if d.Digest, err = digest(d.canonical()); err != nil {
		at.add(root.line, "", "%v", err)
		return
	}
	l.set.Skills[name] = d.Skill
}

// header reads what the files of skills and plans begin with.
func (l *loader) header(root *node, what, name string, at place, keys []string) {
	at.unknownKeys(root, keys, "")
	if n := root.get("schema_version"); n == nil {
		at.add(root.line, "add schema_version: 1", "schema_version is missing")
	} else {
		at.version(n)
	}
	n := root.get("name")
	switch {
	case !isPlainName(name):
		at.add(root.line, "rename the file: "+plainNameRule, "bad %s name", what)
	case n == nil:
		at.add(root.line, "add name: "+name, "name is missing")
	case at.want(n, "name", stringKind) && n.text != name:
		at.add(n.line, "a "+what+" is named as its file: write "+quoted(name)+", or rename the file", "name is %s", quoted(n.text))
	}
	if old, twice := l.files[what+" "+name]; twice {
		at.add(root.line, "keep one", "declared twice, first in %s", printable(old.File))
		return
	}
	l.files[what+" "+name] = Location{at.file, root.line}
}

// fileName is a file's name without directories and extension.
func fileName(source string) string {
	base := source[strings.LastIndexAny(source, `/\`)+1:]
	if dot := strings.LastIndexByte(base, '.'); dot >= 0 {
		base = base[:dot]
	}
	return base
}

const plainNameRule = "a small letter, then small letters, digits, _ -, at most 64 in all"

// isPlainName tells names of the form ^[a-z][a-z0-9_-]{0,63}$.
func isPlainName(s string) bool {
	for i, c := range s {
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && (c == '_' || c == '-' || c >= '0' && c <= '9'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// words reads what people and the model are told.
func (d *skillDraft) words() {
	d.Title = d.Name
	for _, f := range d.decl.fields {
		switch f.name {
		case "title":
			d.Title = d.at.line(f.value, f.name)
		case "description":
			d.Description = d.at.line(f.value, f.name)
		case "goal":
			d.Goal = strings.TrimRight(d.at.filled(f.value, f.name), "\n")
		case "instructions":
			d.Instructions = d.at.filled(f.value, f.name)
		case "read_only":
			d.ReadOnly = d.at.boolean(f.value, f.name)
		}
	}
	if d.decl.get("goal") != nil {
		return
	}
	d.Goal = d.Description
	if d.decl.get("description") == nil {
		d.at.add(d.decl.line, "add description: what a run is for", "goal and description are both missing")
	}
}

var inputKeys = []string{"description", "required", "default"}

// inputs reads the files that a run is given by name. One without a default is
// required unless it says otherwise.
func (d *skillDraft) inputs() {
	n := d.decl.get("inputs")
	if n == nil || !d.at.want(n, "inputs", objectKind) {
		return
	}
	for _, f := range n.fields {
		at := d.at
		at.subject += "input " + quoted(f.name) + ": "
		if !isPlainName(f.name) {
			at.add(f.line, plainNameRule, "bad input name")
		}
		if !at.want(f.value, "the declaration", objectKind) {
			continue
		}
		at.unknownKeys(f.value, inputKeys, "")
		in := SkillInput{Name: f.name, Required: f.value.get("default") == nil}
		for _, g := range f.value.fields {
			switch g.name {
			case "description":
				in.Description = at.line(g.value, g.name)
			case "required":
				in.Required = at.boolean(g.value, g.name)
			case "default":
				in.Default = at.text(g.value, g.name)
				if cause, fix := pathTrouble(in.Default, "the project"); cause != "" && g.value.kind == stringKind && !g.value.bad {
					at.add(g.line, fix, "default %s %s", quoted(in.Default), cause)
				}
			}
		}
		if in.Required && in.Default != "" {
			at.add(f.value.lineOf("required"), "keep one: an input with a default may be left out", "has a default and is required")
		}
		d.Inputs = append(d.Inputs, in)
	}
}

// placeholders refuses {input.x} where nothing, or perhaps nothing, would take
// its place.
func (d *skillDraft) placeholders() {
	line := d.decl.lineOf("instructions")
	var known []string
	for _, in := range d.Inputs {
		known = append(known, in.Name)
	}
	rest := d.Instructions
	for {
		_, after, found := strings.Cut(rest, "{input.")
		if !found {
			return
		}
		name, behind, closed := strings.Cut(after, "}")
		i := slices.Index(known, name)
		switch {
		case !closed:
			d.at.add(line, "", `instructions has "{input." without its brace`)
			return
		case i < 0:
			fix := meant(name, known)
			if fix == "" {
				fix = "declare it in inputs"
			}
			d.at.add(line, fix, "instructions names input %s, which is not declared", quoted(name))
		case !d.Inputs[i].Required && d.Inputs[i].Default == "":
			d.at.add(line, "give it a default, or make it required", "instructions names input %s, which a run may leave out", quoted(name))
		}
		rest = behind
	}
}

// limits reads the skill's limits on refused calls.
func (d *skillDraft) limits() {
	n := d.decl.get("limits")
	if n == nil || !d.at.want(n, "limits", objectKind) {
		return
	}
	d.at.unknownKeys(n, []string{"in_row", "total", "malformed"}, "limits: ")
	for key, limit := range map[string]*int64{"in_row": &d.Limits.InRow, "total": &d.Limits.Total, "malformed": &d.Limits.Malformed} {
		v := n.get(key)
		if v == nil {
			continue
		}
		if count, ok := d.at.whole(v, "limits: "+key, 0, "leave it out for the policy's own limit"); ok {
			*limit = count
		}
	}
}
