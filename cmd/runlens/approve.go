package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/executor"
)

func (w *world) approveCommand() *cli.Command {
	return &cli.Command{
		Name:      "approve",
		Usage:     "approve a call that asks for it, or reset a run's budget of refused calls",
		ArgsUsage: "RUN [CALL]",
		Description: `CALL is the number of the proposal, the first column of ` + "`runlens ledger show RUN`" + `.
What is approved is that tool, with those arguments, on those objects, under that
policy: nothing else is let through, and a denial is never lifted.

  runlens approve demo-001 12 --by eve --ttl 10m
  runlens approve demo-001 12 --by eve --ttl 2h --times 5
  runlens approve demo-001 --budget --by eve

The approval is signed when the key of that name is on this machine (runlens approver
new), or with --key. Where the manifest names approvers one of them must sign.

Exit codes: 0 recorded, 2 nothing was recorded.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "by", Usage: "`NAME` of the person who approves"},
			&cli.StringFlag{Name: "ttl", Usage: "how long the approval holds: a `DURATION` such as 10m or 2h, 720h at most"},
			&cli.StringFlag{Name: "times", Value: "1", Usage: "`N` calls may use it"},
			&cli.BoolFlag{Name: "budget", Usage: "set the run's counters of refused calls to zero"},
			&cli.StringFlag{Name: "key", Usage: "sign with the key in `FILE`"},
		},
		Action: w.approve,
	}
}

// maxTTL bounds how long an approval holds.
const maxTTL = 30 * 24 * time.Hour

func (w *world) approve(c *cli.Context) error {
	if c.Bool("budget") {
		return w.resetBudget(c)
	}
	if err := countFiles(c, 2, 2); err != nil {
		return err
	}
	ttl, ttlErr := ttlOf(c.String("ttl"))
	times, timesErr := timesOf(c.String("times"))
	a, err := w.answering(c, ttlErr, timesErr)
	if err != nil {
		return err
	}
	asked, err := a.ask("approve", c.Args().Get(1))
	if err != nil {
		return err
	}
	a.spec.TTL, a.spec.Times = ttl, times
	if err := w.print(asked.text(fmt.Sprintf("approved by %s for %s within %s", a.spec.By, count(times, "use"), shortDuration(ttl)))); err != nil {
		return err
	}
	return a.record(func(x *executor.Executor) (*executor.Answer, error) {
		return x.Approve(c.Context, a.spec)
	}, func(done *executor.Answer) string {
		return fmt.Sprintf("approved call %d of run %s: %s, %s until %s, %s",
			a.spec.Call, a.spec.RunID, a.what(done), count(times, "use"), done.Expires, signedWord(done))
	})
}

func (w *world) resetBudget(c *cli.Context) error {
	if c.NArg() > 1 {
		return hinted("with --budget no call is approved", "read arguments: %s is one too many", quoted(c.Args().Get(1)))
	}
	for _, flag := range []string{"ttl", "times"} {
		if c.IsSet(flag) {
			return hinted("leave it out", "read arguments: --%s is for the approval of a call, not for --budget", flag)
		}
	}
	if err := countFiles(c, 1, 1); err != nil {
		return err
	}
	a, err := w.answering(c)
	if err != nil {
		return err
	}
	return a.record(func(x *executor.Executor) (*executor.Answer, error) {
		return x.ResetBudget(c.Context, a.spec)
	}, func(done *executor.Answer) string {
		return fmt.Sprintf("reset the budget of refused calls of run %s, by %s, %s", a.spec.RunID, a.spec.By, signedWord(done))
	})
}

func ttlOf(text string) (time.Duration, error) {
	const hint = "--ttl 10m: a number with s, m or h, 720h at most"
	if text == "" {
		return 0, hinted(hint, "read arguments: --ttl is missing")
	}
	ttl, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, hinted(hint, "read arguments: --ttl: %s is no duration", quoted(text))
	case ttl <= 0:
		return 0, hinted(hint, "read arguments: --ttl: %s is no time to come", quoted(text))
	case ttl > maxTTL:
		return 0, hinted(hint, "read arguments: --ttl: %s is longer than %s", quoted(text), shortDuration(maxTTL))
	}
	return ttl, nil
}

func timesOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, hinted("a whole number from 1", "read arguments: --times: %s is no number of uses", quoted(text))
	}
	return n, nil
}
