package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/plan"
)

// text is a skill for a person: the head, then one block a subject.
func (t *skillTold) text() string {
	head := [][]string{{"skill", described(t.Name, titleOf(t.Name, t.Title))}}
	for _, row := range [][]string{{"description", t.Description}, {"goal", t.Goal}, {"source", t.Source}, {"digest", t.Digest}} {
		if row[1] != "" {
			head = append(head, row)
		}
	}
	if t.ReadOnly {
		head = append(head, []string{"read only", "nothing may be written, deleted, renamed or executed"})
	}
	var b strings.Builder
	b.WriteString(columns("", head))
	block := func(title string, lines string) {
		if lines != "" {
			fmt.Fprintf(&b, "\n%s\n%s", title, lines)
		}
	}
	block("inputs", t.inputLines())
	block("tools", t.toolLines())
	block("narrowed, of what a tool may do otherwise", t.narrowedLines())
	block("limits of refused calls, beside the policy's", t.limitLines())
	if t.Plan != nil {
		title := "plan"
		if t.Plan.Name != t.Name {
			title += " " + printable(t.Plan.Name)
		}
		block(title, planLines(t.Plan))
	}
	block("artifacts, checked when the run stops", t.artifactLines())
	var told strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(t.Instructions, "\n"), "\n") {
		told.WriteString(strings.TrimRight("  "+printable(line), " ") + "\n")
	}
	if t.Instructions != "" {
		block("instructions", told.String())
	}
	return b.String()
}

// titleOf is a title that says more than the name.
func titleOf(name, title string) string {
	if title == name {
		return ""
	}
	return title
}

func (t *skillTold) inputLines() string {
	rows := [][]string{}
	for _, in := range t.Inputs {
		path := "may be left out"
		switch {
		case in.Given != "":
			path = in.Given
		case in.Default != "":
			path = "default " + in.Default
		case in.Required:
			path = "required"
		}
		rows = append(rows, []string{in.Name, path, in.Description})
	}
	return columns("  ", rows)
}

func (t *skillTold) toolLines() string {
	rows := [][]string{}
	for _, tool := range t.Tools {
		rows = append(rows, []string{tool.Name, tool.Operation, tool.Description})
	}
	return columns("  ", rows)
}

func (t *skillTold) narrowedLines() string {
	rows := [][]string{}
	for _, tool := range t.Tools {
		n := tool.Narrowed
		add := func(key, value string) { rows = append(rows, []string{tool.Name, key, value}) }
		if n.Roots != nil {
			add("roots", strings.Join(n.Roots, ", "))
		}
		if n.MaxBytes > 0 {
			add("max_bytes", commas(n.MaxBytes))
		}
		if n.TimeoutMS > 0 {
			add("timeout_ms", commas(n.TimeoutMS))
		}
		for _, argv := range n.Commands {
			add("command", argvWords(argv))
		}
		for _, line := range n.Patterns {
			add("command", line)
		}
	}
	return columns("  ", rows)
}

func (t *skillTold) limitLines() string {
	rows := [][]string{}
	for _, l := range []struct {
		name string
		n    *int64
	}{{"in_row", t.Limits.InRow}, {"total", t.Limits.Total}, {"malformed", t.Limits.Malformed}} {
		if l.n != nil {
			rows = append(rows, []string{l.name, commas(*l.n)})
		}
	}
	return columns("  ", rows)
}

// planLines are the steps in their order, with what each allows and waits for.
func planLines(p *plan.Plan) string {
	var b strings.Builder
	for i, step := range p.Steps {
		var waits []string
		for _, s := range step.Completion.Succeed {
			times := ""
			if s.Times > 1 {
				times = " " + counted(s.Times, "time")
			}
			waits = append(waits, s.Tool+" has succeeded"+times)
		}
		for _, a := range step.Completion.Artifacts {
			waits = append(waits, a.Path+" is there"+fitting(a.Schema))
		}
		fmt.Fprintf(&b, "  %d. %s\n     tools: %s\n     complete when %s\n", i+1, printable(described(step.ID, titleOf(step.ID, step.Title))),
			printable(strings.Join(step.Tools, ", ")), printable(strings.Join(waits, ", ")))
	}
	return b.String()
}

func fitting(schema json.RawMessage) string {
	if schema == nil {
		return ""
	}
	return " and fits its schema"
}

func (t *skillTold) artifactLines() string {
	rows := [][]string{}
	for _, a := range t.Artifacts {
		about := "any content"
		if a.Schema != nil {
			about = "must fit its schema; --format json prints it"
		}
		if row := []string{a.Path, about}; !slices.ContainsFunc(rows, func(o []string) bool { return slices.Equal(o, row) }) {
			rows = append(rows, row)
		}
	}
	return columns("  ", rows)
}

// columns lines rows up; each word is safe to print, the last one is not padded.
func columns(indent string, rows [][]string) string {
	width := []int{}
	for _, row := range rows {
		for i, word := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(printable(word)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := indent
		for i, word := range row {
			line += pad(word, width[i])
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
