package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/executor"
)

func (w *world) denyCommand() *cli.Command {
	return &cli.Command{
		Name:      "deny",
		Usage:     "refuse a call that asks for an approval, for good",
		ArgsUsage: "RUN CALL",
		Description: `CALL is the number of the proposal, the first column of ` + "`runlens ledger show RUN`" + `.
The same call, that tool with those arguments, is refused from now on in this run.

  runlens deny demo-001 12 --by eve

Exit codes: 0 recorded, 2 nothing was recorded.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "by", Usage: "`NAME` of the person who refuses"},
			&cli.StringFlag{Name: "key", Usage: "sign with the key in `FILE`"},
		},
		Action: w.deny,
	}
}

func (w *world) deny(c *cli.Context) error {
	if err := countFiles(c, 2, 2); err != nil {
		return err
	}
	a, err := w.answering(c)
	if err != nil {
		return err
	}
	asked, err := a.ask("deny", c.Args().Get(1))
	if err != nil {
		return err
	}
	if err := w.print(asked.text("refused by " + a.spec.By + " for good")); err != nil {
		return err
	}
	return a.record(func(x *executor.Executor) (*executor.Answer, error) {
		return x.Refuse(c.Context, a.spec)
	}, func(done *executor.Answer) string {
		return fmt.Sprintf("refused call %d of run %s for good: %s, %s", a.spec.Call, a.spec.RunID, a.what(done), signedWord(done))
	})
}
