package manifest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/glyph"
)

// Problem is one thing that is wrong with a manifest.
type Problem struct {
	File    string // "" when no file is to blame
	Line    int    // from 1; 0 when unknown
	Message string
	Fix     string // what to do about it; "" when Message says it all
}

// LoadError is the error of Load: all that is wrong, in the order of the files.
type LoadError struct{ Problems []Problem }

// Error returns one problem a line.
func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// String returns the problem as `load FILE:LINE: message (fix)`.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString("load ")
	if p.File == "" {
		b.WriteString("manifests")
	} else {
		b.WriteString(printable(p.File))
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": " + p.Message)
	if p.Fix != "" {
		b.WriteString(" (" + p.Fix + ")")
	}
	return b.String()
}

// problems collects what is wrong while loading goes on.
type problems struct{ list []Problem }

// place is where a problem is found and what it is about.
type place struct {
	problems *problems
	file     string
	subject  string // `tool "read_file": `, or ""
	foreign  bool   // nothing of the file may be repeated
}

// key is a key as a problem names it.
func (p place) key(name string) string {
	if p.foreign {
		return "a key"
	}
	return "key " + quoted(name)
}

func (p place) add(line int, fix, format string, args ...any) {
	p.problems.list = append(p.problems.list, Problem{
		File: p.file, Line: line, Message: p.subject + fmt.Sprintf(format, args...), Fix: fix,
	})
}

// foreignCut is how much of a text from outside an error shows.
const foreignCut = 200

// quoted is at most foreignCut bytes of s, in quotes.
func quoted(s string) string { return glyph.Quote(cut(s)) }

// printable is s without anything that could disturb a terminal, cut.
func printable(s string) string {
	q := quoted(s)
	if q[1:len(q)-1] == s {
		return s
	}
	return q
}

func cut(s string) string {
	if len(s) <= foreignCut {
		return s
	}
	end := foreignCut
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// meant suggests the known word that is nearest to a misspelt one:
// `did you mean "roots"?`, or "" when none is near.
func meant(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return "did you mean " + quoted(near) + "?"
	}
	return ""
}

// nearest returns the known word within an edit distance of a third of its
// length (two at most; spelling that differs only in ASCII case is no distance),
// the first of equals, or "".
func nearest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, bestDistance := "", 3
	for _, k := range known {
		limit := min(2, (len(k)+1)/3)
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if d <= limit && d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the optimal string alignment distance of a and b in bytes:
// insert, delete, replace, or swap two neighbours.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3 // nearest never asks for more
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
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
		before, last, row = last, row, before
	}
	return last[len(b)]
}
