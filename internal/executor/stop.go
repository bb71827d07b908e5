package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/plan"
)

// Statuses of a run that stopped.
const (
	RunCompleted = "completed"
	RunFailed    = "failed"
)

// Summary is a run at its end, the payload of run_stopped.
type Summary struct {
	Status     string           `json:"status"`      // RunCompleted or RunFailed
	Reasons    []StopReason     `json:"reasons"`     // why it failed; empty otherwise
	Cause      string           `json:"cause"`       // why it ended: "input_ended", "model_stopped", "turn_limit", …
	Calls      int64            `json:"calls"`       // proposals
	Verdicts   map[string]int64 `json:"verdicts"`    // by allow, deny, block, ask
	Codes      map[string]int64 `json:"codes"`       // by primary reason, allowed left out
	Failures   map[string]int64 `json:"failures"`    // tools that failed, by error code
	Truncated  int64            `json:"truncated"`   // results of which the output or what the model was told was cut
	Unknown    int64            `json:"unknown"`     // starts without a known end
	Steps      []string         `json:"steps"`       // completed
	Artifacts  []artifact       `json:"artifacts"`   // as they are at the end, by path
	DurationMS int64            `json:"duration_ms"` // since run_started
}

// StopReason is one thing that is wrong with a run's result.
type StopReason struct {
	Code    string `json:"code"` // plan_incomplete, artifact_missing, artifact_invalid, artifact_changed
	Message string `json:"message"`
	Path    string `json:"path,omitempty"` // of the artifact, from the project directory
	Step    string `json:"step,omitempty"` // the first that is not complete
}

