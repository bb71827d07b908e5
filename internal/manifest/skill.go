package manifest

import "github.com/runlens/runlens/internal/plan"

// Skill is one kind of agent task: the tools it needs, narrowed, what the model
// is told, and a plan. It is immutable after Load.
type Skill struct {
	Name, Title, Description string

	Goal         string // of a run that is given none; never empty
	Instructions string // for the model; may hold {input.<name>}

	Inputs []SkillInput // in the order of the file

	// Tools are the tools of a run under this skill, by name: the set's own,
	// with what the skill narrows. No other may be called.
	Tools map[string]*Tool
	Names []string // of Tools, sorted

	Limits   RunLimits // of refused calls; -1 leaves it to policy
	ReadOnly bool

	Artifacts []plan.Artifact // that must be there and fit when the run stops
	Plan      *plan.Plan      // nil: none

	Digest string // sha256:<hex> over the canonical content, defaults filled in
	Where  Location
}

// SkillInput is a file that a run is given by name.
type SkillInput struct {
	Name, Description string
	Required          bool
	Default           string // path; "": none
}

// RunLimits are limits on refused calls; -1 sets none.
type RunLimits struct{ InRow, Total, Malformed int64 }
