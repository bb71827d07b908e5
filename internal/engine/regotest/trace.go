package regotest

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/runlens/runlens/internal/engine"
)

// tracer watches evaluations, one at a time: which expressions are reached,
// which rules come true, and which inputs rules are asked about.
//
// A document is known by its term: OPA makes one for each evaluation of a
// `with`, and hands that very term to all that is asked below it. It was given
// by the last expression with such a `with`: the first rule that is asked about
// it is asked right after that.
type tracer struct {
	suite  *suite
	schema *engine.InputSchema
	tests  bool // what runs is a test, whose inputs are checked

	mu      sync.Mutex
	reached map[at]bool // expressions that were evaluated, rules that came true

	test    *ast.Rule          // that runs now; nil before its rule is entered
	last    *ast.Term          // the document that was looked at last
	given   Place              // in this test: the last expression that gave an input
	checked map[*ast.Term]bool // in this test
	known   map[int][]document // all documents so far, by hash
	rules   map[string]bool    // whether a reference leads to a rule outside the tests
	list    map[Problem]bool
}

// at is where a rule's head or an expression stands.
type at struct {
	file      string
	line, col int
}

// document is an input with all that is wrong with it.
type document struct {
	value   ast.Value
	misfits []engine.Misfit
}

func newTracer(s *suite, schema *engine.InputSchema) *tracer {
	t := &tracer{
		suite: s, schema: schema, tests: true,
		reached: map[at]bool{}, known: map[int][]document{}, rules: map[string]bool{}, list: map[Problem]bool{},
	}
	t.begin()
	return t
}

// begin forgets the test before.
func (t *tracer) begin() {
	t.test, t.last, t.given = nil, nil, Place{}
	t.checked = map[*ast.Term]bool{}
}

// Enabled implements topdown.QueryTracer.
func (*tracer) Enabled() bool { return true }

// Config implements topdown.QueryTracer.
func (*tracer) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent implements topdown.QueryTracer.
func (t *tracer) TraceEvent(e topdown.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Op {
	case topdown.EnterOp:
		t.enter(e)
	case topdown.ExitOp:
		if rule, ok := e.Node.(*ast.Rule); ok {
			t.reach(rule.Head.Location)
		}
	case topdown.EvalOp:
		if expr, ok := e.Node.(*ast.Expr); ok {
			t.reach(expr.Location)
			if givesInput(expr) {
				t.given = Place{File: expr.Location.File, Line: expr.Location.Row}
			}
		}
	case topdown.IndexOp:
		// The index may leave out every rule, and most likely does when the
		// input has a typo: nothing is entered then.
		if t.unseen(e) && t.outside(*e.Ref) {
			t.check(e)
		}
	}
}

func (t *tracer) enter(e topdown.Event) {
	rule, ok := e.Node.(*ast.Rule)
	switch {
	case !ok && e.ParentID == 0:
		t.begin()
	case !ok:
	case t.suite.tests[rule.Location.File]:
		if t.test == nil {
			t.test = rule
		}
	case t.unseen(e):
		t.check(e)
	}
}

func (t *tracer) reach(loc *ast.Location) {
	if loc != nil && t.suite.counted[loc.File] {
		t.reached[at{loc.File, loc.Row, loc.Col}] = true
	}
}

// givesInput tells whether expr changes the input for what it asks.
func givesInput(expr *ast.Expr) bool {
	return slices.ContainsFunc(expr.With, func(w *ast.With) bool {
		ref, ok := w.Target.Value.(ast.Ref)
		return ok && ref[0].Equal(ast.InputRootDocument)
	})
}

// unseen tells whether e is about a document that was not checked before.
func (t *tracer) unseen(e topdown.Event) bool {
	in := e.Input()
	if in == nil || in == t.last || !t.tests {
		return false
	}
	return !t.checked[in]
}

// outside tells whether ref asks for a rule outside the test files.
func (t *tracer) outside(ref ast.Ref) bool {
	ref = ref.GroundPrefix()
	name := ref.String()
	known, ok := t.rules[name]
	if !ok {
		known = slices.ContainsFunc(t.suite.compiler.GetRules(ref), func(r *ast.Rule) bool {
			return !t.suite.tests[r.Location.File]
		})
		t.rules[name] = known
	}
	return known
}

// check checks the document of e once.
func (t *tracer) check(e topdown.Event) {
	in := e.Input()
	t.last, t.checked[in] = in, true
	for _, m := range t.misfits(in.Value) {
		p := Problem{Place: t.given, Pointer: m.Pointer, Message: m.Message, Fix: m.Fix}
		if t.test != nil {
			p.Test = fullName(t.test)
			p.Place = cmp.Or(p.Place, Place{File: t.test.Location.File, Line: t.test.Location.Row})
		}
		t.list[p] = true
	}
}

// misfits checks documents that are equal once.
func (t *tracer) misfits(v ast.Value) []engine.Misfit {
	hash := v.Hash()
	for _, d := range t.known[hash] {
		if d.value.Compare(v) == 0 {
			return d.misfits
		}
	}
	d := document{value: v, misfits: t.schema.Check(v)}
	t.known[hash] = append(t.known[hash], d)
	return d.misfits
}

// found lists the problems by file, line, test and pointer.
func (t *tracer) found() []Problem {
	var list []Problem
	for p := range t.list {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(a.Place.compare(b.Place), strings.Compare(a.Test, b.Test),
			strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
	})
	return list
}

// fullName is the name of a test as the tester gives it.
func fullName(test *ast.Rule) string {
	ref := test.Head.Ref().GroundPrefix()
	for i, t := range ref {
		if isTest(t) {
			ref = ref[:i+1]
			break
		}
	}
	return test.Module.Package.Path.String() + "." + ref.String()
}
