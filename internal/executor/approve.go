package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// ErrNotAsked is a proposal that no answer could help: it was not judged, it
// was allowed or denied, or a person has refused it for good.
var ErrNotAsked = errors.New("no approval is asked for")

// ErrUnsigned is an answer without a signature of one of the manifest's approvers
// where it names some.
var ErrUnsigned = errors.New("the manifest names approvers, and the answer is signed by none of them")

// AnswerSpec is a person's answer to a call, or to a run's used-up budget.
type AnswerSpec struct {
	RunID  string
	Call   int64         // the proposal's seq; not looked at for the budget
	By     string        // the person's name; with a Signer, its name counts
	TTL    time.Duration // of an approval, > 0
	Times  int64         // uses of an approval, ≥ 1
	Signer note.Signer   // nil: unsigned
}

// Answer is what was recorded.
type Answer struct {
	Seq     int64
	CallID  string
	Tool    string
	Paths   []string // canonical, of the call's objects
	Argv    []string // of a command
	Expires string   // RFC 3339 UTC; "" for a refusal or a budget
	Signed  bool
}

// Approve records that a person approves one call: the tool, the arguments, the
// objects and the policy revision of the proposal that was asked about.
func (x *Executor) Approve(ctx context.Context, spec AnswerSpec) (*Answer, error) {
	if spec.TTL <= 0 || spec.Times < 1 {
		return nil, errors.New("approve call: a time to live and at least one use are needed")
	}
	asked, err := x.asked(spec)
	if err != nil {
		return nil, err
	}
	a := asked.answer(answerCall)
	a.Times, a.Expires = spec.Times, x.cfg.Now().Add(spec.TTL).UTC().Format(timeFormat)
	return x.answer(ctx, spec, ledger.ApprovalGranted, a, asked)
}

// Refuse records that a person refuses one call, for good.
func (x *Executor) Refuse(ctx context.Context, spec AnswerSpec) (*Answer, error) {
	asked, err := x.asked(spec)
	if err != nil {
		return nil, err
	}
	return x.answer(ctx, spec, ledger.ApprovalRefused, asked.answer(answerRefusal), asked)
}

// ResetBudget records that a person sets the run's counters of refused calls to
// zero.
func (x *Executor) ResetBudget(ctx context.Context, spec AnswerSpec) (*Answer, error) {
	a := answer{Kind: answerBudget, Objects: []objectName{}, PolicyRevision: x.cfg.Engine.Revision(), Manifest: x.cfg.Tools.Revision}
	return x.answer(ctx, spec, ledger.ApprovalGranted, a, &askedCall{})
}

