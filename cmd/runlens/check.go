package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/report"
)

func (w *world) checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "decide about calls and run nothing; the command for CI",
		ArgsUsage: "[FILE|DIR|-]...",
		Description: `Each argument is a file that holds one call or JSON lines of calls, a directory
(every *.json, *.jsonl and *.ndjson below it, in order of name), or "-" for stdin.
Without arguments the calls come from stdin. What a directory holds besides, names that
begin with a dot and linked folders are passed over, and stderr says so. Nothing is run and nothing is recorded. Files count from the current
directory, paths inside a call from the project.

  runlens check call.json
  runlens check --format jsonl calls/ | jq -r 'select(.verdict != "allow") | .reason'
  runlens check --format sarif calls/ > runlens.sarif        for code scanning
  runlens check --run demo-001 call.json        against what the run has recorded
  runlens check --format input call.json > input.json
  opa eval -d policies -i input.json data.runlens.decision

Exit codes, the worst of all calls: 2 unreadable input or broken policy, 1 denied or
blocked, 3 an approval is missing, 4 an argument held no call, 0 all allowed.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the report: text, json (one object for one call, else an array), jsonl, input (what policy judged), or for CI junit, sarif or github (annotations)"},
			&cli.StringFlag{Name: "ask", Value: "report", Usage: "`HOW` a call that needs an approval counts: report (exit code 3) or deny (exit code 1)"},
		},
		Action: w.check,
	}
}

func (w *world) check(c *cli.Context) error {
	format, formatErr := oneOf(c, "format", "text", "json", "jsonl", "input", "junit", "sarif", "github")
	ask, askErr := oneOf(c, "ask", "report", "deny")
	id, runErr := runID(c)
	if err := together(formatErr, askErr, runErr); err != nil {
		return err
	}
	if c.NArg() == 0 && w.stdinTerminal {
		return hinted("usage: runlens check [FILE|DIR|-]...", "read calls: no file given, and stdin is a terminal")
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	if id != "" {
		if err := p.mustExist(id); err != nil {
			return err
		}
	}
	x, _, err := p.open(false)
	if err != nil {
		return err
	}
	defer x.Close()
	k := &checker{w: w, x: x, run: id, format: format, askDenies: ask == "deny"}
	k.finder = w.newFinder(format, x)
	code, err := k.all(c.Context, c.Args().Slice())
	if err != nil {
		return err
	}
	return end(code)
}

// checker judges calls and reports them as it goes.
type checker struct {
	w         *world
	x         *executor.Executor
	run       string
	format    string
	askDenies bool
	finder    *finder // nil when nobody wants findings

	single   bool           // one file or stdin: one call is one document
	held     *report.Result // the first call, until it is known whether another follows
	tally    report.Tally
	code     int
	progress progress
}

// all judges what the arguments name, in their order.
func (k *checker) all(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		args = []string{"-"}
	}
	files := k.list(args)
	k.progress = progress{w: k.w, began: k.w.now(), files: len(files)}
	for _, name := range files {
		if err := k.file(ctx, name); err != nil {
			return exitBroken, err
		}
		k.progress.step()
	}
	k.progress.clear()
	if err := k.finish(); err != nil {
		return exitBroken, err
	}
	k.finder.annotate()
	return k.code, nil
}

// finish writes what comes behind the last call.
func (k *checker) finish() error {
	switch {
	case k.finder.reports():
		return k.finder.report("runlens check")
	case k.held != nil && k.format == "input":
		return k.flush(report.Input([]report.Result{*k.held}, true))
	case k.held != nil:
		return k.flush(report.JSON([]report.Result{*k.held}, true))
	case k.format == "json" && k.tally.Total() == 0 && k.single:
		return nil // there is no call to report on: stderr says why
	case k.format == "json":
		return k.flush(report.JSONEnd(k.tally.Total() == 0), nil)
	case k.format == "text" && k.tally.Total() > 1:
		return k.w.print(k.tally.String() + "\n")
	}
	return nil
}

// list puts the files in place of the directories.
func (k *checker) list(args []string) (files []string) {
	k.single = len(args) == 1
	for _, arg := range args {
		got, err := callFiles(arg)
		switch {
		case err != nil:
			k.broken(err)
		case got.isDir && len(got.files) == 0:
			k.nothing(arg, "%s holds no calls: no *.json, *.jsonl or *.ndjson")
		}
		if got.over > 0 {
			more := ""
			if got.over > len(got.passed) {
				more = fmt.Sprintf(" and %d more", got.over-len(got.passed))
			}
			k.w.note("%s: %d passed over: %s%s", arg, got.over, strings.Join(got.passed, ", "), more)
		}
		k.single = k.single && !got.isDir
		files = append(files, got.files...)
	}
	return files
}

// file judges the calls of one file. The error is a report that could not be
// written; a file that can't be read is told and the next one is judged.
func (k *checker) file(ctx context.Context, name string) error {
	in, closeIn, err := k.w.openInput(name)
	if err != nil {
		k.broken(err)
		return nil
	}
	defer closeIn()
	n := 0
	for piece, err := range call.Pieces(in, 0) {
		n++
		var broken *call.Malformed
		if err != nil && !errors.As(err, &broken) {
			k.broken(&unread{name: name, cause: cause(err)})
			return nil
		}
		file := sourceName(name)
		source := file
		if n > 1 || isLines(name) {
			source = fmt.Sprintf("%s#%d", source, n)
		}
		if err := k.one(ctx, file, source, piece, broken); err != nil {
			return err
		}
	}
	if n == 0 {
		k.nothing(sourceName(name), "%s holds no call")
	}
	return nil
}

// one judges one call. tooLarge is set for a value that was not kept.
func (k *checker) one(ctx context.Context, file, source string, piece call.Piece, tooLarge *call.Malformed) error {
	var r report.Result
	if tooLarge != nil {
		r = report.Result{Source: source, Effect: engine.Deny, Reasons: []engine.Reason{
			engine.GoReason("malformed_call", tooLarge.Error(), "", nil),
		}}
	} else {
		out, err := k.x.Check(ctx, piece.Raw, k.run)
		if err != nil {
			return hinted("", "check %s: %w", source, err)
		}
		r = resultOf(source, out, k.format != "text" && !k.finder.reports())
	}
	r.Place = report.Place{File: file, Line: piece.Line, Column: piece.Column}
	k.finder.call(&r, piece, k.count(&r))
	return k.report(r)
}

// count takes a verdict into the exit code, and returns the code of it alone.
func (k *checker) count(r *report.Result) int {
	k.tally.Add(r.Effect)
	code := codeOf(r.Effect, r.Reasons[0].Code)
	if code == exitAsk && k.askDenies {
		code = exitDenied
	}
	if code == exitBroken {
		complain(k.w.stderr, fmt.Errorf("check %s: %s: %s", r.Source, r.Reasons[0].Code, r.Reasons[0].Message))
	}
	k.code = worse(k.code, code)
	return code
}

// report writes a result. In the formats that are one document for one call the
// first is held until it is known whether another follows.
func (k *checker) report(r report.Result) error {
	first := k.tally.Total() == 1
	if k.finder.reports() {
		return nil // the findings are one document
	}
	switch k.format {
	case "text":
		return k.flush(report.Text([]report.Result{r}), nil)
	case "jsonl":
		return k.flush(report.JSONL([]report.Result{r}))
	}
	if k.format == "input" && r.Input == nil {
		k.w.note("%s has no policy input: %s", r.Source, r.Reasons[0].Code)
	}
	if first && k.single {
		k.held = &r
		return nil
	}
	if held := k.held; held != nil {
		k.held = nil
		if err := k.next(held, true); err != nil {
			return err
		}
	}
	return k.next(&r, first)
}

// next writes a result as one of several.
func (k *checker) next(r *report.Result, first bool) error {
	if k.format == "input" {
		return k.flush(report.Input([]report.Result{*r}, false))
	}
	return k.flush(report.JSONElement(r, first))
}

func (k *checker) flush(data []byte, err error) error {
	if err != nil {
		return err
	}
	k.progress.clear()
	return k.w.write(data)
}

// broken tells of an input that can't be read, and goes on.
func (k *checker) broken(err error) {
	k.progress.clear()
	complain(k.w.stderr, err)
	k.finder.unread(err)
	k.code = worse(k.code, exitBroken)
}

// nothing tells of an argument in which there was nothing to judge.
func (k *checker) nothing(arg, format string) {
	k.progress.clear()
	k.w.note(format, arg)
	k.finder.nothing(arg, fmt.Sprintf(format, arg))
	k.code = worse(k.code, exitNothing)
}

// resultOf is an outcome as the reports show it. Encoding the input costs as
// much as judging it: only reports for programs have it and its digest.
func resultOf(source string, out *executor.Outcome, encoded bool) report.Result {
	r := report.Result{
		Source: source, CallID: out.CallID, Tool: out.Tool,
		Effect: out.Verdict.Effect, Reasons: out.Public(),
		Normalized: out.Normalized, MaxBytes: out.MaxBytes,
		PolicyRevision: out.PolicyRevision, Facts: out.Input,
	}
	if encoded {
		r.InputDigest, r.Input = out.InputDigest(), out.InputJSON()
	}
	return r
}

// codeOf is the exit code of one verdict. Trouble with policy or ledger is no
// denial of the call: it is a broken set-up, even though it denies.
func codeOf(effect engine.Effect, reason string) int {
	switch {
	case strings.HasPrefix(reason, "policy_"), strings.HasPrefix(reason, "ledger_"):
		return exitBroken
	case effect == engine.Allow:
		return exitAllowed
	case effect == engine.Ask:
		return exitAsk
	}
	return exitDenied
}

// sourceName is how a file is called in a report.
func sourceName(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}

// progress tells a person at a terminal how far a long job has come.
type progress struct {
	w            *world
	began, shown time.Time
	files, seen  int
	visible      bool
}

// progressAfter is how long a job may take before it is worth a line, and how
// often the line is renewed.
const progressAfter = 500 * time.Millisecond

func (p *progress) step() {
	p.seen++
	if !p.w.stderrTerminal || p.files < 2 {
		return
	}
	now := p.w.now()
	if now.Sub(p.began) < progressAfter || now.Sub(p.shown) < progressAfter {
		return
	}
	p.shown, p.visible = now, true
	fmt.Fprintf(p.w.stderr, "\rchecked %d of %d files\x1b[K", p.seen, p.files)
}

// clear takes the line away before something else is written.
func (p *progress) clear() {
	if p.visible {
		io.WriteString(p.w.stderr, "\r\x1b[K")
		p.visible = false
	}
}
