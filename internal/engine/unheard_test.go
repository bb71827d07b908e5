package engine

import (
	"slices"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

// Words that the input schema does not know can't be had from a host, and Rego
// tests can't give them. Should one come all the same, nothing is allowed.
func TestWordsThatNobodyKnows(t *testing.T) {
	e := shipped(t)
	for name, c := range map[string]struct {
		change func(in *facts.Input)
		code   string
	}{
		"access":     {func(in *facts.Input) { in.Targets[0].Access = "unheard_of" }, "outside_roots"},
		"entry":      {func(in *facts.Input) { in.Targets[0].Access, in.Targets[0].Entry = "unheard_of", true }, "outside_roots"},
		"plan":       {func(in *facts.Input) { in.Plan.Status = "unheard_of" }, "plan_failed"},
		"protected":  {func(in *facts.Input) { in.Targets[0].Protected = "unheard_of" }, "protected_file"},
		"resolution": {func(in *facts.Input) { in.Targets[0].Resolution = "unheard_of" }, "unresolved"},
		"door":       {func(in *facts.Input) { in.Run.Door, in.Run.Denials.InRow = "unheard_of", 5 }, "denial_budget_exhausted"},
	} {
		in := readCall()
		if v := e.Decide(t.Context(), in); v.Effect != Allow {
			t.Fatalf("%s: the call it starts from is not allowed", name)
		}
		in = readCall()
		c.change(in)
		v := e.Decide(t.Context(), in)
		var codes []string
		for _, r := range v.Reasons {
			codes = append(codes, r.Code)
		}
		if v.Effect == Allow || !slices.Contains(codes, c.code) {
			t.Errorf("%s: %v %v, want %s", name, v.Effect, codes, c.code)
		}
	}
}
