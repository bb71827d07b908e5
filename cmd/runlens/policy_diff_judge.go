package main

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/replay"
	"github.com/runlens/runlens/internal/report"
)

// pair is one call, as both policies saw and judged it. An input is nil where the
// call did not reach policy.
type pair struct {
	where, name, file string
	line              int
	old, now          *facts.Input
	was, is           engine.Verdict
}

// start makes the report that inputs are counted into.
func (d *differ) start() {
	d.report = report.Flips{
		Name:   "policy diff",
		Old:    []report.Side{{Name: d.old.name, Revision: d.old.e.Revision(), Known: true}},
		New:    report.Side{Name: d.now.name, Revision: d.now.e.Revision(), Known: true},
		Groups: &replay.Groups{}, Apart: map[string]int{}, Trouble: map[string]*replay.Example{},
	}
}

// take counts a judged pair, and files it when its verdicts differ.
func (d *differ) take(c *report.Covered, p *pair) error {
	if p.old == nil && p.now == nil {
		d.report.Apart[p.is.Reasons[0].Code]++
		return nil
	}
	c.Inputs++
	c.Judged++
	for _, r := range p.was.Reasons {
		d.old.showed[r.Code] = true
	}
	for _, r := range p.is.Reasons {
		d.now.showed[r.Code] = true
	}
	f := flipOf(p)
	d.trouble(f)
	if f.Class == replay.Same {
		c.Same++
		return nil
	}
	return d.file(f)
}

// file puts a flip into its group, and on stdout where flips are lines.
func (d *differ) file(f *replay.Flip) error {
	d.report.Groups.Add(*f)
	if d.out.format == "jsonl" {
		return d.out.flip(f)
	}
	return nil
}

// trouble counts a verdict in which NEW itself failed. What a rule says about policy
// is a verdict like any other.
func (d *differ) trouble(f *replay.Flip) {
	code := f.Reason.Code
	if !strings.HasPrefix(code, "policy_") || d.now.declares(code) {
		return
	}
	e := d.report.Trouble[code]
	if e == nil {
		e = &replay.Example{Where: f.Where, File: f.File, Line: f.Line, Tool: f.Tool, Note: f.Reason.Message}
		if e.File == "" {
			e.File = f.Where + " " + f.Name
		}
		d.report.Trouble[code] = e
	}
	e.Count++
}

// flipOf is what became of a call's verdict. Where the call reached one policy
// alone, that one's facts tell of it.
func flipOf(p *pair) *replay.Flip {
	in := p.now
	if in == nil {
		in = p.old
	}
	f := &replay.Flip{
		Where: p.where, Name: p.name, File: p.file, Line: p.line,
		Tool: in.Call.Tool, CallID: in.Call.ID, Declared: in.Tool != nil && in.Tool.Declared,
		Old: replay.Of(p.was, toolLimit(p.old)), New: replay.Of(p.is, toolLimit(p.now)),
		Was: p.was.Reasons[0], Reason: p.is.Reasons[0],
	}
	if f.Class = replay.Compare(f.Old, f.New); f.Class == replay.Same {
		return f
	}
	project := ""
	for i := range in.Targets {
		t := &in.Targets[i]
		path := t.Requested
		if t.InProject && (t.Resolution == facts.OK || t.Resolution == facts.Absent) {
			path = strings.Join(t.Segments, "/")
			if path == "" {
				path = "."
			}
			project = strings.TrimSuffix(t.Path, "/"+path)
		}
		f.Targets = append(f.Targets, replay.Object{Param: t.Param, Access: t.Access, Path: path})
	}
	if line, _, err := facts.Encode(in); err == nil {
		f.Size = len(line)
		if project != "" { // its name is of any length
			f.Size -= bytes.Count(line, []byte(project)) * len(project)
		}
	}
	return f
}

func toolLimit(in *facts.Input) int64 {
	if in == nil || in.Tool == nil {
		return 0
	}
	return in.Tool.MaxBytes
}

// eachAtOnce does work for 0 to n-1 on all processors, until one fails.
func eachAtOnce(ctx context.Context, n int, work func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := work(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}

// declares tells whether the tree itself has a code.
func (s *side) declares(code string) bool {
	return slices.ContainsFunc(s.e.Codes(), func(c engine.Code) bool { return c.Code == code && c.File != "" })
}

// notShown names the codes that neither a golden case nor a generated call shows.
func (d *differ) notShown() (notes []string) {
	for _, s := range []struct {
		word string
		*side
	}{{"OLD", &d.old}, {"NEW", &d.now}} {
		var codes []string
		for _, c := range s.e.Codes() {
			if c.File != "" && !s.showed[c.Code] {
				codes = append(codes, c.Code)
			}
		}
		if len(codes) > 0 {
			slices.Sort(codes)
			notes = append(notes, "codes of "+s.word+" not shown by any golden case or generated call: "+strings.Join(codes, ", "))
		}
	}
	return notes
}
