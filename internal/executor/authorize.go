package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/ledger"
)

// ErrNothingProposed is a run without a proposal that waits for a verdict.
var ErrNothingProposed = errors.New("nothing proposed")

// ErrNotAuthorized is a run without an allow that has not started.
var ErrNotAuthorized = errors.New("nothing authorized")

// Propose appends a proposal and judges nothing: how an agent in any language
// puts a call into a run. An absent run is created. Bytes that are not admitted
// are recorded by size and digest alone, and the error says what is wrong.
func (x *Executor) Propose(ctx context.Context, raw []byte, runID string) (seq int64, err error) {
	r, err := x.enter(runID, true)
	if err != nil {
		return 0, err
	}
	p := x.newProposal(ctx, r, raw)
	p.admit()
	commit := r.log.Commit(ctx, func(tx *ledger.Tx) error {
		p.checkCallID()
		if err := p.begin(tx); err != nil {
			return err
		}
		if p.out.ErrorCode != "" {
			p.call = nil
		}
		seq, err = p.addProposal(tx)
		return err
	})
	if commit != nil {
		return 0, commit
	}
	if p.out.ErrorCode != "" {
		return seq, errors.New(p.out.Verdict.Reasons[0].Message)
	}
	return seq, nil
}

// Note appends a remark to the run; it changes no state.
func (x *Executor) Note(ctx context.Context, text json.RawMessage, runID string) (seq int64, err error) {
	r, err := x.enter(runID, true)
	if err != nil {
		return 0, err
	}
	p := x.newProposal(ctx, r, nil)
	err = r.log.Commit(ctx, func(tx *ledger.Tx) error {
		if err := p.begin(tx); err != nil {
			return err
		}
		seq, err = tx.Add(ledger.Note, map[string]json.RawMessage{"note": text})
		return err
	})
	return seq, err
}

// Authorize judges the run's last proposal, records the verdict and runs
// nothing. ErrNothingProposed when there is none without a verdict.
func (x *Executor) Authorize(ctx context.Context, runID string) (out *Outcome, err error) {
	r, err := x.enter(runID, false)
	if err != nil {
		return nil, err
	}
	var last proposalState
	if err := r.log.View(ctx, func(ledger.Head) error {
		last = r.state.Proposal
		return nil
	}); err != nil {
		return nil, err
	}
	if last.Seq == 0 || last.Judged {
		return nil, ErrNothingProposed
	}
	p, err := x.recorded(ctx, r, last.Seq, last.Offset)
	if err != nil {
		return nil, err
	}
	defer p.close()
	defer p.recoverOutcome(&out)
	p.lookUp()
	p.checkInput()
	p.resolve()
	p.decide(ctx)
	err = r.log.Commit(ctx, func(tx *ledger.Tx) error {
		if s := r.state; s.Proposal.Seq != last.Seq || s.Proposal.Judged {
			return ErrNothingProposed // another process was faster
		}
		p.decideAgainLocked(ctx)
		p.numbered(last.Seq)
		p.checkApproval()
		return p.addVerdictEvent(tx)
	})
	if err != nil {
		return nil, err
	}
	return p.out, nil
}

// recorded reads a proposal back from the ledger, by its seq and digest.
func (x *Executor) recorded(ctx context.Context, r *run, seq, offset int64) (*proposal, error) {
	ev, err := r.log.At(offset)
	if err != nil {
		return nil, err
	}
	var rec proposedEvent
	if err := json.Unmarshal(ev.Payload, &rec); err != nil || ev.Seq != seq || ev.Type != ledger.ModelProposed {
		return nil, fmt.Errorf("%w: event %d is not the proposal that the run names", ledger.ErrCorrupt, seq)
	}
	p := x.newProposal(ctx, r, rec.Call)
	p.after = rec.After
	p.out.CallID, p.out.Tool = rec.CallID, rec.Tool
	p.numbered(seq)
	switch {
	case rec.Malformed:
		p.fail(codeMalformed, fmt.Sprintf("proposal %d was not admitted", seq))
		return p, nil
	case rec.Call == nil:
		return nil, fmt.Errorf("judge proposal %d: its text was not recorded (the manifest says \"record\": \"facts\"): use exec with the call itself", seq)
	}
	c, err := call.Admit(rec.Call)
	if err != nil {
		return nil, fmt.Errorf("%w: proposal %d: %v", ledger.ErrCorrupt, seq, err)
	}
	if c.Digest() != rec.Digest {
		return nil, fmt.Errorf("%w: proposal %d is not what its digest says", ledger.ErrCorrupt, seq)
	}
	p.call, p.out.Call = c, c
	return p, nil
}

