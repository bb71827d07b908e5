package facts

import (
	"regexp"
	"slices"
	"strings"
)

// Takes says whether the part can be this argument by its text alone. Where a path
// leads is another question.
func (p Part) Takes(arg string) bool {
	switch p.Kind {
	case Word:
		return arg == p.Word
	case Path:
		return true
	case Choice:
		for _, v := range p.Values {
			if arg == v {
				return true
			}
		}
	case Text:
		re, err := regexp.Compile(p.Pattern)
		return err == nil && re.MatchString(arg)
	}
	return false
}

// Covers says whether p surely takes every text that q takes. Of two texts with
// different patterns nobody knows.
func (p Part) Covers(q Part) bool {
	switch {
	case p.Kind == Path:
		return true
	case p.Kind == Text && q.Kind == Text:
		return p.Pattern == q.Pattern
	case q.Kind == Word:
		return p.Takes(q.Word)
	case q.Kind == Choice:
		return !slices.ContainsFunc(q.Values, func(v string) bool { return !p.Takes(v) })
	}
	return false
}

// String is the part as people read it: a word, or what a call may fill in, as
// in `{path in workspace/tests}`.
func (p Part) String() string {
	switch p.Kind {
	case Path:
		if p.Access == Write {
			return "{" + p.Arg + " written in " + p.Root + "}"
		}
		return "{" + p.Arg + " in " + p.Root + "}"
	case Choice:
		return "{" + p.Arg + ": " + strings.Join(p.Values, "|") + "}"
	case Text:
		text := strings.TrimPrefix(p.Pattern, "^(?:")
		return "{" + p.Arg + " like " + strings.TrimSuffix(text, ")$") + "}"
	}
	return shown(p.Word)
}

// CommandLine is a command as people read it: its words, and what a call may fill in.
func CommandLine(parts []Part) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = p.String()
	}
	return strings.Join(words, " ")
}

// CommandLines are all the commands that a tool may run, as people read them.
func (t *Tool) CommandLines() []string {
	list := make([]string, 0, len(t.Commands)+len(t.Patterns))
	for _, argv := range t.Commands {
		words := make([]string, len(argv))
		for i, word := range argv {
			words[i] = shown(word)
		}
		list = append(list, strings.Join(words, " "))
	}
	for _, parts := range t.Patterns {
		list = append(list, CommandLine(parts))
	}
	return list
}

// shown is a word that can be told from its neighbours.
func shown(word string) string {
	if word == "" || strings.ContainsAny(word, " \t\n\r\f\"'\\{}") {
		return "'" + word + "'"
	}
	return word
}
