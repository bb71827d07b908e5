package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/replay"
)

func (w *world) replayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "judge recorded calls again, and list the verdicts that come out differently",
		ArgsUsage: "RUN...",
		Description: `RUN is an id of the project, a run's directory, or a directory of runs at any depth.
Each input that a run has recorded is judged again, as it was recorded: no file that a
call named is looked at, nothing is run, and nothing is written. What judges is the
project's policy as it is now, or --policies TREE.

  runlens replay demo-001                            what does the policy say by now?
  runlens replay runs --policies changed/policies    what would this change do?
  runlens replay runs --policies changed --old policies@may.tar.gz

Verdicts that let a call do more come first. They are grouped, with one example each.

Before that, each verdict is judged by the policy that gave it, where that is at hand:
the project's own, the embedded one, --policies, and each --old. A verdict that comes out
otherwise there is told first, and counts as not judged, as does all that can't be judged
from the record. docs/replay.md says what is judged and what is not.

--policies and --old each take a TREE.
` + treeWords + `

--manifests judges by the tools as they are declared there: roots, limits, commands.
Without it they are what was recorded.

Exit codes, the worst of all: 2 a run or a policy can't be read, or policy fails; 1 a call
is loosened (--fail-on); 5 more verdicts than --max-unreplayable could not be judged;
4 nothing was judged; 0 none of these.`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "old", Usage: "`TREE` that may have given the recorded verdicts; for several, give it again"},
			failOnFlag(),
			&cli.StringFlag{Name: "max-unreplayable", Value: "0", Usage: "`PERCENT` of the verdicts that may be impossible to judge again: 0 to 100"},
			flipsFormatFlag(),
		},
		Action: w.replay,
	}
}

func (w *world) replay(c *cli.Context) error {
	format, formatErr := flipsFormat(c)
	fails, failErr := failOn(c)
	limit, limitErr := percent(c, "max-unreplayable")
	id, runErr := runID(c)
	if runErr == nil && id != "" {
		runErr = hinted("name the runs behind the command: runlens replay "+id, "read arguments: --run is for commands that judge against one run")
	}
	if runErr == nil && slices.Contains(c.Args().Slice(), "") {
		runErr = hinted("is a variable unset?", "read arguments: the name of a run is empty")
	}
	if err := together(countFiles(c, 1, -1), formatErr, failErr, limitErr, runErr); err != nil {
		return err
	}
	p, err := w.openComparing(c)
	if err != nil {
		return err
	}
	trees, err := p.replayTrees(c.String("policies"), c.StringSlice("old"))
	if err != nil {
		return err
	}
	opt := replay.Options{New: trees.now, Known: trees.known}
	if c.String("manifests") != "" {
		if opt.Tools, err = p.loadTools(); err != nil {
			return err
		}
		trees.name += ", with the tools of " + p.tools.path
	}
	found := p.findRuns(c.Args().Slice())
	found.tell(w)
	ctx, stop := untilEnded(c.Context)
	defer stop()
	out := &flipsWriter{w: w, format: format}
	sum, err := out.replay(ctx, found.dirs, opt)
	if err != nil {
		return err
	}
	sum.Broken = append(sum.Broken, found.broken...)
	flips := trees.flips(sum)
	flips.FailOn, flips.Limit = fails, limit
	code := w.flipsCode(flips)
	if found.empty {
		code = worse(code, exitNothing)
	}
	if err := out.finish(flips); err != nil {
		return err
	}
	return end(code)
}
