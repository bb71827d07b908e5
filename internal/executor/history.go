package executor

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// History is what a run has answered so far, by call. It is not safe for
// concurrent use.
type History struct {
	x     *Executor
	run   *run // nil: only looked at
	calls map[string]*pastCalls
}

// pastCalls are the answers to calls with one key, oldest first.
type pastCalls struct {
	list  []*Past
	taken int
	named bool // the calls had a call_id
}

// Past is a call that has its final event.
type Past struct {
	Seq          int64       // of the final event
	Started      int64       // of the start; 0 when the call was refused
	OutputDigest string      // of the output, as the event has it; "" without output
	ToldDigest   string      // of the result that a model was told; "" when none was
	Result       *ToolResult // all that the ledger knows: Output is nil unless `record` is full

	at int64 // where the final event stands; 0 when it holds no output
}

// Answer looks up the call that raw holds, and takes it: the k-th call without
// a call_id of some tool and arguments is answered by the k-th recorded one. A
// call with a call_id is answered by the last final event of that id and digest.
// Refusals that came from the run's budget or contract, from a missing approval
// or from the policy's own trouble are not final, nor are starts without an end:
// such a call is judged again. One that the plan blocked is final once a later
// call has its final event: whoever was told so has gone on.
func (h *History) Answer(raw []byte) (*Past, bool) {
	key, known := h.key(raw)
	past := h.calls[key]
	switch {
	case past == nil:
		return nil, false
	case past.named:
		for _, p := range slices.Backward(past.list) {
			if p != nil {
				return h.whole(p, known), true
			}
		}
		return nil, false
	}
	for past.taken < len(past.list) {
		past.taken++
		if p := past.list[past.taken-1]; p != nil { // one without an answer was made again
			return h.whole(p, known), true
		}
	}
	return nil, false
}

// whole is a past call with its output, where the ledger has it, under the name
// that its sender knows.
func (h *History) whole(p *Past, known knownAs) *Past {
	whole, result := *p, *p.Result
	whole.Result = &result
	result.CallID, result.ToolName = known.or(result.CallID, result.ToolName)
	if p.at > 0 && h.run != nil {
		if ev, err := h.run.log.At(p.at); err == nil && ev.Seq == p.Seq {
			var e toolEndedEvent
			if json.Unmarshal(ev.Payload, &e) == nil {
				result.Output = e.Output
			}
		}
	}
	return &whole
}

// key is what a call in a transcript has in common with the recorded one.
func (h *History) key(raw []byte) (string, knownAs) {
	c, err := call.Admit(raw)
	if err != nil {
		return bytesKey(digest(raw)), h.x.withhold.known(err)
	}
	if h.x.withhold.inNames(c) != "" {
		return bytesKey(digest(raw)), knownAs{}
	}
	return callKey(c.ID, c.Digest()), knownAs{}
}

func bytesKey(digest string) string    { return "bytes " + digest }
func callKey(id, digest string) string { return "call " + digest + " " + id }

// History reads what a run has answered so far.
func (x *Executor) History(_ context.Context, runID string) (*History, error) {
	if err := ledger.CheckRunID(runID); err != nil {
		return nil, err
	}
	x.mu.Lock()
	r := x.runs[runID]
	x.mu.Unlock()
	b := &historian{
		h: &History{x: x, run: r, calls: map[string]*pastCalls{}}, runID: runID,
		open: map[int64]*pastEvent{}, started: map[int64]*pastEvent{},
	}
	for ev, err := range ledger.Read(filepath.Join(x.cfg.Runs, runID)) {
		if err != nil {
			return nil, err
		}
		if err := b.take(ev); err != nil {
			return nil, err
		}
	}
	return b.h, nil
}

// historian reads a ledger into a History.
type historian struct {
	h       *History
	runID   string
	open    map[int64]*pastEvent // by the seq of the proposal, then of the verdict
	started map[int64]*pastEvent
	blocked []*pastEvent // by the plan, and nothing final since
}

// pastEvent is a call on its way through the ledger.
type pastEvent struct {
	seq     int64       // of the proposal
	slot    func(*Past) // sets the call's answer
	past    *Past       // of one that the plan blocked
	callID  string
	tool    string
	verdict verdictEvent
}

