package engine

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// unroll spells out, for each family that is there, the rules of the decision
// that ask whether any family at all says something:
//
//	_denied if some _ in data.runlens.rules[_].deny
//
// becomes one rule for each family with a deny set. The two mean the same; but
// where a family's name is written out the evaluator goes straight to its rules,
// and where it is a wildcard it lists all families and their data for each
// question, which costs more than all the rules together. Only a rule that is
// true or undefined and holds nothing but this one question is spelt out; all
// else stays as its author wrote it.
func unroll(modules []module, public []Rule) {
	families := map[string][]string{}
	for _, r := range public {
		if !slices.Contains(families[r.Kind], r.Family) {
			families[r.Kind] = append(families[r.Kind], r.Family)
		}
	}
	for _, m := range modules {
		if m.parsed.Package.Path.String() != "data."+folder {
			continue
		}
		var rules []*ast.Rule
		for _, r := range m.parsed.Rules {
			kind := asksAll(r)
			if len(families[kind]) == 0 {
				rules = append(rules, r)
				continue
			}
			for _, family := range families[kind] {
				rules = append(rules, askOne(r, family))
			}
		}
		m.parsed.Rules = rules
	}
}

// asksAll returns the kind of set that a rule asks of every family, "" when the
// rule does anything else. Only `some _ in data.runlens.rules[_].<kind>` alone
// will do: under a negation or in a comprehension one rule for each family
// would not mean the same.
func asksAll(r *ast.Rule) string {
	if !asksOnly(r) {
		return ""
	}
	ref := asked(r)
	if ref == nil || !wildcard(ref[3]) {
		return ""
	}
	kind, _ := ref[4].Value.(ast.String)
	return string(kind)
}

// asksOnly holds for a rule that is true or undefined and has one expression.
func asksOnly(r *ast.Rule) bool {
	return r.Else == nil && !r.Default && r.Head.RuleKind() == ast.SingleValue && len(r.Head.Args) == 0 && len(r.Head.Ref()) == 1 &&
		r.Head.Value.Equal(ast.InternedTerm(true)) && len(r.Body) == 1 && len(r.Body[0].With) == 0 && !r.Body[0].Negated
}

// asked returns the reference in a body that is `some _ in data.runlens.rules[…].<kind>`.
func asked(r *ast.Rule) ast.Ref {
	decl, ok := r.Body[0].Terms.(*ast.SomeDecl)
	if !ok || len(decl.Symbols) != 1 {
		return nil
	}
	call, ok := decl.Symbols[0].Value.(ast.Call)
	if !ok || len(call) != 3 || !call[0].Value.(ast.Ref).Equal(ast.Member.Ref()) || !wildcard(call[1]) {
		return nil
	}
	ref, ok := call[2].Value.(ast.Ref)
	if !ok || len(ref) != 5 {
		return nil
	}
	for i, key := range []string{folder, "rules"} {
		if s, ok := ref[i+1].Value.(ast.String); !ok || string(s) != key {
			return nil
		}
	}
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return nil
	}
	return ref
}

func wildcard(t *ast.Term) bool {
	name, ok := t.Value.(ast.Var)
	return ok && strings.HasPrefix(string(name), ast.WildcardPrefix)
}

// askOne is the rule with the wildcard written out.
func askOne(r *ast.Rule, family string) *ast.Rule {
	one := r.Copy()
	asked(one)[3].Value = ast.String(family)
	return one
}
