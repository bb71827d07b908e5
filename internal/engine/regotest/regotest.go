// Package regotest runs the Rego tests of a policy tree, checks the inputs that
// they give to rules, and tells which rules nothing made true: what `opa test
// --coverage` does, without another program. It also checks how files are
// formatted.
//
// It promises the results of stock `opa test` over the same files. It is apart
// from package engine so that the parts of OPA that only tests need are not
// linked into the way of a decision. It never loads a tree for decisions: a
// tree that passes here can still be refused by engine.Load.
//
// Read Run first, then Report, then tracer.
package regotest

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
)

const (
	timeout  = 10 * time.Second // of one Rego test, and of one input
	maxPrint = 4096             // bytes that are kept of what a test prints
)

// Options says what is run. The zero value runs every test.
type Options struct {
	Pattern string         // regular expression (RE2) for full names of tests; "" is all
	None    bool           // run no test: the inputs alone count for coverage
	Inputs  []*facts.Input // data.runlens.decision is asked about each, for coverage alone
}

// Run runs the tests of src together with its data. File names are shown as
// engine.Load shows them. The tests are those of the overlay where there is
// one, else those of the tree, and the same files are counted for coverage: a
// project answers for what it wrote, and what it added may rightly change what
// a shipped test expects of the whole.
//
// Every document that a rule outside the test files is asked about while a test
// runs is checked against the input schema of src.Schemas; what breaks it is a
// Problem of the report, whether the test passes or not. A test that gives no
// input has nothing to check.
//
// A tree that cannot be read, parsed or compiled is an *engine.LoadError. A
// cancelled ctx is an error, too: half a run proves nothing.
func Run(ctx context.Context, src engine.Source, o Options) (*Report, error) {
	if _, err := regexp.Compile(o.Pattern); err != nil {
		return nil, fmt.Errorf("select tests: %w", err)
	}
	schema, err := engine.ReadInputSchema(src.Schemas)
	if err != nil {
		return nil, err
	}
	written, err := engine.ReadWritten(src)
	if err != nil {
		return nil, err
	}
	s := newSuite(written, src.Overlay != nil)
	if err := s.compile(ctx); err != nil {
		return nil, err
	}
	trace := newTracer(s, schema)
	r := &Report{}
	if !o.None {
		if r.Results, err = s.run(ctx, o.Pattern, trace); err != nil {
			return nil, err
		}
	}
	trace.tests = false
	if err := s.decide(ctx, o.Inputs, trace); err != nil {
		return nil, err
	}
	r.Problems = trace.found()
	r.cover(s, trace)
	return r, nil
}

// suite is a tree ready to run.
type suite struct {
	modules  []engine.WrittenModule // by file
	parsed   map[string]*ast.Module
	counted  map[string]bool // files whose tests are run or whose rules are counted
	tests    map[string]bool // files that are tests
	compiler *ast.Compiler
	store    storage.Store
	txn      storage.Transaction
}

func newSuite(w *engine.Written, overlay bool) *suite {
	s := &suite{
		modules: w.Modules,
		parsed:  map[string]*ast.Module{}, counted: map[string]bool{}, tests: map[string]bool{},
		store: inmem.NewFromASTObject(w.Data),
	}
	slices.SortFunc(s.modules, func(a, b engine.WrittenModule) int { return cmp.Compare(a.File, b.File) })
	for _, m := range s.modules {
		s.parsed[m.File] = m.Parsed
		s.counted[m.File] = m.Over || !overlay
		s.tests[m.File] = m.Test
	}
	return s
}
