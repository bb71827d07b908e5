package regotest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// cover counts what trace saw in the counted files that are not tests. A line
// that the rule index or an early exit left out was not reached, as with stock
// opa: where two rules of one name are true, the second may never be asked.
func (r *Report) cover(s *suite, trace *tracer) {
	packages, codes, missing := map[string]*Package{}, map[string]*Code{}, map[Place]bool{}
	for _, m := range s.modules {
		if m.Test || !s.counted[m.File] {
			continue
		}
		name := m.Parsed.Package.Path.String()
		if packages[name] == nil {
			packages[name] = &Package{Name: name}
		}
		emits := codesOf(m.Parsed)
		ast.WalkRules(m.Parsed, func(rule *ast.Rule) bool {
			one := Rule{
				Name:    name + "." + rule.Head.Ref().String(),
				Package: name,
				Place:   Place{File: m.File, Line: rule.Head.Location.Row},
				Codes:   emits[rule],
				Covered: trace.saw(rule.Head.Location),
			}
			r.Rules = append(r.Rules, one)
			count(&packages[name].Rules, &packages[name].Covered, one)
			for _, code := range one.Codes {
				if codes[code] == nil {
					codes[code] = &Code{Code: code}
				}
				count(&codes[code].Rules, &codes[code].Covered, one)
				codes[code].Places = append(codes[code].Places, one.Place)
			}
			if !one.Covered {
				missing[one.Place] = true
			}
			return false
		})
		ast.WalkExprs(m.Parsed, func(x *ast.Expr) bool {
			if _, declares := x.Terms.(*ast.SomeDecl); !declares && x.Location.HasFile() && !trace.saw(x.Location) {
				missing[Place{File: m.File, Line: x.Location.Row}] = true
			}
			return false
		})
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		p := packages[name]
		p.Percent = percent(p.Covered, p.Rules)
		r.Packages = append(r.Packages, *p)
	}
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		c := codes[name]
		c.Percent = percent(c.Covered, c.Rules)
		slices.SortFunc(c.Places, Place.compare)
		r.Codes = append(r.Codes, *c)
	}
	r.Missing = slices.SortedFunc(maps.Keys(missing), Place.compare)
	slices.SortStableFunc(r.Rules, func(a, b Rule) int { return cmp.Or(a.Place.compare(b.Place)) })
}

func count(rules, covered *int, one Rule) {
	*rules++
	if one.Covered {
		*covered++
	}
}

// percent is never 100 while something is left, nor above it.
func percent(covered, all int) float64 {
	if all == 0 {
		return 100
	}
	return 100 * float64(covered) / float64(all)
}

func (t *tracer) saw(loc *ast.Location) bool { return t.reached[at{loc.File, loc.Row, loc.Col}] }

// codesOf are the codes that METADATA of single rules names: custom.code, or
// custom.codes where one rule picks among several.
func codesOf(m *ast.Module) map[*ast.Rule][]string {
	emits := map[*ast.Rule][]string{}
	for _, a := range m.Annotations {
		rule := ast.NewAnnotationsRef(a).GetRule()
		if rule == nil || a.Scope != "rule" {
			continue
		}
		list, _ := a.Custom["codes"].([]any)
		for _, code := range append(slices.Clone(list), a.Custom["code"]) {
			if name, ok := code.(string); ok {
				emits[rule] = append(emits[rule], name)
			}
		}
		slices.Sort(emits[rule])
		emits[rule] = slices.Compact(emits[rule])
	}
	return emits
}
