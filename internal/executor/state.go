package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/plan"
)

// maxWaiting bounds the allows that are remembered as not yet started; older
// ones can no longer be started and must be authorised again.
const maxWaiting = 64

// maxOpen bounds the proposals that are remembered without a verdict.
const maxOpen = 256

// State is a run as a fold over its events. It holds only what a later call is
// judged by; applying the same events always gives the same State.
type State struct {
	Seq       int64                  `json:"seq"`     // of the last event
	Denials   facts.Denials          `json:"denials"` // refused since a person last set the counters to zero
	Refused   facts.Denials          `json:"refused"` // refused, whatever a person did
	DeniedAt  int64                  `json:"denied_at"`
	Proposal  proposalState          `json:"proposal"`  // the last one
	Proposals map[int64]openProposal `json:"proposals"` // without a verdict, by seq
	Waiting   []allowState           `json:"waiting"`   // allows that have not started, oldest first
	Running   map[int64]runningState `json:"running"`   // by the seq of the start
	Lost      map[string]int64       `json:"lost"`      // starts without a known end, by the digest of the call
	Contract  contract               `json:"contract"`  // what run_started fixed
	Plan      plan.Progress          `json:"plan"`
	Answers   []answerState          `json:"answers"` // of persons: approvals with uses left, and refusals
	Reset     *answer                `json:"reset"`   // the last one of the counters

	calls callIndex // by call_id, given or not; stands behind the JSON in a snapshot
}

// proposalState is the run's last proposal.
type proposalState struct {
	Seq       int64  `json:"seq"`
	Offset    int64  `json:"offset"`
	Digest    string `json:"digest"`
	CallID    string `json:"call_id"`
	Malformed bool   `json:"malformed"`
	Judged    bool   `json:"judged"`
}

// openProposal is a proposal without a verdict.
type openProposal struct {
	After  int64  `json:"after"` // last event its caller had seen
	Digest string `json:"digest"`
}

// allowState is an allow whose handler has not been started.
type allowState struct {
	Seq      int64  `json:"seq"`
	Offset   int64  `json:"offset"`
	Proposal int64  `json:"proposal"`
	At       int64  `json:"at"` // offset of the proposal
	Digest   string `json:"digest"`
}

// runningState is a handler that was started and has not ended.
type runningState struct {
	Verdict int64  `json:"verdict"`
	Digest  string `json:"digest"` // of the call
}

// NewState returns the state of a run without events.
func NewState() *State {
	return &State{
		Proposals: map[int64]openProposal{}, Running: map[int64]runningState{}, Lost: map[string]int64{},
	}
}

// Apply advances s by one event. Events of other types advance only Seq. It
// implements ledger.State.
func (s *State) Apply(ev *ledger.Event) error {
	if err := s.apply(ev); err != nil {
		return fmt.Errorf("fold event %d (%s): %w", ev.Seq, ev.Type, err)
	}
	s.Seq = ev.Seq
	return nil
}

func (s *State) apply(ev *ledger.Event) error {
	switch ev.Type {
	case ledger.RunStarted:
		s.Contract = contract{}
		if err := json.Unmarshal(ev.Payload, &s.Contract); err != nil {
			return err
		}
		s.Plan.Begin(s.Contract.Plan)
		return nil
	case ledger.ModelProposed:
		p, err := readProposal(ev.Payload)
		if err != nil {
			return err
		}
		s.Proposal = proposalState{Seq: ev.Seq, Offset: ev.Offset, Digest: p.Digest, CallID: p.CallID, Malformed: p.Malformed}
		s.Proposals[ev.Seq] = openProposal{After: p.After, Digest: p.Digest}
		s.forgetProposals()
		if !p.Malformed {
			s.calls.add(p.CallID, p.Digest)
		}
		return nil
	case ledger.ToolAllowed, ledger.ToolDenied, ledger.ToolBlocked:
		return s.applyVerdict(ev)
	case ledger.ToolStarted, ledger.ToolSucceeded, ledger.ToolFailed, ledger.ToolUnknown:
		return s.applyHandler(ev)
	case ledger.PlanStepCompleted:
		var p stepCompletedEvent
		if err := json.Unmarshal(ev.Payload, &p); err != nil {
			return err
		}
		if !s.Plan.Completed(p.Step) {
			return errors.New("names a step that is not the current one")
		}
		return nil
	case ledger.ApprovalGranted, ledger.ApprovalRefused, ledger.ApprovalUsed:
		return s.applyAnswer(ev)
	}
	return nil
}

// forgetProposals bounds the proposals that are remembered without a verdict:
// nobody judges any but the last.
func (s *State) forgetProposals() {
	if len(s.Proposals) <= 2*maxOpen {
		return
	}
	seqs := slices.Sorted(maps.Keys(s.Proposals))
	for _, seq := range seqs[:len(seqs)-maxOpen] {
		delete(s.Proposals, seq)
	}
}

