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
// whole, alternatives and all, is what the group of anchored is for; control
// characters, which "[^/]" and "." take, are refused in CheckInput.
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
	if dash, _ := maybeOption(tree); dash && !endOfOptions {
		return `takes what begins with "-", which programs read as an option`,
			`say what it begins with, as in [A-Za-z0-9_][a-z-]*; or, where an option is meant, write its dash out; or put "--" before it`
	}
	return "", ""
}

// holdsLineAnchor tells whether ^ or $ stands for the ends of a line.
func holdsLineAnchor(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginLine || re.Op == syntax.OpEndLine || slices.ContainsFunc(re.Sub, holdsLineAnchor)
}

// maybeOption tells whether a match can begin with a "-" that the expression
// does not write out but takes as one character of many, and whether it can be
// empty, so that what follows begins it.
func maybeOption(re *syntax.Regexp) (dash, empty bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return false, len(re.Rune) == 0
	case syntax.OpNoMatch:
		return false, false
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true, false
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			dash = dash || re.Rune[i] <= '-' && '-' <= re.Rune[i+1]
		}
		return dash, false
	case syntax.OpCapture, syntax.OpPlus:
		return maybeOption(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		dash, _ = maybeOption(re.Sub[0])
		return dash, true
	case syntax.OpRepeat:
		dash, empty = maybeOption(re.Sub[0])
		return dash && re.Max != 0, empty || re.Min == 0
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			here, nothing := maybeOption(sub)
			if dash = dash || here; !nothing {
				return dash, false
			}
		}
		return dash, true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			here, nothing := maybeOption(sub)
			dash, empty = dash || here, empty || nothing
		}
		return dash, empty
	}
	return false, true // ^, $, \b: no character
}
