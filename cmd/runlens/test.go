package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/golden"
	"github.com/runlens/runlens/internal/report"
)

func (w *world) testCommand() *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "judge golden cases and run the Rego tests: does the policy say what is wanted?",
		ArgsUsage: "[DIR]",
		Description: `DIR holds golden cases, FAMILY/CASE.txtar; without it, that is policy_test in the project. A
case lays out files, makes calls and says which verdict, codes and paths are wanted of
each. docs/testing.md says how cases are written. Then the Rego tests of the project's
policies are run; what they give to rules as input must fit the input schema.

  runlens test
  runlens test --run 'paths/'              one family; a case, a row or a Rego test too
  runlens test --update                    write what was judged into the cases; read it!
  runlens test --coverage --threshold 100  did every rule come true somewhere?
  runlens test --format junit > report.xml

A case with a ledger section executes its call, in a directory made for it. All others
execute nothing.

Exit codes, the worst of all: 2 a case, a stray file or the policy can't be read; 1 a row, a
Rego test or the coverage is not as wanted; 4 no case, or none that --run matches;
0 all as wanted.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "run", Usage: "`REGEX` of what is tested: FAMILY/CASE, FAMILY/CASE/ROW, or the full name of a Rego test"},
			&cli.BoolFlag{Name: "update", Usage: "write what was judged into the cases where it is not what they want"},
			&cli.BoolFlag{Name: "coverage", Usage: "tell which packages, codes and rules came true"},
			&cli.StringFlag{Name: "threshold", Usage: "`PERCENT` of its rules that must have come true in each package and for each code: 0 to 100; it implies --coverage"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the report: text, json (one object), jsonl (one line a test, the summary last), junit, sarif or github"},
		},
		Action: w.test,
	}
}

// tests is one run of the tests.
type tests struct {
	p        *project
	engine   *engine.Engine
	dir      string
	pattern  string // --run
	selected *regexp.Regexp
	update   bool

	report report.Tests
	inputs []*facts.Input // that cases were judged on, for coverage
	found  bool           // a case was there
	code   int
}

func (w *world) test(c *cli.Context) error {
	t, format, err := w.readTests(c)
	if err != nil {
		return err
	}
	if t.engine, err = t.p.loadPolicies(); err != nil {
		return err
	}
	ctx, stop := untilEnded(c.Context)
	defer stop()
	if err := t.golden(ctx); err != nil {
		return err
	}
	if err := t.rego(ctx); err != nil {
		return err
	}
	t.finish()
	if err := w.writeTests(format, &t.report); err != nil {
		return err
	}
	return end(t.code)
}

// readTests reads the command line.
func (w *world) readTests(c *cli.Context) (*tests, string, error) {
	t := &tests{update: c.Bool("update")}
	format, formatErr := oneOf(c, "format", "text", "json", "jsonl", "junit", "sarif", "github")
	for _, at := range c.Lineage() { // before the command the flag is the global one
		if t.pattern == "" && at.Command != nil && at.IsSet("run") {
			t.pattern = at.String("run")
		}
	}
	var patternErr, limitErr error
	if t.selected, patternErr = regexp.Compile(t.pattern); patternErr != nil {
		patternErr = hinted("a regular expression as of RE2: https://github.com/google/re2/wiki/Syntax", "read arguments: --run: %w", patternErr)
	}
	if c.IsSet("threshold") {
		var limit float64
		limit, limitErr = percent(c, "threshold")
		t.report.Coverage = &report.Coverage{Threshold: &limit}
	} else if c.Bool("coverage") {
		t.report.Coverage = &report.Coverage{}
	}
	if err := together(countFiles(c, 0, 1), formatErr, patternErr, limitErr); err != nil {
		return nil, "", err
	}
	var err error
	if t.p, err = w.openProject(c); err != nil {
		return nil, "", err
	}
	if t.report.Coverage != nil && t.p.policies.kind == bundleFile {
		return nil, "", hinted("name the directory that the bundle was built from", "read arguments: --coverage: a bundle carries no tests, and its rules no lines")
	}
	t.dir = c.Args().First()
	if t.dir == "" {
		t.dir = t.p.in("policy_test")
	} else if st, err := os.Stat(t.dir); err != nil {
		return nil, "", hinted(similar(t.dir), "read %s: %w", t.dir, cause(err))
	} else if !st.IsDir() {
		return nil, "", hinted("a directory of golden cases; --run selects among them", "read %s: not a directory", t.dir)
	}
	return t, format, nil
}

// matches says whether --run selects one of the names.
func (t *tests) matches(names ...string) bool {
	for _, name := range names {
		if t.selected.MatchString(name) {
			return true
		}
	}
	return false
}

// broken takes what is no test and should be, and goes on.
func (t *tests) broken(err error) {
	t.code = worse(t.code, exitBroken)
	complain(t.p.w.stderr, err)
	list, ok := errors.AsType[*golden.Problems](err)
	if !ok {
		t.add(report.Tested{Kind: report.TestProblem, Finding: report.Finding{
			Suite: t.dir, Name: t.dir, Status: report.Broken, Code: "problem", Message: err.Error(), Place: report.Place{File: t.dir},
		}})
		return
	}
	for _, p := range list.List {
		name := fmt.Sprintf("line %d", p.Line)
		if p.Line == 0 {
			name = p.File
		}
		t.add(report.Tested{Kind: report.TestProblem, Finding: report.Finding{
			Suite: p.File, Name: name, Status: report.Broken, Code: "problem", Title: "not a golden case",
			Message: p.Text, Remedy: p.Fix, Place: report.Place{File: p.File, Line: p.Line},
		}})
	}
}

func (t *tests) add(one report.Tested) {
	t.report.List = append(t.report.List, one)
	if one.Status == report.Fail {
		t.code = worse(t.code, exitDenied)
	}
}

// finish says what is left to say when nothing was tested.
func (t *tests) finish() {
	tested := func(kinds ...report.TestKind) bool {
		for i := range t.report.List {
			for _, k := range kinds {
				if one := &t.report.List[i]; one.Kind == k && one.Status != report.Skip {
					return true
				}
			}
		}
		return false
	}
	cases := tested(report.GoldenRow, report.GoldenLedger)
	switch {
	case !t.found:
		t.report.Nothing = fmt.Sprintf("%s holds no golden case: a case is %s/FAMILY/CASE.txtar, and docs/testing.md says how it is written", t.dir, t.dir)
	case t.pattern != "" && !cases && !tested(report.RegoTest) && t.report.Cases == 0:
		t.report.Nothing = fmt.Sprintf("--run %s matches no case, row or Rego test", quoted(t.pattern))
	case !cases && t.report.Cases > 0:
		t.report.Nothing = "every golden case was skipped"
	default:
		return
	}
	t.p.w.note("%s", t.report.Nothing)
	t.code = worse(t.code, exitNothing)
}

// writeTests writes the report.
func (w *world) writeTests(format string, t *report.Tests) error {
	var data []byte
	var err error
	switch format {
	case "text":
		data = report.TestsText(t)
	case "json":
		data, err = report.TestsJSON(t)
	case "jsonl":
		data, err = report.TestsJSONL(t)
	default:
		if format != "github" {
			w.annotate(t.Findings())
		}
		return w.writeFindings(format, "runlens test", t.Findings())
	}
	if err != nil {
		return err
	}
	w.annotate(t.Findings())
	return w.write(data)
}

// ended is the error of tests that were asked to end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return hinted("", "test: ended before all was tested")
	}
	return err
}
