package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/replay"
)

// TestAltered: whatever somebody changed in one event of a record is told by its
// cause, and the others are judged as before.
func TestAltered(t *testing.T) {
	dir, seqs := done(t, nil, read("data/a.txt"), read("secret/shut/x.txt"), call("fetch_page", map[string]any{}), read("data/b.txt"))
	allow, deny := seqs[0], seqs[1]
	stranger := site(t, "false")
	for name, c := range map[string]struct {
		seq     int64
		changes []string // text of the event, and what comes in its place
		want    string   // with %d for seq
	}{
		// its own policy decides otherwise
		"other code": {
			deny,
			[]string{`"reason":"outside_roots"`, `"reason":"not_found"`, `"code":"outside_roots"`, `"code":"not_found"`},
			"mismatch 1 %d: deny not_found is recorded, deny outside_roots is said now",
		},
		"other verdict": {
			deny,
			[]string{`{"verdict":"deny"`, `{"verdict":"allow"`},
			"unreadable 1 %d: verdict and type don't belong together",
		},
		"larger limit": {
			allow,
			[]string{`"max_bytes":65536,"call_id"`, `"max_bytes":65537,"call_id"`},
			"mismatch 1 %d: allow allowed up to 65537 bytes is recorded, allow allowed up to 65536 bytes is said now",
		},
		"no limit": {
			allow,
			[]string{`"max_bytes":65536,"call_id"`, `"max_bytes":0,"call_id"`},
			"mismatch 1 %d: allow allowed without a limit is recorded, allow allowed up to 65536 bytes is said now",
		},
		// not the input that was judged
		"other fact":   {deny, []string{`"in_row":0`, `"in_row":1`}, "altered 1 %d: "},
		"other digest": {deny, []string{`"input_digest":"sha256:`, `"input_digest":"sha256:0`}, "altered 1 %d: "},
		// no input of this version
		"field missing":      {deny, []string{`"in_project":true,`, ``}, "incomplete 1 %d: targets[0].in_project is missing"},
		"part missing":       {deny, []string{`"approvals":[],`, ``}, "incomplete 1 %d: approvals is missing"},
		"field more":         {deny, []string{`"nlink":1,`, `"nlink":1,"weight":7,`}, "incomplete 1 %d: targets[0].\"weight\" isn't one of this version"},
		"part more":          {deny, []string{`"approvals":[],`, `"approvals":[],"phase":1,`}, "incomplete 1 %d: \"phase\" isn't one of this version"},
		"other version":      {deny, []string{`"input":{"v":1,`, `"input":{"v":2,`}, "incomplete 1 %d: v isn't one of this version"},
		"other type":         {deny, []string{`"nlink":1,`, `"nlink":"1",`}, "incomplete 1 %d: targets[0].nlink isn't in its recorded form"},
		"other spelling":     {deny, []string{`"raw":"secret/shut/x.txt"`, `"raw":"secret/shut/\u0078.txt"`}, "incomplete 1 %d: targets[0].raw isn't in its recorded form"},
		"input no object":    {deny, []string{`"input":{`, `"input":[],"was":{`}, "incomplete 1 %d: v isn't in its recorded form"},
		"fields turned":      {deny, []string{`"door":"mcp","read_only":false`, `"read_only":false,"door":"mcp"`}, "incomplete 1 %d: run.door isn't in its recorded form"},
		"digest of a part":   {deny, []string{`"input_digest":`, `"digest_of_input":`}, "unreadable 1 %d: input_digest is missing"},
		"input missing":      {deny, []string{`"input":{`, `"inputs":{`}, "unreadable 1 %d: input is missing"},
		"input null":         {deny, []string{`"input":{`, `"input":null,"inputs":{`}, "unreadable 1 %d: the input that policy judged is missing"},
		"allow without":      {allow, []string{`"input":{`, `"input":null,"inputs":{`}, "unreadable 1 %d: the input that policy judged is missing"},
		"allow of nobody":    {allow, []string{`"reason":"allowed"`, `"reason":"x"`, `"code":"allowed"`, `"code":"x"`, `"file":"`, `"file":"","rule":"`}, "unreadable 1 %d: an allow that no policy has given"},
		"unknown verdict":    {deny, []string{`{"verdict":"deny"`, `{"verdict":"perhaps"`}, "unreadable 1 %d: verdict and type don't belong together"},
		"limit below zero":   {deny, []string{`"max_bytes":65536,"call_id"`, `"max_bytes":-1,"call_id"`}, "unreadable 1 %d: max_bytes isn't a limit"},
		"limit as text":      {deny, []string{`"max_bytes":65536,"call_id"`, `"max_bytes":"1","call_id"`}, "unreadable 1 %d: max_bytes isn't a limit"},
		"no reasons":         {deny, []string{`"reasons":[`, `"reason_list":[`}, "unreadable 1 %d: reasons is missing, or no list of reasons"},
		"reasons no list":    {deny, []string{`"reasons":[`, `"reasons":{},"reason_list":[`}, "unreadable 1 %d: reasons is missing, or no list of reasons"},
		"other first reason": {deny, []string{`"reason":"outside_roots"`, `"reason":"not_found"`}, "unreadable 1 %d: reason isn't the first of reasons"},
		"long revision":      {deny, []string{`"policy_revision":"`, `"policy_revision":"` + strings.Repeat("r", 300)}, "unreadable 1 %d: call_id or policy_revision is none"},
		"long call id":       {deny, []string{`"call_id":"c`, `"call_id":"` + strings.Repeat("c", 300)}, "unreadable 1 %d: call_id or policy_revision is none"},
	} {
		t.Run(name, func(t *testing.T) {
			copied := altered(t, dir, c.seq, c.changes...)
			sum, flips := one(t, copied, replay.Options{New: shippedEngine(t)})
			wantCause(t, sum, fmt.Sprintf(c.want, c.seq))
			if sum.Judged != 3 || sum.Same != 3 || len(flips) > 0 || sum.Unreplayable() != 1 || sum.Runs != 1 {
				t.Errorf("the others: %s", told(sum))
			}
			mismatch := strings.HasPrefix(c.want, "mismatch")
			if n := len(sum.Mismatches.List()); (n == 1) != mismatch {
				t.Errorf("%d groups of mismatches", n)
			}
			// That its own policy says otherwise is seen only when that is at hand.
			other, _ := one(t, copied, replay.Options{New: stranger})
			if mismatch {
				if other.Unreplayable() > 0 || other.Judged != 4 || len(other.Groups.List()) != 1 {
					t.Errorf("under a policy that never saw it: %s", told(other))
				}
			} else if other.Unreplayable() != 1 || other.Same != 3 {
				t.Errorf("under a policy that never saw it: %s", told(other))
			}
		})
	}
}

