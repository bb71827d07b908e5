package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/replay"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// done records calls in a run of a fresh project and returns the run's directory
// and the seqs of the verdicts, one for each call. change, when not nil, alters the
// executor's configuration.
func done(t testing.TB, change func(*executor.Config), calls ...[]byte) (dir string, seqs []int64) {
	t.Helper()
	at := project(t, t.TempDir())
	x := open(t, at, change)
	return filepath.Join(at, "runs/r"), exec(t, x, "r", calls...)
}

// exec records calls in a run and returns the seqs of the verdicts.
func exec(t testing.TB, x *executor.Executor, run string, calls ...[]byte) (seqs []int64) {
	t.Helper()
	for _, raw := range calls {
		r := x.Exec(context.Background(), raw, run)
		if r.Outcome == nil || r.Outcome.Seq == 0 {
			t.Fatalf("%s: nothing was recorded: %+v", raw, r)
		}
		seqs = append(seqs, r.Outcome.Seq)
	}
	return seqs
}

// events are those of a run that is whole.
func events(t testing.TB, dir string) (list []*ledger.Event) {
	t.Helper()
	for ev, err := range ledger.Read(dir) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ev)
	}
	return list
}

// commit makes a run that holds events, and returns its directory.
func commit(t testing.TB, list []*ledger.Event) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs/altered")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := ledger.Open(dir, ledger.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	err = log.Commit(context.Background(), func(tx *ledger.Tx) error {
		for _, ev := range list {
			if _, err := tx.Add(ev.Type, ev.Payload); err != nil {
				return fmt.Errorf("%s: %w", ev.Payload, err)
			}
		}
		return nil
	})
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// altered is a copy of a run in which some text of one event, that must be there
// once, is another.
func altered(t testing.TB, dir string, seq int64, changes ...string) string {
	t.Helper()
	list := events(t, dir)
	ev := list[seq-1]
	for ; len(changes) > 0; changes = changes[2:] {
		ev.Payload = json.RawMessage(instead(t, string(ev.Payload), changes[0], changes[1]))
	}
	return commit(t, list)
}

// instead is text with another in the place of old, which must be there once.
func instead(t testing.TB, text, old, now string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q is there %d times in %s", old, n, text)
	}
	return strings.Replace(text, old, now, 1)
}

// site is the shipped tree and a rule of its own, which denies what condition, a
// rule's body, is true of.
func site(t testing.TB, condition string) *engine.Engine {
	t.Helper()
	e, err := engine.Load(engine.Source{FS: policies.FS, Schemas: schemas.FS, Overlay: fstest.MapFS{
		"runlens/rules/site/site.rego": {Data: []byte(`package runlens.rules.site

import data.runlens.lib

# METADATA
# title: the site refuses this
# custom:
#   code: site_refused
deny contains lib.reason(rego.metadata.rule(), {}) if {
	` + condition + `
}
`)},
		"runlens/codes/site_refused/data.json": {Data: []byte(`{"gate": "registry", "retryable": false, "remedy": "use another"}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// one replays one run.
func one(t testing.TB, dir string, opt replay.Options) (*replay.Summary, []replay.Flip) {
	t.Helper()
	return replayed(t, []string{dir}, opt)
}

// wantCause fails unless the causes of a summary are those of want, as
// "cause count first-seq: note", in the order of reports.
func wantCause(t testing.TB, s *replay.Summary, want ...string) {
	t.Helper()
	var got []string
	for _, c := range replay.AllCauses() {
		if e := s.Causes[c]; e != nil {
			got = append(got, fmt.Sprintf("%s %d %d: %s", c, e.Count, e.Seq, e.Note))
			if e.Line != int(e.Seq) || e.File != filepath.Join(e.Where, "events.jsonl") {
				t.Errorf("%s stands at %s:%d, seq %d of %s", c, e.File, e.Line, e.Seq, e.Where)
			}
		}
	}
	if !slices.Equal(got, want) || len(got) != len(s.Causes) {
		t.Errorf("not judged again:\n%s\nwant\n%s\n(%s)", strings.Join(got, "\n"), strings.Join(want, "\n"), told(s))
	}
}
