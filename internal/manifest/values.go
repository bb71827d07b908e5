package manifest

import (
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

// positive reads a whole number above zero.
func (p place) positive(n *node, key string) int64 {
	if !p.want(n, key, numberKind) {
		return 0
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v <= 0 {
		p.add(n.line, "leave it out for the policy's own limit", "%s must be a whole number above zero", key)
		return 0
	}
	return v
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
	if !p.want(n, key, listKind) {
		return nil
	}
	out := []string{}
	for _, item := range n.items {
		s := p.text(item, "an item of "+key)
		switch {
		case item.kind != stringKind || item.bad:
		case s == "":
			p.add(item.line, "", "an item of %s is empty", key)
		case slices.Contains(out, s):
			p.add(item.line, "", "%s names %s twice", key, quoted(s))
		default:
			out = append(out, s)
		}
	}
	return out
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
