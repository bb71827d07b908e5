package resolve

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold maps a name to the form that rules about names compare: the spellings
// that some file system, shell or reader takes for the same name fold to one.
// It applies NFKC, drops what cannot be seen (format characters, variation
// selectors, fillers, controls), cuts at the first ':' (a Windows stream),
// trims spaces, strips trailing dots and spaces, and lower-cases; and again
// until nothing changes, so that Fold(Fold(x)) == Fold(x). It may be empty.
//
// Look-alikes of other scripts stay apart: Cyrillic е is not Latin e.
func Fold(segment string) string {
	if isFolded(segment) {
		return segment
	}
	for range 8 {
		next := foldOnce(segment)
		if next == segment {
			return segment
		}
		segment = next
	}
	return segment
}

// isFolded is the fast path: lower-case ASCII letters, digits and the
// punctuation that folding leaves alone, with no dot or space at the end.
func isFolded(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f || c == ':' || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return s == "" || s[len(s)-1] != '.'
}

func foldOnce(s string) string {
	if !isASCII(s) {
		s = norm.NFKC.String(strings.ToValidUTF8(s, string(utf8.RuneError)))
		s = strings.Map(func(r rune) rune {
			if isInvisible(r) || unicode.IsControl(r) {
				return -1
			}
			return r
		}, s)
	} else {
		s = dropControls(s)
	}
	s, _, _ = strings.Cut(s, ":")
	s = strings.TrimSpace(s)
	s = strings.TrimRightFunc(s, func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
	return strings.ToLower(s)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func dropControls(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] == 0x7f {
			return strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f {
					return -1
				}
				return r
			}, s)
		}
	}
	return s
}

// isInvisible holds for characters that take no place when shown: a name with
// one looks like the name without. Format characters that do show, such as the
// Arabic number signs, are not among them.
func isInvisible(r rune) bool {
	if r < utf8.RuneSelf {
		return false
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Zl, unicode.Zp)
}

// foldSegments appends the folded names of a path, which '/' and '\' separate
// alike, also where one of them only shows up in the folding.
func foldSegments(dst []string, p string) []string {
	for p != "" {
		n := 0
		for n < len(p) && !isSlash(p[n]) {
			n++
		}
		s := p[:n]
		p = p[min(n+1, len(p)):]
		if s == "" || s == "." || s == ".." {
			continue
		}
		f := Fold(s)
		switch {
		case f == "":
		case strings.ContainsAny(f, `/\`):
			dst = foldSegments(dst, f)
		default:
			dst = append(dst, f)
		}
	}
	return dst
}

// foldEach folds each segment and keeps their number.
func foldEach(dst, segs []string) []string {
	for _, s := range segs {
		dst = append(dst, Fold(s))
	}
	return dst
}

// Folded lists the folded names of a path as it was asked for and of the
// canonical one, sorted, each once, as facts hold them.
func Folded(requested, canonical string) []string {
	out := foldSegments(foldSegments(make([]string, 0, 8), requested), canonical)
	slices.Sort(out)
	return slices.Compact(out)
}
