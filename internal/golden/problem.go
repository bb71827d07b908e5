package golden

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that keeps a case, or a directory of cases, from being
// what it is meant to be.
type Problem struct {
	File string
	Line int    // from 1; 0 when the whole file is meant
	Text string // lower case, no full stop
	Fix  string // what to do about it; "" when Text says it
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString("read " + p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": " + p.Text)
	if p.Fix != "" {
		b.WriteString(" (" + p.Fix + ")")
	}
	return b.String()
}

// Problems lists all that is wrong, by file and line.
type Problems struct{ List []Problem }

// Error gives one problem a line.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) add(file string, line int, fix, format string, args ...any) {
	p.List = append(p.List, Problem{file, line, fmt.Sprintf(format, args...), fix})
}

// err is p in reading order, or nil when nothing is wrong.
func (p *Problems) err() error {
	if len(p.List) == 0 {
		return nil
	}
	slices.SortStableFunc(p.List, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return p
}

// problem is one thing wrong with the case, as an error.
func (c *Case) problem(line int, fix, format string, args ...any) error {
	p := &Problems{}
	p.add(c.File, line, fix, format, args...)
	return p
}

// cut shortens foreign text to 200 bytes and quotes it.
func cut(s string) string {
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}

// didYouMean names the known word nearest to a misspelt one, or says which there
// are when none is near and they are few.
func didYouMean(word string, known []string) string {
	best, least := "", 1+len(word)/3
	for _, k := range known {
		if d := edits(word, k); d <= least && (best == "" || d < least) {
			best, least = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(known) <= 12:
		return "one of: " + strings.Join(known, ", ")
	}
	return ""
}

// edits counts the letters to insert, delete, replace or swap with their
// neighbour on the way from a to b.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
