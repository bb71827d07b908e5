package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/replay"
)

// askedText declares tools for which policy data decides what RunLens looks for.
const askedText = `{"schema_version":1,"tools":{
	"read_file":{"operation":"read","roots":["data"]},
	"find":{"operation":"search","handler":"external","roots":["data"],
		"targets":[{"param":"path","access":"list","recursive":true}]},
	"write_markdown_file":{"operation":"write","handler":"write_markdown_file"},
	"run_tests":{"operation":"execute","commands":[["true"],["false"]],"sandbox":"none"}}}`

// asks records the calls of these tests under a policy.
func asks(t testing.TB, under *engine.Engine) (dir string, seqs []int64) {
	return done(t, func(cfg *executor.Config) {
		cfg.Tools = loadTools(t, askedText)
		cfg.Engine = under
	},
		read("data/a.txt"),
		call("find", map[string]any{"path": "data"}),   // refused: an environment file lies in it
		call("find", map[string]any{"path": "secret"}), // outside the roots
		read("secret/open/x.txt"),
		call("write_markdown_file", map[string]any{"artifact_name": "a.md", "content": "text"}),
		call("write_markdown_file", map[string]any{"artifact_name": "../../../b.md", "content": "text"}),
		call("run_tests", map[string]any{"argv": []string{"true", "x"}}),
		read("data/token-"+strings.Repeat("9", 12)),
		read("data/"+strings.Repeat("long/", 400)),
	)
}

// TestNamesBelow: folders were looked through for the names of the policy of then.
// One that looks for more can't be judged there; one that looks for fewer can.
func TestNamesBelow(t *testing.T) {
	dir, seqs := asks(t, shippedEngine(t))
	known := []*engine.Engine{shippedEngine(t)}
	const data = "runlens/data.json"
	more := edited(t, data, `"exact": [".env", ".envrc"]`, `"exact": [".env", ".envrc", ".token"]`)
	sum, flips := one(t, dir, replay.Options{New: more, Known: known})
	e := sum.Causes[replay.Unasked]
	if e == nil || e.Count != 3 || e.Seq != seqs[1] || e.Tool != "find" || e.Note != "other names are looked for below folders" || len(sum.Causes) != 1 {
		t.Errorf("more names: %s", told(sum))
	}
	if sum.Judged != 6 || sum.Same != 6 || len(flips) > 0 {
		t.Errorf("more names, the others: %s", told(sum))
	}

	// What was allowed is refused now: nobody kept entries that were harmless then.
	less := edited(t, data, `"suffix": [".example", `, `"suffix": [`)
	sum, _ = one(t, dir, replay.Options{New: less, Known: known})
	if e := sum.Causes[replay.Unasked]; e == nil || e.Count != 3 {
		t.Errorf("fewer harmless names: %s", told(sum))
	}

	// Names that count no more: what was found by them is left out.
	fewer := edited(t, data, `"exact": [".env", ".envrc"]`, `"exact": []`, data, `"suffix": [".env", ".env~",`, `"suffix": [".env~",`)
	sum, flips = one(t, dir, replay.Options{New: fewer, Known: known})
	if sum.Unreplayable() > 0 || sum.Judged != 9 || sum.Same != 8 || len(flips) != 1 || flips[0].Seq != seqs[1] || flips[0].Class != replay.DenyToAllow {
		t.Errorf("fewer names: %s", told(sum))
	}
	if got := strings.Join(lines(sum), "; "); got != "1 deny_to_allow find: deny [forbidden_path] > allow [allowed]" {
		t.Error(got)
	}
	// Without the policy of then nobody can tell what it looked for, and the facts
	// stand as they are recorded.
	sum, _ = one(t, dir, replay.Options{New: more})
	if sum.Unreplayable() > 0 || sum.Judged != 9 || sum.Same != 9 {
		t.Errorf("the policy of then is not at hand: %s", told(sum))
	}
}

// TestSecrets: texts were searched for the secrets of the policy of then, and kept
// up to its lengths.
func TestSecrets(t *testing.T) {
	dir, seqs := asks(t, shippedEngine(t))
	known := []*engine.Engine{shippedEngine(t)}
	const note = "other secrets are looked for in texts, or texts of other lengths are kept"
	const data = "runlens/data.json"
	for name, c := range map[string]struct {
		new  *engine.Engine
		want []int64 // that can't be judged again
	}{
		// Content is in no record, so nobody can look whether it holds one.
		"another secret":   {edited(t, data, `"kinds": {`, `"kinds": {"site_token": "token-[0-9]{12}",`), []int64{seqs[4], seqs[5], seqs[7]}},
		"a secret less":    {edited(t, data, `"aws_access_key": "AKIA[0-9A-Z]{16}",`, ``), []int64{seqs[4], seqs[5]}},
		"shorter texts":    {edited(t, data, `"withheld_bytes": 8192`, `"withheld_bytes": 1024`), []int64{seqs[8]}},
		"longer texts":     {edited(t, data, `"withheld_bytes": 8192`, `"withheld_bytes": 16384`), nil},
		"shorter commands": {edited(t, data, `"command_bytes": 65536`, `"command_bytes": 3`), []int64{seqs[6]}},
		"nothing of that":  {edited(t, data, `"observation_bytes": 16384`, `"observation_bytes": 8192`), nil},
		"a plan's retries": {edited(t, data, `"retries": 3`, `"retries": 4`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			sum, flips := one(t, dir, replay.Options{New: c.new, Known: known})
			if len(c.want) == 0 {
				wantCause(t, sum)
			} else {
				wantCause(t, sum, fmt.Sprintf("unasked %d %d: %s", len(c.want), slices.Min(c.want), note))
			}
			if sum.Judged != 9-len(c.want) || sum.Same != sum.Judged || len(flips) > 0 {
				t.Errorf("the others: %s", told(sum))
			}
		})
	}
}
