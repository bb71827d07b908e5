package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
)

// outcome is what came of one job.
type outcome struct {
	apart    string // code; the verdict was not policy's
	cause    Cause  // it can't be judged again
	note     string // what exactly
	tool     string // that was called; "" when that could not be read
	revision string // of the policy that gave it
	known    bool   // that policy was at hand
	again    bool   // it judged the input again
	same     bool   // and said what is recorded
	mismatch *Flip  // or this
	judged   bool   // under Options.New
	assumed  bool   // with a root that the record doesn't know
	trouble  string // policy_* code
	flip     *Flip  // nil: it came out as recorded
	seq      int64  // of the event
}

// judge judges recorded inputs. It is safe for concurrent use.
type judge struct {
	opt     Options
	known   map[string]*tree // by revision; New is one of them
	decoder facts.Decoder
	memo    memo
	tools   *declared // nil: the recorded facts stand
	readers sync.Pool // of *reasonsReader
}

// tree is one policy at hand.
type tree struct {
	*engine.Engine
	number int   // among those of the replay
	asks   asked // how what New asks for differs from what this one does
}

func newJudge(opt Options) *judge {
	j := &judge{opt: opt, known: map[string]*tree{}, readers: sync.Pool{New: func() any { return &reasonsReader{} }}}
	engines := append([]*engine.Engine{opt.New}, opt.Known...)
	now := opt.New.Settings()
	for _, e := range engines {
		if j.known[e.Revision()] == nil {
			then := e.Settings()
			j.known[e.Revision()] = &tree{Engine: e, number: len(j.known), asks: compareAsked(&then, &now)}
		}
	}
	j.memo = newMemo(engines)
	if opt.Tools != nil {
		j.tools = &declared{set: opt.Tools}
	}
	return j
}

// judge judges the batch, or as much of it as ctx allows.
func (b *batch) judge(ctx context.Context, j *judge) {
	defer close(b.done)
	reasons := j.readers.Get().(*reasonsReader)
	defer j.readers.Put(reasons)
	b.outcomes = make([]outcome, 0, len(b.jobs))
	for i := range b.jobs {
		o := j.judge(ctx, b.dir, &b.jobs[i], reasons)
		if ctx.Err() != nil {
			return // a decision that was given up is none
		}
		b.outcomes = append(b.outcomes, o)
		b.jobs[i] = job{}
	}
}

// judge judges one job: under the policy that gave the verdict, if that is at
// hand, then under the new one.
func (j *judge) judge(ctx context.Context, dir string, jb *job, reasons *reasonsReader) outcome {
	o := outcome{seq: jb.seq}
	rec, note := readRecord(jb, reasons)
	if note != "" {
		return o.not(Unreadable, note)
	}
	if o.revision = rec.revision; rec.input == nil || !rec.policyOwn() {
		o.apart = rec.primary
		return o
	}
	was, is := j.known[rec.revision]
	o.known = is
	r, err := j.decoder.Decode(rec.input)
	if err != nil {
		return o.not(Incomplete, why(err))
	}
	o.tool = r.Input.Call.Tool
	switch {
	case rec.digest != "" && rec.digest != r.Digest:
		return o.not(Altered, "")
	case rec.primary == timedOut:
		return o.not(TimedOut, rec.primary)
	}
	f := flipOf(dir, jb, &rec, r.Input)
	key := j.memo.key(rec.input, r)
	if o.known {
		v := j.decide(ctx, was, r.Input, key)
		if v.Reasons[0].Code == timedOut {
			return o.not(TimedOut, timedOut)
		}
		o.again = true
		if m := f.now(v, r.Input); m.Class != Same {
			o.mismatch = &m
			return o.not(Mismatch, changed(&m))
		}
		o.same = true
	}
	tools := j.tools
	if tools != nil && tools.set.Revision == rec.tools {
		tools = nil // the same ones: what they made of the call is recorded
	}
	return j.judgeNew(ctx, o, f, was, tools, recordedCall{r.Input, key, jb.reset})
}

// recordedCall is what is judged again.
type recordedCall struct {
	in    *facts.Input
	key   digest
	reset bool // a person has reset the run's count of denials before
}

// judgeNew judges an input under the new policy, and under tools unless nil. The
// policy of the record, was, has said what is recorded, or is not at hand.
func (j *judge) judgeNew(ctx context.Context, o outcome, f Flip, was *tree, tools *declared, c recordedCall) outcome {
	now := j.known[j.opt.New.Revision()]
	in, key := c.in, c.key
	asked := in
	if was != nil && was != now {
		var note string
		if asked, note = was.asks.answered(in); note != "" {
			return o.not(Unasked, note)
		}
	}
	if tools != nil {
		found, cause, note := tools.declare(asked, c.reset)
		if cause != "" {
			return o.not(cause, note)
		}
		asked, o.assumed = found.in, found.assumed
	}
	if asked != in {
		key = digest{}
	}
	v := j.decide(ctx, now, asked, key)
	o.judged = true
	if first := v.Reasons[0]; troubled(first.Code) {
		o.trouble, o.note = first.Code, first.Message
		if first.File != "" {
			o.note += fmt.Sprintf(" (%s:%d)", first.File, first.Line)
		}
	}
	if flip := f.now(v, asked); flip.Class != Same {
		o.flip = &flip
	}
	return o
}

// not says that the verdict can't be judged again.
func (o outcome) not(cause Cause, note string) outcome {
	o.cause, o.note, o.judged = cause, note, false
	return o
}

func why(err error) string {
	foreign, ok := errors.AsType[*facts.Foreign](err)
	if !ok {
		return err.Error()
	}
	if foreign.Field == "" {
		return "the document " + foreign.Cause
	}
	return foreign.Field + " " + foreign.Cause
}

// flipOf is what reports show of a recorded verdict, whatever becomes of it.
func flipOf(dir string, jb *job, rec *record, in *facts.Input) Flip {
	return Flip{
		Where: dir, Name: strconv.FormatInt(jb.seq, 10), File: ledgerOf(dir), Line: int(jb.seq), Seq: jb.seq,
		CallID: rec.callID, Tool: in.Call.Tool, Declared: in.Tool.Declared,
		Old: rec.verdict, Was: rec.reasons[0], Size: len(rec.input),
	}
}

// now is the flip from what is recorded to v.
func (f Flip) now(v engine.Verdict, in *facts.Input) Flip {
	f.New = Of(v, in.Tool.MaxBytes)
	f.Class = Compare(f.Old, f.New)
	if f.Class == Same {
		return f
	}
	f.Reason = v.Reasons[0]
	f.Declared = f.Declared || in.Tool.Declared
	for i := range in.Targets {
		t := &in.Targets[i]
		path := t.Path
		if t.Resolution != facts.OK && t.Resolution != facts.Absent {
			path = t.Requested
		}
		f.Targets = append(f.Targets, Object{t.Param, t.Access, path})
	}
	return f
}

// changed says how two verdicts differ, for people.
func changed(f *Flip) string {
	old, now := said(f.Old), said(f.New)
	if f.Class == GrantWidened || f.Class == GrantNarrowed {
		old, now = old+upTo(f.Old), now+upTo(f.New)
	}
	return old + " is recorded, " + now + " is said now"
}

func upTo(v Verdict) string {
	if v.MaxBytes == 0 {
		return " without a limit"
	}
	return fmt.Sprintf(" up to %d bytes", v.MaxBytes)
}
