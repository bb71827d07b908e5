package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/replay"
)

// TestLoosenedName: a name that the new data allows lets exactly the calls through
// that pointed at it, and of no other verdict anything changes.
func TestLoosenedName(t *testing.T) {
	r := record(t)
	loose := edited(t, "runlens/data.json", `"exact": [".env", ".envrc"]`, `"exact": [".envrc"]`,
		"runlens/data.json", `"suffix": [".env", ".env~"`, `"suffix": [".env~"`)
	sum, flips := replayed(t, r.dirs, replay.Options{New: loose, Known: []*engine.Engine{shippedEngine(t)}})
	var want []string
	for _, dir := range r.dirs {
		if slices.Contains(r.skills, filepath.Base(dir)) {
			continue // their root is data/in: it lies outside
		}
		for _, ev := range events(t, dir) {
			if ev.Type == ledger.ToolDenied && bytes.Contains(ev.Payload, []byte(`"path":"data/.env"}`)) {
				want = append(want, fmt.Sprintf("%s %d", dir, ev.Seq))
			}
		}
	}
	if got := names(flips, replay.DenyToAllow); !slices.Equal(got, want) || len(want) != 40 {
		t.Errorf("loosened: %v, want %v", got, want)
	}
	list := sum.Groups.List()
	if line(list[0]) != "40 deny_to_allow read_file: deny [forbidden_path] > allow [allowed]" || sum.Groups.Loosened() != 40 || len(list) != 2 {
		t.Error(told(sum))
	}
	if got := line(list[1]); got != "10 codes_changed read_file: deny [forbidden_path outside_roots] > deny [outside_roots]" {
		t.Error(got)
	}
	if sum.Judged != r.judged() || sum.Unreplayable() > 0 {
		t.Error(told(sum))
	}
}

// TestAuthorized: a call that was judged again when it was started counts twice, and
// the start is judged by the input that it holds.
func TestAuthorized(t *testing.T) {
	at := project(t, t.TempDir())
	x := open(t, at, nil)
	ctx := t.Context()
	for _, path := range []string{"data/a.txt", "data/b.txt"} {
		if _, err := x.Propose(ctx, read(path), "r"); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Authorize(ctx, "r"); err != nil {
			t.Fatal(err)
		}
		exec(t, x, "r", read("secret/shut/x.txt")) // so that the call is judged again on another run
		if res, err := x.ExecAuthorized(ctx, "r"); err != nil || res.Status != executor.StatusSuccess {
			t.Fatalf("%v %+v", err, res)
		}
		exec(t, x, "r", read("data/in/n.txt")) // ends the row of denials
	}
	dir := filepath.Join(at, "runs/r")
	var starts []string
	for _, ev := range events(t, dir) {
		if ev.Type == ledger.ToolStarted && bytes.Contains(ev.Payload, []byte(`"input":`)) {
			starts = append(starts, fmt.Sprintf("%s %d", dir, ev.Seq))
		}
	}
	sum, flips := one(t, dir, replay.Options{New: shippedEngine(t)})
	if sum.Judged != 8 || sum.Same != 8 || sum.Unreplayable() > 0 || len(flips) > 0 || sum.Recorded[shippedEngine(t).Revision()].Count != 8 {
		t.Error(told(sum))
	}
	// Of the first call only the input of the start has a denial before it.
	sum, flips = one(t, dir, replay.Options{New: site(t, `input.run.denials.in_row == 1
	input.call.arguments.path == "data/a.txt"`)})
	if got := names(flips, replay.AllowToDeny); !slices.Equal(got, starts[:1]) || len(starts) != 2 || sum.Judged != 8 {
		t.Errorf("%v, want the start %v: %s", got, starts[0], told(sum))
	}
	if flips[0].CallID == "" || flips[0].Tool != "read_file" || flips[0].Targets[0].Path != filepath.Join(at, "data/a.txt") {
		t.Errorf("%+v", flips[0])
	}

	// A start whose input or allow is gone has no verdict.
	list := events(t, dir)
	start := slices.IndexFunc(list, func(ev *ledger.Event) bool { return ev.Type == ledger.ToolStarted })
	copied := altered(t, dir, int64(start)+1, `"in_row":1`, `"in_row":"1"`)
	sum, _ = one(t, copied, replay.Options{New: shippedEngine(t)})
	wantCause(t, sum, fmt.Sprintf("incomplete 1 %d: run.denials.in_row isn't in its recorded form", start+1))
	copied = altered(t, dir, int64(start)+1, `"verdict_seq":3`, `"verdict_seq":2`)
	sum, _ = one(t, copied, replay.Options{New: shippedEngine(t)})
	wantCause(t, sum, fmt.Sprintf("unreadable 1 %d: the verdict that it carries out is not among those before it", start+1))
	copied = altered(t, dir, 3, `"reasons":[`, `"reason_list":[`)
	sum, _ = one(t, copied, replay.Options{New: shippedEngine(t)})
	wantCause(t, sum, "unreadable 2 3: reasons is missing, or no list of reasons")
}

