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
// call has ended and is recorded, and the result is not to be told.
func (r *Run) Call(ctx context.Context, raw []byte) (res *executor.ToolResult, answered bool, err error) {
	res = r.Gate.ExecTold(ctx, raw, r.ID, r.Limit, r.Messages.Keep)
	return res, false, nil
}
