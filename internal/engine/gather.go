package engine

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// gather joins what the shipped families object to into one rule of the
// decision. Where unroll has written
//
//	_denied if some _ in data.runlens.rules.kinds.deny
//
// the set holds something exactly when the body of one of its rules does and
// the member it adds is defined; so the rule becomes one for each of them:
//
//	_denied if { <body>; _ = <member> }
//
// The evaluator then asks one index which of all these rules can apply at all
// and stops at the first that does, instead of building a set for each family.
// The sets themselves stay, for the reasons of a call that is refused. Families
// of a site keep their sets here, too: written out twice, hundreds of rules
// would cost more to compile than they save.
//
// It runs inside the compiler once references are resolved, so that a body
// means the same in any module.
func gather(c *ast.Compiler, families []string) {
	for _, m := range c.Modules {
		if m.Package.Path.String() != "data."+folder {
			continue
		}
		var rules []*ast.Rule
		for _, r := range m.Rules {
			family, kind := asksFamily(r)
			members := setRules(c, family, kind)
			if len(members) == 0 || !slices.Contains(families, family) {
				rules = append(rules, r)
				continue
			}
			for _, member := range members {
				rules = append(rules, applies(r, member))
			}
		}
		m.Rules = rules
	}
}

// asksFamily matches what unroll writes.
func asksFamily(r *ast.Rule) (family, kind string) {
	if !asksOnly(r) {
		return "", ""
	}
	ref := asked(r)
	if ref == nil {
		return "", ""
	}
	name, named := ref[3].Value.(ast.String)
	set, is := ref[4].Value.(ast.String)
	if !named || !is {
		return "", ""
	}
	return string(name), string(set)
}

// setRules are the rules of one set of a family.
func setRules(c *ast.Compiler, family, kind string) (rules []*ast.Rule) {
	if family == "" {
		return nil
	}
	for _, m := range c.Modules {
		if m.Package.Path.String() != "data."+folder+".rules."+family {
			continue
		}
		for _, r := range m.Rules {
			if len(r.Head.Ref()) == 1 && r.Head.Ref()[0].String() == kind {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// applies is r with the question whether member adds to its set.
func applies(r, member *ast.Rule) *ast.Rule {
	one := r.Copy()
	one.Body = member.Body.Copy()
	exists := ast.Equality.Expr(ast.VarTerm(ast.WildcardPrefix+"member"), member.Head.Key.Copy())
	exists.Location = member.Location
	one.Body.Append(exists)
	return one
}

// requiredFamilies are the names in data.runlens.required.
func requiredFamilies(data *node) (names []string) {
	if list := data.at(folder, "required"); list != nil {
		for _, e := range list.arr {
			if name, ok := e.leaf.(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}
