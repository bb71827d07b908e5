package executor

import (
	"context"
	"errors"

	"github.com/runlens/runlens/internal/manifest"
)

// ErrRunExists is a run that was to be started and has events already.
var ErrRunExists = errors.New("run exists")

// StartSpec is what a new run is to be held to.
type StartSpec struct {
	RunID    string            // "" makes one
	Goal     string            // "" is the skill's own; without a skill the run has no contract
	Skill    string            // "" is none
	Inputs   map[string]string // input name → path
	ReadOnly bool              // beside what the skill says
}

// Task is a run as it was started: what its contract fixes, and what the model
// is told.
type Task struct {
	RunID        string
	Goal         string
	Skill        *manifest.Skill // nil: none
	Inputs       map[string]string
	Instructions string // the skill's, inputs filled in; "" without a skill
}

// Start opens a new run and fixes what it is held to: run_started is durable
// and contract.json stands beside it when Start returns. ErrRunExists when the
// run has events already. Every problem of the spec is reported at once.
func (x *Executor) Start(ctx context.Context, spec StartSpec) (*Task, error) {
	return nil, errors.New("start run: not there yet")
}

// Reopen is Start for a run that has events. A goal, skill or input in spec that
// is not the run's own is no error: every call of this Executor in that run is
// judged with that drift, which the shipped policy denies as contract_drift.
func (x *Executor) Reopen(ctx context.Context, spec StartSpec) (*Task, *History, error) {
	return nil, nil, errors.New("reopen run: not there yet")
}
