package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// answer is what a person said: the payload of approval_granted and
// approval_refused. Field order is part of the format, and of what is signed.
type answer struct {
	Kind           string       `json:"kind"` // "call", "budget" or "refusal"
	Call           int64        `json:"call"` // the proposal's seq
	CallID         string       `json:"call_id"`
	Tool           string       `json:"tool"`
	Digest         string       `json:"digest"` // of the call
	Objects        []objectName `json:"objects"`
	PolicyRevision string       `json:"policy_revision"`
	Manifest       string       `json:"manifest_revision"`
	After          string       `json:"after"` // hash of the line before: in any other place it counts for nothing
	Expires        string       `json:"expires"`
	Times          int64        `json:"times"`
	By             string       `json:"by"`
	Signed         bool         `json:"signed"`
	Note           string       `json:"note,omitempty"` // the signed note
}

const (
	answerCall    = "call"
	answerBudget  = "budget"
	answerRefusal = "refusal"
)

// objectName is an object as a person approves it.
type objectName struct {
	Param  string `json:"param"`
	Access string `json:"access"`
	Path   string `json:"path"` // canonical
}

// answerState is an answer that still counts.
type answerState struct {
	answer
	Seq       int64 `json:"seq"`
	Remaining int64 `json:"remaining"`
}

func (a *answer) refuses() bool { return a.Kind == answerRefusal }

type approvalUsedEvent struct {
	Approval  int64  `json:"approval"`
	Verdict   int64  `json:"verdict_seq"`
	CallID    string `json:"call_id"`
	Remaining int64  `json:"remaining"`
}

func (s *State) applyAnswer(ev *ledger.Event) error {
	if ev.Type == ledger.ApprovalUsed {
		var used approvalUsedEvent
		if err := json.Unmarshal(ev.Payload, &used); err != nil {
			return err
		}
		at := slices.IndexFunc(s.Answers, func(a answerState) bool { return a.Seq == used.Approval && !a.refuses() })
		if at < 0 {
			return errors.New("names an approval that is not there or used up")
		}
		// A copy: what a call was judged by must not change under it.
		s.Answers = slices.Clone(s.Answers)
		if s.Answers[at].Remaining--; s.Answers[at].Remaining <= 0 {
			s.Answers = slices.Delete(s.Answers, at, at+1)
		}
		return nil
	}
	var a answer
	if err := json.Unmarshal(ev.Payload, &a); err != nil {
		return err
	}
	// What a person said once counts once: a copy stands in another place.
	copied := a.After != ev.Prev
	s.forgetExpired(ev.Time())
	switch {
	case copied && !a.refuses():
	case a.Kind == answerBudget && ev.Type == ledger.ApprovalGranted:
		s.Reset, s.Denials = &a, facts.Denials{}
	case a.Kind == answerCall && ev.Type == ledger.ApprovalGranted && a.Times > 0:
		s.Answers = append(slices.Clip(s.Answers), answerState{answer: a, Seq: ev.Seq, Remaining: a.Times})
	case a.Kind == answerRefusal && ev.Type == ledger.ApprovalRefused:
		s.Answers = append(slices.Clip(s.Answers), answerState{answer: a, Seq: ev.Seq})
	default:
		return errors.New("is no answer that this version knows")
	}
	return nil
}

// forgetExpired drops the approvals that had expired by then.
func (s *State) forgetExpired(then time.Time) {
	s.Answers = slices.DeleteFunc(slices.Clone(s.Answers), func(a answerState) bool {
		return !a.refuses() && a.expired(then)
	})
}

// expired says whether an approval no longer counts; one whose end can't be read
// never does.
func (a *answer) expired(now time.Time) bool {
	expires, err := time.Parse(time.RFC3339Nano, a.Expires)
	return err != nil || !now.Before(expires)
}

// approval returns the approval with uses left that event seq granted; nil when
// there is none.
func (s *State) approval(seq int64) *answerState {
	for i := range s.Answers {
		if a := &s.Answers[i]; a.Seq == seq && !a.refuses() {
			return a
		}
	}
	return nil
}

// text is what a person signs: the answer, and the run that it is for.
func (a *answer) text(runID string) (string, error) {
	plain := *a
	plain.Signed, plain.Note = false, ""
	body, err := json.Marshal(plain)
	if err != nil {
		return "", fmt.Errorf("encode answer: %w", err)
	}
	return "runlens answer v1\n" + runID + "\n" + string(body) + "\n", nil
}

// sign signs the answer; the signer's name is the person's.
func (a *answer) sign(runID string, signer note.Signer) error {
	if signer == nil {
		return nil
	}
	text, err := a.text(runID)
	if err != nil {
		return err
	}
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		return fmt.Errorf("sign answer: %w", err)
	}
	a.Signed, a.Note = true, string(signed)
	return nil
}

// signed says whether one of the manifest's approvers has signed this very
// answer to this very run.
func (x *Executor) signed(runID string, a *answer) bool {
	if a.Note == "" || len(x.approvers) == 0 {
		return false
	}
	text, err := a.text(runID)
	if err != nil {
		return false
	}
	n, err := note.Open([]byte(a.Note), note.VerifierList(x.approvers...))
	return err == nil && n.Text == text && len(n.Sigs) > 0 && n.Sigs[0].Name == a.By
}

// counts says whether an answer counts: signed, or nobody needs to sign.
func (x *Executor) counts(runID string, a *answer) bool {
	return len(x.approvers) == 0 || x.signed(runID, a)
}
