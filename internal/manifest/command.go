package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/facts"
)

// commands reads what the tool may run: commands of words alone into Commands,
// those with arguments that a call fills in into Patterns. A handler that is a
// program is the tool's only command.
func (d *draft) commands() {
	d.Commands = [][]string{}
	n := d.decl.get("commands")
	switch {
	case d.Program != "":
		d.Commands = [][]string{{d.Program}}
		if n != nil {
			d.at.add(d.line("commands"), "leave it out: the program reads its arguments on stdin",
				"commands is set beside handler %s, which is the command", quoted(d.Handler))
		}
		return
	case d.Operation != facts.Execute:
		return
	case n == nil:
		if d.Handler != External {
			d.at.add(d.Where.Line, `add "commands": [["program", "argument"]]`, "commands is missing, so nothing could run")
		}
		return
	case !d.at.want(n, "commands", listKind):
		return
	case len(n.items) == 0:
		d.at.add(n.line, "", "commands is empty, so nothing could run")
	}
	for _, item := range n.items {
		d.command(item)
	}
	d.neverCounting()
}

// neverCounting refuses a command that another one always counts before: those
// written out come first, then those with arguments in the order of the file.
func (d *draft) neverCounting() {
	for j, pattern := range d.Patterns {
		refuse := func(before, fix string) {
			d.at.add(d.patternLines[j], fix, "command %s can never count: %s takes all that it takes", quoted(facts.CommandLine(pattern)), before)
		}
		for _, argv := range d.Commands {
			if covers(inWords(argv), pattern) {
				refuse("the same command written out", "leave one of the two out")
			}
		}
		for i, before := range d.Patterns[:j] {
			if !covers(before, pattern) {
				continue
			}
			fix := "put the narrower first"
			if covers(pattern, before) {
				fix = "use one root that holds both, or leave one out"
			}
			refuse(fmt.Sprintf("%s in line %d stands before it and", quoted(facts.CommandLine(before)), d.patternLines[i]), fix)
			break
		}
	}
}

// covers tells whether a surely takes every argv that b takes, going by the text.
func covers(a, b []facts.Part) bool { return slices.EqualFunc(a, b, facts.Part.Covers) }

func inWords(argv []string) []facts.Part {
	parts := make([]facts.Part, len(argv))
	for i, word := range argv {
		parts[i] = facts.Part{Kind: facts.Word, Word: word}
	}
	return parts
}

// command reads one command and adds it, unless there is one that is the same.
func (d *draft) command(n *node) (parts []facts.Part, ok bool) {
	if n.kind == stringKind {
		d.at.add(n.line, `split it: ["program", "argument"]; no shell reads it`, "a command must be a list of strings, not a string")
		return nil, false
	}
	if !d.at.want(n, "a command", listKind) {
		return nil, false
	}
	if len(n.items) == 0 {
		d.at.add(n.line, "", "a command is empty")
		return nil, false
	}
	for _, item := range n.items {
		part, ok := d.part(item, parts)
		if !ok {
			return nil, false
		}
		parts = append(parts, part)
	}
	if d.has(parts) {
		d.at.add(n.line, "", "commands holds the same command twice")
		return nil, false
	}
	if argv, plain := wordsOf(parts); plain {
		d.Commands = append(d.Commands, argv)
	} else {
		d.Patterns = append(d.Patterns, parts)
		d.patternLines = append(d.patternLines, n.line)
	}
	return parts, true
}

// has tells whether the tool has a command, part by part.
func (t *Tool) has(parts []facts.Part) bool {
	if argv, plain := wordsOf(parts); plain {
		return slices.ContainsFunc(t.Commands, func(own []string) bool { return slices.Equal(own, argv) })
	}
	return slices.ContainsFunc(t.Patterns, func(own []facts.Part) bool { return slices.EqualFunc(own, parts, samePart) })
}

