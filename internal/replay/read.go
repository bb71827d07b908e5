package replay

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

const (
	eventsName = "events.jsonl"

	maxBatch   = 64        // verdicts
	batchBytes = 256 << 10 // of their events; a longer event ends its batch

	maxWaiting      = 1000 // allows of a run that nothing has started yet
	maxWaitingBytes = 8 << 20
)

// batch is a stretch of one run.
type batch struct {
	dir    string
	jobs   []job
	size   int   // bytes of jobs
	events int   // of all kinds
	behind int64 // bytes of all ledgers up to the end of this stretch

	ended  bool  // the run ends with this stretch
	torn   bool  // in the middle of a line
	broken error // nothing behind it could be read

	done     chan struct{} // closed when the jobs are judged
	outcomes []outcome     // of jobs; fewer when the replay was cancelled
}

// job is one event that holds an input.
type job struct {
	seq     int64
	kind    string // event type
	payload []byte
	allowed []byte // of tool_started: the payload of its verdict; nil when that is not at hand
	reset   bool   // a person has reset the run's count of denials before
}

// reader follows the runs one after the other. work and order get the same
// batches: order tells how they stand in the record.
type reader struct {
	work, order chan *batch
	passed      int64 // bytes of the runs before
}

// read closes both channels at the end, or when ctx is done.
func (r *reader) read(ctx context.Context, dirs []string) {
	defer close(r.order)
	defer close(r.work)
	for _, dir := range dirs {
		if !r.run(ctx, dir) {
			return
		}
	}
}

// run reads one run and tells whether to go on.
func (r *reader) run(ctx context.Context, dir string) bool {
	b := &batch{dir: dir, behind: r.passed, done: make(chan struct{})}
	waiting, reset := allows{}, false
	for ev, err := range ledger.Read(dir) {
		switch {
		case ctx.Err() != nil:
			return false
		case errors.Is(err, ledger.ErrTorn):
			b.torn = true
			continue
		case err != nil:
			b.broken = err
			continue
		}
		b.events++
		b.behind = r.passed + ev.Offset + ev.Size + 1
		reset = reset || resets(ev)
		j, is := waiting.job(ev)
		if !is {
			continue
		}
		j.reset = reset
		b.jobs = append(b.jobs, j)
		if b.size += len(j.payload) + len(j.allowed); len(b.jobs) < maxBatch && b.size < batchBytes {
			continue
		}
		if !r.send(ctx, b) {
			return false
		}
		b = &batch{dir: dir, behind: b.behind, done: make(chan struct{})}
	}
	b.ended = true
	r.passed = b.behind
	return r.send(ctx, b)
}

func (r *reader) send(ctx context.Context, b *batch) bool {
	select {
	case r.order <- b:
	case <-ctx.Done():
		return false
	}
	select {
	case r.work <- b:
		return true
	case <-ctx.Done():
		return false
	}
}

// allows are the payloads of verdicts that something may still start: a call that
// was judged again when it was started has its verdict there. It holds the latest
// ones, up to maxWaiting of them and maxWaitingBytes.
type allows struct {
	payloads map[int64][]byte
	seqs     []int64 // ascending; some may be started
	bytes    int
}

// job is what an event has to be judged, and whether it has anything.
func (a *allows) job(ev *ledger.Event) (job, bool) {
	j := job{seq: ev.Seq, kind: ev.Type, payload: ev.Payload}
	switch ev.Type {
	case ledger.ToolDenied, ledger.ToolBlocked:
		return j, true
	case ledger.ToolAllowed:
		a.add(ev.Seq, ev.Payload)
		return j, true
	case ledger.ToolStarted:
		verdict, again := startOf(ev.Payload)
		j.allowed = a.payloads[verdict]
		a.drop(verdict)
		return j, again
	}
	return j, false
}

func (a *allows) add(seq int64, payload []byte) {
	if a.payloads == nil {
		a.payloads = map[int64][]byte{}
	}
	a.payloads[seq] = payload
	a.bytes += len(payload)
	a.seqs = append(a.seqs, seq)
	for len(a.payloads) > maxWaiting || a.bytes > maxWaitingBytes {
		a.drop(a.seqs[0])
		a.seqs = a.seqs[1:]
	}
	if len(a.seqs) > 2*maxWaiting {
		a.seqs = slices.DeleteFunc(a.seqs, func(s int64) bool { return a.payloads[s] == nil })
	}
}

func (a *allows) drop(seq int64) {
	a.bytes -= len(a.payloads[seq])
	delete(a.payloads, seq)
}

// startOf is the verdict that a start carries out, 0 when it names none, and
// whether the call was judged again for it.
func startOf(payload []byte) (seq int64, again bool) {
	facts.Members(payload, func(name, value []byte) bool {
		switch string(name) {
		case "verdict_seq":
			seq, _ = strconv.ParseInt(string(value), 10, 64)
		case "input":
			again = true
		}
		return true
	})
	return seq, again
}

// resets tells whether an event is a person's reset of the count of denials.
func resets(ev *ledger.Event) (is bool) {
	if ev.Type == ledger.ApprovalGranted {
		facts.Members(ev.Payload, func(name, value []byte) bool {
			is = is || string(name) == "kind" && string(value) == `"budget"`
			return !is
		})
	}
	return is
}
