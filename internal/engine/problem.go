package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that keeps a policy tree from loading.
type Problem struct {
	File    string // as the reader knows it, "policies/runlens/rules/paths/paths.rego"
	Line    int    // from 1; 0 when the whole file or tree is meant
	Message string // lower case, no full stop
	Fix     string // what to do about it; "" when the message says it
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString("load ")
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	b.WriteString(p.Message)
	if p.Fix != "" {
		b.WriteString(" (" + p.Fix + ")")
	}
	return b.String()
}

// LoadError lists everything that is wrong with a policy tree, ordered by file
// and line. It never holds values of a call.
type LoadError struct {
	Problems []Problem
}

// Error gives one problem a line.
func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems gathers what is wrong while loading.
type problems struct {
	list []Problem
}

func (p *problems) add(file string, line int, fix, format string, args ...any) {
	p.list = append(p.list, Problem{File: file, Line: line, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// err returns the problems in reading order, each once, or nil.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	list := slices.Clone(p.list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return &LoadError{Problems: slices.Compact(list)}
}

// cut shortens foreign text to 200 bytes and quotes it.
func cut(s string) string {
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}

// nearest returns the candidate closest to word by edits, or "" when none is
// close enough to be what was meant.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", 1+len(word)/3
	for _, c := range candidates {
		if d := edits(word, c); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = c, d
		}
	}
	return best
}

// didYouMean is nearest as a fix.
func didYouMean(word string, candidates []string) string {
	if n := nearest(word, candidates); n != "" && n != word {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return ""
}

// edits is the Damerau-Levenshtein distance, adjacent swaps counting once.
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
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