func samePart(a, b facts.Part) bool {
	values := slices.Equal(a.Values, b.Values)
	a.Values, b.Values = nil, nil
	return values && a.Kind == b.Kind && a.Word == b.Word && a.Arg == b.Arg &&
		a.Root == b.Root && a.Access == b.Access && a.Pattern == b.Pattern
}

// wordsOf is a command of words alone.
func wordsOf(parts []facts.Part) (argv []string, plain bool) {
	for _, p := range parts {
		if p.Kind != facts.Word {
			return nil, false
		}
		argv = append(argv, p.Word)
	}
	return argv, true
}

// part reads the part of a command that comes after before.
func (d *draft) part(n *node, before []facts.Part) (facts.Part, bool) {
	switch {
	case n.bad:
		return facts.Part{}, false
	case n.kind == stringKind:
		if n.text == "" || strings.ContainsRune(n.text, 0) {
			d.at.add(n.line, "", "a part of a command is empty or holds NUL")
			return facts.Part{}, false
		}
		return facts.Part{Kind: facts.Word, Word: n.text}, true
	case n.kind != objectKind:
		d.at.add(n.line, "", "a part of a command must be a string or an object, not %s", n.kind)
		return facts.Part{}, false
	case len(before) == 0:
		d.at.add(n.line, "write it out", "the program of a command must be a string: a call must not choose it")
		return facts.Part{}, false
	}
	return d.argument(n, before)
}

var argumentKeys = []string{"arg", "root", "access", "values", "pattern"}

// argument reads an argument that a call fills in.
func (d *draft) argument(n *node, before []facts.Part) (p facts.Part, ok bool) {
	known := len(d.at.problems.list)
	d.at.unknownKeys(n, argumentKeys, "argument: ")
	p.Arg = d.argumentName(n, before)
	here := d.at
	here.subject += "argument " + quoted(p.Arg) + ": "
	if len(d.at.problems.list) > known {
		return p, false
	}
	var said []string
	for _, f := range n.fields {
		switch f.name {
		case "root":
			said = append(said, f.name)
			p.Kind, p.Root = facts.Path, here.text(f.value, "root")
			if cause, fix := rootTrouble(p.Root, d.Absolute); cause != "" && f.value.kind == stringKind {
				here.add(f.line, fix, "root %s %s", quoted(p.Root), cause)
			}
		case "values":
			said = append(said, f.name)
			p.Kind, p.Values = facts.Choice, here.choices(f.value)
		case "pattern":
			said = append(said, f.name)
			p.Kind, p.Pattern = facts.Text, here.pattern(f.value, slices.ContainsFunc(before, isEndOfOptions))
		}
	}
	switch {
	case len(said) == 0:
		here.add(n.line, `add "root" for a path, "values" or "pattern"`, "nothing says what it may be")
	case len(said) > 1:
		here.add(n.line, "keep one", "%s are both set", strings.Join(said, " and "))
	}
	p.Access = here.pathAccess(n, p.Kind)
	return p, len(d.at.problems.list) == known
}

func (d *draft) argumentName(n *node, before []facts.Part) string {
	a := n.get("arg")
	if a == nil {
		d.at.add(n.line, `add "arg": its name`, "an argument's arg is missing")
		return ""
	}
	name := d.at.text(a, "arg")
	switch {
	case a.kind != stringKind || a.bad:
	case !isVariable(name) || len(name) > 64:
		d.at.add(a.line, "a letter or _, then letters, digits, _, at most 64 in all", "bad argument name %s", quoted(name))
	case name == argvName:
		d.at.add(a.line, "choose another name", `an argument is named "argv", which is the whole command`)
	case strings.EqualFold(name, argvName):
		d.at.add(a.line, "choose another name", `an argument is named %s, which differs only in case from "argv", the whole command`, quoted(name))
	}
	for _, p := range before {
		switch {
		case name == "" || !strings.EqualFold(p.Arg, name):
		case p.Arg == name:
			d.at.add(a.line, "choose another name", "a command has two arguments named %s", quoted(name))
		default:
			d.at.add(a.line, "choose another name", "a command has arguments named %s and %s, which differ only in case", quoted(p.Arg), quoted(name))
		}
	}
	return name
}

