package manifest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// These methods read one value of a declared kind and report any other.

func (p place) want(n *node, key string, k kind) bool {
	if n.bad {
		return false
	}
	if n.kind != k {
		p.add(n.line, "", "%s must be %s, not %s", key, k, n.kind)
		return false
	}
	return true
}

func (p place) text(n *node, key string) string {
	if !p.want(n, key, stringKind) {
		return ""
	}
	return n.text
}

func (p place) boolean(n *node, key string) bool {
	return p.want(n, key, boolKind) && n.text == "true"
}

// positive reads a whole number above zero; 0 when it is none.
func (p place) positive(n *node, key, fix string) int64 {
	if v, ok := p.whole(n, key, 1, fix); ok {
		return v
	}
	return 0
}

// longest is the longest deadline that loads: 24 hours, in milliseconds. What is
// far beyond it would overflow where it is waited for.
const longest = 24 * 60 * 60 * 1000

// deadline reads a number of milliseconds; 0 when it is none.
func (p place) deadline(n *node, key, fix string) int64 {
	v := p.positive(n, key, fix)
	if v > longest {
		p.add(n.line, fmt.Sprintf("%d at most: it counts milliseconds", longest), "%s is %d, more than 24 hours", key, v)
		return 0
	}
	return v
}

// whole reads a whole number from least, which is 0 or 1.
func (p place) whole(n *node, key string, least int64, fix string) (int64, bool) {
	if !p.want(n, key, numberKind) {
		return 0, false
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v < least {
		p.add(n.line, fix, "%s must be a whole number%s", key, [...]string{", 0 or more", " above zero"}[least])
		return 0, false
	}
	return v, true
}

// filled reads a string that says something.
func (p place) filled(n *node, key string) string {
	s := p.text(n, key)
	switch {
	case n.bad || n.kind != stringKind:
	case strings.TrimSpace(s) == "":
		p.add(n.line, "leave it out", "%s is empty", key)
	case strings.ContainsFunc(s, func(r rune) bool { return isControl(r) && r != '\n' && r != '\t' }):
		p.add(n.line, "", "%s holds a control character", key)
	}
	return s
}

// line reads a string that says something in one line. Newlines at its end do
// not count: YAML's folded text has one.
func (p place) line(n *node, key string) string {
	before := len(p.problems.list)
	s := strings.TrimRight(p.filled(n, key), "\n")
	if len(p.problems.list) == before && strings.ContainsAny(s, "\n\t") {
		p.add(n.line, "", "%s must be one line, without tabs", key)
	}
	return s
}

// named is a name in a list and where it stands.
type named struct {
	name string
	line int
}

// namedTexts is texts with the line of each.
func (p place) namedTexts(n *node, key string) (out []named) {
	if !p.want(n, key, listKind) {
		return nil
	}
	for _, item := range n.items {
		s := p.text(item, "an item of "+key)
		switch {
		case item.kind != stringKind || item.bad:
		case s == "":
			p.add(item.line, "", "an item of %s is empty", key)
		case slices.ContainsFunc(out, func(o named) bool { return o.name == s }):
			p.add(item.line, "", "%s names %s twice", key, quoted(s))
		default:
			out = append(out, named{s, item.line})
		}
	}
	return out
}

func namesOf(list []named) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.name
	}
	return out
}

func (p place) oneOf(n *node, key string, known []string) string {
	if !p.want(n, key, stringKind) {
		return ""
	}
	if !slices.Contains(known, n.text) {
		fix := meant(n.text, known)
		if fix == "" {
			fix = "known: " + strings.Join(known, ", ")
		}
		p.add(n.line, fix, "unknown %s %s", key, quoted(n.text))
		return ""
	}
	return n.text
}

// texts reads a list of non-empty strings, each once.
func (p place) texts(n *node, key string) []string {
	list := p.namedTexts(n, key)
	if n.kind != listKind {
		return nil
	}
	return namesOf(list)
}

// searchPath reads the directories of executables: "/usr/bin:/bin" or a list.
func (p place) searchPath(n *node) []string {
	var list []string
	if n.bad {
		return nil
	}
	switch n.kind {
	case stringKind:
		list = strings.Split(n.text, ":")
	case listKind:
		list = p.texts(n, "path")
	default:
		p.add(n.line, "", "path must be a string or a list, not %s", n.kind)
		return nil
	}
	if len(list) == 0 {
		p.add(n.line, "leave it out for the default", "path is empty")
	}
	for _, dir := range list {
		switch {
		case !path.IsAbs(dir) && !isDrive(dir):
			p.add(n.line, "", "path names %s, which is not absolute", quoted(dir))
		case strings.ContainsFunc(dir, isControl) || hasDotDot(dir):
			p.add(n.line, "", "path names %s, which is not a plain directory name", quoted(dir))
		}
	}
	return list
}

// unknownKeys reports keys that an object may not have.
func (p place) unknownKeys(n *node, known []string, what string) {
	for _, f := range n.fields {
		if !slices.Contains(known, f.name) {
			p.add(f.line, meant(f.name, known), "%sunknown key %s", what, quoted(f.name))
		}
	}
}

func hasDotDot(p string) bool { return slices.Contains(strings.Split(p, "/"), "..") }

// isDrive tells a Windows drive path, C:\x or C:/x.
func isDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0] >= 'a' && p[0] <= 'z' || p[0] >= 'A' && p[0] <= 'Z')
}
