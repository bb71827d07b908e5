// Package loop drives one run from its first call to its last: calls come in,
// results go out, and what the model was told is kept.
//
// It promises that a call which the run has answered before is answered again
// from what was kept and does not run, that nothing is told to a model before it
// is kept, and that a result is out before the next call is read. It never judges
// and never runs a tool: every call that is new goes through the Gate.
//
// Read Run first, then Run.Lines, then Messages, which is the file format.
package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/runlens/runlens/internal/executor"
)

// Gate is what calls go through: an *executor.Executor.
type Gate interface {
	ExecTold(ctx context.Context, raw []byte, runID string, limit int, tell executor.Tell) *executor.ToolResult
}

// Run is one run that is being driven. It is not safe for concurrent use.
type Run struct {
	Gate     Gate
	ID       string
	Past     *executor.History // nil: nothing to answer from
	Messages *Messages
	Limit    int // bytes of an observation; 0: the policy's

	// Seen is told of every call that was answered: how long it took, and whether
	// the answer is one from before. nil: nobody looks.
	Seen func(r *executor.ToolResult, took time.Duration, answered bool)
}

// Call answers one call: from what the run has answered before, else through the
// gate. The error says that what the model would be told could not be kept: the
// call has ended and is recorded, res is what came of it, and it is not to be told.
func (r *Run) Call(ctx context.Context, raw []byte) (res *executor.ToolResult, answered bool, err error) {
	begin := time.Now()
	if r.Past != nil {
		if past, known := r.Past.Answer(raw); known {
			res = r.recall(past)
			r.seen(res, begin, true)
			return res, true, nil
		}
	}
	var lost error
	res = r.Gate.ExecTold(ctx, raw, r.ID, r.Limit, func(started int64, res *executor.ToolResult) error {
		lost = r.Messages.Keep(started, res)
		return lost
	})
	// Whatever became of it, the call has ended and its end is recorded, or the
	// result says that it could not be.
	r.seen(res, begin, false)
	if lost != nil {
		return res, false, fmt.Errorf("keep what the model is told: %w", lost)
	}
	return res, false, nil
}

func (r *Run) seen(res *executor.ToolResult, begin time.Time, answered bool) {
	if r.Seen != nil {
		r.Seen(res, time.Since(begin), answered)
	}
}

// recall is the result that was told before, else what the ledger knows of it.
// What was kept counts only when it is the output that the ledger has the digest
// of: messages.jsonl is nobody's evidence.
func (r *Run) recall(past *executor.Past) *executor.ToolResult {
	if kept := r.Messages.told(past); kept != nil {
		kept.Seq = past.Seq
		return kept
	}
	res := *past.Result
	res.Seq = past.Seq
	if res.Observation == "" {
		res.Observation, res.Cut = executor.Observe(&res, r.limit())
		if res.Status == executor.StatusSuccess && res.Output == nil && past.OutputDigest != "" {
			res.Observation = notKept
		}
	}
	return &res
}

const notKept = "(the tool has run and succeeded; its output was not kept: make the call again under another call_id to see it)"

// recallLimit bounds an observation that is made from the ledger, where no other
// limit is given.
const recallLimit = 16 << 10

func (r *Run) limit() int {
	if r.Limit > 0 {
		return r.Limit
	}
	return recallLimit
}
