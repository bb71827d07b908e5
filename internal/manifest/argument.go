package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// Argv returns the command that a call asks for: the argument argv; else, when
// the tool has exactly one command, that one, its arguments filled in by name
// from args. A tool whose handler is a program always runs that. ok is false
// when the call asks for none so: argv is not an array of strings, or is absent
// while the tool has several commands or the only one lacks an argument.
// Whether the tool may run what comes back is not said; policy compares.
func (t *Tool) Argv(args map[string]any) (argv []string, ok bool) {
	if t.Program != "" {
		return []string{t.Program}, true
	}
	v, given := args[argvName]
	if !given {
		return t.filledIn(args)
	}
	items, ok := v.([]any)
	if !ok || len(items) == 0 {
		return nil, false
	}
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		argv = append(argv, s)
	}
	return argv, true
}

// filledIn is the only command, with arguments by name.
func (t *Tool) filledIn(args map[string]any) (argv []string, ok bool) {
	if len(t.Commands) == 1 && len(t.Patterns) == 0 {
		return slices.Clone(t.Commands[0]), true
	}
	pattern := t.onlyPattern()
	for _, p := range pattern {
		if p.Kind == facts.Word {
			argv = append(argv, p.Word)
			continue
		}
		s, ok := args[p.Arg].(string)
		if !ok {
			return nil, false
		}
		argv = append(argv, s)
	}
	return argv, len(pattern) > 0
}

// onlyPattern is the command of a tool that has exactly one, when a call fills
// in some of its arguments: it may give them by name. Else nil.
func (t *Tool) onlyPattern() []facts.Part {
	if len(t.Commands) > 0 || len(t.Patterns) != 1 {
		return nil
	}
	return t.Patterns[0]
}

// commandIssues is what the input schema cannot say of the arguments that make
// a command: they come whole or by name, and no text holds a control character.
func (t *Tool) commandIssues(args map[string]any) (issues []Issue) {
	if len(t.Patterns) == 0 {
		return nil
	}
	add := func(name, message string) {
		issues = append(issues, Issue{Pointer: "arguments." + name, Message: message})
	}
	argv, whole := args[argvName]
	for _, p := range t.onlyPattern() {
		v, given := args[p.Arg]
		s, _ := v.(string)
		switch {
		case p.Kind == facts.Word:
		case whole && given:
			add(p.Arg, "leave it out: argv is given")
		case !whole && !given && property(t.Input.compiled, p.Arg) == nil:
			add(argvName, "field is required") // the manifest's own schema takes no names
		case !whole && !given:
			add(p.Arg, "field is required")
		case !whole && p.Kind == facts.Text && strings.ContainsFunc(s, isControl):
			add(p.Arg, "must not hold a control character")
		}
	}
	items, _ := argv.([]any)
	for i, item := range items {
		if s, _ := item.(string); strings.ContainsFunc(s, isControl) && t.takesAsText(s, i, len(items)) {
			add(fmt.Sprintf("%s[%d]", argvName, i), "must not hold a control character")
		}
	}
	return issues
}

// takesAsText tells whether a command of so many parts takes s at a place only
// by a pattern, which may take more than was thought of: "[^/]+" takes a newline.
func (t *Tool) takesAsText(s string, at, parts int) bool {
	text := false
	for _, p := range t.Patterns {
		if len(p) != parts {
			continue
		}
		text = text || p[at].Kind == facts.Text
		if p[at].Kind == facts.Word && p[at].Word == s || slices.Contains(p[at].Values, s) {
			return false
		}
	}
	return text && !slices.ContainsFunc(t.Commands, func(c []string) bool { return len(c) == parts && c[at] == s })
}
