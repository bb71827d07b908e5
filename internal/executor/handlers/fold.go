package handlers

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is text in the form that terms are looked for in, with the way back to
// where each piece of it stood.
//
// Folding makes equal what people take for the same writing: NFKC (composed and
// decomposed accents, full and half width), simple Unicode case folding, ß and
// ss, and any run of white space as one space. Accents stay: schon and schön are
// two words.
type folded struct {
	text string
	// at are the places in text where a character of the original begins, from
	// those in the original; each ends with the length. nil: they are the same.
	at, from []int
}

// fold folds text. What is no UTF-8 stays as it is.
func fold(s string) folded {
	if f, plain := foldASCII(s); plain {
		return f
	}
	f := folded{at: make([]int, 0, len(s)+1), from: make([]int, 0, len(s)+1)}
	out := make([]byte, 0, len(s))
	var buf [64]byte
	for i := 0; i < len(s); {
		size := 1
		if s[i] >= utf8.RuneSelf || i+1 < len(s) && s[i+1] >= utf8.RuneSelf {
			size = max(norm.NFKC.NextBoundaryInString(s[i:], true), 1)
		}
		piece := norm.NFKC.AppendString(buf[:0], s[i:i+size])
		r, _ := utf8.DecodeRune(piece)
		switch space := unicode.IsSpace(r); {
		case space && len(out) > 0 && out[len(out)-1] == ' ' && len(piece) == utf8.RuneLen(r):
			// one more of a run: it belongs to the space before
		default:
			f.at, f.from = append(f.at, len(out)), append(f.from, i)
			out = appendFolded(out, piece)
		}
		i += size
	}
	f.at, f.from, f.text = append(f.at, len(out)), append(f.from, len(s)), string(out)
	return f
}

// foldASCII folds the text that most cells are made of, in which every byte
// keeps its place.
func foldASCII(s string) (folded, bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r' || c == ' ' && i > 0 && s[i-1] == ' ' {
			return folded{}, false
		}
	}
	return folded{text: strings.ToUpper(s)}, true
}

func appendFolded(out, piece []byte) []byte {
	for len(piece) > 0 {
		r, size := utf8.DecodeRune(piece)
		switch {
		case r == utf8.RuneError && size <= 1:
			out = append(out, piece[0])
		case unicode.IsSpace(r):
			out = append(out, ' ')
		case r == 'ß' || r == 'ẞ':
			out = append(out, "SS"...)
		default:
			out = utf8.AppendRune(out, foldRune(r))
		}
		piece = piece[max(size, 1):]
	}
	return out
}

// foldRune is the first of the runes that differ from r in case alone; of ASCII
// letters it is the capital.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// original says which part of the original became text[i:j]; ok is false when
// that part cuts through a character.
func (f *folded) original(i, j int) (from, to int, ok bool) {
	if f.at == nil {
		return i, j, true
	}
	a, b := sort.SearchInts(f.at, i), sort.SearchInts(f.at, j)
	if a == len(f.at) || b == len(f.at) || f.at[a] != i || f.at[b] != j {
		return 0, 0, false
	}
	return f.from[a], f.from[b], true
}

// Ways to match a term.
const (
	matchPart = "part" // anywhere in the cell
	matchWord = "word" // with no letter or digit right before and after
	matchCell = "cell" // the whole cell, but for white space around it
)

// find returns the first place where term, folded, matches, in the original's
// bytes.
func (f *folded) find(term, match string) (from, to int, ok bool) {
	if match == matchCell {
		inner := strings.Trim(f.text, " ")
		if inner != term {
			return 0, 0, false
		}
		i := strings.Index(f.text, inner)
		return f.original(i, i+len(inner))
	}
	for start := 0; ; {
		i := strings.Index(f.text[start:], term)
		if i < 0 || term == "" {
			return 0, 0, false
		}
		i += start
		j := i + len(term)
		if from, to, ok = f.original(i, j); ok && (match != matchWord || breaks(f.text, i) && breaks(f.text, j)) {
			return from, to, true
		}
		start = i + 1
	}
}

// breaks says whether a word can begin or end at i. Scripts that write no breaks
// between words have them everywhere.
func breaks(text string, i int) bool {
	before, size := utf8.DecodeLastRuneInString(text[:i])
	after, next := utf8.DecodeRuneInString(text[i:])
	return size == 0 || next == 0 || !inWord(before) || !inWord(after) || unbroken(before) || unbroken(after)
}

func inWord(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.M)
}

func unbroken(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
