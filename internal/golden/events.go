package golden

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// runID names the run that an events section lays out, and the one that a ledger
// section is about.
const runID = "golden"

// event is one line of an events section.
type event struct {
	typ, payload string
	line         int
}

func (c *Case) parseEvent(l line) (event, error) {
	typ, payload, found := strings.Cut(l.text, " ")
	if !found || !json.Valid([]byte(payload)) {
		return event{}, c.problem(l.n, "", "events: want TYPE JSON")
	}
	return event{typ, payload, l.n}, nil
}

// layEvents records the case's events in a run, an hour before its calls, and
// returns the run's id; "" when the case has none. The fold checks them on the way.
func (c *Case) layEvents(ctx context.Context, env Env, p *Project, manifest string) (string, error) {
	if len(c.events) == 0 {
		return "", nil
	}
	admitted, err := call.Admit([]byte(p.placeJSON(c.Rows[0].Call)))
	if err != nil {
		return "", c.problem(c.sections["call.json"].line, "", "events need a call: %v", err)
	}
	named := strings.NewReplacer("$DIGEST", admitted.Digest(), "$POLICY", env.Engine.Revision(), "$MANIFEST", manifest)
	dir := filepath.Join(p.Dir, "runs", runID)
	if err := os.MkdirAll(filepath.Join(dir, "artifacts"), 0o755); err != nil {
		return "", c.problem(c.sections["events"].line, "", "lay out the run: %v", cause(err))
	}
	log, err := ledger.Open(dir, ledger.Options{RunID: runID, Create: true, State: executor.NewState(), Now: func() time.Time { return now().Add(-time.Hour) }})
	if err != nil {
		return "", c.problem(c.sections["events"].line, "", "lay out the run: %v", err)
	}
	at := c.sections["events"].line
	err = log.Commit(ctx, func(tx *ledger.Tx) error {
		for _, ev := range c.events {
			at = ev.line
			text := strings.ReplaceAll(named.Replace(p.placeJSON(ev.payload)), "$AFTER", tx.Head().Hash)
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
		return "", c.problem(at, "", "events: %v", err)
	}
	return runID, nil
}
