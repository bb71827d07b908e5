package corpus

import (
	"strconv"

	"github.com/runlens/runlens/internal/facts"
)

// states are what a run can be in, for a few paths each.
func (m *maker) states() []change {
	list := []change{
		{name: "read_only", apply: func(in *facts.Input, _ int) { in.Run.ReadOnly = true }},
		{name: "contract_holds", apply: func(in *facts.Input, _ int) { in.Contract = facts.Contract{Present: true, Matches: true} }},
		{name: "contract_drift", apply: func(in *facts.Input, _ int) {
			in.Contract = facts.Contract{Present: true, Drift: []string{"goal", "policy_revision"}}
		}},
		{name: "skill", apply: func(in *facts.Input, _ int) {
			in.Skill = facts.Skill{Present: true, Name: "skill", Tools: []string{in.Call.Tool}}
		}},
		{name: "skill_of_other_tools", apply: func(in *facts.Input, _ int) {
			in.Skill = facts.Skill{Present: true, Name: "skill", Tools: []string{"another_tool"}}
		}},
		{name: "interrupted", apply: func(in *facts.Input, _ int) { in.Call.Interrupted = true }},
		{name: "approved_again", apply: func(in *facts.Input, _ int) {
			in.Call.Interrupted = true
			in.Approvals = []facts.Approval{approval(in)}
		}},
		{name: "refused_by_person", apply: func(in *facts.Input, _ int) { in.Approvals = []facts.Approval{refusal(in)} }},
	}
	return append(list, m.ports()...)
}

// ports are the doors of agents.
func (m *maker) ports() (list []change) {
	for _, door := range doors[1:] {
		list = append(list, change{name: "door_" + door, apply: func(in *facts.Input, _ int) { in.Run.Door = door }})
	}
	return list
}

// approval is a person's yes to the call, with a use left.
func approval(in *facts.Input) facts.Approval {
	return facts.Approval{
		Seq: 7, Tool: in.Call.Tool, Digest: in.Call.Digest, By: "ada", Expires: "2026-01-02T03:14:05Z",
		Remaining: 1, MatchesCall: true,
	}
}

func refusal(in *facts.Input) facts.Approval {
	a := approval(in)
	a.Expires, a.Remaining, a.Refused = "", 0, true
	return a
}

// answers are persons' answers, to a call that would not ask otherwise and to one
// that was interrupted.
func (m *maker) answers() (list []change) {
	for _, a := range []struct {
		name  string
		alter func(a *facts.Approval, in *facts.Input)
	}{
		{"approved", func(*facts.Approval, *facts.Input) {}},
		{"approval_used_up", func(a *facts.Approval, _ *facts.Input) { a.Remaining = 0 }},
		{"approval_expired", func(a *facts.Approval, _ *facts.Input) { a.ExpiredAtNow = true }},
		{"approval_of_other_call", func(a *facts.Approval, _ *facts.Input) { a.MatchesCall = false }},
		{"approval_unsigned", func(_ *facts.Approval, in *facts.Input) { in.Run.SignedApprovals = true }},
		{"approval_signed", func(a *facts.Approval, in *facts.Input) { a.Signed, in.Run.SignedApprovals = true, true }},
		{"refusal", func(a *facts.Approval, in *facts.Input) { *a = refusal(in) }},
		{"refusal_of_other_call", func(a *facts.Approval, in *facts.Input) { *a = refusal(in); a.MatchesCall = false }},
	} {
		for _, interrupted := range []bool{false, true} {
			for _, door := range doors[:2] {
				name := a.name
				if interrupted {
					name += "_interrupted"
				}
				if door != doors[0] {
					name += "_door_" + door
				}
				list = append(list, change{name: name, apply: func(in *facts.Input, _ int) {
					given := approval(in)
					a.alter(&given, in)
					in.Call.Interrupted, in.Run.Door = interrupted, door
					in.Approvals = []facts.Approval{given}
				}})
			}
		}
	}
	return list
}

// budgets are runs that have nearly, and just, used up a limit on refused calls.
func (m *maker) budgets() (list []change) {
	add := func(name, door, counter string, count, limit int64) {
		list = append(list, change{name: name, apply: func(in *facts.Input, _ int) {
			in.Run.Door = door
			*counterOf(&in.Run.Denials, counter) = count
			if counter != "total" {
				in.Run.Denials.Total = max(in.Run.Denials.Total, count)
			}
			if limit > 0 {
				own := facts.Denials(in.Run.Limits)
				*counterOf(&own, counter) = limit
				in.Run.Limits = facts.RunLimits(own)
			}
		}})
	}
	for _, door := range doors {
		for _, counter := range []string{"in_row", "total", "malformed"} {
			for _, limit := range m.known.budgets[door][counter] {
				at := door + "_" + counter + "_"
				if limit < 0 {
					add("budget_"+at+"without_limit", door, counter, 1<<40, 0)
					continue
				}
				for _, count := range []int64{limit - 1, limit} {
					if count >= 0 {
						add("budget_"+at+strconv.FormatInt(count, 10), door, counter, count, 0)
					}
				}
			}
			if door == doors[0] {
				add("budget_of_run_"+counter, door, counter, 1, 1)
			}
		}
	}
	return list
}

func counterOf(d *facts.Denials, counter string) *int64 {
	switch counter {
	case "in_row":
		return &d.InRow
	case "total":
		return &d.Total
	}
	return &d.Malformed
}
