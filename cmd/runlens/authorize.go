package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
)

func (w *world) authorizeCommand() *cli.Command {
	return &cli.Command{
		Name:  "authorize",
		Usage: "judge a run's last proposal and record the verdict; run nothing",
		Description: `For agents in any language: append the proposal, ask, and run the tool only on 0.

  runlens ledger append demo-001 call.json
  runlens authorize --run demo-001
  allowed=true reason=allowed

Exit codes: 0 allowed, 1 denied or blocked, 3 a person must approve, 4 nothing is
proposed, 2 broken policy or ledger.`,
		Action: w.authorize,
	}
}

func (w *world) authorize(c *cli.Context) error {
	if err := countFiles(c, 0, 0); err != nil {
		return err
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	id, err := p.neededRun(c)
	if err != nil {
		return err
	}
	x, err := p.openNoted()
	if err != nil {
		return err
	}
	defer x.Close()
	out, err := x.Authorize(c.Context, id)
	switch {
	case errors.Is(err, executor.ErrNothingProposed):
		w.note("nothing is proposed in run %s: `runlens ledger append %s FILE` proposes a call", id, id)
		return end(exitNothing)
	case err != nil:
		return ledgerTrouble(id, err)
	}
	primary := out.Verdict.Reasons[0]
	if err := w.print(fmt.Sprintf("allowed=%t reason=%s\n", out.Verdict.Effect == engine.Allow, printable(primary.Code))); err != nil {
		return err
	}
	code := codeOf(out.Verdict.Effect, primary.Code)
	switch code {
	case exitAllowed:
	case exitBroken:
		complain(w.stderr, fmt.Errorf("authorize: %s: %s", primary.Code, primary.Message))
	default:
		w.note("%s", primary.Message)
	}
	return end(code)
}