// pathAccess is what a path's object is for. The other kinds have none.
func (p place) pathAccess(n *node, kind string) string {
	a := n.get("access")
	switch {
	case a == nil && kind == facts.Path:
		return facts.Read
	case a == nil:
		return ""
	case kind != facts.Path:
		p.add(n.lineOf("access"), "leave it out", "access is for an argument with root")
		return ""
	}
	return p.oneOf(a, "access", []string{facts.Read, facts.Write})
}

func (p place) choices(n *node) []string {
	list := p.texts(n, "values")
	if n.kind == listKind && len(n.items) == 0 {
		p.add(n.line, "", "values is empty, so nothing would fit")
	}
	if slices.ContainsFunc(list, func(s string) bool { return strings.ContainsRune(s, 0) }) {
		p.add(n.line, "", "an item of values holds NUL")
	}
	return list
}

// isEndOfOptions tells the word after which programs read no options.
func isEndOfOptions(p facts.Part) bool { return p.Kind == facts.Word && p.Word == "--" }

// isVariable tells names of the form ^[A-Za-z_][A-Za-z0-9_]*$.
func isVariable(s string) bool {
	for i, c := range s {
		switch {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// namesFit refuses names that a call could not tell apart: those of targets and
// payload from each other, and those of a command's arguments from them.
func (d *draft) namesFit() bool {
	before := len(d.at.problems.list)
	names := d.parameters()
	if d.takesCommand() {
		names = append(names, argvName)
	}
	if a, b, found := call.CaseVariant(names); found {
		line := d.line("targets")
		if slices.Contains(d.Payload, b) || b == argvName && slices.Contains(d.Payload, a) {
			line = d.line("payload")
		}
		d.at.add(line, "choose another name", "parameters %s and %s differ only in case", quoted(a), quoted(b))
	}
	for i, pattern := range d.Patterns {
		for _, p := range pattern {
			at := d.at
			at.subject += "argument " + quoted(p.Arg) + ": "
			other := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, p.Arg) })
			switch {
			case p.Kind == facts.Word || other < 0:
			case names[other] == p.Arg:
				at.add(d.patternLines[i], "choose another name", "a target or payload has the same name")
			default:
				at.add(d.patternLines[i], "choose another name", "a target or payload is named %s, which differs only in case", quoted(names[other]))
			}
		}
	}
	return len(d.at.problems.list) == before
}

// commandsFit holds the arguments of commands to the tool's roots and input
// schema.
func (d *draft) commandsFit() {
	for i, pattern := range d.Patterns {
		at := d.at
		for _, p := range pattern {
			if p.Kind == facts.Word {
				continue
			}
			at.subject = d.at.subject + "argument " + quoted(p.Arg) + ": "
			if p.Kind == facts.Path && !d.hasRoot(p.Root, p.Access) {
				at.add(d.patternLines[i], `add {"path": `+quoted(p.Root)+`, "access": ["`+p.Access+`"]} to roots`,
					"root %s lies in none of the tool's roots for access %s", quoted(p.Root), quoted(p.Access))
			}
		}
	}
	argv := property(d.Input.compiled, argvName) != nil
	if d.takesCommand() && len(d.Commands)+len(d.Patterns) > 1 && !argv {
		d.at.add(d.line("input_schema"), "", "input_schema has no argv to choose one of the commands")
	}
	for _, p := range d.onlyPattern() {
		switch schema := property(d.Input.compiled, p.Arg); {
		case p.Kind == facts.Word:
		case schema == nil && !argv:
			d.at.add(d.line("input_schema"), `add it with "type": "string", or add argv`, "input_schema has neither argv nor argument %s of the command", quoted(p.Arg))
		case schema != nil && !isString(schema):
			d.at.add(d.line("input_schema"), `its schema must say "type": "string"`, "argument %s is not declared as a string in input_schema", quoted(p.Arg))
		}
	}
}
