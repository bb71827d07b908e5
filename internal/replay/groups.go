package replay

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxGroups = 1000 // beyond these, flips of a class are one group without codes
	maxCalls  = 1000 // that a group names
)

// Groups gathers flips by class, codes before, codes now and tool. It holds no
// more than a bounded number of groups and of calls in each, however many flips
// come. The zero value is empty. It is not safe for concurrent use.
type Groups struct {
	byKey map[groupKey]*Group
}

type groupKey struct {
	class          Class
	old, new, tool string
}

// Group is flips that are alike.
type Group struct {
	Class    Class
	Old, New Verdict // of the smallest example
	Tool     string  // "" for tools that nobody declared, and in the group of all others
	Others   bool    // the flips for which there was no group left
	Count    int
	Smallest Flip   // the example that is quickest to read
	Calls    []Call // the first of them, in the order they came
}

// Call names one flipped call.
type Call struct {
	Where string
	Name  string
	Seq   int64
	ID    string // call id
}

// Add files a flip. A flip of class Same is left out.
func (g *Groups) Add(f Flip) {
	if f.Class == Same {
		return
	}
	if g.byKey == nil {
		g.byKey = map[groupKey]*Group{}
	}
	key := groupKey{f.Class, said(f.Old), said(f.New), ""}
	if f.Declared {
		key.tool = f.Tool
	}
	have := g.byKey[key]
	others := have == nil && len(g.byKey) >= maxGroups
	if others {
		key = groupKey{class: f.Class}
		have = g.byKey[key]
	}
	if have == nil {
		have = &Group{Class: f.Class, Tool: key.tool, Others: others, Smallest: f, Old: f.Old, New: f.New}
		g.byKey[key] = have
	}
	have.Count++
	if smaller(&f, &have.Smallest) {
		have.Smallest, have.Old, have.New = f, f.Old, f.New
	}
	if len(have.Calls) < maxCalls {
		have.Calls = append(have.Calls, Call{f.Where, f.Name, f.Seq, f.CallID})
	}
}

func smaller(f, than *Flip) bool {
	return cmp.Or(cmp.Compare(f.Size, than.Size), strings.Compare(f.Where, than.Where), cmp.Compare(f.Seq, than.Seq), strings.Compare(f.Name, than.Name)) < 0
}

// said is a verdict as a group sees it: limits differ from call to call.
func said(v Verdict) string { return v.Effect.String() + " " + strings.Join(v.Codes, " ") }

// List is the groups, riskiest class first, then the larger ones.
func (g *Groups) List() []*Group {
	list := make([]*Group, 0, len(g.byKey))
	for _, group := range g.byKey {
		list = append(list, group)
	}
	slices.SortFunc(list, func(a, b *Group) int {
		return cmp.Or(
			cmp.Compare(a.Class, b.Class), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Tool, b.Tool),
			strings.Compare(said(a.Old), said(b.Old)), strings.Compare(said(a.New), said(b.New)),
		)
	})
	return list
}

// Counts is the number of flips by class.
func (g *Groups) Counts() map[Class]int {
	counts := map[Class]int{}
	for _, group := range g.byKey {
		counts[group.Class] += group.Count
	}
	return counts
}

// Loosened is the number of flips that let a call do more than before.
func (g *Groups) Loosened() int {
	n := 0
	for class, count := range g.Counts() {
		if class.Loosened() {
			n += count
		}
	}
	return n
}
