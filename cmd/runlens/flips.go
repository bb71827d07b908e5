package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/replay"
	"github.com/runlens/runlens/internal/report"
)

// failOnFlag says which flips are failures.
func failOnFlag() cli.Flag {
	return &cli.StringFlag{Name: "fail-on", Value: "loosened", Usage: "`WHICH` flips are exit code 1: loosened (a call may do more), any, or none"}
}

// failOn reads failOnFlag.
func failOn(c *cli.Context) (report.FailOn, error) {
	word, err := oneOf(c, "fail-on", "loosened", "any", "none")
	switch word {
	case "any":
		return report.FailOnAny, err
	case "none":
		return report.FailOnNone, err
	}
	return report.FailOnLoosened, err
}

// percent reads a flag that is a number from 0 to 100.
func percent(c *cli.Context, flag string) (float64, error) {
	text := c.String(flag)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 100) { // NaN is neither
		return 0, hinted("a number from 0 to 100, such as 0.5", "read arguments: --%s: %s is no percentage", flag, quoted(text))
	}
	return n, nil
}

// flipsCode is the exit code of a comparison. It says what is wrong with the
// set-up on stderr.
func (w *world) flipsCode(f *report.Flips) int {
	code := exitAllowed
	for _, b := range f.Broken {
		complain(w.stderr, b.Err)
		code = exitBroken
	}
	for _, word := range slices.Sorted(maps.Keys(f.Trouble)) {
		e := f.Trouble[word]
		complain(w.stderr, fmt.Errorf("judge %s:%d by %s: %s in %d verdicts: %s", e.File, e.Line, f.New.Name, word, e.Count, e.Note))
		code = exitBroken
	}
	if f.Failed() {
		code = worse(code, exitDenied)
	}
	if f.Over() {
		w.note("more than %s %% of the verdicts could not be judged again (--max-unreplayable)", strconv.FormatFloat(f.Limit, 'f', -1, 64))
		code = worse(code, exitRecord)
	}
	if f.Judged() == 0 {
		w.note("nothing was judged")
		code = worse(code, exitNothing)
	}
	return code
}

// flipsFormatFlag is the format of a comparison.
func flipsFormatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the report: text, json (one object), jsonl (one line a flip, the summary last), junit, sarif or github"}
}

func flipsFormat(c *cli.Context) (string, error) {
	return oneOf(c, "format", "text", "json", "jsonl", "junit", "sarif", "github")
}

// flipsWriter writes the report on a comparison. Flips in lines are written as
// they come, all else at the end: whoever reads half a report must see it.
type flipsWriter struct {
	w      *world
	format string

	mu       sync.Mutex
	progress meter
}

// replay is replay.Run with flips written as they come and progress shown. When
// somebody ends it, or the report can't be written, it is an error.
func (o *flipsWriter) replay(ctx context.Context, dirs []string, opt replay.Options) (*replay.Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.progress = meter{w: o.w, began: o.w.now()}
	opt.Progress = func(done, total int64) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.progress.show(done, total)
	}
	if o.format == "jsonl" {
		opt.Flip = func(f replay.Flip) {
			if err := o.flip(&f); err != nil {
				cancel(err)
			}
		}
	}
	sum, err := replay.Run(ctx, dirs, opt)
	o.progress.clear()
	switch cause := context.Cause(ctx); {
	case err == nil && cause == nil:
		return sum, nil
	case cause != nil && !errors.Is(cause, context.Canceled):
		return nil, cause
	case cause != nil:
		return nil, hinted("", "replay runs: ended before all was judged; nothing follows from what was")
	}
	return nil, hinted("", "%w", err)
}

// flip writes one flip as a line.
func (o *flipsWriter) flip(f *replay.Flip) error {
	line, err := report.FlipJSONL(f)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.progress.clear()
	return o.w.write(line)
}

// finish writes the report, or what is left of it.
func (o *flipsWriter) finish(f *report.Flips) error {
	if o.format == "github" {
		return o.w.writeCommands(report.GitHub(f.Findings()))
	}
	var data []byte
	var err error
	switch o.format {
	case "json":
		data, err = report.FlipsJSON(f)
	case "jsonl":
		data, err = report.FlipsJSONLEnd(f)
	case "junit":
		data, err = report.JUnit("runlens "+f.Name, f.Findings())
	case "sarif":
		data, err = report.SARIF(f.Findings(), readBuild().version)
	default:
		data = report.FlipsText(f)
	}
	if err != nil {
		return err
	}
	o.w.annotate(f.Findings())
	return o.w.write(data)
}

// meter tells a person at a terminal how far a replay has come.
type meter struct {
	w            *world
	began, shown time.Time
	visible      bool
}

func (m *meter) show(done, total int64) {
	if !m.w.stderrTerminal || total <= 0 {
		return
	}
	now := m.w.now()
	if now.Sub(m.began) < progressAfter || now.Sub(m.shown) < progressAfter {
		return
	}
	m.shown, m.visible = now, true
	fmt.Fprintf(m.w.stderr, "\rjudged %d %% of %.1f MiB\x1b[K", 100*done/total, float64(total)/(1<<20))
}

// clear takes the line away before something else is written.
func (m *meter) clear() {
	if m.visible {
		io.WriteString(m.w.stderr, "\r\x1b[K")
		m.visible = false
	}
}
