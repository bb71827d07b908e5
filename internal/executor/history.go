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

// History is what a run has answered so far, line by line of what its caller
// said. It is not safe for concurrent use.
type History struct {
	x     *Executor
	run   *run // nil: only looked at
	lines map[string]*sameLines
}

// sameLines are the lines that hold one call under one id, in their order.
type sameLines struct {
	list  []*pastLine
	taken int
	named bool // the call has a call_id
}

// pastLine is one line of the caller's: a call that was proposed once, or again
// by a resumed run.
type pastLine struct {
	first   int64  // seq of the first proposal
	digest  string // of the call
	past    *Past  // its final answer; nil: none yet
	refusal *Past  // the last answer, when it is one that may be judged again
	byPlan  bool   // that refusal came from where the plan stood
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

// Answer looks up the call that raw holds, and takes it: the k-th line with that
// call and id is answered by the k-th recorded one, and where a call_id was used
// more often than recorded, by the last final event of that id and digest.
//
// Starts without an end have no final event, nor have refusals whose gate policy
// data names (resume.judge_again: the run's budget and contract, a missing
// approval, trouble of the policy's own) until the same call was done in a later
// line, nor what the plan blocked (resume.judge_again_last) until a later line has
// its final event while no earlier one is open. Such a call is to be judged again;
// its proposal then says which line it belongs to.
func (h *History) Answer(raw []byte) (*Past, bool) {
	key, known := h.key(raw)
	same := h.lines[key]
	if same == nil {
		return nil, false
	}
	at := same.taken
	same.taken++
	if at < len(same.list) && same.list[at].past != nil {
		return h.whole(same.list[at].past, known), true
	}
	if same.named {
		for _, l := range slices.Backward(same.list) {
			if l.past != nil {
				return h.whole(l.past, known), true
			}
		}
	}
	if at < len(same.list) && h.run != nil {
		h.run.judgeAgain(key, same.list[at].first)
	}
	return nil, false
}

// judgeAgain notes that the next proposal of a call belongs to a line that was
// proposed before.
func (r *run) judgeAgain(key string, first int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again == nil {
		r.again = map[string]int64{}
	}
	r.again[key] = first
}

// takeAgain returns what judgeAgain noted, once; 0 when that is nothing.
func (r *run) takeAgain(key string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.again[key]
	delete(r.again, key)
	return first
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
		h: &History{x: x, run: r, lines: map[string]*sameLines{}}, runID: runID,
		open: map[int64]*pastEvent{}, started: map[int64]*pastEvent{}, byFirst: map[int64]*pastLine{},
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
	byFirst map[int64]*pastLine
	waiting []*pastLine // without a final answer, in their order
}

// pastEvent is a call on its way through the ledger.
type pastEvent struct {
	line    *pastLine
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
	line := b.byFirst[p.Again]
	if line == nil {
		line = &pastLine{first: ev.Seq, digest: p.Digest}
		same := b.h.lines[key]
		if same == nil {
			same = &sameLines{named: p.Given}
			b.h.lines[key] = same
		}
		same.list = append(same.list, line)
		b.byFirst[ev.Seq] = line
		b.waiting = append(b.waiting, line)
	}
	b.open[ev.Seq] = &pastEvent{line: line, callID: p.CallID, tool: p.Tool}
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
	out := &Outcome{CallID: p.callID, Tool: p.tool, Verdict: engine.Verdict{Effect: effectOf(v.Verdict), Reasons: v.Reasons}}
	out.ErrorCode = v.Reason
	if len(v.Input) > 0 && string(v.Input) != "null" {
		out.Input = &facts.Input{}
		out.ErrorCode = errorCode(out.Verdict)
	}
	refused := &proposal{run: &run{id: b.runID}, out: out, seq: ev.Seq}
	past := &Past{Seq: ev.Seq, ToldDigest: v.Told, Result: refused.refusal()}
	gate := b.h.x.cfg.Engine.Reason(v.Reason, "", "", nil).Gate
	byPlan := slices.Contains(b.h.x.settings.JudgeAgainLast, gate)
	if v.Verdict == engine.Ask.String() || byPlan || slices.Contains(b.h.x.settings.JudgeAgain, gate) {
		p.line.refusal, p.line.byPlan = past, byPlan
		return nil
	}
	b.final(p.line, past)
	return nil
}

func (b *historian) ended(ev *ledger.Event) error {
	var e toolEndedEvent
	if err := json.Unmarshal(ev.Payload, &e); err != nil {
		return err
	}
	p := b.started[e.Started]
	delete(b.started, e.Started)
	if p == nil || e.ErrorCode == codeCancelled || e.Abandoned {
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
	b.final(p.line, &Past{Seq: ev.Seq, Started: e.Started, OutputDigest: e.Digest, ToldDigest: e.Told, Result: r, at: at})
	return nil
}

// final gives a line its answer, and those before it theirs that their caller has
// thereby gone on from.
func (b *historian) final(done *pastLine, past *Past) {
	done.past = past
	left := b.waiting[:0]
	for _, l := range b.waiting {
		switch {
		case l == done || l.past != nil:
			continue
		case l.refusal == nil || l.first > done.first:
		case l.byPlan && len(left) == 0, !l.byPlan && l.digest == done.digest:
			l.past = l.refusal
			continue
		}
		left = append(left, l)
	}
	b.waiting = left
}

func effectOf(verdict string) engine.Effect {
	for _, e := range []engine.Effect{engine.Block, engine.Ask, engine.Allow} {
		if e.String() == verdict {
			return e
		}
	}
	return engine.Deny
}
