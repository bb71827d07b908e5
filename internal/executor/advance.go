package executor

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/plan"
	"github.com/runlens/runlens/internal/resolve"
)

// tool is what a call of that name is bound to in a run under skill ("": none):
// the skill's narrowed form of it, else the tool as it is declared.
func (x *Executor) tool(skill, name string) *manifest.Tool {
	if s := x.cfg.Tools.Skills[skill]; s != nil && s.Tools[name] != nil {
		return s.Tools[name]
	}
	return x.cfg.Tools.Tools[name]
}

// advance finds out where the result that is recorded now leaves the plan. It
// returns the event that completes the current step when this success was its
// last one, and its artifacts are there and fit. Both belong to one commit: a
// crash leaves both or neither.
func (p *proposal) advance() *stepCompletedEvent {
	// The run's own progress sees the result once the commit is made.
	now := p.run.state.Plan.Clone()
	switch {
	case p.err == nil:
		now.Succeeded(p.started)
	case handlerError(p.err).Code == codeCancelled:
		now.Lost(p.started)
	default:
		now.HasFailed(p.started)
	}
	at := now.Position()
	if at.Status != plan.Active || p.err != nil || !now.Satisfied() {
		p.standing = standing(&now, nil)
		return nil
	}
	found, problems := p.run.checkArtifacts(at.Step.Completion.Artifacts)
	if len(problems) > 0 {
		p.standing = standing(&now, problems)
		return nil
	}
	now.Completed(at.Step.ID)
	p.standing = standing(&now, nil)
	p.standing.Completed = []string{at.Step.ID}
	return &stepCompletedEvent{Step: at.Step.ID, Index: at.Index, Artifacts: found}
}

// standing is where a run stands in its plan; nil without one.
func standing(progress *plan.Progress, problems []StopReason) *Standing {
	at := progress.Position()
	switch at.Status {
	case plan.None:
		return nil
	case plan.Complete:
		return &Standing{Status: at.Status}
	}
	s := &Standing{Status: at.Status, Step: at.Step.ID, Title: at.Step.Title, Tools: at.Step.Tools}
	for _, need := range at.Step.Completion.Succeed {
		if have := progress.Success[need.Tool]; have < need.Times {
			s.Open = append(s.Open, fmt.Sprintf("%s: %d of %d", need.Tool, have, need.Times))
		}
	}
	for _, problem := range problems {
		s.Open = append(s.Open, problem.Message)
	}
	return s
}

// Codes of a StopReason.
const (
	stopPlan     = "plan_incomplete"
	stopMissing  = "artifact_missing"
	stopInvalid  = "artifact_invalid"
	stopChanged  = "artifact_changed"
	maxArtifact  = 32 << 20
	artifactsDir = "artifacts"
)

// checkArtifacts opens each artifact below the run's own directory and holds its
// content against its schema. What is measured, digested and checked is read
// once, from one handle.
func (r *run) checkArtifacts(want []plan.Artifact) (found []artifact, problems []StopReason) {
	found = []artifact{}
	for _, a := range want {
		data, shown, err := r.readArtifact(a.Path)
		if err != nil {
			code := stopInvalid
			if errors.Is(err, errMissing) {
				code = stopMissing
			}
			problems = append(problems, StopReason{Code: code, Path: shown, Message: fmt.Sprintf("artifact %s: %v", a.Path, err)})
			continue
		}
		found = append(found, artifact{shown, int64(len(data)), digest(data)})
		for _, issue := range manifest.CheckArtifact(a.Schema, data) {
			where := issue.Pointer
			if where == "" {
				where = "the whole"
			}
			problems = append(problems, StopReason{Code: stopInvalid, Path: shown, Message: fmt.Sprintf("artifact %s: %s: %s", a.Path, where, issue.Message)})
		}
	}
	return found, problems
}

var errMissing = errors.New("is missing")

// artifactsRoot is the run's artifacts directory as it is on disk.
func (r *run) artifactsRoot() facts.Root {
	home := filepath.Join(r.dir, artifactsDir)
	return r.x.resolver.Roots([]resolve.RootSpec{{Declared: home, Access: []string{facts.Read}}})[0]
}

// readArtifact reads a file below the run's artifacts, and says what it is called
// from the project directory. A link, wherever it leads, is no artifact.
func (r *run) readArtifact(name string) (data []byte, shown string, err error) {
	root := r.artifactsRoot()
	if root.Prefix != r.runsRoot().Prefix+r.id+"/"+artifactsDir+"/" {
		return nil, name, errors.New("the run's artifacts are no directory of its own")
	}
	path := root.Prefix + name
	o := r.x.resolver.Resolve(resolve.Request{Access: facts.Read, Raw: path, Requested: path, Absolute: true})
	defer o.Close()
	f := o.Facts
	shown = relative(f)
	switch {
	case f.Resolution == facts.NotFound:
		return nil, name, errMissing
	case f.Resolution != facts.OK:
		return nil, name, fmt.Errorf("can't be opened (%s)", f.Resolution)
	case f.Path != root.Prefix+name:
		return nil, name, errors.New("is a link, or behind one")
	case f.Kind != facts.File:
		return nil, shown, fmt.Errorf("is no regular file but a %s", f.Kind)
	case f.Nlink > 1:
		return nil, shown, errors.New("has another name too (a hard link)")
	case f.Size > maxArtifact:
		return nil, shown, fmt.Errorf("is larger than %d bytes", maxArtifact)
	}
	file, err := o.Open()
	if err != nil {
		return nil, shown, errors.New("changed while it was opened")
	}
	defer file.Close()
	data, err = io.ReadAll(io.LimitReader(file, maxArtifact+1))
	if err != nil || len(data) > maxArtifact {
		return nil, shown, errors.New("can't be read whole")
	}
	return data, shown, nil
}

// telling is a caller that answers for what a model is told.
type telling struct {
	limit int
	tell  Tell
	done  bool
}

// result is r as it is told before its event has a number.
func (t *telling) result(r *ToolResult) *ToolResult {
	r.Seq = 0
	t.observe(r)
	return r
}

// observe puts the text for the model into a result.
func (t *telling) observe(r *ToolResult) { r.Observation, r.Cut = Observe(r, t.limit) }

// keep hands the result over before it is durable, so that what was recorded as
// done can be told again after a crash.
func (p *proposal) keep() {
	if p.told == nil {
		return
	}
	p.x.tell(p.told, p.started, p.told.result(p.result()))
}

// tell never lets the caller stop what has happened from being recorded.
func (x *Executor) tell(t *telling, started int64, r *ToolResult) {
	t.done = true
	if t.tell == nil {
		return
	}
	if err := t.tell(started, r); err != nil {
		x.cfg.Log("keep what the model is told: %v", err)
	}
}
