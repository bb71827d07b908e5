package executor

import (
	"context"
	"errors"
)

// Statuses of a run that stopped.
const (
	RunCompleted = "completed"
	RunFailed    = "failed"
)

// Summary is a run at its end, the payload of run_stopped.
type Summary struct {
	Status     string           `json:"status"`  // RunCompleted or RunFailed
	Reasons    []StopReason     `json:"reasons"` // why it failed; empty otherwise
	Cause      string           `json:"cause"`   // why it ended: "input_ended", "model_stopped", "turn_limit", …
	Calls      int64            `json:"calls"`
	Verdicts   map[string]int64 `json:"verdicts"`    // allow, deny, block, ask
	Codes      map[string]int64 `json:"codes"`       // primary reasons
	Failures   map[string]int64 `json:"failures"`    // error codes of tools that failed
	Truncated  int64            `json:"truncated"`   // results of which the tool or the observation was cut
	Unknown    int64            `json:"unknown"`     // starts without an end
	Steps      []string         `json:"steps"`       // completed
	Artifacts  []artifact       `json:"artifacts"`   // at the end, by path
	DurationMS int64            `json:"duration_ms"` // since run_started
}

// StopReason is one thing that is wrong with a run's result.
type StopReason struct {
	Code    string `json:"code"` // plan_incomplete, artifact_missing, artifact_invalid, artifact_changed
	Message string `json:"message"`
	Path    string `json:"path,omitempty"` // of the artifact
	Step    string `json:"step,omitempty"`
}

// Stop checks what the run has made against its skill and plan and records
// run_stopped. Files stay as they are. The run can be reopened; stopping it again
// without any event in between records nothing and returns the summary that is
// there.
func (x *Executor) Stop(ctx context.Context, runID, cause string) (*Summary, error) {
	return nil, errors.New("stop run: not there yet")
}