// applyHandler follows a handler from its start to its end.
func (s *State) applyHandler(ev *ledger.Event) error {
	var p struct {
		Verdict int64  `json:"verdict_seq"`
		Started int64  `json:"started_seq"`
		Tool    string `json:"tool"`
		Code    string `json:"error_code"`
		Gone    bool   `json:"abandoned"`
	}
	if err := json.Unmarshal(ev.Payload, &p); err != nil {
		return err
	}
	if ev.Type == ledger.ToolStarted {
		at := slices.IndexFunc(s.Waiting, func(a allowState) bool { return a.Seq == p.Verdict })
		if at < 0 {
			return fmt.Errorf("verdict %d is no allow that waits for its start", p.Verdict)
		}
		s.Running[ev.Seq] = runningState{Verdict: p.Verdict, Digest: s.Waiting[at].Digest}
		s.Waiting = slices.Delete(s.Waiting, at, at+1)
		s.Plan.Started(ev.Seq, p.Tool)
		return nil
	}
	digest := s.Running[p.Started].Digest
	delete(s.Running, p.Started)
	delete(s.Lost, digest) // whatever was unknown of this call, it has an end now
	switch {
	case ev.Type == ledger.ToolSucceeded:
		s.Plan.Succeeded(p.Started)
	case ev.Type == ledger.ToolFailed && p.Code != codeCancelled:
		s.Plan.HasFailed(p.Started)
		if p.Gone && digest != "" {
			s.Lost[digest]++ // it may still be at it
		}
	default: // nobody knows how far it came
		s.Plan.Lost(p.Started)
		if digest != "" {
			s.Lost[digest]++
		}
	}
	return nil
}

// applyVerdict counts a refusal and remembers an allow. Calls that were
// proposed before the last refusal went back count as one in the row: their
// caller could not have learnt from it.
func (s *State) applyVerdict(ev *ledger.Event) error {
	p, err := readVerdict(ev.Payload)
	if err != nil {
		return err
	}
	proposed, open := s.Proposals[p.Proposal]
	delete(s.Proposals, p.Proposal)
	if s.Proposal.Seq == p.Proposal {
		s.Proposal.Judged = true
	}
	at, digest := int64(0), proposed.Digest
	s.Waiting = slices.DeleteFunc(s.Waiting, func(a allowState) bool {
		if a.Proposal == p.Proposal {
			at, digest = a.At, a.Digest
		}
		return a.Proposal == p.Proposal // judged anew: the older allow is void
	})
	switch {
	case ev.Type == ledger.ToolAllowed:
		s.Denials.InRow, s.Refused.InRow = 0, 0
		if s.Proposal.Seq == p.Proposal {
			at = s.Proposal.Offset
		}
		s.Waiting = append(s.Waiting, allowState{Seq: ev.Seq, Offset: ev.Offset, Proposal: p.Proposal, At: at, Digest: digest})
		if len(s.Waiting) > maxWaiting {
			s.Waiting = slices.Clone(s.Waiting[len(s.Waiting)-maxWaiting:])
		}
	case p.Reason == codeMalformed || p.Reason == codeInvalid:
		s.Denials.Malformed++
		s.Refused.Malformed++
	case p.Verdict == engine.Ask.String(): // waits for a person; refuses nothing
	default:
		s.Denials.Total++
		s.Refused.Total++
		if !open || proposed.After >= s.DeniedAt {
			s.Denials.InRow++
			s.Refused.InRow++
			s.DeniedAt = ev.Seq
		}
	}
	return nil
}

// verdictHead is what a state keeps of a verdict.
type verdictHead struct {
	Verdict, Reason string
	Proposal        int64
}

// readVerdict reads the head of a verdict's payload; the input behind it is
// large and not looked at.
func readVerdict(payload []byte) (v verdictHead, err error) {
	found := 0
	walked := members(payload, func(name string, value []byte) bool {
		var into any
		switch name {
		case "verdict":
			into = &v.Verdict
		case "reason":
			into = &v.Reason
		case "proposal":
			into = &v.Proposal
		default:
			return true
		}
		found++
		err = json.Unmarshal(value, into)
		return err == nil && found < 3
	})
	if err == nil {
		err = walked
	}
	if err == nil && found < 3 {
		err = errors.New("a verdict needs verdict, reason and proposal")
	}
	return v, err
}

// readProposal reads a proposal's payload without its text, which stands last.
func readProposal(payload []byte) (p proposedEvent, err error) {
	walked := members(payload, func(name string, value []byte) bool {
		switch name {
		case "call":
			return false
		case "call_id":
			err = json.Unmarshal(value, &p.CallID)
		case "digest":
			err = json.Unmarshal(value, &p.Digest)
		case "malformed":
			err = json.Unmarshal(value, &p.Malformed)
		case "after":
			err = json.Unmarshal(value, &p.After)
		}
		return err == nil
	})
	if err == nil {
		err = walked
	}
	return p, err
}

// Snapshot implements ledger.State. It is a line of JSON, and behind it the calls
// in the form that they are searched in.
func (s *State) Snapshot() ([]byte, error) {
	head, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return s.calls.appendTo(append(head, '\n')), nil
}

// Restore replaces s by a snapshot, by the state without events when data is
// nil.
func (s *State) Restore(data []byte) error {
	fresh := NewState()
	if data == nil {
		*s = *fresh
		return nil
	}
	head, calls, _ := bytes.Cut(data, []byte("\n"))
	if err := json.Unmarshal(head, fresh); err != nil {
		return fmt.Errorf("restore fold: %w", err)
	}
	if err := fresh.calls.restore(calls); err != nil {
		return fmt.Errorf("restore fold: %w", err)
	}
	*s = *fresh
	return nil
}
