package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

func (w *world) execCommand() *cli.Command {
	return &cli.Command{
		Name:      "exec",
		Usage:     "decide about one call, run it when it is allowed, record everything",
		ArgsUsage: "[FILE|-]",
		Description: `Takes one call from a file or from stdin and prints its ToolResult as JSON. Without
--run it opens a new run and names it on stderr.

  runlens exec call.json
  runlens exec --run demo-001 call.json
  runlens exec --run demo-001 --authorized

With --authorized there is no call to give: the latest call of the run that was
authorized and has not started is judged again, and runs only when the call, what it
points at, the policy and the manifests are what they were.

Exit codes: 0 done, 1 denied or failed, 3 an approval is missing, 2 broken policy or
ledger, 4 --authorized and nothing is authorized.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "authorized", Usage: "run the run's latest authorized call instead of one from a file"},
		},
		Action: w.exec,
	}
}

func (w *world) exec(c *cli.Context) error {
	if w.private != nil {
		if err := w.private(); err != nil {
			w.note("%v", err)
		}
	}
	authorized := c.Bool("authorized")
	if authorized && c.NArg() > 0 {
		return hinted("give either a call or --authorized", "read arguments: %s: with --authorized the call comes from the run", quoted(c.Args().First()))
	}
	if err := countFiles(c, 0, 1); err != nil {
		return err
	}
	id, err := runID(c)
	if err != nil {
		return err
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	if authorized {
		if id, err = p.neededRun(c); err != nil {
			return err
		}
	}
	var raw []byte
	if !authorized {
		if raw, err = w.readCall(c.Args().Slice()); err != nil {
			return err
		}
	}
	x, err := p.openNoted()
	if err != nil {
		return err
	}
	defer x.Close()
	// A signal ends the tool, not its record.
	ctx, stop := untilEnded(c.Context)
	defer stop()
	if authorized {
		result, err := x.ExecAuthorized(ctx, id)
		if errors.Is(err, executor.ErrNotAuthorized) {
			w.note("nothing is authorized in run %s: `runlens authorize --run %s` judges its last proposal", id, id)
			return end(exitNothing)
		}
		if err != nil {
			return ledgerTrouble(id, err)
		}
		return w.result(result)
	}
	fresh := id == ""
	result := x.Exec(ctx, raw, id)
	if fresh && result.RunID != "" {
		fmt.Fprintf(w.stderr, "run_id=%s\n", result.RunID)
	}
	return w.result(result)
}

// result prints a ToolResult and ends with its exit code.
func (w *world) result(r *executor.ToolResult) error {
	text, err := r.JSON()
	if err != nil {
		return hinted("", "write result: %w", err)
	}
	if err := w.write(text); err != nil {
		return err
	}
	code := exitDenied
	switch {
	case r.Status == executor.StatusSuccess:
		code = exitAllowed
	case r.Outcome != nil:
		code = worse(exitAllowed, codeOf(r.Outcome.Verdict.Effect, r.Reason))
		if code == exitAllowed { // allowed, and then the tool failed
			code = exitDenied
		}
	default:
		code = worse(code, codeOf(0, r.Reason))
	}
	if code == exitBroken {
		complain(w.stderr, fmt.Errorf("exec: %s: %s", r.Reason, r.ErrorMessage))
	}
	return end(code)
}

// ledgerTrouble adds what to do to an error of a run's ledger.
func ledgerTrouble(id string, err error) error {
	switch {
	case errors.Is(err, ledger.ErrCorrupt):
		return hinted(fmt.Sprintf("`runlens ledger verify %s` says where; nothing more is recorded in this run", id), "%w", err)
	case errors.Is(err, ledger.ErrBusy):
		return hinted("another process is recording in this run: try again", "%w", err)
	}
	return err
}
