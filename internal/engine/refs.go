package engine

import (
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// checkRefs refuses every reference to a data path that neither a rule nor a
// data file defines: in Rego it would be undefined for ever, and its rule
// silent. It runs inside the compiler, once imports are resolved.
func checkRefs(c *ast.Compiler, modules []module, data *node, p *problems) {
	for _, m := range modules {
		seen := map[string]bool{} // a path is reported once a file, at the import if there is one
		check := func(ref ast.Ref) bool {
			if !ref[0].Equal(ast.DefaultRootDocument) || isNote(ref) {
				return false
			}
			missing, siblings := lookup(ref, c.RuleTree, data)
			if missing == 0 {
				return false
			}
			where := ref[:missing+1].String()
			if seen[where] {
				return false
			}
			seen[where] = true
			file, line := m.file.shown, 0
			for _, t := range []*ast.Term{ref[missing], ref[0]} {
				if line == 0 && t.Location != nil {
					line = t.Location.Row
					if t.Location.File != "" {
						file = t.Location.File // a rule that gather copied is still where it was written
					}
				}
			}
			key := strings.Trim(ref[missing].String(), `"`)
			p.add(file, line, didYouMean(key, siblings), "nothing defines %s", cut(where))
			return false
		}
		for _, i := range m.parsed.Imports {
			if ref, ok := i.Path.Value.(ast.Ref); ok {
				check(ref)
			}
		}
		ast.WalkRefs(c.Modules[m.file.shown], check)
	}
}

// patternAt says which argument of a built-in is a regular expression.
func patternAt(builtin string) int {
	switch builtin {
	case "regex.match", "regex.find_n", "regex.find_all_string_submatch_n", "regex.split":
		return 0
	case "regex.replace":
		return 1
	}
	return -1
}

// checkPatterns compiles the regular expressions that rules spell out: one that
// does not compile would fail every call that reaches it.
func checkPatterns(modules []module, p *problems) {
	for _, m := range modules {
		call := func(terms []*ast.Term) {
			at := patternAt(terms[0].String())
			if at < 0 || len(terms) <= at+1 {
				return
			}
			pattern, ok := terms[at+1].Value.(ast.String)
			if !ok {
				return
			}
			if _, err := regexp.Compile(string(pattern)); err != nil {
				p.add(m.file.shown, terms[at+1].Location.Row, "", "%s: pattern %s does not compile", terms[0], cut(string(pattern)))
			}
		}
		ast.NewGenericVisitor(func(x any) bool {
			switch x := x.(type) {
			case *ast.Expr:
				if x.IsCall() {
					call(x.Terms.([]*ast.Term))
				}
			case ast.Call:
				call(x)
			}
			return false
		}).Walk(m.parsed)
	}
}

// spot is where a reference can stand while it is followed: in the tree of
// rules, in the data files, or in both.
type spot struct {
	rules *ast.TreeNode
	data  *node
}

// lookup follows ref from data and returns the index of the first element that
// leads nowhere, with the keys that stand beside it; 0 when all is defined.
func lookup(ref ast.Ref, rules *ast.TreeNode, data *node) (missing int, siblings []string) {
	if straight(ref, rules.Child(ref[0].Value)) {
		return 0, nil
	}
	spots := []spot{{rules: rules.Child(ref[0].Value), data: data}}
	for i := 1; i < len(ref); i++ {
		var next []spot
		opened := false // something of unknown content was passed
		for _, s := range spots {
			if s.rules != nil && len(s.rules.Values) > 0 {
				opened = true // what a rule gives is the type checker's matter
				continue
			}
			next = append(next, s.step(ref[i].Value, &opened)...)
		}
		if opened {
			return 0, nil
		}
		if len(next) == 0 {
			for _, s := range spots {
				siblings = append(siblings, s.names()...)
			}
			return i, siblings
		}
		spots = next
	}
	return 0, nil
}

// straight tells whether ref leads to a rule by constants alone, as most do.
func straight(ref ast.Ref, rules *ast.TreeNode) bool {
	for _, t := range ref[1:] {
		if rules == nil {
			return false
		}
		if len(rules.Values) > 0 {
			return true
		}
		if _, ok := t.Value.(ast.String); !ok {
			return false
		}
		rules = rules.Child(t.Value)
	}
	return rules != nil && len(rules.Values) > 0
}

// step goes one element further. An element that is not a constant can be any
// key; in an empty collection that is none, which is no mistake.
func (s spot) step(v ast.Value, opened *bool) []spot {
	name, constant := v.(ast.String)
	if constant {
		next := spot{data: s.data.at(string(name))}
		if s.rules != nil {
			next.rules = s.rules.Child(v)
		}
		if next.rules == nil && next.data == nil {
			return nil
		}
		return []spot{next}
	}
	var next []spot
	if s.rules != nil {
		for k, child := range s.rules.Children {
			n := spot{rules: child}
			if key, ok := k.(ast.String); ok {
				n.data = s.data.at(string(key))
			}
			next = append(next, n)
		}
	}
	if s.data != nil {
		for k, child := range s.data.obj {
			if s.rules == nil || s.rules.Child(ast.String(k)) == nil {
				next = append(next, spot{data: child})
			}
		}
		for _, child := range s.data.arr {
			next = append(next, spot{data: child})
		}
		if len(next) == 0 && s.data.kind != 'v' {
			*opened = true
		}
	}
	return next
}

func (s spot) names() []string {
	var names []string
	if s.rules != nil {
		for k := range s.rules.Children {
			if key, ok := k.(ast.String); ok {
				names = append(names, string(key))
			}
		}
	}
	if s.data != nil {
		names = append(names, s.data.keys()...)
	}
	return names
}
