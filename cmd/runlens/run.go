package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/glyph"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/loop"
	"github.com/runlens/runlens/internal/loop/provider"
	"github.com/runlens/runlens/internal/manifest"
)

func (w *world) runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "a whole run: calls as JSON lines in, results as JSON lines out",
		ArgsUsage: " ",
		Description: `Calls come on stdin, one a line, in any shape that ` + "`runlens check`" + ` takes. Each is decided
about, run when it is allowed, recorded and answered on stdout, one line each, before the
next one is read. Nothing but answers is written to stdout. A line that is no call gets an
answer too, and the run goes on.

A skill says what the run is for: its tools and no others, its plan, the files that must be
there in the end. They are checked when the input ends. ` + "`runlens skills NAME`" + ` prints one.

  runlens run < calls.jsonl
  runlens run --skill feedback_analysis --input feedback=data/feedback.csv < calls.jsonl
  runlens run --skill feedback_analysis --provider openai --model NAME

From another language: one process, a call in, an answer out. In Python:

  gate = subprocess.Popen(["runlens", "run"], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
  def call(name, **arguments):
      print(json.dumps({"name": name, "arguments": arguments}), file=gate.stdin, flush=True)
      return json.loads(gate.stdout.readline())
  print(call("read_file", path="data/notes.txt")["observation"])

A run that broke off goes on with --resume: give it the whole input again. What the run has
answered gets the same answer and does not run twice; what has no answer yet runs. A read
whose end nobody knows runs again, a write asks a person first (` + "`runlens approve`" + `).

Exit codes: 0 the run is complete; 1 it is not, stderr says why; 2 wrong usage, broken policy
or ledger, or a provider that failed. Calls that were refused on the way do not count.`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "skill", Usage: "`NAME` of the skill that the run is held to"},
			&cli.StringFlag{Name: "goal", Usage: "what the run is for, in `WORDS` (default: the skill's own goal)"},
			&cli.StringSliceFlag{Name: "input", Usage: "`NAME=PATH` of a file that the skill works on; may be given again"},
			&cli.StringFlag{Name: "resume", Usage: "go on with the run `ID`"},
			&cli.BoolFlag{Name: "read-only", Usage: "let nothing be written, deleted or executed"},
			&cli.StringFlag{Name: "format", Value: "json", Usage: "of the answers: json (whole results), openai (role=tool messages) or anthropic (tool_result blocks); `FORMAT`"},
			&cli.Int64Flag{Name: "observation-bytes", Usage: "show a model at most so many `BYTES` of a result, head and tail", DefaultText: "the policy's"},
		}, providerFlags()),
		Action: w.drive,
	}
}

// driven is a run on its way through this process.
type driven struct {
	w      *world
	c      *cli.Context
	p      *project
	x      *executor.Executor
	set    *manifest.Set
	task   *executor.Task
	run    *loop.Run
	out    func(*executor.ToolResult) error
	shown  *progressLines
	broken error // the first answer that came from a broken policy or ledger
}

func (w *world) drive(c *cli.Context) error {
	if w.private != nil {
		if err := w.private(); err != nil {
			w.note("%v", err)
		}
	}
	spec, err := startSpec(c)
	if err != nil {
		return err
	}
	d := &driven{w: w, c: c}
	if d.out, err = w.answers(c); err != nil {
		return err
	}
	model, limits, err := w.provider(c)
	if err != nil {
		return err
	}
	if model != nil {
		defer model.Close()
	}
	if d.p, err = w.openProject(c); err != nil {
		return err
	}
	if d.x, d.set, err = d.p.open(true); err != nil {
		return err
	}
	defer d.x.Close()
	if d.p.tools.kind != embedded {
		w.loaded(d.set)
	}
	if err := d.begin(spec); err != nil {
		return err
	}
	defer d.run.Messages.Close()

	// A signal ends the call that runs, not its record, and then the run.
	ctx, stop := untilEnded(c.Context)
	defer stop()
	// A reader of stdout that has gone is an error like another.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)

	var cause string
	if model != nil {
		cause, err = d.chat(ctx, model, limits)
	} else {
		if w.stdinTerminal {
			w.note("type calls as JSON, one a line, such as {\"tool\": \"read_file\", \"path\": \"data/notes.txt\"}; Ctrl-D ends the run")
		}
		cause, err = d.run.Lines(ctx, w.stdin, d.out)
	}
	return d.end(cause, err)
}

