package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/corpus"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/golden"
	"github.com/runlens/runlens/internal/replay"
	"github.com/runlens/runlens/internal/report"
)

// cases judges the golden cases, each as it is laid out for each policy.
func (d *differ) cases(ctx context.Context, dir string) error {
	given := dir != ""
	if !given {
		dir = d.p.in("policy_test")
	}
	covered := report.Covered{What: "golden cases"}
	defer func() { d.report.Covered = append(d.report.Covered, covered) }()
	if _, err := os.Stat(dir); !given && errors.Is(err, os.ErrNotExist) {
		covered.Notes = []string{"there is no " + dir}
		return nil
	}
	files, err := golden.Find(dir)
	if err != nil && !d.problems(dir, err) {
		return hinted(similar(dir), "%w", err)
	}
	sources, err := d.p.toolSources()
	if err != nil {
		return err
	}
	env := golden.Env{Manifest: sources, Handlers: handlers.Builtin(), Log: func(string, ...any) {}}
	outcomes := make([][]pair, len(files))
	failed := make([]error, len(files))
	if err := eachAtOnce(ctx, len(files), func(i int) error {
		outcomes[i], failed[i] = d.goldenCase(ctx, env, files[i])
		return ctx.Err()
	}); err != nil {
		return err
	}
	unable := 0
	for i, list := range outcomes {
		switch err := failed[i]; {
		case errors.Is(err, golden.ErrUnable):
			unable++
		case err != nil && !d.problems(files[i], err):
			d.report.Broken = append(d.report.Broken, replay.Broken{Where: files[i], Err: err})
		}
		for j := range list {
			if err := d.take(&covered, &list[j]); err != nil {
				return err
			}
		}
	}
	covered.Counts = []report.Count{{Name: "cases", N: len(files)}}
	if unable > 0 {
		covered.Notes = append(covered.Notes, fmt.Sprintf("%d of them can't be laid out by this process or on this system", unable))
	}
	return nil
}

// problems takes mistakes in cases as what can't be read.
func (d *differ) problems(where string, err error) bool {
	found, is := errors.AsType[*golden.Problems](err)
	if is {
		d.report.Broken = append(d.report.Broken, replay.Broken{Where: where, Err: found})
	}
	return is
}

// goldenCase judges the rows of a case by both policies. Facts depend on settings of
// a policy, so each has its own.
func (d *differ) goldenCase(ctx context.Context, env golden.Env, file string) (list []pair, err error) {
	c, err := golden.Read(file)
	if err != nil {
		return nil, err
	}
	env.Engine = d.old.e
	was, err := c.Judge(ctx, env)
	if err != nil {
		return nil, err
	}
	env.Engine = d.now.e
	is, err := c.Judge(ctx, env)
	if err != nil {
		return nil, err
	}
	for i := range was {
		list = append(list, pair{
			where: file, name: was[i].Name, file: file, line: was[i].Line,
			old: was[i].Input, now: is[i].Input, was: was[i].Outcome.Verdict, is: is[i].Outcome.Verdict,
		})
	}
	return list, nil
}

