package regotest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
)

// compile compiles all files as the tester does, and runs nothing.
func (s *suite) compile(ctx context.Context) error {
	numberTests(s.modules)
	s.compiler = ast.NewCompiler().
		SetErrorLimit(0).
		WithEnablePrintStatements(true).
		WithDefaultRegoVersion(ast.RegoV1)
	var err error
	if s.txn, err = s.store.NewTransaction(ctx, storage.TransactionParams{}); err != nil {
		return fmt.Errorf("run tests: %w", err)
	}
	nothing, err := tester.NewRunner().SetStore(s.store).SetCompiler(s.compiler).SetModules(s.parsed).
		SetPrefixMatchers(ast.Ref{ast.DefaultRootDocument, ast.StringTerm("")}).RunTests(ctx, s.txn)
	if err != nil {
		return engine.Misread(err)
	}
	for range nothing { // the channel must be read to its end
	}
	return nil
}

// numberTests gives tests of one name in one package their own, as OPA does,
// but always the same one to the same test: in the order of files and lines.
func numberTests(modules []engine.WrittenModule) {
	count := map[string]int{}
	for _, m := range modules {
		for _, rule := range m.Parsed.Rules {
			ref := rule.Head.Ref()
			name, ok := ref[0].Value.(ast.Var)
			if !ok || !strings.HasPrefix(string(name), tester.TestPrefix) {
				continue
			}
			key := m.Parsed.Package.Path.String() + "." + string(name)
			if n := count[key]; n > 0 {
				own := ref.Copy()
				own[0] = ast.VarTerm(fmt.Sprintf("%s#%02d", name, n))
				rule.Head.SetRef(own)
			}
			count[key]++
		}
	}
}

// run runs the counted tests one after the other, so that trace knows which
// one it sees.
func (s *suite) run(ctx context.Context, pattern string, trace *tracer) ([]Result, error) {
	selected := s.selected()
	if len(selected) == 0 { // which would mean all of them
		return nil, nil
	}
	results, err := tester.NewRunner().
		SetStore(s.store).
		SetCompiler(s.compiler).
		SetPrefixMatchers(selected...).
		SetCoverageQueryTracer(trace).
		RaiseBuiltinErrors(true).
		SetTimeout(timeout).
		SetParallel(1).
		Filter(pattern).
		RunTests(ctx, s.txn)
	if err != nil {
		return nil, fmt.Errorf("run tests: %w", err)
	}
	var list []Result
	for t := range results {
		if s.counted[t.Location.File] {
			list = append(list, result(t))
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run tests: %w", err)
	}
	slices.SortStableFunc(list, func(a, b Result) int { return a.Place.compare(b.Place) })
	return list, nil
}

// selected are the tests of the files that are counted, by their full names.
func (s *suite) selected() (list []ast.Ref) {
	for _, m := range s.modules {
		if !s.counted[m.File] {
			continue
		}
		for _, rule := range s.compiler.Modules[m.File].Rules {
			ref := rule.Head.Ref().GroundPrefix()
			for i, t := range ref {
				if isTest(t) {
					list = append(list, m.Parsed.Package.Path.Extend(ref[:i+1]))
					break
				}
			}
		}
	}
	return list
}

// isTest tells a part of a rule's name that makes the rule a test.
func isTest(t *ast.Term) bool {
	var name string
	switch v := t.Value.(type) {
	case ast.Var:
		name = string(v)
	case ast.String:
		name = string(v)
	}
	return strings.HasPrefix(name, tester.TestPrefix) || strings.HasPrefix(name, tester.SkipTestPrefix)
}

func result(t *tester.Result) Result {
	r := Result{
		Name:  t.Package + "." + t.Name,
		Place: Place{File: t.Location.File, Line: t.Location.Row},
		Pass:  t.Pass(), Skip: t.Skip, Took: t.Duration,
		Print: string(bytes.ToValidUTF8(t.Output[:min(len(t.Output), maxPrint)], nil)),
	}
	switch {
	case t.Error == nil:
	case topdown.IsCancel(t.Error):
		r.Error = fmt.Sprintf("timeout: not done after %v", timeout)
	default:
		r.Error = t.Error.Error()
	}
	for path, c := range t.SubResults.Iter {
		if len(c.SubResults) == 0 {
			r.Cases = append(r.Cases, Case{Name: strings.Join(path, "/"), Pass: !c.Fail})
		}
	}
	return r
}

// decide asks for the decision on each input. How it comes out is not this
// package's matter, and an input that cannot be judged makes nothing true.
func (s *suite) decide(ctx context.Context, inputs []*facts.Input, trace *tracer) error {
	if len(inputs) == 0 {
		return nil
	}
	query, err := rego.New(rego.Query("data.runlens.decision"), rego.Compiler(s.compiler),
		rego.Store(s.store), rego.Transaction(s.txn)).PrepareForEval(ctx)
	if err != nil {
		return fmt.Errorf("ask for decisions: %w", err)
	}
	for i, in := range inputs {
		line, _, err := facts.Encode(in)
		if err != nil {
			return fmt.Errorf("ask for decisions: input %d: %w", i, err)
		}
		document, err := ast.ValueFromReader(bytes.NewReader(line))
		if err != nil {
			return fmt.Errorf("ask for decisions: input %d: %w", i, err)
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		_, _ = query.Eval(limited, rego.EvalParsedInput(document), rego.EvalQueryTracer(trace), rego.EvalTransaction(s.txn))
		cancel()
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("ask for decisions: %w", err)
		}
	}
	return nil
}