// startSpec reads what the run is to be held to.
func startSpec(c *cli.Context) (spec executor.StartSpec, err error) {
	if err := countFiles(c, 0, 0); err != nil {
		return spec, hinted("calls come on stdin: runlens run < calls.jsonl", "%w", err)
	}
	if spec.RunID, err = runID(c); err != nil {
		return spec, err
	}
	if id := c.String("resume"); id != "" {
		if spec.RunID != "" && spec.RunID != id {
			return spec, hinted("--run names a new run, --resume one that is there", "read arguments: --run and --resume name two runs")
		}
		if err := ledger.CheckRunID(id); err != nil {
			return spec, hinted("`ls runs` lists them", "read arguments: --resume: %w", err)
		}
		spec.RunID = id
	}
	if n := c.Int64("observation-bytes"); n < 0 || c.IsSet("observation-bytes") && n == 0 || n > maxObservation {
		return spec, hinted(fmt.Sprintf("from 1 to %d", maxObservation), "read arguments: --observation-bytes: %d", n)
	}
	spec.Skill, spec.Goal, spec.ReadOnly = c.String("skill"), c.String("goal"), c.Bool("read-only")
	spec.Inputs, err = inputPaths(c.StringSlice("input"))
	return spec, err
}

const maxObservation = 16 << 20

// inputPaths reads --input NAME=PATH; nil without any.
func inputPaths(given []string) (map[string]string, error) {
	var paths map[string]string
	var errs []error
	for _, word := range given {
		name, path, ok := strings.Cut(word, "=")
		switch _, twice := paths[name]; {
		case !ok || name == "" || path == "":
			errs = append(errs, hinted("such as --input feedback=data/feedback.csv", "read arguments: --input %s: not NAME=PATH", quoted(word)))
		case twice:
			errs = append(errs, hinted("keep one", "read arguments: --input %s is given twice", quoted(name)))
		default:
			if paths == nil {
				paths = map[string]string{}
			}
			paths[name] = path
		}
	}
	return paths, together(errs...)
}

// answers writes results to stdout in the form that was asked for, each at once. What
// can't be seen stands as its \u escape.
func (w *world) answers(c *cli.Context) (func(*executor.ToolResult) error, error) {
	format, err := oneOf(c, "format", "json", "openai", "anthropic")
	if err != nil {
		return nil, err
	}
	form := map[string]func(*executor.ToolResult) ([]byte, error){
		"json": (*executor.ToolResult).Line, "openai": (*executor.ToolResult).OpenAI, "anthropic": (*executor.ToolResult).Anthropic,
	}[format]
	return func(r *executor.ToolResult) error {
		line, err := form(r)
		if err != nil {
			return hinted("", "%w", err)
		}
		return w.write(glyph.JSON(line, glyph.Hidden))
	}, nil
}

// begin starts the run, or opens the one that is to go on.
func (d *driven) begin(spec executor.StartSpec) (err error) {
	ctx := d.c.Context
	var past *executor.History
	if d.c.String("resume") != "" {
		if err := d.p.mustExist(spec.RunID); err != nil {
			return err
		}
		if !begun(filepath.Join(d.p.in("runs"), spec.RunID)) {
			return hinted(fmt.Sprintf("`runlens run --run %s`, with what it was started with, starts it", spec.RunID),
				"open run %s: it broke off before it began", spec.RunID)
		}
		if d.task, past, err = d.x.Reopen(ctx, spec); err != nil {
			return ledgerTrouble(spec.RunID, err)
		}
	} else if d.task, err = d.x.Start(ctx, spec); err != nil {
		return d.startTrouble(spec, err)
	}
	id := d.task.RunID
	fmt.Fprintf(d.w.stderr, "run_id=%s\n", id)
	messages, err := loop.OpenMessages(d.task.Dir)
	if err != nil {
		hint := ""
		if errors.Is(err, loop.ErrDriven) {
			hint = "wait until it has ended, or end it"
		}
		return hinted(hint, "%w", err)
	}
	d.shown = &progressLines{w: d.w}
	d.run = &loop.Run{
		Gate: d.x, ID: id, Past: past, Messages: messages, Limit: int(d.c.Int64("observation-bytes")),
		Seen: d.seen,
	}
	return nil
}