// Stop checks what the run has made against its skill and plan and records
// run_stopped. Files stay as they are. The run can be reopened; stopping it again
// with the same result and no event in between records nothing and returns the
// summary that is there.
func (x *Executor) Stop(ctx context.Context, runID, cause string) (*Summary, error) {
	r, err := x.enter(runID, false)
	if err != nil {
		return nil, err
	}
	t, err := r.tally()
	if err != nil {
		return nil, err
	}
	s := &t.sum
	err = r.log.Commit(ctx, func(tx *ledger.Tx) error {
		if r.state.Seq != t.last { // somebody recorded meanwhile
			if t, err = r.tally(); err != nil {
				return err
			}
			s = &t.sum
		}
		s.Cause = cause
		r.validate(t)
		s.Status = RunCompleted
		if len(s.Reasons) > 0 {
			s.Status = RunFailed
		}
		if t.stopped != nil && t.stopped.sameResult(s) {
			s = t.stopped
			return nil
		}
		if !t.began.IsZero() {
			s.DurationMS = x.cfg.Now().Sub(t.began).Milliseconds()
		}
		_, err := tx.Add(ledger.RunStopped, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// sameResult says whether a run stopped as it had stopped before.
func (s *Summary) sameResult(now *Summary) bool {
	return s.Status == now.Status && s.Cause == now.Cause && slices.Equal(s.Reasons, now.Reasons) && slices.Equal(s.Artifacts, now.Artifacts)
}

// tally is what the ledger says of a run.
type tally struct {
	sum     Summary
	began   time.Time
	last    int64               // seq of the last event
	written map[string]artifact // by path from the project directory
	stopped *Summary            // the summary that the ledger ends with
}

func (r *run) tally() (*tally, error) {
	t := &tally{written: map[string]artifact{}, sum: Summary{
		Reasons: []StopReason{}, Verdicts: map[string]int64{}, Codes: map[string]int64{}, Failures: map[string]int64{},
		Steps: []string{}, Artifacts: []artifact{},
	}}
	for ev, err := range ledger.Read(r.dir) {
		if err == nil {
			err = t.take(ev)
		}
		if err != nil {
			return nil, fmt.Errorf("stop run %s: %w", r.id, err)
		}
	}
	return t, nil
}

func (t *tally) take(ev *ledger.Event) (err error) {
	t.stopped, t.last = nil, ev.Seq
	switch ev.Type {
	case ledger.RunStarted:
		t.began = ev.Time()
	case ledger.ModelProposed:
		t.sum.Calls++
	case ledger.ToolAllowed, ledger.ToolDenied, ledger.ToolBlocked:
		head, err := readVerdict(ev.Payload)
		if err != nil {
			return err
		}
		t.sum.Verdicts[head.Verdict]++
		if ev.Type != ledger.ToolAllowed {
			t.sum.Codes[head.Reason]++
		}
	case ledger.ToolSucceeded, ledger.ToolFailed:
		var e toolEndedEvent
		if err := json.Unmarshal(ev.Payload, &e); err != nil {
			return err
		}
		if e.Truncated || e.Cut {
			t.sum.Truncated++
		}
		if e.ErrorCode != "" {
			t.sum.Failures[e.ErrorCode]++
		}
		for _, name := range e.Removed {
			delete(t.written, name)
		}
		for _, a := range e.Artifacts {
			t.written[a.Path] = a
		}
	case ledger.ToolUnknown:
		t.sum.Unknown++
	case ledger.PlanStepCompleted:
		var p stepCompletedEvent
		if err := json.Unmarshal(ev.Payload, &p); err != nil {
			return err
		}
		t.sum.Steps = append(t.sum.Steps, p.Step)
	case ledger.RunStopped:
		t.stopped = &Summary{}
		return json.Unmarshal(ev.Payload, t.stopped)
	}
	return nil
}

// validate finds what is wrong with the run's result, under the log's lock.
func (r *run) validate(t *tally) {
	c := &r.state.Contract
	s := &t.sum
	if at := r.state.Plan.Position(); at.Status == plan.Active {
		s.Reasons = append(s.Reasons, r.incomplete(at))
	}
	if drift := r.contractFacts().Drift; len(drift) > 0 {
		s.Reasons = append(s.Reasons, StopReason{Code: codeContractDrift, Message: "changed since the run was started: " + strings.Join(drift, ", ")})
	}
	want := slices.Clone(c.Artifacts)
	if c.Plan != nil {
		for _, step := range c.Plan.Steps[:min(r.state.Plan.Done, len(c.Plan.Steps))] {
			want = append(want, step.Completion.Artifacts...)
		}
	}
	found, problems := r.checkArtifacts(want)
	for _, p := range problems {
		if !slices.Contains(s.Reasons, p) {
			s.Reasons = append(s.Reasons, p)
		}
	}
	now := map[string]artifact{}
	for _, a := range found {
		now[a.Path] = a
	}
	r.compareWritten(t, now)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		s.Artifacts = append(s.Artifacts, now[name])
	}
}

// incomplete says what a plan's current step still waits for.
func (r *run) incomplete(at plan.Position) StopReason {
	message := fmt.Sprintf("step %s (%d of %d) is not complete", at.Step.ID, at.Index, len(r.state.Contract.Plan.Steps))
	_, problems := r.checkArtifacts(at.Step.Completion.Artifacts)
	if open := standing(&r.state.Plan, problems).Open; len(open) > 0 {
		message += "; open: " + strings.Join(open, "; ")
	}
	if at.Failed {
		message += fmt.Sprintf("; its last tool failed, after %d failed retries", at.Retries)
	}
	return StopReason{Code: stopPlan, Step: at.Step.ID, Message: message}
}

// compareWritten holds what tools wrote below the run's artifacts against what
// is there now: what nobody recorded has changed it.
func (r *run) compareWritten(t *tally, now map[string]artifact) {
	home := r.home()
	for _, name := range slices.Sorted(maps.Keys(t.written)) {
		was := t.written[name]
		rest, inside := strings.CutPrefix(name, home)
		if !inside {
			// Nobody promised that it stays; it is told as it is, if it is there.
			if in, err := r.x.input(name, name); err == nil {
				now[name] = artifact{name, in.Bytes, in.Digest}
			}
			continue
		}
		data, shown, err := r.readArtifact(rest)
		if err != nil {
			t.sum.add(StopReason{Code: stopMissing, Path: name, Message: fmt.Sprintf("artifact %s: %v", rest, err)})
			continue
		}
		now[shown] = artifact{shown, int64(len(data)), digest(data)}
		if now[shown].Digest != was.Digest {
			t.sum.add(StopReason{Code: stopChanged, Path: name, Message: fmt.Sprintf("artifact %s: is not what the run's tools wrote", rest)})
		}
	}
}

// home is where the run's artifacts are, as paths in the ledger begin: from the
// project directory, or from "/" where runs are kept elsewhere.
func (r *run) home() string {
	return strings.TrimPrefix(r.runsRoot().Prefix, strings.TrimSuffix(r.x.resolver.Project(), "/")+"/") + r.id + "/" + artifactsDir + "/"
}

// add adds a reason once.
func (s *Summary) add(r StopReason) {
	if !slices.Contains(s.Reasons, r) {
		s.Reasons = append(s.Reasons, r)
	}
}
