package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/replay"
	"github.com/runlens/runlens/internal/report"
)

// replayTrees are the policies of a replay: the one that judges, and those that
// may have given the recorded verdicts.
type replayTrees struct {
	now   *engine.Engine
	known []*engine.Engine
	name  string
	names map[string]string // of known trees, by revision
}

// replayTrees loads the policies of a replay. The project's own tree is at hand
// when it loads; that it does not is told, and is an error when it is to judge.
func (p *project) replayTrees(policies string, old []string) (*replayTrees, error) {
	given := slices.Clone(old)
	if policies != "" {
		given = append(given, policies)
	}
	if err := p.checkTreeKey(given...); err != nil {
		return nil, err
	}
	places, errs := []place{p.policies}, []error{nil}
	for _, word := range append(slices.Clone(old), embeddedTree) {
		at, err := treePlace(word)
		places, errs = append(places, at), append(errs, err)
	}
	if policies != "" {
		at, err := treePlace(policies)
		places, errs = append(places, at), append(errs, err)
	}
	engines := make([]*engine.Engine, len(places))
	var loading sync.WaitGroup
	for i, at := range places {
		if errs[i] == nil && !slices.Contains(places[:i], at) {
			loading.Go(func() { engines[i], errs[i] = p.loadAt(at) })
		}
	}
	loading.Wait()
	if policies != "" && errs[0] != nil {
		p.w.note("%s does not load, so that nothing is judged by it: %v", p.policies, errs[0])
		errs[0] = nil
	}
	if err := together(errs...); err != nil {
		return nil, err
	}
	t := &replayTrees{names: map[string]string{}, name: p.policies.String()}
	for i, e := range engines {
		if e == nil || t.names[e.Revision()] != "" {
			continue
		}
		t.known = append(t.known, e)
		t.names[e.Revision()] = places[i].String()
	}
	judge := 0
	if policies != "" {
		judge = slices.Index(places, places[len(places)-1])
		t.name = places[judge].String()
	}
	t.now = engines[judge]
	return t, nil
}

// flips is what came of a replay, as reports show it.
func (t *replayTrees) flips(sum *replay.Summary) *report.Flips {
	f := &report.Flips{
		Name: "replay", New: report.Side{Name: t.name, Revision: t.now.Revision(), Known: true},
		Groups: &sum.Groups, Mismatches: &sum.Mismatches, Unjudged: report.UnjudgedOf(sum.Causes),
		Apart: sum.Apart, Trouble: sum.Trouble, Broken: sum.Broken, Torn: sum.Torn,
	}
	revisions := slices.SortedFunc(maps.Keys(sum.Recorded), func(a, b string) int {
		return cmp.Or(cmp.Compare(sum.Recorded[b].Count, sum.Recorded[a].Count), strings.Compare(a, b))
	})
	for _, revision := range revisions {
		r, name := sum.Recorded[revision], t.names[revision]
		if name == "" {
			name = "recorded"
		}
		f.Old = append(f.Old, report.Side{Name: name, Revision: revision, Known: r.Known, Inputs: r.Count, Judged: r.Judged, Same: r.Same})
	}
	recorded := report.Covered{
		What: "recorded runs", Counts: []report.Count{{Name: "runs", N: sum.Runs}, {Name: "events", N: sum.Events}},
		Inputs: sum.Judged + sum.Unreplayable(), Judged: sum.Judged, Same: sum.Same,
	}
	if sum.Assumed > 0 {
		recorded.Notes = append(recorded.Notes, fmt.Sprintf("in %d of them a root is taken to be there that the record does not know", sum.Assumed))
	}
	f.Covered = []report.Covered{recorded}
	return f
}