// slow is a rule's condition that takes longer than any deadline of these tests.
const slow = `count([1 | some i in numbers.range(1, 3000); some j in numbers.range(1, 3000); i * j < 0]) > 0`

// hasty is the shipped tree with little time for a decision, and a rule with a
// condition more.
func hasty(t testing.TB, condition string) *engine.Engine {
	return edited(t, "runlens/data.json", `"policy_timeout_ms": 2000`, `"policy_timeout_ms": 150`,
		"runlens/rules/paths/paths.rego", "", `
# METADATA
# title: the site refuses this
# custom:
#   code: outside_roots
#   message: "{param}: refused"
deny contains lib.reason(rego.metadata.rule(), {"param": "path"}) if {
	some target in input.targets
	contains(target.requested, "secret")
	`+condition+`
}
`)
}

// TestTimedOut: what the clock decided then or decides now under the policy of the
// record is not compared; when the new policy has no answer in time, that flips.
func TestTimedOut(t *testing.T) {
	late := hasty(t, slow)
	under := func(cfg *executor.Config) { cfg.Engine = late }
	dir, seqs := done(t, under, read("data/a.txt"), read("secret/open/x.txt"), read("secret/shut/x.txt"))
	for _, opt := range []replay.Options{{New: late}, {New: shippedEngine(t)}, {New: shippedEngine(t), Known: []*engine.Engine{late}}} {
		sum, flips := one(t, dir, opt)
		wantCause(t, sum, fmt.Sprintf("timed_out 2 %d: policy_timeout", seqs[1]))
		if sum.Judged != 1 || sum.Same != 1 || len(flips) > 0 || len(sum.Trouble) > 0 || len(sum.Mismatches.List()) > 0 {
			t.Error(told(sum))
		}
	}
	// Then it was in time, and is not now.
	copied := altered(t, dir, seqs[1], `"reason":"policy_timeout"`, `"reason":"outside_roots"`,
		`"code":"policy_timeout"`, `"code":"outside_roots"`)
	sum, _ := one(t, copied, replay.Options{New: late})
	wantCause(t, sum, fmt.Sprintf("timed_out 2 %d: policy_timeout", seqs[1]))

	dir, seqs = done(t, nil, read("data/a.txt"), read("secret/open/x.txt"))
	sum, _ = one(t, dir, replay.Options{New: late})
	e := sum.Trouble["policy_timeout"]
	if sum.Unreplayable() > 0 || sum.Judged != 2 || sum.Same != 1 || e == nil || e.Count != 1 || e.Seq != seqs[1] || e.Tool != "read_file" {
		t.Errorf("a new policy that is late: %s", told(sum))
	}
	if got := strings.Join(lines(sum), "; "); got != "1 codes_changed read_file: deny [outside_roots] > deny [policy_timeout]" {
		t.Error(got)
	}
}

// TestTrouble: a new policy that fails denies, and what failed is told with its
// place.
func TestTrouble(t *testing.T) {
	dir, seqs := done(t, nil, read("data/a.txt"), read("data/b.txt"), read("secret/shut/x.txt"))
	failing := site(t, `to_number(sprintf("%s", [input.call.tool])) == 1`)
	sum, flips := one(t, dir, replay.Options{New: failing, Known: []*engine.Engine{shippedEngine(t)}})
	e := sum.Trouble["policy_error"]
	if len(sum.Trouble) != 1 || e == nil || e.Count != 3 || e.Seq != seqs[0] || e.Note != "the policy failed while it was evaluated (policies/runlens/rules/site/site.rego:10)" {
		t.Fatalf("%s: %+v", told(sum), e)
	}
	want := "2 allow_to_deny read_file: allow [allowed] > deny [policy_error]; 1 codes_changed read_file: deny [outside_roots] > deny [policy_error]"
	if got := strings.Join(lines(sum), "; "); got != want || len(flips) != 3 || sum.Judged != 3 || sum.Unreplayable() > 0 {
		t.Error(told(sum))
	}

	// As the policy of the record it is judged again like any other.
	dir, _ = done(t, func(cfg *executor.Config) { cfg.Engine = failing }, read("data/a.txt"))
	sum, _ = one(t, dir, replay.Options{New: failing})
	if sum.Same != 1 || sum.Trouble["policy_error"] == nil {
		t.Error(told(sum))
	}
	sum, _ = one(t, dir, replay.Options{New: shippedEngine(t)})
	if got := strings.Join(lines(sum), "; "); got != "1 deny_to_allow read_file: deny [policy_error] > allow [allowed]" {
		t.Error(got)
	}
}
