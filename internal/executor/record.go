package executor

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// begin starts the ledger of a new run with what the run is held to.
func (p *proposal) begin(tx *ledger.Tx) error {
	if p.run.state.Seq > 0 {
		return nil
	}
	_, err := tx.Add(ledger.RunStarted, contract{
		PolicyRevision: p.out.PolicyRevision, ManifestRevision: p.out.ManifestRevision, Door: p.x.cfg.Door,
	})
	return err
}

// checkCallID refuses a call_id that this run has used for another call.
func (p *proposal) checkCallID() {
	if p.stopped() || p.call.ID == "" {
		return
	}
	if used, same := p.run.state.calls.matches(p.call.ID, p.call.Digest()); used && !same {
		p.fail(codeMalformed, "call_id: was used in this run for another call: give each call its own id")
	}
}

func (p *proposal) proposedEvent() (json.RawMessage, error) {
	if p.call == nil {
		return json.Marshal(proposedEvent{CallID: p.out.CallID, Bytes: len(p.raw), Digest: digest(p.raw), Malformed: true, After: p.after})
	}
	ev := proposedEvent{
		CallID: p.out.CallID, Given: p.call.ID != "", ClientID: p.call.ClientID, Tool: p.call.Name,
		Shape: p.call.Shape.String(), Bytes: len(p.raw), Digest: p.call.Digest(), After: p.after, Again: p.again,
		// A second call under an id that is taken must not take it over.
		Malformed: p.out.ErrorCode == codeMalformed,
	}
	if p.x.cfg.Tools.Record == recordFacts {
		return json.Marshal(ev)
	}
	return spliced(ev, "call", p.call.JSON())
}

const (
	recordFacts = "facts"
	recordFull  = "full"
)

// addProposal records the proposal. A call without an id is named after its
// number, by a name that no caller has given to another call.
func (p *proposal) addProposal(tx *ledger.Tx) (seq int64, err error) {
	if p.out.CallID == "" {
		name := fmt.Sprintf("c%d", tx.Seq()+1)
		for p.run.state.calls.has(name) {
			name += "."
		}
		p.out.CallID = name
	}
	payload, err := p.proposedEvent()
	if err != nil {
		return 0, err
	}
	if seq, err = tx.Add(ledger.ModelProposed, payload); err == nil {
		p.numbered(seq)
	}
	return seq, err
}

func (p *proposal) numbered(seq int64) { p.proposed, p.out.Proposal = seq, seq }

// addVerdict adds the verdict, on an allow the start of the handler, and on an
// ask the request for an approval.
func (p *proposal) addVerdict(tx *ledger.Tx) error {
	effect := p.out.Verdict.Effect
	if effect == engine.Allow && p.handler == nil {
		p.refuse(codeNotExecutable, fmt.Sprintf("tool %q is declared for judging only: no handler of RunLens runs it", p.tool.Name))
		effect = engine.Deny
	}
	if err := p.addVerdictEvent(tx); err != nil || effect != engine.Allow {
		return err
	}
	return p.addStart(tx, p.seq)
}

// addVerdictEvent adds the verdict, and on an ask the request for an approval.
func (p *proposal) addVerdictEvent(tx *ledger.Tx) error {
	payload, err := spliced(p.verdictEvent(), "input", p.out.InputJSON())
	if err != nil {
		return err
	}
	seq, err := tx.Add(verdictTypes[p.out.Verdict.Effect], payload)
	if err != nil {
		return err
	}
	p.out.Seq, p.seq = seq, seq
	if p.out.Verdict.Effect == engine.Ask {
		_, err = tx.Add(ledger.ApprovalRequested, approvalRequestedEvent{seq, p.out.CallID, p.out.Tool, p.proposed})
	}
	return err
}

// addAuthorizedStart starts what was allowed earlier. The call was judged again
// for it, so the start holds the input of that judgement.
func (p *proposal) addAuthorizedStart(tx *ledger.Tx, verdict int64) error {
	if err := p.useApproval(tx, verdict); err != nil {
		return err
	}
	payload, err := spliced(toolStartedEvent{Verdict: verdict, CallID: p.out.CallID, Tool: p.out.Tool}, "input", p.out.InputJSON())
	if err == nil {
		p.started, err = tx.Add(ledger.ToolStarted, payload)
	}
	return err
}

func (p *proposal) addStart(tx *ledger.Tx, verdict int64) (err error) {
	if err := p.useApproval(tx, verdict); err != nil {
		return err
	}
	p.started, err = tx.Add(ledger.ToolStarted, toolStartedEvent{Verdict: verdict, CallID: p.out.CallID, Tool: p.out.Tool})
	return err
}

// verdictTypes name the event of each verdict; an ask blocks until a person
// has answered.
var verdictTypes = map[engine.Effect]string{
	engine.Deny: ledger.ToolDenied, engine.Block: ledger.ToolBlocked, engine.Ask: ledger.ToolBlocked, engine.Allow: ledger.ToolAllowed,
}

func (p *proposal) verdictEvent() verdictEvent {
	v := p.out.Verdict
	ev := verdictEvent{
		Verdict: v.Effect.String(), Reason: v.Reasons[0].Code, MaxBytes: p.out.MaxBytes,
		CallID: p.out.CallID, Proposal: p.proposed,
		PolicyRevision: p.out.PolicyRevision, ManifestRevision: p.out.ManifestRevision,
		InputDigest: p.out.InputDigest(), Reasons: p.recordedReasons(), Objects: p.objectIDs(),
	}
	if len(p.input.Targets) > 0 {
		ev.Path = p.input.Targets[0].Path
	}
	if p.told != nil && v.Effect != engine.Allow {
		ev.Told = p.told.result(p.refusal()).ToldDigest()
	}
	return ev
}

// recordedReasons are the verdict's reasons as the ledger keeps them. Bytes that
// were not admitted are known by size and digest alone, so what was wrong with
// them is told to the caller and not recorded.
func (p *proposal) recordedReasons() []engine.Reason {
	reasons := slices.Clone(p.out.Verdict.Reasons)
	for i := range reasons {
		title := engine.GoReason(reasons[i].Code, "", "", nil).Message
		if p.call == nil && reasons[i].Code == codeMalformed {
			reasons[i].Message = title
			continue
		}
		reasons[i].Message = p.x.withhold.message(reasons[i].Message, title)
	}
	return reasons
}

func (p *proposal) objectIDs() []objectID {
	ids := make([]objectID, 0, len(p.targets)+1)
	for _, t := range p.targets {
		ids = append(ids, objectID{t.Param, t.Access, t.object.ID()})
	}
	if p.exe != nil {
		ids = append(ids, objectID{"", facts.Execute, p.exe.ID()})
	}
	if p.dir != nil && p.tool.Dir != "" {
		ids = append(ids, objectID{".", facts.Execute, p.dir.ID()})
	}
	return ids
}
