package executor

import (
	"encoding/json"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/ledger"
)

// checkApproval refuses an allow by an approval that the run does not have.
func (p *proposal) checkApproval() {
	if p.out.Verdict.Effect == engine.Allow && p.approval() > 0 && p.run.state.approval(p.approval()) == nil {
		p.refuse(codeBadResult, "the decision names an approval that the run does not have")
	}
}

// approvalExpired says whether the verdict rests on an approval that has expired
// while the call waited for the run's lock.
func (p *proposal) approvalExpired() bool {
	a := p.run.state.approval(p.approval())
	return a != nil && a.expired(p.x.cfg.Now())
}

// approval is the seq of the approval that the verdict rests on; 0 when it needs
// none.
func (p *proposal) approval() int64 {
	if p.out.Verdict.Effect != engine.Allow {
		return 0
	}
	switch n := p.out.Verdict.Reasons[0].Detail["approval"].(type) {
	case json.Number:
		seq, _ := n.Int64()
		return seq
	case int64:
		return n
	case int:
		return int64(n)
	case float64:
		return int64(n)
	}
	return 0
}

// useApproval counts the use of the approval that the start rests on.
func (p *proposal) useApproval(tx *ledger.Tx, verdict int64) error {
	seq := p.approval()
	if seq == 0 {
		return nil
	}
	a := p.run.state.approval(seq)
	_, err := tx.Add(ledger.ApprovalUsed, approvalUsedEvent{Approval: seq, Verdict: verdict, CallID: p.out.CallID, Remaining: a.Remaining - 1})
	return err
}
