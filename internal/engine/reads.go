package engine

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// MayRead tells whether what a rule says can depend on a field of the input, named
// from its root by a dotted path: "call.id". False is a promise: two inputs that
// differ in that field alone are judged alike, unless one is too large.
func (e *Engine) MayRead(field string) bool {
	want := strings.Split(field, ".")
	for _, m := range e.compiler.Modules {
		if reads(m, want) {
			return true
		}
	}
	return reads(e.query, want)
}

// reads tells whether something in x names the field, one below it, or a whole that
// it is part of: through a variable, a computed key or by itself.
func reads(x any, want []string) (found bool) {
	ast.WalkTerms(x, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Ref:
			if v[0].Equal(ast.InputRootDocument) {
				found = found || meets(v[1:], want)
				for _, inner := range v[1:] {
					found = found || reads(inner, want)
				}
				return true // its own first term is the variable input
			}
		case ast.Var:
			found = found || t.Equal(ast.InputRootDocument)
		}
		return found
	})
	return found
}

// meets tells whether a reference below the input can lead to want, into it, or to
// what holds it.
func meets(ref ast.Ref, want []string) bool {
	for i, t := range ref {
		key, constant := t.Value.(ast.String)
		if !constant || i == len(want) {
			return true
		}
		if string(key) != want[i] {
			return false
		}
	}
	return true
}
