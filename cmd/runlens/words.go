package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/report"
)

// foreignCut is how many bytes of a text from outside a message shows.
const foreignCut = 200

// quoted is a text from outside, safe to print.
func quoted(text string) string {
	if len(text) > foreignCut {
		end := foreignCut
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return fmt.Sprintf("%q", text)
}

// printable is a line that goes to a terminal.
func printable(line string) string { return report.Escape(line) }

// didYouMean names the known word nearest to a misspelt one, or "".
func didYouMean(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// nearest returns the known word with the fewest edits from word, or "" when
// none is within a third of its length. Nobody who typed a word meant another
// by it when it is known; then there is none. A longer form of word, three letters
// or more, is near as well: "verif", "md" does not make "markdown".
func nearest(word string, known []string) string {
	if slices.Contains(known, word) {
		return ""
	}
	best, bestEdits := "", 0
	for _, k := range known {
		edits := distance(strings.ToLower(word), strings.ToLower(k))
		limit := max(1, len(strings.TrimLeft(k, "-"))/3)
		if len(strings.TrimLeft(word, "-")) >= 3 && strings.HasPrefix(k, strings.ToLower(word)) {
			edits = min(edits, limit)
		}
		if edits <= limit && (best == "" || edits < bestEdits) {
			best, bestEdits = k, edits
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour on the way from a to b.
func distance(a, b string) int {
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
