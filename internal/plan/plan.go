// Package plan is a run's way through its plan: an ordered list of steps, and
// how far the recorded events have come in it.
//
// It promises that the same events always give the same position, and that only
// what happened moves it: a tool that was started and ended, and the host's word
// that a step is complete. It opens nothing, judges nothing and knows no clock;
// which tool the current step allows is a rule of the policy, and whether the
// artifacts of a step are there is found out by the host.
//
// Read Plan first, then Progress, then Position.
package plan

import (
	"encoding/json"
	"maps"
	"slices"
)

// Plan is an ordered list of steps. It is immutable once loaded.
type Plan struct {
	Name  string `json:"name"`
	Steps []Step `json:"steps"` // at least one, ids unique
}

// Step is one stage of a plan.
type Step struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Tools      []string   `json:"tools"` // that may be called while the step is current; at least one
	Completion Completion `json:"completion"`
}

// Completion says when a step is complete: all of it must hold.
type Completion struct {
	Succeed   []Success  `json:"succeed"`
	Artifacts []Artifact `json:"artifacts"`
}

// Success is a tool that must have succeeded in the step, at least Times times.
type Success struct {
	Tool  string `json:"tool"`
	Times int64  `json:"times"` // from 1
}

// Artifact is a file that must exist among the run's artifacts.
type Artifact struct {
	Path   string          `json:"path"`             // below the run's artifacts/, with slashes
	Schema json.RawMessage `json:"schema,omitempty"` // a JSON schema that its content fits; nil: any content
}

// Statuses of a position.
const (
	None     = "none"
	Active   = "active"
	Complete = "complete"
)

// Progress is the fold of a run's events over its plan. The zero Progress has no
// plan. It is plain data: its JSON form restores it.
type Progress struct {
	Plan    *Plan             `json:"plan"`
	Done    int               `json:"done"`    // steps completed
	Success map[string]int64  `json:"success"` // in the current step, by tool
	Failed  bool              `json:"failed"`
	Retries int64             `json:"retries"`
	Running map[int64]running `json:"running"` // by the seq of the start
}

// running is a tool that was started and has not ended.
type running struct {
	Tool  string `json:"tool"`
	Step  int    `json:"step"`  // value of Done when it was started
	Retry bool   `json:"retry"` // the step was marked failed then
}

// Clone returns a copy that shares nothing with p but its plan.
func (p *Progress) Clone() Progress {
	c := *p
	c.Success, c.Running = maps.Clone(p.Success), maps.Clone(p.Running)
	return c
}

// Begin starts p over with a plan; nil is none.
func (p *Progress) Begin(plan *Plan) { *p = Progress{Plan: plan} }

// Started takes in that a tool was started by event seq. Starting an allowed
// tool reopens a step that failed.
func (p *Progress) Started(seq int64, tool string) {
	step := p.step()
	if step == nil {
		return
	}
	retry := p.Failed && slices.Contains(step.Tools, tool)
	if retry {
		p.Failed = false
	}
	if p.Running == nil {
		p.Running = map[int64]running{}
	}
	p.Running[seq] = running{Tool: tool, Step: p.Done, Retry: retry}
}

// Succeeded takes in that what seq started has succeeded.
func (p *Progress) Succeeded(seq int64) {
	if r, ok := p.ended(seq); ok {
		if p.Success == nil {
			p.Success = map[string]int64{}
		}
		p.Success[r.Tool]++
		p.Failed, p.Retries = false, 0
	}
}

// HasFailed takes in that what seq started has failed. It marks the step, and
// counts when it was itself a retry.
func (p *Progress) HasFailed(seq int64) {
	if r, ok := p.ended(seq); ok {
		p.Failed = true
		if r.Retry {
			p.Retries++
		}
	}
}

// Lost takes in that nobody knows how what seq started ended. It moves nothing.
func (p *Progress) Lost(seq int64) { p.ended(seq) }

// ended forgets a start and says whether it belongs to the current step.
func (p *Progress) ended(seq int64) (running, bool) {
	r, known := p.Running[seq]
	delete(p.Running, seq)
	return r, known && r.Step == p.Done && p.step() != nil
}

// Completed takes in that the host found the step complete. It reports whether
// that step is the current one.
func (p *Progress) Completed(step string) bool {
	current := p.step()
	if current == nil || current.ID != step {
		return false
	}
	p.Done++
	p.Success, p.Failed, p.Retries = nil, false, 0
	return true
}

// Satisfied says whether the tools of the current step have succeeded as often
// as it asks. What its artifacts say is another matter.
func (p *Progress) Satisfied() bool {
	step := p.step()
	if step == nil {
		return false
	}
	for _, s := range step.Completion.Succeed {
		if p.Success[s.Tool] < s.Times {
			return false
		}
	}
	return true
}

// Position is where a run stands in its plan.
type Position struct {
	Status  string // None, Active or Complete
	Step    *Step  // the current step; nil unless Active
	Index   int64  // of the step, from 1; 0 unless Active
	Failed  bool   // the last tool of the step that ended has failed
	Retries int64  // retries in a row that failed too
}

// Position returns where the run stands.
func (p *Progress) Position() Position {
	switch step := p.step(); {
	case p.Plan == nil:
		return Position{Status: None}
	case step == nil:
		return Position{Status: Complete}
	default:
		return Position{Status: Active, Step: step, Index: int64(p.Done) + 1, Failed: p.Failed, Retries: p.Retries}
	}
}

func (p *Progress) step() *Step {
	if p.Plan == nil || p.Done >= len(p.Plan.Steps) {
		return nil
	}
	return &p.Plan.Steps[p.Done]
}