func (b *historian) take(ev *ledger.Event) error {
	switch ev.Type {
	case ledger.ModelProposed:
		return b.proposed(ev)
	case ledger.ToolAllowed, ledger.ToolDenied, ledger.ToolBlocked:
		return b.judged(ev)
	case ledger.ToolStarted:
		var s toolStartedEvent
		if err := json.Unmarshal(ev.Payload, &s); err != nil {
			return err
		}
		b.started[ev.Seq] = b.open[s.Verdict]
		delete(b.open, s.Verdict)
	case ledger.ToolSucceeded, ledger.ToolFailed:
		return b.ended(ev)
	case ledger.ToolUnknown:
		var e toolEndedEvent
		if err := json.Unmarshal(ev.Payload, &e); err != nil {
			return err
		}
		delete(b.started, e.Started)
	}
	return nil
}

func (b *historian) proposed(ev *ledger.Event) error {
	var p proposedEvent
	if err := json.Unmarshal(ev.Payload, &p); err != nil {
		return err
	}
	id := ""
	if p.Given {
		id = p.CallID
	}
	key := callKey(id, p.Digest)
	if p.Malformed && p.Tool == "" {
		key = bytesKey(p.Digest)
	}
	calls := b.h.calls[key]
	if calls == nil {
		calls = &pastCalls{named: p.Given}
		b.h.calls[key] = calls
	}
	at := len(calls.list)
	calls.list = append(calls.list, nil)
	b.open[ev.Seq] = &pastEvent{
		seq: ev.Seq, callID: p.CallID, tool: p.Tool,
		slot: func(past *Past) { calls.list[at] = past },
	}
	return nil
}

func (b *historian) judged(ev *ledger.Event) error {
	var v struct {
		verdictEvent
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(ev.Payload, &v); err != nil {
		return err
	}
	p := b.open[v.Proposal]
	delete(b.open, v.Proposal)
	if p == nil {
		return nil
	}
	p.verdict = v.verdictEvent
	if ev.Type == ledger.ToolAllowed {
		b.open[ev.Seq] = p
		return nil
	}
	gate := b.h.x.cfg.Engine.Reason(v.Reason, "", "", nil).Gate
	if v.Verdict == engine.Ask.String() || slices.Contains(b.h.x.settings.JudgeAgain, gate) {
		return nil
	}
	out := &Outcome{CallID: p.callID, Tool: p.tool, Verdict: engine.Verdict{Effect: effectOf(v.Verdict), Reasons: v.Reasons}}
	out.ErrorCode = v.Reason
	if len(v.Input) > 0 && string(v.Input) != "null" {
		out.Input = &facts.Input{}
		out.ErrorCode = errorCode(out.Verdict)
	}
	refused := &proposal{run: &run{id: b.runID}, out: out, seq: ev.Seq}
	past := &Past{Seq: ev.Seq, ToldDigest: v.Told, Result: refused.refusal()}
	if slices.Contains(b.h.x.settings.JudgeAgainLast, gate) {
		p.past = past
		b.blocked = append(b.blocked, p)
		return nil
	}
	b.final(p, past)
	return nil
}

func (b *historian) ended(ev *ledger.Event) error {
	var e toolEndedEvent
	if err := json.Unmarshal(ev.Payload, &e); err != nil {
		return err
	}
	p := b.started[e.Started]
	delete(b.started, e.Started)
	if p == nil || e.ErrorCode == codeCancelled {
		return nil
	}
	out := &Outcome{CallID: p.callID, Tool: p.tool, Verdict: engine.Verdict{Effect: engine.Allow, Reasons: p.verdict.Reasons}}
	done := &proposal{run: &run{id: b.runID}, out: out, seq: ev.Seq}
	r := done.result()
	at := int64(0)
	if e.Output != nil {
		at = ev.Offset
	}
	r.Output, r.Truncated = nil, e.Truncated
	if e.ErrorCode != "" {
		known := b.h.x.cfg.Engine.Reason(e.ErrorCode, e.Message, "", nil)
		r.Status, r.ErrorCode, r.ErrorMessage, r.Retryable = StatusFailed, e.ErrorCode, e.Message, known.Retryable
		r.Reason, r.Reasons = e.ErrorCode, []engine.Reason{known}
	}
	b.final(p, &Past{Seq: ev.Seq, Started: e.Started, OutputDigest: e.Digest, ToldDigest: e.Told, Result: r, at: at})
	return nil
}

// final gives a call its answer, and those before it that the plan blocked
// theirs.
func (b *historian) final(p *pastEvent, past *Past) {
	p.slot(past)
	b.blocked = slices.DeleteFunc(b.blocked, func(e *pastEvent) bool {
		if e.seq > p.seq {
			return false
		}
		e.slot(e.past)
		return true
	})
}

func effectOf(verdict string) engine.Effect {
	for _, e := range []engine.Effect{engine.Block, engine.Ask, engine.Allow} {
		if e.String() == verdict {
			return e
		}
	}
	return engine.Deny
}
