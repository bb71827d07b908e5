package golden

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/manifest"
)

// Record executes the case's call in a new run and tells what the run recorded:
// type, reason and place of each event. nil without a ledger section. What the
// call's tool does is done, in the project that was made for the case. Errors are
// those of Judge.
func (c *Case) Record(ctx context.Context, env Env) (j *Judged, err error) {
	s := c.sections["ledger"]
	if s == nil {
		return nil, nil
	}
	err = c.with(ctx, env, func(p *Project, x *executor.Executor, _ *manifest.Set) error {
		j = &Judged{Row: LedgerRow, Name: "ledger", Line: s.line + 1, Call: []byte(p.placeJSON(c.Rows[0].Call))}
		x.Exec(ctx, j.Call, runID)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lines, err := recorded(p)
		if err != nil {
			return c.problem(s.line, "", "read what was recorded: %v", err)
		}
		j.Got = strings.NewReplacer(p.Beside(), "$BESIDE", filepath.Dir(p.Beside()), "$ABOVE").Replace(strings.Join(lines, "\n"))
		var want []string
		for _, l := range c.said(s) {
			want = append(want, l.text)
		}
		j.Want = strings.Join(want, "\n")
		return nil
	})
	return j, err
}

// recorded tells what the run has recorded, one line an event.
func recorded(p *Project) (lines []string, err error) {
	for ev, err := range ledger.Read(filepath.Join(p.Dir, "runs", runID)) {
		if err != nil {
			return nil, err
		}
		var about struct {
			Reason    string `json:"reason"`
			ErrorCode string `json:"error_code"`
			Path      string `json:"path"`
		}
		if err := json.Unmarshal(ev.Payload, &about); err != nil {
			return nil, err
		}
		text := ev.Type
		for _, word := range []string{about.Reason, about.ErrorCode} {
			if word != "" {
				text += " " + word
			}
		}
		if about.Path != "" {
			text += " " + quoted(p.shown(about.Path))
		}
		lines = append(lines, text)
	}
	return lines, nil
}
