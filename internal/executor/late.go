package executor

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// lateResult is the kind of a note about what a handler came back with after its
// call had ended without it. Nothing goes by it: the fold, the plan and run_stopped
// count the end that was recorded. A note of a caller's has no kind.
const lateResult = "late_result"

// lateEvent is the payload of such a note; no text of the result is in it.
type lateEvent struct {
	Kind      string     `json:"kind"`
	Started   int64      `json:"started_seq"`
	Verdict   int64      `json:"verdict_seq"`
	CallID    string     `json:"call_id"`
	Tool      string     `json:"tool"`
	ErrorCode string     `json:"error_code"` // "" when the handler worked
	Bytes     int        `json:"output_bytes"`
	Digest    string     `json:"output_digest"`
	Artifacts []artifact `json:"artifacts"`         // files that it wrote, in time or not
	Removed   []string   `json:"removed,omitempty"` // files deleted or renamed away
	Micros    int64      `json:"duration_us"`       // since it was started
}

// recordLate returns what takes in a result that came after the handler had been
// given up on: it drops the result and records that it came. That happens on the
// handler's own goroutine, when the call has had its end and the run or the whole
// executor may be closed. A ledger that takes no event any more is a fault to be
// logged; a closed one is nothing, since nobody is there to be told.
func (p *proposal) recordLate() func(handlers.Result, error) {
	begin := p.x.cfg.Now()
	p.ended = make(chan struct{})
	return func(done handlers.Result, err error) {
		defer func() {
			if fault := recover(); fault != nil {
				p.x.cfg.Log("panic: record a late result: %v\n%s", fault, debug.Stack())
			}
		}()
		ev := p.lateEvent(done, err)
		ev.Micros = p.x.cfg.Now().Sub(begin).Microseconds()
		<-p.ended // the note comes after the end that it is late for
		ctx, cancel := context.WithTimeout(context.Background(), resultWait)
		defer cancel()
		err = p.run.log.Commit(ctx, func(tx *ledger.Tx) error {
			_, err := tx.Add(ledger.Note, ev)
			return err
		})
		if err != nil && !errors.Is(err, ledger.ErrClosed) {
			p.x.cfg.Log("record a late result of event %d of run %s: %v", p.started, p.run.id, err)
		}
	}
}

// lateEvent reads of the proposal only what has stood since its start: the call
// goes on meanwhile.
func (p *proposal) lateEvent(done handlers.Result, err error) lateEvent {
	ev := lateEvent{
		Kind: lateResult, Started: p.started, Verdict: p.out.Seq,
		CallID: p.out.CallID, Tool: p.out.Tool,
	}
	output := done.Output
	if err != nil {
		e := handlerError(err)
		ev.ErrorCode, output = e.Code, e.Output
	}
	ev.Artifacts, ev.Removed = p.made(done, err)
	if output != nil {
		if text, err := json.Marshal(output); err == nil {
			ev.Bytes, ev.Digest = len(text), digest(text)
		}
	}
	return ev
}

// made are the files that a handler has written, however it ended, and those that
// one which worked has removed.
func (p *proposal) made(done handlers.Result, err error) (written []artifact, removed []string) {
	files := done.Written
	if err != nil {
		files = handlerError(err).Written
	}
	written = []artifact{}
	for _, f := range files {
		written = append(written, artifact(f))
	}
	for _, t := range p.targets {
		if t.Access == facts.Delete && err == nil {
			removed = append(removed, relative(t.object.Facts))
		}
	}
	return written, removed
}
