package policy_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// runID names the run that an events section lays out.
const runID = "golden"

// event is one line of an events section.
type event struct {
	typ, payload string
}

func parseEvent(t *testing.T, line string) event {
	t.Helper()
	typ, payload, found := strings.Cut(line, " ")
	if !found || !json.Valid([]byte(payload)) {
		t.Fatalf("events line %q: want TYPE JSON", line)
	}
	return event{typ, payload}
}

// layEvents records the case's events in the run, an hour before its calls, and
// returns its id; "" when the case has none. The fold checks them on the way.
func (c *golden) layEvents(t *testing.T, e *engine.Engine, project string) string {
	t.Helper()
	if len(c.events) == 0 {
		return ""
	}
	admitted, err := call.Admit([]byte(placed(c.rows[0].call, project)))
	if err != nil {
		t.Fatal(err)
	}
	named := strings.NewReplacer("$DIGEST", admitted.Digest(), "$POLICY", e.Revision(),
		"$MANIFEST", toolSet(t, placed(c.tools, project)).Revision)
	dir := filepath.Join(project, "runs", runID)
	if err := os.MkdirAll(filepath.Join(dir, "artifacts"), 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := ledger.Open(dir, ledger.Options{RunID: runID, Create: true, State: executor.NewState(), Now: func() time.Time { return now.Add(-time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	err = log.Commit(context.Background(), func(tx *ledger.Tx) error {
		for _, ev := range c.events {
			text := strings.ReplaceAll(named.Replace(placed(ev.payload, project)), "$AFTER", tx.Head().Hash)
			if _, err := tx.Add(ev.typ, json.RawMessage(text)); err != nil {
				return err
			}
		}
		return nil
	})
	if closed := log.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatal(err)
	}
	return runID
}
