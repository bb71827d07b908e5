package executor

import (
	"maps"
	"reflect"
	"slices"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/plan"
)

// judgedBy is the part of a run that policy sees. Two calls judged by equal
// values are judged alike.
type judgedBy struct {
	run      facts.Run
	skill    facts.Skill
	plan     facts.Plan
	contract facts.Contract
	answers  []answerState
	lost     map[string]int64
}

func (j judgedBy) equal(k judgedBy) bool {
	return j.run == k.run && reflect.DeepEqual(j, k)
}

// judgedByLocked is what policy is shown of the run, under the log's lock.
func (r *run) judgedByLocked() judgedBy {
	s := r.state
	j := judgedBy{
		run: facts.Run{
			ID: r.id, Door: r.x.cfg.Door, ReadOnly: s.Contract.ReadOnly, Denials: r.denials(),
			Limits:          facts.RunLimits{InRow: -1, Total: -1, Malformed: -1},
			SignedApprovals: len(r.x.approvers) > 0,
		},
		plan:     planFacts(s.Plan.Position()),
		contract: r.contractFacts(),
		answers:  slices.Clone(s.Answers),
	}
	if s.Contract.Limits != nil {
		j.run.Limits = *s.Contract.Limits
	}
	if skill := s.Contract.Skill; skill != nil {
		j.skill = facts.Skill{Present: true, Name: skill.Name, Tools: skill.Tools}
	}
	if len(s.Lost) > 0 {
		j.lost = maps.Clone(s.Lost)
	}
	return j
}

// denials are the refusals that count: where the manifest names approvers, a
// reset that none of them signed does not.
func (r *run) denials() facts.Denials {
	if r.state.Reset != nil && !r.x.counts(r.id, r.state.Reset) {
		return r.state.Refused
	}
	return r.state.Denials
}

func planFacts(at plan.Position) facts.Plan {
	f := facts.Plan{Status: at.Status}
	if at.Step != nil {
		f.Step = facts.PlanStep{ID: at.Step.ID, Index: at.Index, Tools: at.Step.Tools, Failed: at.Failed, Retries: at.Retries}
	}
	return f
}

// approvals are the persons' answers to calls of this tool with these arguments.
func (p *proposal) approvals(j judgedBy) []facts.Approval {
	list := []facts.Approval{}
	now := p.x.cfg.Now()
	for i := range j.answers {
		a := &j.answers[i]
		if a.Tool != p.input.Call.Tool || a.Digest != p.input.Call.Digest {
			continue
		}
		f := facts.Approval{
			Seq: a.Seq, Tool: a.Tool, Digest: a.Digest, By: a.By, Expires: a.Expires,
			Remaining: a.Remaining, Signed: p.x.signed(p.run.id, &a.answer), Refused: a.refuses(), MatchesCall: true,
		}
		if !f.Refused {
			f.MatchesCall = a.PolicyRevision == p.out.PolicyRevision && a.Manifest == p.out.ManifestRevision && slices.Equal(a.Objects, p.objectNames())
			f.ExpiredAtNow = a.expired(now)
		}
		list = append(list, f)
	}
	return list
}

// objectNames are the call's objects as a person approves them: by what they are
// called once every link is followed.
func (p *proposal) objectNames() []objectName { return objectNames(&p.input) }

func objectNames(in *facts.Input) []objectName {
	list := []objectName{}
	for _, t := range in.Targets {
		list = append(list, objectName{t.Param, t.Access, t.Path})
	}
	if in.Command.Present {
		list = append(list, objectName{"", facts.Execute, in.Command.Executable.Path})
	}
	return list
}