// begun says whether a run has an event: without one nothing says what it is held
// to. A ledger that can't be read is for others to complain of.
func begun(dir string) bool {
	for range ledger.Read(dir) {
		return true
	}
	return false
}

// startTrouble adds what to do to an error of a run that does not start.
func (d *driven) startTrouble(spec executor.StartSpec, err error) error {
	unknown, isSkill := errors.AsType[*executor.UnknownSkill](err)
	_, isInput := errors.AsType[*executor.InputError](err)
	skill := d.set.Skills[spec.Skill]
	switch {
	case isSkill:
		return hinted(d.p.skillHint(unknown.Name, unknown.Known), "%w", err)
	case errors.Is(err, executor.ErrRunExists):
		return hinted(fmt.Sprintf("`runlens run --resume %s` goes on with it; another --run ID makes a new one", spec.RunID), "%w", err)
	case isInput && skill != nil:
		return hinted(inputHint(skill), "%w", err)
	case isInput && spec.Goal == "":
		return hinted("add --skill NAME or --goal WORDS", "%w", err)
	case isInput:
		return hinted("paths count from the project", "%w", err)
	case errors.Is(err, fs.ErrPermission):
		return hinted(fmt.Sprintf("runs are written below %s; --project says where that is", d.p.in("runs")), "%w", err)
	}
	return ledgerTrouble(spec.RunID, err)
}

// chat lets a model make the calls. What comes of them goes to stdout as well.
func (d *driven) chat(ctx context.Context, model provider.Model, limits loop.ChatLimits) (cause string, err error) {
	specs := d.set.Specs
	if d.task.Skill != nil {
		specs = d.task.Skill.Specs
	}
	tools, err := specs("openai")
	if err != nil {
		return loop.CauseProvider, hinted("", "%w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := d.out
	d.out = func(r *executor.ToolResult) error {
		err := out(r)
		if err != nil {
			cancel(err)
		}
		return err
	}
	d.run.Seen = d.seenAndTold
	cause, err = d.run.Chat(ctx, model, d.task, tools, limits)
	if lost := context.Cause(ctx); cause == loop.CauseInterrupted && lost != nil && !errors.Is(lost, context.Canceled) {
		return loop.CauseOutputFailed, lost
	}
	return cause, err
}

// end checks what the run has made, records that, and tells a person.
func (d *driven) end(cause string, driving error) error {
	sum, err := d.x.Stop(context.WithoutCancel(d.c.Context), d.task.RunID, cause)
	if err != nil {
		return together(driving, ledgerTrouble(d.task.RunID, err))
	}
	if cause == loop.CauseModelStopped {
		lastWords(d.w.stderr, d.run.Messages.Conversation())
	}
	summary(d.w.stderr, d.task.RunID, sum)
	if sum.Verdicts[engine.Ask.String()] > 0 {
		if asks, err := openAsks(d.task.Dir); err == nil { // a ledger that can't be read is for others to complain of
			askHint(d.w.stderr, d.task.RunID, asks)
		}
	}
	if cause == loop.CauseProvider && driving != nil {
		driving = resumable(d.task.RunID, driving)
	}
	if driving != nil || d.broken != nil {
		return together(driving, d.broken)
	}
	switch {
	case sum.Status != executor.RunCompleted:
		return end(exitDenied)
	case !vouched(d.task) && cause != loop.CauseInputEnded && cause != loop.CauseModelStopped:
		// Nothing says what the run was to make, and it was cut short.
		return end(exitDenied)
	}
	return end(exitAllowed)
}
