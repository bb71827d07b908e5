package replay

import (
	"math"
	"slices"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
)

// asked is how what a policy's data makes RunLens look for differs between the tree
// of a record and the new one. A recorded input holds what the old one asked for.
type asked struct {
	names    bool             // below folders, the old one looked for all that the new one looks for
	sameName bool             // for exactly that
	sameText bool             // for the same secrets, and texts of the same lengths were kept
	secrets  bool             // for the same secrets
	now      *engine.Settings // of the new one
}

func compareAsked(old, now *engine.Settings) asked {
	n, o := &now.Names, &old.Names
	a := asked{now: now}
	a.names = within(n.Exact, o.Exact) && within(n.Prefix, o.Prefix) && within(n.Suffix, o.Suffix) && within(o.Allowed, n.Allowed)
	a.sameName = a.names && within(o.Exact, n.Exact) && within(o.Prefix, n.Prefix) && within(o.Suffix, n.Suffix) && within(n.Allowed, o.Allowed)
	a.secrets = slices.EqualFunc(old.Secrets, now.Secrets, func(a, b engine.Secret) bool {
		return a.Kind == b.Kind && a.Pattern.String() == b.Pattern.String()
	})
	a.sameText = a.secrets && old.WithheldBytes == now.WithheldBytes && old.CommandBytes == now.CommandBytes
	return a
}

func within(small, large []string) bool {
	return !slices.ContainsFunc(small, func(s string) bool { return !slices.Contains(large, s) })
}

// answered is the input as the new policy would have been given it, or what it asks
// for that the record doesn't hold.
func (a *asked) answered(in *facts.Input) (*facts.Input, string) {
	if !a.sameText && a.textMatters(in) {
		return nil, "other secrets are looked for in texts, or texts of other lengths are kept"
	}
	if a.sameName {
		return in, ""
	}
	if note := a.rootMatters(in); note != "" {
		return nil, note
	}
	harmless := func(b facts.Below) bool { return !a.now.Names.Refused(b.Folded) }
	out := in
	for i := range in.Targets {
		t := &in.Targets[i]
		if t.Recursive && !a.names {
			return nil, "other names are looked for below folders"
		}
		if !slices.ContainsFunc(t.Below, harmless) {
			continue
		}
		if out == in {
			shallow := *in
			out = &shallow
			out.Targets = slices.Clone(in.Targets)
		}
		out.Targets[i].Below = slices.DeleteFunc(slices.Clone(t.Below), harmless)
	}
	return out, ""
}

// rootMatters: a root that a program sees is marked when its name is one that
// policy refuses.
func (a *asked) rootMatters(in *facts.Input) string {
	for _, root := range in.Tool.Roots {
		if root.Place == facts.PlaceSecret || !a.names && in.Command.Present {
			return "other names are looked for in roots that a program sees"
		}
	}
	return ""
}

// textMatters tells whether the new data could have left a text of the call out, or
// have found something in it.
func (a *asked) textMatters(in *facts.Input) bool {
	if len(in.Call.Payloads) > 0 && !a.secrets || len(in.Call.Withheld) > 0 {
		return true
	}
	limit := a.now.WithheldBytes
	if in.Tool.Operation == facts.Execute {
		limit = a.now.CommandBytes
	}
	return a.finds(in.Call.Tool, math.MaxInt64) || a.finds(in.Call.ID, math.MaxInt64) || a.finds(in.Call.Arguments, limit)
}

func (a *asked) finds(v any, limit int64) bool {
	switch v := v.(type) {
	case string:
		return int64(len(v)) > limit || slices.ContainsFunc(a.now.Secrets, func(s engine.Secret) bool { return s.Pattern.MatchString(v) })
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return a.finds(e, limit) })
	case map[string]any:
		for key, e := range v {
			if a.finds(key, limit) || a.finds(e, limit) {
				return true
			}
		}
	}
	return false
}
