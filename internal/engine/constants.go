package engine

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// dataKey is where a judged input carries policy data. It is in no recorded
// input and no rule can name it.
const dataKey = "\x00data"

// constants lets rules read policy data through the input.
//
// Data never changes while an Engine lives, but the evaluator cannot know that:
// each time a rule says data.runlens.limits it walks the tree of rules and asks
// the store, which costs as much as the rest of the rule. So when the types have
// been checked, data.runlens.<key> of a data file becomes input[dataKey].<key>,
// and the input carries one constant term more.
//
// It returns false and changes nothing where a rule could see the difference:
// one that takes input as a whole, or that replaces input or data by `with`.
func constants(c *ast.Compiler, documents ast.Object) bool {
	tree := ast.StringTerm(folder)
	own := documents.Get(tree)
	if own == nil {
		return false
	}
	data, ok := own.Value.(ast.Object)
	if !ok || seesWhole(c) {
		return false
	}
	rules := c.RuleTree.Child(ast.DefaultRootDocument.Value)
	if rules != nil {
		rules = rules.Child(ast.String(folder))
	}
	for _, m := range c.Modules {
		ast.WalkTerms(m, func(t *ast.Term) bool {
			ref, ok := t.Value.(ast.Ref)
			if !ok || len(ref) < 3 || !ref[0].Equal(ast.DefaultRootDocument) || !ref[1].Equal(tree) {
				return false
			}
			key := ref[2]
			if data.Get(key) == nil || rules != nil && rules.Child(key.Value) != nil {
				return false
			}
			through := ast.Ref{ast.InputRootDocument, ast.StringTerm(dataKey)}
			t.Value = append(through, ref[2:]...)
			return false
		})
	}
	return true
}

// seesWhole tells whether a rule takes the input as one value or replaces
// documents.
func seesWhole(c *ast.Compiler) bool {
	found := false
	for _, m := range c.Modules {
		ast.WalkWiths(m, func(*ast.With) bool {
			found = true
			return true
		})
		ast.WalkTerms(m, func(t *ast.Term) bool {
			switch v := t.Value.(type) {
			case ast.Ref:
				if !v[0].Equal(ast.InputRootDocument) {
					return found
				}
				found = found || len(v) == 1 || !isText(v[1])
				for _, inner := range v[1:] {
					found = found || inner.Equal(ast.InputRootDocument)
				}
				return true // its own first term is the variable input
			case ast.Var:
				found = found || t.Equal(ast.InputRootDocument)
			}
			return found
		})
	}
	return found
}

func isText(t *ast.Term) bool {
	_, ok := t.Value.(ast.String)
	return ok
}
