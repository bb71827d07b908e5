package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/runlens/runlens/internal/engine/regotest"
	"github.com/runlens/runlens/internal/report"
)

// rego runs the Rego tests of the project's policies, and measures what they and
// the golden cases made true.
func (t *tests) rego(ctx context.Context) error {
	o := regotest.Options{Pattern: t.pattern}
	switch t.p.policies.kind {
	case embedded:
		t.report.LeftOut, o.None = "the policies are the embedded ones", true
	case bundleFile:
		t.report.LeftOut = "a bundle carries none"
		return nil
	}
	if t.report.Coverage != nil {
		o.Inputs = t.inputs
	} else if o.None {
		return nil
	}
	src, err := t.p.policySource()
	if err != nil {
		return err
	}
	got, err := regotest.Run(ctx, src, o)
	if err != nil {
		return ended(ctx, err)
	}
	for i := range got.Results {
		t.add(regoTest(&got.Results[i]))
	}
	for _, p := range got.Problems {
		t.code = worse(t.code, exitBroken)
		complain(t.p.w.stderr, fmt.Errorf("%s", p))
		t.add(report.Tested{Kind: report.TestProblem, Finding: report.Finding{
			Suite: p.Place.File, Name: p.Test + " input " + p.Pointer, Status: report.Broken, Code: "input_schema",
			Title: "a test's input breaks the input schema", Message: fmt.Sprintf("%s: input %s %s", p.Test, p.Pointer, p.Message), Remedy: p.Fix,
			Place: placeOf(p.Place),
		}})
	}
	t.coverage(got)
	return nil
}

func placeOf(p regotest.Place) report.Place { return report.Place{File: p.File, Line: p.Line} }

// regoTest is a Rego test as a finding.
func regoTest(r *regotest.Result) report.Tested {
	f := report.Finding{Suite: r.Place.File, Name: r.Name, Status: report.Pass, Place: placeOf(r.Place), Took: r.Took}
	switch {
	case r.Pass:
	case r.Skip:
		f.Status, f.Message = report.Skip, "its name begins with todo_"
	default:
		f.Status, f.Code, f.Title, f.Message = report.Fail, "rego_test", "a Rego test fails", "the test is not true"
		if r.Error != "" {
			f.Message = "the test can't be evaluated: " + r.Error
		}
		for _, c := range r.Cases {
			if !c.Pass {
				f.Detail += fmt.Sprintf("case %s is not true\n", c.Name)
			}
		}
		if r.Print != "" {
			f.Detail += "it prints\n" + r.Print
		}
	}
	return report.Tested{Kind: report.RegoTest, Finding: f}
}

// coverage takes the coverage, when it was asked for.
func (t *tests) coverage(got *regotest.Report) {
	c := t.report.Coverage
	if c == nil {
		return
	}
	for _, p := range got.Packages {
		c.Packages = append(c.Packages, report.Share{Name: p.Name, Rules: p.Rules, Covered: p.Covered, Percent: p.Percent})
	}
	for _, k := range got.Codes {
		c.Codes = append(c.Codes, report.Share{Name: k.Code, Rules: k.Rules, Covered: k.Covered, Percent: k.Percent})
	}
	for _, rule := range got.Uncovered() {
		c.Uncovered = append(c.Uncovered, report.Uncovered{Name: rule.Name, Place: placeOf(rule.Place)})
	}
	// Where the first rule of a share is that nothing made true.
	place := func(in func(*regotest.Rule) bool) report.Place {
		for _, rule := range got.Uncovered() {
			if in(&rule) {
				return placeOf(rule.Place)
			}
		}
		return report.Place{}
	}
	low := func(kind string, s report.Share, at report.Place) {
		if !c.Low(s) {
			return
		}
		t.add(report.Tested{Kind: report.TestCoverage, Finding: report.Finding{
			Suite: "coverage", Name: kind + " " + s.Name, Status: report.Fail, Code: "coverage", Title: "rules that no test makes true",
			Message: fmt.Sprintf("%.1f %% of the rules of %s %s came true, %d of %d: below %g %%", s.Percent, kind, s.Name, s.Covered, s.Rules, *c.Threshold),
			Place:   at,
		}})
	}
	for _, s := range c.Packages {
		low("package", s, place(func(r *regotest.Rule) bool { return r.Package == s.Name }))
	}
	for _, s := range c.Codes {
		low("code", s, place(func(r *regotest.Rule) bool { return slices.Contains(r.Codes, s.Name) }))
	}
}
