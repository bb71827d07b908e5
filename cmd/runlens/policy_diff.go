package main

import (
	"context"
	"errors"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/report"
)

func (w *world) diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "judge the same inputs by two policies, and list the verdicts that differ",
		ArgsUsage: "OLD NEW",
		Description: `OLD and NEW each are a TREE.
` + treeWords + `

Judged are the inputs that the project's runs have recorded, those of its golden cases,
and generated calls: each tool of the manifests with paths of many kinds, sizes, positions
in a plan and states of a run, found in a temporary project. Nothing is run.

  runlens policy diff embedded policies
  runlens policy diff policies policies@next --fail-on any
  runlens policy diff old.tar.gz new.tar.gz --runs audit/runs --no-cases

Verdicts that let a call do more come first. Then the report says what was tried, and
which codes nothing has shown. It is no proof: docs/policy-diff.md.

Exit codes, the worst of all: 2 a policy, a case or a run can't be read, or NEW fails;
1 a call is loosened (--fail-on); 4 nothing was judged; 0 none of these.`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "runs", Usage: "`DIR` of runs, or a run; for several, give it again (default: the project's runs/)"},
			&cli.StringFlag{Name: "cases", Usage: "`DIR` of golden cases (default: the project's policy_test/)"},
			&cli.BoolFlag{Name: "no-runs", Usage: "leave recorded runs out"},
			&cli.BoolFlag{Name: "no-cases", Usage: "leave golden cases out"},
			&cli.BoolFlag{Name: "no-corpus", Usage: "leave generated calls out"},
			failOnFlag(),
			flipsFormatFlag(),
		},
		Action: w.policyDiff,
	}
}

func (w *world) policyDiff(c *cli.Context) error {
	format, formatErr := flipsFormat(c)
	fails, failErr := failOn(c)
	if err := together(countFiles(c, 2, 2), formatErr, failErr, diffWords(c)); err != nil {
		return err
	}
	p, err := w.openComparing(c)
	if err != nil {
		return err
	}
	d := &differ{p: p, out: &flipsWriter{w: w, format: format}, old: side{name: c.Args().Get(0)}, now: side{name: c.Args().Get(1)}}
	if err := d.load(); err != nil {
		return err
	}
	ctx, stop := untilEnded(c.Context)
	defer stop()
	if err := d.judge(ctx, c); err != nil {
		if errors.Is(err, context.Canceled) {
			return hinted("", "compare policies: ended before all was judged; nothing follows from what was")
		}
		return err
	}
	flips, err := d.flips()
	if err != nil {
		return err
	}
	flips.FailOn = fails
	code := w.flipsCode(flips)
	if err := d.out.finish(flips); err != nil {
		return err
	}
	if format == "text" {
		if err := w.print(tried + "\n"); err != nil {
			return err
		}
	}
	return end(code)
}

// tried is the last sentence of every comparison.
const tried = "This is what was tried, not a proof: a call that is not among these may come out otherwise."

// diffWords refuses flags that would have no effect.
func diffWords(c *cli.Context) error {
	var errs []error
	for _, flag := range []string{"policies", "run"} {
		if c.String(flag) != "" {
			errs = append(errs, hinted("OLD and NEW are the policies, --runs names runs", "read arguments: --%s has no effect here", flag))
		}
	}
	if c.Bool("no-runs") && len(c.StringSlice("runs")) > 0 {
		errs = append(errs, hinted("keep one", "read arguments: --runs and --no-runs"))
	}
	if c.Bool("no-cases") && c.String("cases") != "" {
		errs = append(errs, hinted("keep one", "read arguments: --cases and --no-cases"))
	}
	return together(errs...)
}

// side is one of the two policies.
type side struct {
	name   string
	e      *engine.Engine
	showed map[string]bool // codes of its verdicts on golden cases and generated calls
}

// differ is a comparison of two policies on its way.
type differ struct {
	p        *project
	out      *flipsWriter
	old, now side
	report   report.Flips
}

// load loads both policies.
func (d *differ) load() error {
	if err := d.p.checkTreeKey(d.old.name, d.now.name); err != nil {
		return err
	}
	sides := []*side{&d.old, &d.now}
	errs := make([]error, len(sides))
	var loading sync.WaitGroup
	for i, s := range sides {
		s.showed = map[string]bool{}
		loading.Go(func() { s.e, errs[i] = d.p.loadTree(s.name) })
	}
	loading.Wait()
	return together(errs...)
}

// judge takes every kind of input in turn.
func (d *differ) judge(ctx context.Context, c *cli.Context) error {
	d.start()
	if !c.Bool("no-runs") {
		if err := d.runs(ctx, c.StringSlice("runs")); err != nil {
			return err
		}
	}
	if !c.Bool("no-cases") {
		if err := d.cases(ctx, c.String("cases")); err != nil {
			return err
		}
	}
	if c.Bool("no-corpus") {
		return ctx.Err()
	}
	return d.corpus(ctx)
}

// flips is what came of it, as reports show it.
func (d *differ) flips() (*report.Flips, error) {
	notes, err := d.static()
	if err != nil {
		return nil, err
	}
	f := &d.report
	f.Notes = append(notes, f.Notes...)
	f.Notes = append(f.Notes, d.notShown()...)
	if d.out.format != "text" { // there it is the last line
		f.Notes = append(f.Notes, tried)
	}
	return f, nil
}
