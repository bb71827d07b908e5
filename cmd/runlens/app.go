package main

import "github.com/urfave/cli/v2"

// run carries out one command line and returns its exit code.
func run(words []string, w *world) int {
	w = w.onRunner()
	app := newApp(w)
	args, err := arrange(app, words)
	if err == nil {
		err = app.Run(args)
	}
	return exitCode(err, w.stderr)
}

// newApp lists the commands and the flags that all of them share.
func newApp(w *world) *cli.App {
	app := &cli.App{
		Name:        "runlens",
		Usage:       "a policy-gated executor for AI agents' tool calls",
		UsageText:   "runlens [global options] COMMAND [options] [arguments]",
		Description: about,
		Writer:      w.stdout,
		ErrWriter:   w.stderr,
		HideVersion: true, HideHelpCommand: true,
		DisableSliceFlagSeparator: true, // a path may hold a comma
		Flags:                     globalFlags(),
		Commands: []*cli.Command{
			w.checkCommand(), w.execCommand(), w.runCommand(), w.authorizeCommand(), w.ledgerCommand(),
			w.approveCommand(), w.denyCommand(), w.approverCommand(),
			w.testCommand(), w.replayCommand(), w.toolsCommand(), w.skillsCommand(), w.policyCommand(), w.initCommand(), w.doctorCommand(), w.versionCommand(),
		},
		// What is wrong is said once, by exitCode.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError,
	}
	for _, c := range app.Commands {
		finish(c)
	}
	return app
}

// finish gives a command and those below it what all of them share.
func finish(c *cli.Command) {
	c.HideHelpCommand = true
	c.OnUsageError = usageError
	c.CustomHelpTemplate = cli.CommandHelpTemplate + helpTail
	for _, sub := range c.Subcommands {
		finish(sub)
	}
	if len(c.Subcommands) > 0 {
		c.CustomHelpTemplate = cli.SubcommandHelpTemplate + helpTail
	}
}

func usageError(_ *cli.Context, err error, _ bool) error {
	return hinted("`runlens --help` lists commands and flags", "read arguments: %w", err)
}

// The global flags. Each works before and behind the command's name.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "project", Usage: "project `DIR`; paths in calls count from it (default: the current directory)"},
		&cli.StringFlag{Name: "policies", Usage: "policy `TREE`: a directory that holds runlens/decision.rego, or an OPA bundle (.tar.gz)"},
		&cli.StringFlag{Name: "manifests", Usage: "tool manifest `FILE`, or a directory that holds tools.json, tools.yaml or tools.yml"},
		&cli.StringFlag{Name: "run", Usage: "`ID` of the run: judge against what it recorded, record into it"},
		&cli.StringFlag{Name: "verification-key", Usage: "PEM `FILE` of the public key that must have signed the bundle given with --policies"},
	}
}

const about = `A tool call comes in as JSON. RunLens resolves what it points at, asks a Rego
policy, runs it only when the policy allows it, and writes every step to a ledger.

  runlens check call.json             would it be allowed, and why?
  runlens exec call.json              decide, run, record; prints the result
  runlens run < calls.jsonl           a whole run: calls in, results out
  runlens ledger show RUN             what happened in a run
  runlens test                        does the policy say what its golden cases want?
  runlens replay RUN                  would it be decided alike by now?
  runlens approve RUN CALL            a person's yes to a call that asks for one
  runlens init my-project             a project to start from

Policies and manifests come from the flags, else from the project's policies/ and
manifests/, else from the copies inside this program.

Exit codes: 0 all allowed; 1 denied, blocked or failed; 2 wrong usage, broken policy,
unreadable input; 3 approvals are missing; 4 nothing was evaluated; 5 too much of a
record can't be replayed.`

const helpTail = `
Global options (runlens --help): --project, --policies, --manifests, --run, --verification-key
`

// write puts a command's result on stdout. A result that could not be written
// is a failure: whoever reads stdout must not take it for an empty one.
func (w *world) write(data []byte) error {
	if _, err := w.stdout.Write(data); err != nil {
		return hinted("", "write result: %w", err)
	}
	return nil
}

// print is write for text.
func (w *world) print(text string) error { return w.write([]byte(text)) }
