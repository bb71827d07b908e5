package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// The payloads of the events that this package writes. Field order is part of
// the format.

type proposedEvent struct {
	CallID    string          `json:"call_id"`
	Given     bool            `json:"call_id_given"` // by the caller; else it is c<seq>
	ClientID  string          `json:"client_id,omitempty"`
	Tool      string          `json:"tool"`
	Shape     string          `json:"shape"`
	Bytes     int             `json:"bytes"`
	Digest    string          `json:"digest"` // of the call; of the bytes when malformed
	Malformed bool            `json:"malformed,omitempty"`
	After     int64           `json:"after"`           // last event its caller can have known of
	Again     int64           `json:"again,omitempty"` // the first proposal of the same line of a transcript
	Call      json.RawMessage `json:"call,omitempty"`  // the proposal's text, unless `record` is facts; last
}

// verdictEvent is a verdict without its last member: input, the document that
// was judged, or null when the call did not reach policy.
type verdictEvent struct {
	Verdict          string          `json:"verdict"`
	Reason           string          `json:"reason"`
	Path             string          `json:"path"` // canonical, of the first target
	MaxBytes         int64           `json:"max_bytes"`
	CallID           string          `json:"call_id"`
	Proposal         int64           `json:"proposal"`
	PolicyRevision   string          `json:"policy_revision"`
	ManifestRevision string          `json:"manifest_revision"`
	InputDigest      string          `json:"input_digest"`
	Reasons          []engine.Reason `json:"reasons"`
	Objects          []objectID      `json:"objects"`
	Told             string          `json:"told_digest,omitempty"` // of a refusal that a model was told
}

// objectID says which object was judged, in a form that another process can
// compare: what is there under the same name may be another object by then.
type objectID struct {
	Param  string `json:"param"`
	Access string `json:"access"`
	ID     string `json:"id"`
}

type toolStartedEvent struct {
	Verdict int64  `json:"verdict_seq"`
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
}

type toolEndedEvent struct {
	Started   int64          `json:"started_seq"`
	Verdict   int64          `json:"verdict_seq"`
	CallID    string         `json:"call_id"`
	Tool      string         `json:"tool"`
	ErrorCode string         `json:"error_code,omitempty"`
	Message   string         `json:"message,omitempty"`
	Abandoned bool           `json:"abandoned,omitempty"` // the handler had not come back
	Bytes     int            `json:"output_bytes"`
	Digest    string         `json:"output_digest"`
	Facts     map[string]any `json:"facts"` // numbers and booleans of the output; no text
	Truncated bool           `json:"truncated"`
	Artifacts []artifact     `json:"artifacts"`
	Removed   []string       `json:"removed,omitempty"` // files deleted or renamed away
	Micros    int64          `json:"duration_us"`
	Observed  int64          `json:"observation_bytes,omitempty"` // what a model was told, when one was
	Cut       bool           `json:"observation_cut,omitempty"`
	Told      string         `json:"told_digest,omitempty"`
	Output    map[string]any `json:"output,omitempty"` // with `record: full` alone
}

type approvalRequestedEvent struct {
	Verdict  int64  `json:"verdict_seq"`
	CallID   string `json:"call_id"`
	Tool     string `json:"tool"`
	Proposal int64  `json:"proposal"`
}

type stepCompletedEvent struct {
	Step      string     `json:"step"`
	Index     int64      `json:"index"` // from 1
	Result    int64      `json:"result_seq"`
	Artifacts []artifact `json:"artifacts"`
}

type artifact struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

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

// resultEvent is the end of the handler: digests, sizes and facts, never text,
// unless the operator set `record` to full.
func (p *proposal) resultEvent() (string, toolEndedEvent) {
	ev := toolEndedEvent{
		Started: p.started, Verdict: p.out.Seq, CallID: p.out.CallID, Tool: p.out.Tool,
		Facts: map[string]any{}, Artifacts: []artifact{}, Micros: p.took.Microseconds(),
	}
	output := p.done.Output
	if p.err != nil {
		e := handlerError(p.err)
		ev.ErrorCode, ev.Abandoned, output = e.Code, e.Abandoned, e.Output
		ev.Message = p.x.withhold.message(e.Message, p.x.cfg.Engine.Reason(e.Code, "", "", nil).Message)
	}
	if output != nil {
		if text, err := json.Marshal(output); err == nil {
			ev.Bytes, ev.Digest = len(text), digest(text)
		}
		for name, v := range output {
			switch v.(type) {
			case bool, int, int64, float64, json.Number:
				ev.Facts[name] = v
			}
		}
	}
	if p.told != nil {
		r := p.told.result(p.result())
		ev.Observed, ev.Cut, ev.Told = int64(len(r.Observation)), r.Cut, r.ToldDigest()
	}
	if p.x.cfg.Tools.Record == recordFull {
		ev.Output = output
	}
	ev.Artifacts, ev.Removed = p.made(p.done, p.err)
	if p.err != nil {
		return ledger.ToolFailed, ev
	}
	ev.Truncated = p.done.Truncated
	return ledger.ToolSucceeded, ev
}

// handlerError is err as a handler's error, whatever it was.
func handlerError(err error) *handlers.Error {
	var e *handlers.Error
	if errors.As(err, &e) {
		return e
	}
	return &handlers.Error{Code: codeHandler, Message: err.Error()}
}

// refusal answers a call that policy or an earlier stage stopped.
func (p *proposal) refusal() *ToolResult {
	v := p.out.Verdict
	status := StatusDenied
	switch {
	case v.Effect == engine.Block, v.Effect == engine.Ask:
		status = StatusBlocked
	case p.out.Input == nil:
		status = StatusFailed
	}
	primary := v.Reasons[0]
	message := primary.Message
	if v.Effect == engine.Ask && p.proposed > 0 {
		message += fmt.Sprintf("; a person can approve it: runlens approve %s %d", p.run.id, p.proposed)
	}
	callID, tool := p.known.or(p.out.CallID, p.out.Tool)
	return &ToolResult{
		CallID: callID, ToolName: tool, Status: status, Plan: p.standing,
		ErrorCode: p.out.ErrorCode, ErrorMessage: message, Retryable: primary.Retryable,
		Reason: primary.Code, Reasons: p.out.Public(), RunID: p.run.id, Seq: p.seq, Outcome: p.out,
	}
}

// result answers a call whose handler ran.
func (p *proposal) result() *ToolResult {
	r := &ToolResult{
		CallID: p.out.CallID, ToolName: p.out.Tool, Status: StatusSuccess, Plan: p.standing,
		Output: p.done.Output, Truncated: p.done.Truncated,
		Reason: p.out.Verdict.Reasons[0].Code, Reasons: p.out.Public(),
		RunID: p.run.id, Seq: p.seq, Outcome: p.out,
	}
	if p.told != nil {
		r.Observation = p.done.Observation
	}
	if p.err != nil {
		e := handlerError(p.err)
		known := p.x.cfg.Engine.Reason(e.Code, e.Message, "", nil)
		r.Status, r.ErrorCode, r.ErrorMessage, r.Retryable = StatusFailed, e.Code, e.Message, known.Retryable
		r.Output, r.Reason, r.Reasons = e.Output, e.Code, []engine.Reason{known}
		if p.told != nil {
			r.Observation = e.Observation
		}
	}
	return r
}
