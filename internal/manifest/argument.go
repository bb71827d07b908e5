package manifest

import (
	"fmt"
	"slices"
	"unicode"

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
// a command: they come whole or by name, and no text holds what nobody sees.
func (t *Tool) commandIssues(args map[string]any) (issues []Issue) {
	if len(t.Patterns) == 0 {
		return nil
	}
	add := func(name, message string) {
		issues = append(issues, Issue{Pointer: "arguments." + name, Message: message})
	}
	_, whole := args[argvName]
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
		case !whole && p.Kind == facts.Text && unseen(s) != "":
			add(p.Arg, "must not hold "+unseen(s))
		}
	}
	argv, _ := t.Argv(args)
	for i, s := range argv {
		if what := unseen(s); whole && what != "" && t.takesAsText(argv, i) {
			add(fmt.Sprintf("%s[%d]", argvName, i), "must not hold "+what)
		}
	}
	return issues
}

// takesAsText tells whether a place of argv is text for the command that it counts
// as. When it counts as none, that may be for what nobody sees: then text is what
// some command of that length takes there as text and none by its very words.
func (t *Tool) takesAsText(argv []string, at int) bool {
	if pattern := t.counting(argv); pattern != nil {
		return pattern[at].Kind == facts.Text
	}
	text := false
	for _, p := range t.Patterns {
		switch {
		case len(p) != len(argv):
		case p[at].Kind == facts.Text:
			text = true
		case p[at].Kind != facts.Path && p[at].Takes(argv[at]):
			return false
		}
	}
	return text && !slices.ContainsFunc(t.Commands, func(c []string) bool { return len(c) == len(argv) && c[at] == argv[at] })
}

// counting is the command with arguments that argv counts as: unless it is one of
// those written out, the first that takes it, going by the text. Else nil.
func (t *Tool) counting(argv []string) []facts.Part {
	if slices.ContainsFunc(t.Commands, func(c []string) bool { return slices.Equal(c, argv) }) {
		return nil
	}
	for _, pattern := range t.Patterns {
		if slices.EqualFunc(pattern, argv, facts.Part.Takes) {
			return pattern
		}
	}
	return nil
}

// unseen says what a text holds that people do not see, or that is no part of a
// line: a pattern such as "[^/]+" takes it without having been meant to.
func unseen(s string) string {
	for _, r := range s {
		switch {
		case isControl(r):
			return "a control character"
		case unicode.In(r, unicode.Zl, unicode.Zp):
			return "a line or paragraph separator"
		case unicode.Is(unicode.Cf, r):
			return "a format character"
		}
	}
	return ""
}