// corpus judges generated calls.
func (d *differ) corpus(ctx context.Context) error {
	tools, err := d.p.loadTools()
	if err != nil {
		return err
	}
	c, err := corpus.Make(ctx, corpus.Config{Tools: tools, Handlers: handlers.Builtin(), Old: d.old.e, New: d.now.e})
	if err != nil {
		return openError(err)
	}
	pairs := make([]pair, len(c.Inputs))
	err = eachAtOnce(ctx, len(pairs), func(i int) error {
		in := &c.Inputs[i]
		pairs[i] = pair{
			where: "corpus", name: in.Name(), old: in.Old, now: in.New,
			was: d.old.e.Decide(ctx, in.Old), is: d.now.e.Decide(ctx, in.New),
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	covered := report.Covered{What: "generated calls"}
	for i := range pairs {
		p := &pairs[i]
		for _, r := range []*string{&p.was.Reasons[0].Message, &p.is.Reasons[0].Message} {
			*r = strings.ReplaceAll(*r, c.Project+"/", "")
		}
		if err := d.take(&covered, p); err != nil {
			return err
		}
	}
	for code, n := range c.Refused {
		d.report.Apart[code] += n
	}
	covered.Counts, covered.Notes = corpusWords(c)
	d.report.Covered = append(d.report.Covered, covered)
	return nil
}

// corpusWords say what generated calls cover, and what they don't.
func corpusWords(c *corpus.Corpus) (counts []report.Count, notes []string) {
	dims := []struct {
		name string
		of   func(in *corpus.Input) string
	}{
		{"tools", func(in *corpus.Input) string { return in.Tool }},
		{"classes of paths", func(in *corpus.Input) string { return in.Path[strings.LastIndexByte(in.Path, '.')+1:] }},
		{"classes of sizes", func(in *corpus.Input) string { return in.Size }},
		{"positions in a plan", func(in *corpus.Input) string { return in.Plan }},
		{"states of a run", func(in *corpus.Input) string { return cmp.Or(in.State, "fresh") }},
		{"facts changed in a copy", func(in *corpus.Input) string { return in.Facts }},
	}
	for _, dim := range dims {
		seen := map[string]bool{}
		for i := range c.Inputs {
			if word := dim.of(&c.Inputs[i]); word != "" {
				seen[word] = true
			}
		}
		counts = append(counts, report.Count{Name: dim.name, N: len(seen)})
		if len(seen) <= 20 && len(seen) > 0 {
			notes = append(notes, dim.name+": "+strings.Join(slices.Sorted(maps.Keys(seen)), ", "))
		}
	}
	if c.TwoViews {
		notes = append(notes, "the policies' settings differ in what facts depend on (limits on what is recorded, secrets, names): each looked at the calls with its own")
	}
	for _, tool := range slices.Sorted(maps.Keys(c.Unreached)) {
		notes = append(notes, fmt.Sprintf("no good call of %s reaches policy: %s", tool, c.Unreached[tool]))
	}
	for _, what := range slices.Sorted(maps.Keys(c.Cut)) {
		notes = append(notes, fmt.Sprintf("left out beyond the limit: %d that vary %s", c.Cut[what], what))
	}
	for _, what := range c.Unlaid {
		notes = append(notes, "not on this system: "+what)
	}
	return counts, notes
}

// runs judges what runs have recorded. The record gives the inputs; each policy
// judges them, so that the policies are all that differs.
func (d *differ) runs(ctx context.Context, args []string) error {
	covered := report.Covered{What: "recorded runs"}
	defer func() { d.report.Covered = append(d.report.Covered, covered) }()
	if len(args) == 0 {
		args = []string{d.p.in("runs")}
		if !exists(args[0]) {
			covered.Notes = []string{"there is no " + args[0]}
			return nil
		}
	}
	found := d.p.findRuns(args)
	found.tell(d.p.w)
	// First what OLD makes of the record, then NEW: what neither changes is the same.
	// Each knows the other: a verdict that one of them has given must be what it says,
	// and what the other asks for must be in the record.
	known := []*engine.Engine{d.old.e, d.now.e}
	before := map[verdictPlace]replay.Flip{}
	first, err := d.replay(ctx, found.dirs, replay.Options{New: d.old.e, Known: known, Flip: func(f replay.Flip) { before[verdictPlace{f.Where, f.Seq}] = f }})
	if err != nil {
		return err
	}
	var flipped []replay.Flip
	add := func(f replay.Flip) {
		if f.Class = replay.Compare(f.Old, f.New); f.Class != replay.Same {
			flipped = append(flipped, f)
		}
	}
	sum, err := d.replay(ctx, found.dirs, replay.Options{New: d.now.e, Known: known, Flip: func(f replay.Flip) {
		at := verdictPlace{f.Where, f.Seq}
		if b, is := before[at]; is {
			f.Old, f.Was = b.New, b.Reason
			delete(before, at)
		}
		add(f)
	}})
	if err != nil {
		return err
	}
	for _, at := range slices.SortedFunc(maps.Keys(before), verdictPlace.compare) {
		f := before[at] // NEW says what is recorded
		f.Old, f.Was, f.New, f.Reason = f.New, f.Reason, f.Old, f.Was
		add(f)
	}
	for i := range flipped {
		if err := d.file(&flipped[i]); err != nil {
			return err
		}
	}
	alsoUnasked(sum, first)
	covered.Counts = []report.Count{{Name: "runs", N: sum.Runs}, {Name: "events", N: sum.Events}}
	covered.Inputs, covered.Judged, covered.Same = sum.Judged+sum.Unreplayable(), sum.Judged, sum.Judged-len(flipped)
	d.report.Unjudged, d.report.Limit, d.report.Mismatches = report.UnjudgedOf(sum.Causes), 100, &sum.Mismatches
	for code, n := range sum.Apart {
		d.report.Apart[code] += n
	}
	d.report.Trouble, d.report.Torn = sum.Trouble, sum.Torn
	d.report.Broken = append(append(d.report.Broken, sum.Broken...), found.broken...)
	return nil
}

// alsoUnasked moves the verdicts that NEW has given and judged again, and OLD could
// not judge, to those that can't be judged.
func alsoUnasked(sum, first *replay.Summary) {
	add := first.Causes[replay.Unasked]
	if add == nil {
		return
	}
	sum.Judged -= add.Count
	if have := sum.Causes[replay.Unasked]; have != nil {
		have.Count += add.Count
		return
	}
	sum.Causes[replay.Unasked] = add
}

// verdictPlace is a verdict's place in the record.
type verdictPlace struct {
	where string
	seq   int64
}

func (r verdictPlace) compare(s verdictPlace) int {
	return cmp.Or(strings.Compare(r.where, s.where), cmp.Compare(r.seq, s.seq))
}

// replay judges the runs by one policy; flips are not written yet.
func (d *differ) replay(ctx context.Context, dirs []string, opt replay.Options) (*replay.Summary, error) {
	quiet := &flipsWriter{w: d.out.w}
	flip := opt.Flip
	opt.Flip = func(f replay.Flip) { flip(f) }
	return quiet.replay(ctx, dirs, opt)
}
