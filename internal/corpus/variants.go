package corpus

import (
	"cmp"
	"iter"
	"slices"

	"github.com/runlens/runlens/internal/facts"
)

// What inputs vary beside path and size, as the count of what was cut names it.
const (
	rankPaths      = "classes of paths"
	rankStates     = "states of the run, and facts that no file shows"
	rankSizes      = "sizes"
	rankPlans      = "positions in a plan, of each class of paths"
	rankPlansSizes = "positions in a plan, of each size"
	rankDoors      = "doors, of each class of paths"
)

// change is one thing that is put over the facts of a call.
type change struct {
	name  string
	apply func(in *facts.Input, at int) // at: the varied target; -1: none
	aimed bool                          // it changes nothing but the target
}

// variant is an input that can be made.
type variant struct {
	rank        string
	base        *base
	size        string // instead of the base's
	plan, state *change
	facts       *change
}

// make copies the base's facts and puts the changes over the copy.
func (v *variant) make() Input {
	in := Input{
		Tool: v.base.tool, Path: v.base.path, Size: cmp.Or(v.size, v.base.size), Plan: v.plan.name,
		Old: v.changed(v.base.old),
	}
	in.New = in.Old
	if v.base.new != v.base.old {
		in.New = v.changed(v.base.new)
	}
	if v.state != nil {
		in.State = v.state.name
	}
	if v.facts != nil {
		in.Facts = v.facts.name
	}
	return in
}

func (v *variant) changed(from *facts.Input) *facts.Input {
	in := *from
	in.Targets = slices.Clone(in.Targets)
	for _, c := range []*change{v.plan, v.state, v.facts} {
		if c != nil {
			c.apply(&in, v.base.target)
		}
	}
	return &in
}

// variants are all inputs of a tool, those that tell most first: what stands beyond
// the limit is cut from the end.
func (m *maker) variants(s *subject, bases []*base) iter.Seq[*variant] {
	plans, states, altered, measured := m.plans(s), m.states(), m.facts(s), m.contents(s)
	none, ports := &plans[0], m.ports()
	return func(yield func(*variant) bool) {
		each := func(rank string, takes func(b *base) bool, plans, states, facts []change, sizes bool) bool {
			for _, b := range bases {
				if !takes(b) {
					continue
				}
				for v := range product(rank, b, plans, states, facts, sizes) {
					if !yield(v) {
						return false
					}
				}
			}
			return true
		}
		plain := func(b *base) bool { return !b.odd }
		few := func(b *base) bool { return b.few }
		good := func(b *base) bool { return b.good }
		odd := func(b *base) bool { return b.odd }
		only := []change{*none}
		_ = each(rankPaths, plain, only, nil, nil, false) &&
			each(rankStates, few, only, states, nil, false) &&
			each(rankStates, good, only, m.budgets(), nil, false) &&
			each(rankStates, good, only, m.answers(), nil, false) &&
			each(rankStates, good, only, nil, altered, false) &&
			each(rankStates, odd, only, nil, m.limits(s), false) &&
			each(rankSizes, odd, only, nil, nil, false) &&
			each(rankSizes, good, only, nil, measured, true) &&
			each(rankPlans, plain, plans[1:], nil, nil, false) &&
			each(rankPlansSizes, odd, plans[1:], nil, nil, false) &&
			each(rankPlansSizes, good, plans[1:], nil, measured, true) &&
			each(rankDoors, func(b *base) bool { return !b.few && !b.odd }, only, ports, nil, false)
	}
}

// product is every combination over a base. nil stands for no change; sizes says
// that the facts are those of a size.
func product(rank string, b *base, plans, states, altered []change, sizes bool) iter.Seq[*variant] {
	orNone := func(list []change) []*change {
		if list == nil {
			return []*change{nil}
		}
		out := make([]*change, 0, len(list))
		for i := range list {
			out = append(out, &list[i])
		}
		return out
	}
	return func(yield func(*variant) bool) {
		for _, p := range orNone(plans) {
			for _, s := range orNone(states) {
				for _, f := range orNone(altered) {
					if f != nil && f.aimed && b.target < 0 {
						continue
					}
					v := &variant{rank: rank, base: b, plan: p, state: s, facts: f}
					if sizes {
						v.size = f.name
						v.facts = &change{name: "", apply: f.apply}
					}
					if !yield(v) {
						return
					}
				}
			}
		}
	}
}

// plans are the positions in a plan, none first.
func (m *maker) plans(s *subject) []change {
	own := s.tool.Name
	other := "another_tool"
	for _, name := range m.set.Names {
		if name != own {
			other = name
			break
		}
	}
	at := func(name, tool string, failed bool, retries int64) change {
		return change{name: name, apply: func(in *facts.Input, _ int) {
			in.Plan = facts.Plan{Status: "active", Step: facts.PlanStep{ID: "step", Index: 1, Tools: []string{tool}, Failed: failed, Retries: retries}}
		}}
	}
	list := []change{
		{name: "none", apply: func(*facts.Input, int) {}},
		at("step", own, false, 0),
		at("other_step", other, false, 0),
		{name: "complete", apply: func(in *facts.Input, _ int) { in.Plan = facts.Plan{Status: "complete"} }},
	}
	for i, limit := range m.known.retries {
		name := ""
		if i > 0 {
			name = "_higher"
		}
		list = append(list, at("failed"+name, own, true, limit))
		if limit > 0 {
			list = append(list, at("failing"+name, own, true, limit-1))
		}
	}
	return list
}
