// Package regotest runs the tests of a policy tree, tells which lines they
// leave out, and checks how the files are formatted: what `opa test
// --coverage` and `opa fmt --diff` do, without another program.
//
// It is apart from package engine so that the parts of OPA that only tests need
// are not linked into the way of a decision. It never loads a tree for
// decisions: a tree that passes here can still be refused by engine.Load.
//
// Read Run first, then Report, then Unformatted.
package regotest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/loader"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
)

// timeout bounds one Rego test.
const timeout = 10 * time.Second

// Report is what a run of the tests found.
type Report struct {
	Results []Result // by file and line
	Rules   []Rule   // of the files that are not tests, by file and line
	Missing []Place  // lines of rules that no test reached
}

// Result is one test.
type Result struct {
	Name  string // "data.runlens.rules.paths_test.test_quiet"
	Place Place
	Pass  bool
	Skip  bool   // its name starts with todo_
	Error string // why it could not be evaluated; "" when it passed or failed
	Took  time.Duration
}

// Rule is one rule, public or not, and whether some test made it true.
type Rule struct {
	Name    string
	Place   Place
	Covered bool
}

// Place is a line of a file, counted from 1.
type Place struct {
	File string
	Line int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Failed lists the tests that did not pass, skipped ones among them.
func (r *Report) Failed() []Result {
	return slices.DeleteFunc(slices.Clone(r.Results), func(t Result) bool { return t.Pass })
}

// Run runs the tests below fsys, whose root holds runlens/, together with its
// data. pattern selects tests by their full names as a regular expression; ""
// is all. Coverage is that of the selected tests.
func Run(ctx context.Context, fsys fs.FS, pattern string) (*Report, error) {
	loaded, err := loader.NewFileLoader().
		WithFS(fsys).
		WithProcessAnnotation(true).
		WithRegoVersion(ast.RegoV1).
		Filtered([]string{"."}, func(abs string, info fs.FileInfo, _ int) bool {
			return !info.IsDir() && !strings.HasSuffix(abs, ".rego") && info.Name() != "data.json"
		})
	if err != nil {
		return nil, fmt.Errorf("load tests: %w", err)
	}
	modules := loaded.ParsedModules()
	store := inmem.NewFromObject(loaded.Documents)
	txn, err := store.NewTransaction(ctx, storage.WriteParams)
	if err != nil {
		return nil, fmt.Errorf("load tests: %w", err)
	}
	defer store.Abort(ctx, txn)
	tracer := cover.New()
	results, err := tester.NewRunner().
		SetStore(store).
		SetModules(modules).
		SetCoverageQueryTracer(tracer).
		SetDefaultRegoVersion(ast.RegoV1).
		RaiseBuiltinErrors(true).
		SetTimeout(timeout).
		Filter(pattern).
		RunTests(ctx, txn)
	if err != nil {
		return nil, fmt.Errorf("run tests: %w", err)
	}
	r := &Report{}
	for t := range results {
		result := Result{
			Name:  t.Package + "." + t.Name,
			Place: Place{File: t.Location.File, Line: t.Location.Row},
			Pass:  t.Pass(), Skip: t.Skip, Took: t.Duration,
		}
		if t.Error != nil {
			result.Error = t.Error.Error()
		}
		r.Results = append(r.Results, result)
	}
	r.cover(tracer.Report(modules), modules)
	slices.SortFunc(r.Results, func(a, b Result) int { return a.Place.compare(b.Place) })
	return r, nil
}

// cover reads OPA's coverage. A line that the rule index or an early exit left
// out, and that is reached without them, is reached.
func (r *Report) cover(report cover.Report, modules map[string]*ast.Module) {
	for name, m := range modules {
		if strings.HasSuffix(name, "_test.rego") {
			continue
		}
		missing := map[int]bool{}
		if file := report.Files[name]; file != nil {
			for _, part := range file.NotCovered {
				if len(part.Kinds) > 0 {
					continue
				}
				if line := part.Start.Row; !missing[line] {
					missing[line] = true
					r.Missing = append(r.Missing, Place{File: name, Line: line})
				}
			}
		}
		ast.WalkRules(m, func(rule *ast.Rule) bool {
			line := rule.Head.Location.Row
			r.Rules = append(r.Rules, Rule{
				Name:    m.Package.Path.String() + "." + rule.Head.Ref().String(),
				Place:   Place{File: name, Line: line},
				Covered: !missing[line],
			})
			return false
		})
	}
	slices.SortFunc(r.Missing, Place.compare)
	slices.SortFunc(r.Rules, func(a, b Rule) int { return a.Place.compare(b.Place) })
}

func (p Place) compare(q Place) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line))
}

// Unformatted lists the first line of every policy file below fsys that
// `opa fmt` would change.
func Unformatted(fsys fs.FS) ([]Place, error) {
	var list []Place
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".rego" {
			return err
		}
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		want, err := format.SourceWithOpts(name, raw, format.Opts{RegoVersion: ast.RegoV1})
		if err != nil {
			return fmt.Errorf("format %s: %w", name, err)
		}
		if !bytes.Equal(raw, want) {
			list = append(list, Place{File: name, Line: firstDifference(raw, want)})
		}
		return nil
	})
	return list, err
}

func firstDifference(a, b []byte) int {
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}
