package replay_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/replay"
)

func walk(tree fs.FS, root string, fn func(name string, data []byte)) error {
	return fs.WalkDir(tree, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		fn(name, data)
		return err
	})
}

// replayed replays with different numbers of workers and fails unless all that comes
// out is the same; it returns the summary and the flips in their order.
func replayed(t testing.TB, dirs []string, opt replay.Options) (*replay.Summary, []replay.Flip) {
	t.Helper()
	var first *replay.Summary
	var order []replay.Flip
	for _, workers := range workerCounts {
		var flips []replay.Flip
		opt.Workers, opt.Flip = workers, func(f replay.Flip) { flips = append(flips, f) }
		sum, err := replay.Run(t.Context(), dirs, opt)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first, order = sum, flips
			continue
		}
		if !reflect.DeepEqual(sum, first) {
			t.Fatalf("%d workers came to %s, one came to %s", workers, told(sum), told(first))
		}
		if !reflect.DeepEqual(flips, order) {
			t.Fatalf("%d workers told of flips in another order, or of others", workers)
		}
	}
	checkSum(t, first, len(order))
	return first, order
}

// checkSum holds a summary to what must be true of each.
func checkSum(t testing.TB, s *replay.Summary, flips int) {
	t.Helper()
	grouped := 0
	for _, g := range s.Groups.List() {
		grouped += g.Count
	}
	if s.Judged != s.Same+grouped || grouped != flips {
		t.Errorf("judged %d, the same %d, grouped %d, told %d: that doesn't add up", s.Judged, s.Same, grouped, flips)
	}
	mismatches := 0
	for _, g := range s.Mismatches.List() {
		mismatches += g.Count
	}
	if e := s.Causes[replay.Mismatch]; (e == nil) != (mismatches == 0) || e != nil && e.Count != mismatches {
		t.Errorf("mismatches: %d, counted as not judged: %+v", mismatches, e)
	}
	for name, r := range s.Recorded {
		if r.Same > r.Judged || r.Judged > r.Count || !r.Known && r.Judged > 0 {
			t.Errorf("revision %s: %+v", name, r)
		}
	}
}

// told is a summary for people.
func told(s *replay.Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs, %d events, %d judged, %d the same, %d assumed, apart %v", s.Runs, s.Events, s.Judged, s.Same, s.Assumed, s.Apart)
	for _, c := range slices.Sorted(maps.Keys(s.Causes)) {
		fmt.Fprintf(&b, "; %s %d (%d: %s)", c, s.Causes[c].Count, s.Causes[c].Seq, s.Causes[c].Note)
	}
	for _, code := range slices.Sorted(maps.Keys(s.Trouble)) {
		fmt.Fprintf(&b, "; %s %d (%s)", code, s.Trouble[code].Count, s.Trouble[code].Note)
	}
	for _, g := range s.Groups.List() {
		fmt.Fprintf(&b, "; %s", line(g))
	}
	for _, g := range s.Mismatches.List() {
		fmt.Fprintf(&b, "; mismatch %s", line(g))
	}
	fmt.Fprintf(&b, "; broken %v, torn %v", s.Broken, s.Torn)
	return b.String()
}

func line(g *replay.Group) string {
	return fmt.Sprintf("%d %s %s: %s %s > %s %s", g.Count, g.Class, g.Tool, g.Old.Effect, g.Old.Codes, g.New.Effect, g.New.Codes)
}

func lines(s *replay.Summary) (list []string) {
	for _, g := range s.Groups.List() {
		list = append(list, line(g))
	}
	return list
}

func names(flips []replay.Flip, class replay.Class) (list []string) {
	for _, f := range flips {
		if f.Class == class {
			list = append(list, f.Where+" "+f.Name)
		}
	}
	return list
}

// wider is the shipped tree with a root more: secret/open may be read.
func wider(t testing.TB) *engine.Engine {
	return edited(t, "runlens/lib/targets.rego", "", `
holds(_, target) if {
	contains(target.path, "/secret/open/")
	target.access == "read"
	target.position == 0
}
`, "runlens/rules/paths/paths.rego", "\tlib.outside(target)\n", "\tlib.outside(target)\n\tnot contains(target.requested, \"secret/open/\")\n")
}

// apart are the refusals of the mixed record that no policy made.
func (r *recording) apart() map[string]int {
	return map[string]int{
		"malformed_call": r.counts[malform], "input_validation_failed": r.counts[invalid],
		"unsupported_operation": r.counts[mindless] - r.skill[mindless],
	}
}

func (r *recording) judged() int {
	n := 1000
	for _, count := range r.apart() {
		n -= count
	}
	return n
}

// TestSamePolicy: nothing flips, and all that policy gave is judged.
func TestSamePolicy(t *testing.T) {
	r := record(t)
	sum, flips := replayed(t, r.dirs, replay.Options{New: shippedEngine(t)})
	if sum.Judged != r.judged() || sum.Same != sum.Judged || len(flips) > 0 || sum.Unreplayable() > 0 || sum.Runs != 10 {
		t.Errorf("%s; want %d the same", told(sum), r.judged())
	}
	if !maps.Equal(sum.Apart, r.apart()) {
		t.Errorf("apart: %v, want %v", sum.Apart, r.apart())
	}
	rev := sum.Recorded[shippedEngine(t).Revision()]
	if want := (replay.Revision{Count: r.judged(), Known: true, Judged: r.judged(), Same: r.judged()}); rev == nil || *rev != want || len(sum.Recorded) != 1 {
		t.Errorf("recorded under the revision: %+v, want %+v", rev, want)
	}
	// The same tools as in the record change nothing, and nothing is assumed.
	again, _ := replayed(t, r.dirs, replay.Options{New: shippedEngine(t), Tools: mixedTools(t, `"data"`)})
	if !reflect.DeepEqual(again, sum) {
		t.Errorf("with the tools of the record: %s; without: %s", told(again), told(sum))
	}
}

