package executor

import (
	"context"
	"errors"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// ErrNotAsked is a proposal that no approval could help: it was not judged, it
// was allowed or denied, or a person has refused it for good.
var ErrNotAsked = errors.New("no approval is asked for")

// ErrUnsigned is an answer without a signature of one of the manifest's approvers
// where it names some.
var ErrUnsigned = errors.New("the manifest names approvers, and the answer is signed by none of them")

// AnswerSpec is a person's answer to a call, or to a run's used-up budget.
type AnswerSpec struct {
	RunID  string
	Call   int64         // the proposal's seq; 0 for the budget
	By     string        // the person's name
	TTL    time.Duration // of an approval, > 0
	Times  int64         // uses of an approval, ≥ 1
	Signer note.Signer   // nil: unsigned
}

// Answer is what was recorded.
type Answer struct {
	Seq     int64
	CallID  string
	Tool    string
	Paths   []string // canonical, of the call's targets
	Expires string   // RFC 3339 UTC; "" for a refusal or a budget
	Signed  bool
}

// Approve records that a person approves one call: the tool, the arguments, the
// objects and the policy revision of the proposal that was asked about.
func (x *Executor) Approve(ctx context.Context, spec AnswerSpec) (*Answer, error) {
	return nil, errors.New("approve: not there yet")
}

// Refuse records that a person refuses one call, for good.
func (x *Executor) Refuse(ctx context.Context, spec AnswerSpec) (*Answer, error) {
	return nil, errors.New("refuse: not there yet")
}

// ResetBudget records that a person sets the run's counters of refused calls to
// zero.
func (x *Executor) ResetBudget(ctx context.Context, spec AnswerSpec) (*Answer, error) {
	return nil, errors.New("reset budget: not there yet")
}