// TestApart: what RunLens itself refused, before policy or after it, is no policy's
// verdict.
func TestApart(t *testing.T) {
	at := project(t, t.TempDir())
	x := open(t, at, nil)
	ctx := t.Context()
	exec(t, x, "r", []byte("{"), call("read_file", map[string]any{}), call("think", map[string]any{}), call("think", map[string]any{}))
	for _, c := range []struct {
		change func(*executor.Config)
		before func()
		code   string
	}{
		{func(cfg *executor.Config) { cfg.Tools = mixedTools(t, `"data","secret"`) }, func() {}, "contract_drift"},
		{func(cfg *executor.Config) { cfg.Engine = site(t, "false") }, func() {}, "contract_drift"},
		{nil, func() {
			if err := os.WriteFile(filepath.Join(at, "data/a.txt"), []byte("longer\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "object_changed"},
	} {
		if _, err := x.Propose(ctx, read("data/a.txt"), "r"); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Authorize(ctx, "r"); err != nil {
			t.Fatal(err)
		}
		c.before()
		if res, err := open(t, at, c.change).ExecAuthorized(ctx, "r"); err != nil || res.Reason != c.code {
			t.Fatalf("%v %+v", err, res)
		}
	}
	want := map[string]int{"malformed_call": 1, "input_validation_failed": 1, "unsupported_operation": 2, "contract_drift": 2, "object_changed": 1}
	sum, flips := one(t, filepath.Join(at, "runs/r"), replay.Options{New: site(t, `input.call.tool == "think"`), Known: []*engine.Engine{shippedEngine(t)}})
	if !maps.Equal(sum.Apart, want) || sum.Judged != 3 || sum.Same != 3 || len(flips) > 0 || sum.Unreplayable() > 0 {
		t.Errorf("%s; want apart %v", told(sum), want)
	}
}

// TestApproved: asks and the calls that a person's answer let through are judged as
// they were; who may sign is declared elsewhere.
func TestApproved(t *testing.T) {
	asking := edited(t, "runlens/data.json", `"approvals": {"tools": {}`, `"approvals": {"tools": {"read_file": true}`)
	at := project(t, t.TempDir())
	x := open(t, at, func(cfg *executor.Config) { cfg.Engine = asking })
	seqs := exec(t, x, "r", read("data/a.txt"), read("data/b.txt"))
	if _, err := x.Approve(t.Context(), executor.AnswerSpec{RunID: "r", Call: seqs[0] - 1, By: "ada", TTL: time.Hour, Times: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Refuse(t.Context(), executor.AnswerSpec{RunID: "r", Call: seqs[1] - 1, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	seqs = append(seqs, exec(t, x, "r", read("data/a.txt"), read("data/b.txt"), read("secret/shut/x.txt"))...)
	dir := filepath.Join(at, "runs/r")
	sum, _ := one(t, dir, replay.Options{New: asking})
	if sum.Judged != 5 || sum.Same != 5 || sum.Unreplayable() > 0 {
		t.Error(told(sum))
	}
	sum, flips := one(t, dir, replay.Options{New: shippedEngine(t), Known: []*engine.Engine{asking}})
	want := []string{
		"2 ask_to_allow read_file: ask [approval_required] > allow [allowed]",
		"1 codes_changed read_file: deny [approval_refused approval_required] > deny [approval_refused]",
		"1 codes_changed read_file: deny [outside_roots approval_required] > deny [outside_roots]",
	}
	if !slices.Equal(lines(sum), want) || !slices.Equal(names(flips, replay.AskToAllow), []string{fmt.Sprintf("%s %d", dir, seqs[0]), fmt.Sprintf("%s %d", dir, seqs[1])}) || sum.Same != 1 {
		t.Errorf("%s; want %q", told(sum), want)
	}
	signed := *mixedTools(t, `"data"`)
	signed.Revision, signed.Approvers = "sha256:other", []manifest.Approver{{Name: "ada", Key: "ada+1+x"}}
	sum, _ = one(t, dir, replay.Options{New: asking, Tools: &signed})
	wantCause(t, sum, fmt.Sprintf("targets 2 %d: who may sign approvals is declared elsewhere, and nobody looked whose signature counts", seqs[2]))
	if sum.Same != 3 {
		t.Error(told(sum))
	}
}

// TestReset: a person's reset of the count of denials counts only when it is signed
// as the manifests ask for.
func TestReset(t *testing.T) {
	at := project(t, t.TempDir())
	x := open(t, at, nil)
	seqs := exec(t, x, "r", read("data/a.txt"), read("secret/shut/x.txt"))
	if _, err := x.ResetBudget(t.Context(), executor.AnswerSpec{RunID: "r", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	seqs = append(seqs, exec(t, x, "r", read("data/b.txt"), read("secret/shut/x.txt"))...)
	signed := *mixedTools(t, `"data"`)
	signed.Revision, signed.Approvers = "sha256:other", []manifest.Approver{{Name: "ada", Key: "ada+1+x"}}
	sum, _ := one(t, filepath.Join(at, "runs/r"), replay.Options{New: shippedEngine(t), Tools: &signed})
	wantCause(t, sum, fmt.Sprintf("targets 2 %d: who may sign approvals is declared elsewhere, and nobody looked whose signature counts", seqs[2]))
	if sum.Same != 2 {
		t.Error(told(sum))
	}
}

// TestBrokenRuns: what can't be read is told, what stands before it is judged, and
// the runs behind it are.
func TestBrokenRuns(t *testing.T) {
	at := project(t, t.TempDir())
	x := open(t, at, nil)
	var dirs []string
	for _, id := range []string{"good", "torn", "corrupt", "moved", "empty", "absent", "file", "last"} {
		dirs = append(dirs, filepath.Join(at, "runs", id))
		if !slices.Contains([]string{"empty", "absent", "file"}, id) {
			exec(t, x, id, read("data/a.txt"), read("secret/shut/x.txt"), read("data/b.txt"))
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	ledgerOf := func(id string) string { return filepath.Join(at, "runs", id, "events.jsonl") }
	rewrite := func(id string, change func([]byte) []byte) {
		t.Helper()
		text, err := os.ReadFile(ledgerOf(id))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(ledgerOf(id), change(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite("torn", func(b []byte) []byte { return b[:len(b)-10] })
	// The second of the verdicts, in line 7.
	rewrite("corrupt", func(b []byte) []byte {
		return []byte(instead(t, string(b), `"reason":"outside_roots"`, `"reason":"outside_xxxxx"`))
	})
	if err := os.MkdirAll(filepath.Join(at, "runs/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"empty": os.WriteFile(ledgerOf("empty"), nil, 0o600),
		"file":  os.WriteFile(filepath.Join(at, "runs/file"), nil, 0o600),
		"moved": os.Rename(filepath.Join(at, "runs/moved"), filepath.Join(at, "runs/elsewhere")),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	dirs[3] = filepath.Join(at, "runs/elsewhere")

	sum, _ := replayed(t, dirs, replay.Options{New: shippedEngine(t)})
	var broken []string
	for _, b := range sum.Broken {
		broken = append(broken, filepath.Base(b.Where))
		if corrupt := errors.Is(b.Err, ledger.ErrCorrupt); corrupt != slices.Contains([]string{"corrupt", "elsewhere"}, filepath.Base(b.Where)) {
			t.Errorf("%s: %v", b.Where, b.Err)
		}
	}
	if !slices.Equal(broken, []string{"corrupt", "elsewhere", "absent", "file"}) || !slices.Equal(sum.Torn, []string{dirs[1]}) {
		t.Errorf("broken %v, torn %v", broken, sum.Torn)
	}
	// The corrupt line breaks the chain behind it, so itself it still stands.
	if sum.Runs != 4 || sum.Judged+sum.Unreplayable() != 3+3+2+0+3 {
		t.Error(told(sum))
	}
	none, _ := replayed(t, nil, replay.Options{New: shippedEngine(t)})
	if none.Runs+none.Events+none.Judged > 0 {
		t.Error(told(none))
	}
}

// TestProgress: what was judged grows to all there is.
func TestProgress(t *testing.T) {
	r := record(t)
	var size int64
	for _, dir := range r.dirs {
		st, err := os.Stat(filepath.Join(dir, "events.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		size += st.Size()
	}
	var seen []int64
	_, err := replay.Run(t.Context(), r.dirs, replay.Options{New: shippedEngine(t), Progress: func(done, total int64) {
		if total != size {
			t.Errorf("a total of %d, want %d", total, size)
		}
		seen = append(seen, done)
	}})
	if err != nil || len(seen) < len(r.dirs) || !slices.IsSorted(seen) || seen[len(seen)-1] != size {
		t.Errorf("%v: told %v of %d", err, seen, size)
	}
}

// TestCancelled: a replay that is given up says so, holds what was judged before,
// and leaves nothing running.
func TestCancelled(t *testing.T) {
	r := record(t)
	twice := slices.Concat(r.dirs, r.dirs) // more than any number of workers is ahead
	before := runtime.NumGoroutine()
	for _, workers := range []int{1, 2, 8} {
		ctx, cancel := context.WithCancel(t.Context())
		told, flips := 0, 0
		sum, err := replay.Run(ctx, twice, replay.Options{
			New: shippedEngine(t), Workers: workers,
			Progress: func(done, total int64) {
				if told++; told == 3 {
					cancel()
				}
			},
			Flip: func(replay.Flip) { flips++ },
		})
		cancel()
		if !errors.Is(err, context.Canceled) || sum == nil || sum.Judged == 0 || sum.Judged >= 2*r.judged() || sum.Judged != sum.Same || flips > 0 {
			t.Errorf("%d workers: %v, %+v", workers, err, sum)
		}
		if len(sum.Trouble)+sum.Unreplayable() > 0 {
			t.Errorf("%d workers: a decision that was given up counts: %+v", workers, sum)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if sum, err := replay.Run(ctx, r.dirs, replay.Options{New: shippedEngine(t), Workers: workers}); !errors.Is(err, context.Canceled) || sum == nil || sum.Judged > 0 {
			t.Errorf("cancelled before: %v, %+v", err, sum)
		}
	}
	for wait := 0; runtime.NumGoroutine() > before && wait < 1000; wait++ {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

// TestNoPolicy: without one there is nothing to replay by.
func TestNoPolicy(t *testing.T) {
	sum, err := replay.Run(t.Context(), nil, replay.Options{})
	if sum != nil || err == nil || !strings.Contains(err.Error(), "no policy") {
		t.Errorf("%+v, %v", sum, err)
	}
}