// ExecAuthorized runs the latest allow of the run that has not started. The
// proposal is read back, resolved and judged again, and runs only when object,
// digest, revisions and verdict are what they were; otherwise it is refused,
// recorded, and the allow is void.
func (x *Executor) ExecAuthorized(ctx context.Context, runID string) (result *ToolResult, err error) {
	r, err := x.enter(runID, false)
	if err != nil {
		return nil, err
	}
	var waiting allowState
	if err := r.log.View(ctx, func(ledger.Head) error {
		if n := len(r.state.Waiting); n > 0 {
			waiting = r.state.Waiting[n-1]
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if waiting.Seq == 0 {
		return nil, ErrNotAuthorized
	}
	allowed, err := r.allowAt(waiting)
	if err != nil {
		return nil, err
	}
	p, err := x.recorded(ctx, r, waiting.Proposal, waiting.At)
	if err != nil {
		return nil, err
	}
	defer p.close()
	defer p.recoverPanic(&result)
	p.lookUp()
	p.checkInput()
	p.resolve()
	p.decide(ctx)
	err = r.log.Commit(ctx, func(tx *ledger.Tx) error {
		if !r.state.waits(waiting.Seq) {
			return ErrNotAuthorized // another process was faster
		}
		p.decideAgainLocked(ctx)
		p.checkApproval()
		p.compare(allowed)
		if p.out.Verdict.Effect == engine.Allow {
			p.out.Seq, p.seq = waiting.Seq, waiting.Seq
			return p.addAuthorizedStart(tx, waiting.Seq)
		}
		return p.addVerdictEvent(tx)
	})
	switch {
	case errors.Is(err, ErrNotAuthorized):
		return nil, err
	case err != nil:
		return p.failRecord(err), nil
	case p.out.Verdict.Effect != engine.Allow:
		return p.refusal(), nil
	}
	p.runHandler(ctx)
	p.checkOutput()
	if err := p.recordResult(); err != nil {
		return p.failRecord(err), nil
	}
	return p.result(), nil
}

// decideAgainLocked judges again when others have changed the run since.
func (p *proposal) decideAgainLocked(ctx context.Context) {
	now := p.run.judgedByLocked()
	if p.stopped() || now.equal(p.judged) && !p.approvalExpired() {
		return
	}
	begun := now.skill.Name != p.judged.skill.Name
	p.decideAs(ctx, now)
	if begun && p.out.Verdict.Effect == engine.Allow {
		// The tool was looked up before the run had its skill, so its roots and
		// limits are not the skill's.
		p.refuse(codeContractDrift, "the run was started under a skill meanwhile: try again")
	}
}

func (r *run) allowAt(a allowState) (ev verdictEvent, err error) {
	line, err := r.log.At(a.Offset)
	if err != nil {
		return ev, err
	}
	if err := json.Unmarshal(line.Payload, &ev); err != nil || line.Seq != a.Seq || line.Type != ledger.ToolAllowed {
		return ev, fmt.Errorf("%w: event %d is not the allow that the run names", ledger.ErrCorrupt, a.Seq)
	}
	return ev, nil
}

func (s *State) waits(verdict int64) bool {
	for _, a := range s.Waiting {
		if a.Seq == verdict {
			return true
		}
	}
	return false
}

// compare refuses when anything is not as it was when the call was allowed.
func (p *proposal) compare(was verdictEvent) {
	switch {
	case p.out.Verdict.Effect != engine.Allow:
	case was.PolicyRevision != p.out.PolicyRevision:
		p.refuse(codeContractDrift, "the policy has changed since the call was authorized")
	case was.ManifestRevision != p.out.ManifestRevision:
		p.refuse(codeContractDrift, "the manifests have changed since the call was authorized")
	case !sameObjects(was.Objects, p.objectIDs()):
		p.refuse(codeObjectChanged, "what the call points at has changed since it was authorized")
	case p.handler == nil:
		p.refuse(codeNotExecutable, "the tool is declared for judging only")
	}
}

func sameObjects(a, b []objectID) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// refuse turns an allow into a denial with a code of Go's own; the input stays
// in the record.
func (p *proposal) refuse(code, message string) {
	p.out.ErrorCode = code
	p.out.Verdict = engine.Verdict{Effect: engine.Deny, Reasons: []engine.Reason{engine.GoReason(code, message, "", nil)}}
}
