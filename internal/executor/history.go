package executor

import "context"

// History is what a run has answered so far, by call.
type History struct{}

// Past is a call that has its final event.
type Past struct {
	Seq          int64       // of the final event
	Started      int64       // of the start; 0 when the call was refused
	OutputDigest string      // of the output, as the event has it; "" without output
	Result       *ToolResult // all that the ledger knows: Output is nil unless `record` is full
}

// Answer looks up the call that raw holds, and takes it: the k-th call without
// a call_id of some tool and arguments is answered by the k-th recorded one. A
// call with a call_id is answered by the last final event of that id and digest.
// Refusals that came from the run's state (its plan, its budget, a missing
// approval) are not final, nor are starts without an end. It is not safe for
// concurrent use.
func (h *History) Answer(raw []byte) (*Past, bool) { return nil, false }

// History reads what a run has answered so far.
func (x *Executor) History(ctx context.Context, runID string) (*History, error) {
	return &History{}, nil
}
