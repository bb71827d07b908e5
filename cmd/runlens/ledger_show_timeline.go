package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/report"
)

// showTimeline writes a run for people: one line a call, in the order of the
// proposals, and between them what else happened. Every event is in it, in the
// line of its call or in one of its own; one that can't be read is written as it
// is. Reading holds the calls that are open, and the lines behind the oldest of
// them up to maxHeld, so that the length of a run does not matter.
func showTimeline(out io.Writer, dir string) error {
	t := &timeline{out: out, open: map[int64]*callLine{}}
	for ev, err := range ledger.Read(dir) {
		if err != nil {
			t.flush(0)
			return err
		}
		t.add(ev)
	}
	t.flush(0)
	return nil
}

// maxHeld bounds the entries that wait for a call to end.
const maxHeld = 256

// timeline turns events into lines.
type timeline struct {
	out     io.Writer
	run     string
	day     string
	project string              // its directory, once a verdict has told
	held    []entry             // not yet written, by the event that each begins with
	open    map[int64]*callLine // calls without an end, by the seqs of proposal, verdict and start

	steps []stepName // of the plan
	asked *callLine  // its verdict was the last event, so the request for an approval may follow
}

// entry is a call, or lines that will not change.
type entry struct {
	text string
	call *callLine // nil: text
}

// stepName is what the timeline tells of a plan's step.
type stepName struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// add takes the next event in.
func (t *timeline) add(ev *ledger.Event) {
	t.heading(ev)
	asked := t.asked
	t.asked = nil
	var understood bool
	switch ev.Type {
	case ledger.RunStarted:
		understood = t.started(ev)
	case ledger.ModelProposed:
		understood = t.proposed(ev)
	case ledger.ToolAllowed, ledger.ToolDenied, ledger.ToolBlocked:
		understood = t.judged(ev)
	case ledger.ToolStarted:
		understood = t.toolStarted(ev)
	case ledger.ToolSucceeded, ledger.ToolFailed, ledger.ToolUnknown:
		understood = t.toolEnded(ev)
	case ledger.PlanStepCompleted:
		understood = t.stepCompleted(ev)
	case ledger.ApprovalRequested:
		understood = t.requested(ev)
	case ledger.ApprovalUsed:
		understood = t.used(ev)
	case ledger.ApprovalGranted, ledger.ApprovalRefused:
		understood = t.answered(ev)
	case ledger.RunStopped:
		understood = t.stopped(ev)
	case ledger.Note, ledger.LedgerRecovered:
		understood = t.told(ev)
	}
	if !understood {
		t.line(ev, ev.Type+"  "+cutText(string(ev.Payload), maxRaw))
	}
	if asked != nil {
		t.close(asked)
	}
	t.flush(maxHeld)
}

// maxRaw bounds, in bytes, a payload that is shown as it is.
const maxRaw = 1000

// heading names the run, and the day when it is another one.
func (t *timeline) heading(ev *ledger.Event) {
	day, _, _ := strings.Cut(ev.TS, "T")
	switch {
	case t.run == "":
		t.run, t.day = ev.RunID, day
		t.write(fmt.Sprintf("run %s, %s UTC", ev.RunID, day))
	case t.day != day && !t.joins(ev):
		t.day = day
		t.write(section(day))
	}
}

// joins tells whether an event belongs into the line of an open call.
func (t *timeline) joins(ev *ledger.Event) bool {
	switch ev.Type {
	case ledger.ToolAllowed, ledger.ToolDenied, ledger.ToolBlocked, ledger.ToolStarted,
		ledger.ToolSucceeded, ledger.ToolFailed, ledger.ToolUnknown, ledger.ApprovalRequested, ledger.ApprovalUsed:
		proposal, verdict, started := refs(ev)
		return t.open[proposal] != nil || t.open[verdict] != nil || t.open[started] != nil
	}
	return false
}

// refs are the earlier events that an event of a call names.
func refs(ev *ledger.Event) (proposal, verdict, started int64) {
	var p struct {
		Proposal int64 `json:"proposal"`
		Verdict  int64 `json:"verdict_seq"`
		Started  int64 `json:"started_seq"`
	}
	if json.Unmarshal(ev.Payload, &p) != nil {
		return 0, 0, 0
	}
	return p.Proposal, p.Verdict, p.Started
}

// Every line begins with the number and the time of its event; what does not
// fit stands below, from belowAt on.
const (
	lineWidth = 114
	belowAt   = "                           "
)

// line holds an event's own line, and lines that belong below it.
func (t *timeline) line(ev *ledger.Event, text string, below ...string) {
	lines := []string{eventHead(ev) + text}
	for _, b := range below {
		lines = append(lines, belowAt+b)
	}
	t.write(lines...)
}

func eventHead(ev *ledger.Event) string { return fmt.Sprintf("%5d  %s  ", ev.Seq, clock(ev)) }

// clock is the time of day of an event.
func clock(ev *ledger.Event) string {
	_, at, _ := strings.Cut(ev.TS, "T")
	return at[:min(len(at), 8)]
}

// section is a line that parts the timeline.
func section(text string) string { return "── " + text + " ──" }

// write holds lines as they are.
func (t *timeline) write(lines ...string) {
	t.held = append(t.held, entry{text: joinLines(lines)})
}

// joinLines makes lines safe to print; nothing but what is printed comes in.
func joinLines(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(report.Escape(strings.TrimRight(l, " ")) + "\n")
	}
	return b.String()
}

// flush writes the entries that will not change. A call that is open holds up
// those behind it as long as there are no more than most; then it is written as
// it stands, and what comes of it gets a line of its own.
func (t *timeline) flush(most int) {
	n := 0
	for n < len(t.held) {
		e := t.held[n]
		if e.call != nil && !e.call.closed && len(t.held)-n <= most {
			break
		}
		if e.call != nil {
			t.close(e.call)
			e.text = joinLines(e.call.lines())
		}
		// A result that could not be written shows when the caller flushes.
		_, _ = io.WriteString(t.out, e.text)
		n++
	}
	t.held = slices.Delete(t.held, 0, n)
}

// close forgets a call: nothing more is joined to it.
func (t *timeline) close(c *callLine) {
	c.closed = true
	for _, seq := range c.seqs {
		delete(t.open, seq)
	}
}

// cutText is text of at most n bytes, marked when it was longer.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + fmt.Sprintf("… (%d bytes)", len(text))
}
