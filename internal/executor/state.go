package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// maxWaiting bounds the allows that are remembered as not yet started; older
// ones can no longer be started and must be authorised again.
const maxWaiting = 64

// State is a run as a fold over its events. It holds only what a later call is
// judged by; applying the same events always gives the same State.
type State struct {
	Seq       int64                `json:"seq"`     // of the last event
	Denials   facts.Denials        `json:"denials"` // refused so far
	DeniedAt  int64                `json:"denied_at"`
	Calls     map[string]callState `json:"calls"`     // by call_id, given or not
	Proposal  proposalState        `json:"proposal"`  // the last one
	Waiting   []allowState         `json:"waiting"`   // allows that have not started, oldest first
	Running   map[int64]int64      `json:"running"`   // tool_started seq → verdict seq
	Contract  contractState        `json:"contract"`  // what run_started fixed
	Proposals map[int64]int64      `json:"proposals"` // open proposal seq → seq that its caller had seen
}

type callState struct {
	Digest string `json:"digest"`
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

// allowState is an allow whose handler has not been started.
type allowState struct {
	Seq      int64 `json:"seq"`
	Offset   int64 `json:"offset"`
	Proposal int64 `json:"proposal"`
	At       int64 `json:"at"` // offset of the proposal
}

type contractState struct {
	Goal             string `json:"goal"`
	PolicyRevision   string `json:"policy_revision"`
	ManifestRevision string `json:"manifest_revision"`
}

// NewState returns the state of a run without events.
func NewState() *State {
	return &State{Calls: map[string]callState{}, Running: map[int64]int64{}, Proposals: map[int64]int64{}}
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
		return json.Unmarshal(ev.Payload, &s.Contract)
	case ledger.ModelProposed:
		p, err := readProposal(ev.Payload)
		if err != nil {
			return err
		}
		s.Proposal = proposalState{Seq: ev.Seq, Offset: ev.Offset, Digest: p.Digest, CallID: p.CallID, Malformed: p.Malformed}
		s.Proposals[ev.Seq] = p.After
		if !p.Malformed {
			s.Calls[p.CallID] = callState{Digest: p.Digest}
		}
	case ledger.ToolAllowed, ledger.ToolDenied, ledger.ToolBlocked:
		return s.applyVerdict(ev)
	case ledger.ToolStarted:
		var p struct {
			Verdict int64 `json:"verdict_seq"`
		}
		if err := json.Unmarshal(ev.Payload, &p); err != nil {
			return err
		}
		if !s.waits(p.Verdict) {
			return fmt.Errorf("verdict %d is no allow that waits for its start", p.Verdict)
		}
		s.Running[ev.Seq] = p.Verdict
		s.Waiting = slices.DeleteFunc(s.Waiting, func(a allowState) bool { return a.Seq == p.Verdict })
	case ledger.ToolSucceeded, ledger.ToolFailed, ledger.ToolUnknown:
		var p struct {
			Started int64 `json:"started_seq"`
		}
		if err := json.Unmarshal(ev.Payload, &p); err != nil {
			return err
		}
		delete(s.Running, p.Started)
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
	after, open := s.Proposals[p.Proposal]
	delete(s.Proposals, p.Proposal)
	if s.Proposal.Seq == p.Proposal {
		s.Proposal.Judged = true
	}
	at := int64(0)
	s.Waiting = slices.DeleteFunc(s.Waiting, func(a allowState) bool {
		if a.Proposal == p.Proposal {
			at = a.At
		}
		return a.Proposal == p.Proposal // judged anew: the older allow is void
	})
	switch {
	case ev.Type == ledger.ToolAllowed:
		s.Denials.InRow = 0
		if s.Proposal.Seq == p.Proposal {
			at = s.Proposal.Offset
		}
		s.Waiting = append(s.Waiting, allowState{Seq: ev.Seq, Offset: ev.Offset, Proposal: p.Proposal, At: at})
		if len(s.Waiting) > maxWaiting {
			s.Waiting = slices.Clone(s.Waiting[len(s.Waiting)-maxWaiting:])
		}
	case p.Reason == codeMalformed || p.Reason == codeInvalid:
		s.Denials.Malformed++
	case p.Verdict == engine.Ask.String(): // waits for a person; refuses nothing
	default:
		s.Denials.Total++
		if !open || after >= s.DeniedAt {
			s.Denials.InRow++
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

// Snapshot and Restore implement ledger.State.
func (s *State) Snapshot() ([]byte, error) { return json.Marshal(s) }

// Restore replaces s by a snapshot, by the state without events when data is
// nil.
func (s *State) Restore(data []byte) error {
	fresh := NewState()
	if data == nil {
		*s = *fresh
		return nil
	}
	if err := json.Unmarshal(data, fresh); err != nil {
		return fmt.Errorf("restore fold: %w", err)
	}
	*s = *fresh
	return nil
}

// judgedBy is the part of a state that policy sees. Two calls judged by equal
// values are judged alike.
type judgedBy struct {
	run       facts.Run
	skill     facts.Skill
	plan      facts.Plan
	contract  facts.Contract
	approvals []facts.Approval
}

func (s *State) judgedBy(runID, door, policyRevision, manifestRevision string) judgedBy {
	c := facts.Contract{Present: s.Contract.Goal != ""}
	if c.Present && s.Contract.PolicyRevision != policyRevision {
		c.Drift = append(c.Drift, "policy_revision")
	}
	if c.Present && s.Contract.ManifestRevision != manifestRevision {
		c.Drift = append(c.Drift, "manifest_revision")
	}
	c.Matches = c.Present && len(c.Drift) == 0
	slices.Sort(c.Drift)
	return judgedBy{
		run: facts.Run{
			ID: runID, Door: door, Denials: s.Denials,
			Limits: facts.RunLimits{InRow: -1, Total: -1, Malformed: -1},
		},
		plan:     facts.Plan{Status: "none"},
		contract: c,
	}
}

func (j judgedBy) equal(k judgedBy) bool {
	return j.run == k.run && reflect.DeepEqual(j, k)
}
