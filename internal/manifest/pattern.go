package manifest

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
)

// pattern reads the regular expression of an argument, and returns it anchored
// at both ends. options tells that the argument stands after "--".
func (p place) pattern(n *node, options bool) string {
	if !p.want(n, "pattern", stringKind) {
		return ""
	}
	if cause, fix := patternTrouble(n.text, options); cause != "" {
		p.add(n.line, fix, "pattern %s %s", quoted(n.text), cause)
	}
	return anchored(n.text)
}

func anchored(expr string) string { return "^(?:" + expr + ")$" }

// patternTrouble says why an expression is no pattern of an argument, or takes
// more than its author can have meant, and what to do. That it is matched as a
// whole, alternatives and all, is what the group of anchored is for; what "[^/]"
// and "." take and nobody sees is refused in CheckInput. A dash is meant where
// every match begins with one.
func patternTrouble(expr string, endOfOptions bool) (cause, fix string) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		why := "it cannot be read"
		if e := (*syntax.Error)(nil); errors.As(err, &e) {
			why = e.Code.String() + " " + quoted(e.Expr)
		}
		return "is no regular expression: " + why, "RE2 reads it: no look-around, no back-references"
	}
	whole, err := regexp.Compile(anchored(expr))
	if err != nil {
		return `does not end where it seems to`, `end \Q with \E`
	}
	switch {
	case holdsLineAnchor(tree):
		return "is matched line by line, so that one line of many would do", "take (?m) out"
	case whole.MatchString(""):
		return "takes the empty string", "ask for a character at least: + for *"
	}
	if first := beginningsOf(tree); first.dash && first.other && !endOfOptions {
		return `takes what begins with "-", which programs read as an option`,
			`say what it begins with, as in [A-Za-z0-9_][a-z-]*; or, where options are meant, begin every match with a dash; or put "--" before it`
	}
	return "", ""
}

// holdsLineAnchor tells whether ^ or $ stands for the ends of a line.
func holdsLineAnchor(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginLine || re.Op == syntax.OpEndLine || slices.ContainsFunc(re.Sub, holdsLineAnchor)
}

// beginnings are the characters with which matches can begin, as far as options
// go, and whether a match can be empty, so that what follows begins it.
type beginnings struct{ dash, other, empty bool }

func (b beginnings) or(c beginnings) beginnings {
	return beginnings{b.dash || c.dash, b.other || c.other, b.empty || c.empty}
}

// beginningsOf never leaves one out: what holds at no place (\B, $) is taken for
// the empty text. A dash has no other case, so that (?i) changes nothing.
func beginningsOf(re *syntax.Regexp) (b beginnings) {
	switch re.Op {
	case syntax.OpNoMatch:
		return b
	case syntax.OpLiteral:
		if len(re.Rune) == 0 {
			return beginnings{empty: true}
		}
		return beginnings{dash: re.Rune[0] == '-', other: re.Rune[0] != '-'}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return beginnings{dash: true, other: true}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			low, high := re.Rune[i], re.Rune[i+1]
			b = b.or(beginnings{dash: low <= '-' && '-' <= high, other: low != '-' || high != '-'})
		}
		return b
	case syntax.OpCapture, syntax.OpPlus:
		return beginningsOf(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		return beginningsOf(re.Sub[0]).or(beginnings{empty: true})
	case syntax.OpRepeat:
		if re.Max == 0 {
			return beginnings{empty: true}
		}
		return beginningsOf(re.Sub[0]).or(beginnings{empty: re.Min == 0})
	case syntax.OpConcat:
		b.empty = true
		for i := 0; i < len(re.Sub) && b.empty; i++ {
			b.empty = false
			b = b.or(beginningsOf(re.Sub[i]))
		}
		return b
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			b = b.or(beginningsOf(sub))
		}
		return b
	}
	return beginnings{empty: true} // ^, $, \b: no character
}