// answer signs and records an answer.
func (x *Executor) answer(ctx context.Context, spec AnswerSpec, typ string, a answer, asked *askedCall) (*Answer, error) {
	if a.By = spec.By; spec.Signer != nil {
		a.By = spec.Signer.Name()
	}
	if err := x.checkText("the name of the person", a.By); err != nil {
		return nil, fmt.Errorf("record answer: %w", err)
	}
	if a.By == "" {
		return nil, errors.New("record answer: it needs the name of a person")
	}
	r, err := x.enter(spec.RunID, false)
	if err != nil {
		return nil, err
	}
	done := &Answer{CallID: a.CallID, Tool: a.Tool, Argv: asked.argv, Expires: a.Expires}
	for _, o := range a.Objects {
		if !slices.Contains(done.Paths, o.Path) {
			done.Paths = append(done.Paths, o.Path)
		}
	}
	err = r.log.Commit(ctx, func(tx *ledger.Tx) (err error) {
		refused := slices.IndexFunc(r.state.Answers, func(have answerState) bool {
			return have.refuses() && have.Tool == a.Tool && have.Digest == a.Digest
		})
		if a.Kind != answerBudget && refused >= 0 {
			return fmt.Errorf("answer call %d: %w: it was refused by %.200q in event %d, which is final", spec.Call, ErrNotAsked, r.state.Answers[refused].By, r.state.Answers[refused].Seq)
		}
		if a.Kind == answerCall {
			if err := r.stillAsked(&a); err != nil {
				return fmt.Errorf("approve call %d: %w: %w", spec.Call, ErrNotAsked, err)
			}
		}
		a.After = tx.Head().Hash
		if err := a.sign(spec.RunID, spec.Signer); err != nil {
			return err
		}
		if !x.counts(spec.RunID, &a) {
			return fmt.Errorf("record answer of %.200q: %w", a.By, ErrUnsigned)
		}
		a.Signed = x.signed(spec.RunID, &a)
		done.Signed = a.Signed
		done.Seq, err = tx.Add(typ, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// holds says whether a recorded proposal is the call that its digest says: a
// person is shown the one and signs the other.
func (p *proposedEvent) holds() error {
	if p.Call == nil {
		return nil
	}
	c, err := call.Admit(p.Call)
	if err != nil || c.Digest() != p.Digest || c.Name != p.Tool {
		return fmt.Errorf("%w: it is not the call that its digest says", ledger.ErrCorrupt)
	}
	return nil
}

// stillAsked refuses an approval that could never count: the call was judged by
// what no longer holds.
func (r *run) stillAsked(a *answer) error {
	switch drift := r.contractFacts().Drift; {
	case len(drift) > 0:
		return fmt.Errorf("the run's contract no longer holds (%s), so nothing is let through", strings.Join(drift, ", "))
	case a.PolicyRevision != r.x.cfg.Engine.Revision():
		return errors.New("the policy has changed since it was judged: propose the call again")
	case a.Manifest != r.x.cfg.Tools.Revision:
		return errors.New("the manifests have changed since it was judged: propose the call again")
	}
	return nil
}

// askedCall is a recorded call that a person is asked about.
type askedCall struct {
	seq     int64
	callID  string
	tool    string
	digest  string
	policy  string
	tools   string // revision of the manifests
	objects []objectName
	argv    []string
}

func (c *askedCall) answer(kind string) answer {
	return answer{Kind: kind, Call: c.seq, CallID: c.callID, Tool: c.tool, Digest: c.digest, Objects: c.objects, PolicyRevision: c.policy, Manifest: c.tools}
}

// asked finds the proposal that a person answers, and what was judged of it.
func (x *Executor) asked(spec AnswerSpec) (*askedCall, error) {
	// Opening the run repairs what a crash left; reading alone would not.
	if _, err := x.enter(spec.RunID, false); err != nil {
		return nil, err
	}
	c := &askedCall{seq: spec.Call}
	last := ""
	var input *facts.Input
	for ev, err := range ledger.Read(filepath.Join(x.cfg.Runs, spec.RunID)) {
		if err != nil {
			return nil, err
		}
		switch {
		case ev.Seq == spec.Call:
			if ev.Type != ledger.ModelProposed {
				return nil, fmt.Errorf("answer call %d: %w: event %d is %s, not model_proposed", spec.Call, ErrNotAsked, spec.Call, ev.Type)
			}
			var p proposedEvent
			if err := json.Unmarshal(ev.Payload, &p); err != nil {
				return nil, err
			}
			if err := p.holds(); err != nil {
				return nil, fmt.Errorf("answer call %d: %w", spec.Call, err)
			}
			c.callID, c.tool, c.digest = p.CallID, p.Tool, p.Digest
		case c.digest == "" || ev.Type != ledger.ToolAllowed && ev.Type != ledger.ToolDenied && ev.Type != ledger.ToolBlocked:
		default:
			head, err := readVerdict(ev.Payload)
			if err != nil || head.Proposal != spec.Call {
				continue
			}
			var v struct {
				PolicyRevision string       `json:"policy_revision"`
				Manifest       string       `json:"manifest_revision"`
				Input          *facts.Input `json:"input"`
			}
			if err := json.Unmarshal(ev.Payload, &v); err != nil {
				return nil, err
			}
			last, c.policy, c.tools, input = head.Verdict+" ("+head.Reason+")", v.PolicyRevision, v.Manifest, v.Input
			if head.Verdict != engine.Ask.String() {
				input = nil
			}
		}
	}
	switch {
	case c.digest == "":
		return nil, fmt.Errorf("answer call %d: %w: the run has no event %d", spec.Call, ErrNotAsked, spec.Call)
	case last == "":
		return nil, fmt.Errorf("answer call %d: %w: it has no verdict yet", spec.Call, ErrNotAsked)
	case input == nil:
		return nil, fmt.Errorf("answer call %d: %w: its verdict is %s", spec.Call, ErrNotAsked, last)
	}
	if input.Call.Digest != c.digest || input.Call.Tool != c.tool {
		return nil, fmt.Errorf("answer call %d: %w: its verdict is about another call", spec.Call, ledger.ErrCorrupt)
	}
	c.objects = objectNames(input)
	if input.Command.Present {
		c.argv = input.Command.Argv
	}
	return c, nil
}
