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
// rule does anything else.
func asksAll(r *ast.Rule) string {
	if r.Else != nil || r.Default || len(r.Head.Args) > 0 || r.Head.Key != nil || len(r.Body) != 1 || len(r.Body[0].With) > 0 || r.Body[0].Negated ||
		r.Head.Value == nil || !r.Head.Value.Equal(ast.BooleanTerm(true)) {
		return ""
	}
	kind, refs := "", 0
	ast.WalkRefs(r.Body, func(ref ast.Ref) bool {
		refs++
		if family := familyTerm(ref); family != nil {
			kind = string(ref[4].Value.(ast.String))
		}
		return false
	})
	if refs != 2 { // the question itself, and the operator of `in`
		return ""
	}
	return kind
}

// familyTerm returns the wildcard of data.runlens.rules[_].<kind>.
func familyTerm(ref ast.Ref) *ast.Term {
	if len(ref) != 5 || !ref[:3].Equal(ast.MustParseRef("data."+folder+".rules")) {
		return nil
	}
	name, isVar := ref[3].Value.(ast.Var)
	_, named := ref[4].Value.(ast.String)
	if !isVar || !named || !strings.HasPrefix(string(name), ast.WildcardPrefix) {
		return nil
	}
	return ref[3]
}

// askOne is the rule with the wildcard written out.
func askOne(r *ast.Rule, family string) *ast.Rule {
	one := r.Copy()
	ast.WalkRefs(one.Body, func(ref ast.Ref) bool {
		if t := familyTerm(ref); t != nil {
			t.Value = ast.String(family)
		}
		return false
	})
	return one
}