// TestLoosenedRule: exactly the calls that the changed policy lets through are
// listed, and before all others.
func TestLoosenedRule(t *testing.T) {
	r := record(t)
	for _, known := range [][]*engine.Engine{{shippedEngine(t)}, nil} {
		sum, flips := replayed(t, r.dirs, replay.Options{New: wider(t), Known: known})
		if got, want := names(flips, replay.DenyToAllow), r.named([]kind{opened}); !slices.Equal(got, want) || len(want) != 100 {
			t.Errorf("loosened: %v, want %v", got, want)
		}
		if got, want := names(flips, replay.CodesChanged), r.named([]kind{missing}); !slices.Equal(got, want) {
			t.Errorf("other codes: %v, want %v", got, want)
		}
		want := []string{
			"100 deny_to_allow read_file: deny [outside_roots] > allow [allowed]",
			"50 codes_changed read_file: deny [outside_roots not_found] > deny [not_found]",
		}
		if !slices.Equal(lines(sum), want) || sum.Judged != r.judged() || sum.Same != r.judged()-150 || sum.Unreplayable() > 0 {
			t.Errorf("%s; want %q", told(sum), want)
		}
		rev := sum.Recorded[shippedEngine(t).Revision()]
		if rev.Known != (known != nil) || known != nil && rev.Same != r.judged() || rev.Count != r.judged() {
			t.Errorf("of the record's policy: %+v", rev)
		}
	}
}

// TestLoosenedManifest: a wider root of the manifests lets through what lies in it,
// and not for the skill that narrows it.
func TestLoosenedManifest(t *testing.T) {
	r := record(t)
	sum, flips := replayed(t, r.dirs, replay.Options{New: shippedEngine(t), Tools: mixedTools(t, `"data","secret/open"`)})
	if got, want := names(flips, replay.DenyToAllow), r.named([]kind{opened}, r.skills...); !slices.Equal(got, want) || len(want) != 80 {
		t.Errorf("loosened: %v, want %v", got, want)
	}
	want := []string{
		"80 deny_to_allow read_file: deny [outside_roots] > allow [allowed]",
		"40 codes_changed read_file: deny [outside_roots not_found] > deny [not_found]",
	}
	if !slices.Equal(lines(sum), want) || sum.Judged != r.judged() || sum.Unreplayable() > 0 {
		t.Errorf("%s; want %q", told(sum), want)
	}
	reads := 0 // by the tool that has the new root
	for _, k := range []kind{inside, opened, missing, shut, refused} {
		reads += r.counts[k] - r.skill[k]
	}
	if sum.Assumed != reads {
		t.Errorf("a root was assumed in %d, want %d", sum.Assumed, reads)
	}
	narrower, flips := replayed(t, r.dirs, replay.Options{New: shippedEngine(t), Tools: mixedTools(t, `"data/in"`)})
	if got := names(flips, replay.AllowToDeny); len(got) != 3*40 || narrower.Judged != r.judged() || len(names(flips, replay.DenyToAllow)) > 0 {
		t.Errorf("a narrower root: %s", told(narrower))
	}
}

// TestOneOfMany: calls that are alike but for their time or name are told apart by a
// policy that reads it, and judged as one by a policy that doesn't: what comes out is
// the same.
func TestOneOfMany(t *testing.T) {
	var calls [][]byte
	for n := range 40 {
		calls = append(calls, fmt.Appendf(nil, `{"name":"read_file","arguments":{"path":"data/a.txt"},"call_id":"own-%d"}`, n))
	}
	dir, seqs := done(t, nil, calls...)
	var v struct{ Input struct{ Now string } }
	if err := json.Unmarshal(events(t, dir)[seqs[29]-1].Payload, &v); err != nil || v.Input.Now == "" {
		t.Fatal(err)
	}
	now, id, where := v.Input.Now, "own-29", fmt.Sprintf("%s %d", dir, seqs[29])
	for _, condition := range []string{
		fmt.Sprintf("input.now == %q", now),
		fmt.Sprintf("input.call.id == %q", id),
		fmt.Sprintf("{input.call.id} == {%q}", id),
		fmt.Sprintf("some key, value in input\n\tkey == \"now\"\n\tvalue == %q", now),
		fmt.Sprintf("json.marshal(input.call) == json.marshal(object.union(input.call, {\"id\": %q}))", id),
	} {
		_, flips := replayed(t, []string{dir}, replay.Options{New: site(t, condition), Known: []*engine.Engine{shippedEngine(t)}})
		if len(flips) != 1 || flips[0].Class != replay.AllowToDeny || flips[0].Where+" "+flips[0].Name != where {
			t.Errorf("%s: %d flips, want %s alone", condition, len(flips), where)
		}
	}
	// Once by a policy that is asked for each call, once by one that is not.
	dirs := append(slices.Clone(record(t).dirs), dir)
	each, _ := replayed(t, dirs, replay.Options{New: site(t, `input.now == "never"`)})
	once, _ := replayed(t, dirs, replay.Options{New: site(t, `input.run.door == "none"`)})
	if !reflect.DeepEqual(each, once) || each.Same != record(t).judged()+40 {
		t.Errorf("%s; one by one: %s", told(once), told(each))
	}
}
