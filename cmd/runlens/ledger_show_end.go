package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/ledger"
)

// artifactWords is a file that a run has made.
type artifactWords struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

func (a artifactWords) in(run string) string {
	return fmt.Sprintf("%s  %s B %s", inRun(run, a.Path), commas(a.Bytes), short(a.Digest))
}

// toolStarted joins a start to its call.
func (t *timeline) toolStarted(ev *ledger.Event) bool {
	_, verdict, _ := refs(ev)
	c := t.open[verdict]
	if c == nil {
		return t.alone(ev)
	}
	t.join(c, ev)
	c.state = "started, no end so far"
	return true
}

// toolEnded joins the end of a tool to its call.
func (t *timeline) toolEnded(ev *ledger.Event) bool {
	var p struct {
		Started   int64           `json:"started_seq"`
		ErrorCode string          `json:"error_code"`
		Message   string          `json:"message"`
		Bytes     int64           `json:"output_bytes"`
		Micros    int64           `json:"duration_us"`
		Truncated bool            `json:"truncated"`
		Told      int64           `json:"observation_bytes"`
		Cut       bool            `json:"observation_cut"`
		Artifacts []artifactWords `json:"artifacts"`
		Facts     struct {
			Exit *int64 `json:"exit_code"`
		} `json:"facts"`
	}
	if json.Unmarshal(ev.Payload, &p) != nil {
		return false
	}
	c := t.open[p.Started]
	if c == nil {
		return t.alone(ev)
	}
	defer t.close(c)
	switch ev.Type {
	case ledger.ToolUnknown:
		c.say("", "no end: it may have happened")
		return true
	case ledger.ToolFailed:
		c.say("", "failed %s %s", p.ErrorCode, took(p.Micros))
		if p.Message != "" {
			c.below = append(c.below, cutText(p.Message, foreignCut))
		}
	default:
		result := c.result(t.run, p.Bytes, p.Artifacts)
		if p.Facts.Exit != nil {
			result = fmt.Sprintf("exit %d, %s", *p.Facts.Exit, result)
		}
		c.say("", "%s %s", result, took(p.Micros))
	}
	if p.Truncated {
		c.say("", "truncated")
	}
	if p.Cut {
		c.say("", "%s B of it told", commas(p.Told))
	}
	return true
}

// result is what a tool has made: the one file that the call points at, or the
// size of its output, with the files below.
func (c *callLine) result(run string, output int64, made []artifactWords) string {
	if len(made) == 1 && inRun(run, made[0].Path) == c.points {
		return fmt.Sprintf("wrote %s B %s", commas(made[0].Bytes), short(made[0].Digest))
	}
	for _, a := range made {
		c.below = append(c.below, "wrote "+a.in(run))
	}
	return fmt.Sprintf("gave %s B", commas(output))
}

// alone writes an event of a call whose line is written already, or that names
// none.
func (t *timeline) alone(ev *ledger.Event) bool {
	t.line(ev, ev.Type+"  "+story(ev))
	return true
}

// requested joins the request for an approval to the call that asks.
func (t *timeline) requested(ev *ledger.Event) bool {
	_, verdict, _ := refs(ev)
	c := t.open[verdict]
	if c == nil {
		return t.alone(ev)
	}
	c.state = ""
	return true
}

// used joins the use of an approval to the call that it allows.
func (t *timeline) used(ev *ledger.Event) bool {
	var p struct {
		Approval  int64 `json:"approval"`
		Verdict   int64 `json:"verdict_seq"`
		Remaining int64 `json:"remaining"`
	}
	if json.Unmarshal(ev.Payload, &p) != nil {
		return false
	}
	words := fmt.Sprintf("by approval %d, %s left", p.Approval, count(p.Remaining, "use"))
	if c := t.open[p.Verdict]; c != nil {
		c.said = append(c.said, words)
		return true
	}
	t.line(ev, fmt.Sprintf("verdict %d %s", p.Verdict, words))
	return true
}

// took is how long a tool ran.
func took(us int64) string {
	if us < 10_000_000 {
		return millis(us)
	}
	return fmt.Sprintf("%.1f s", float64(us)/1e6)
}

// count is a number of things: "1 use", "3 uses".
func count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return commas(n) + " " + thing
}

// commas is n with thousands parted.
func commas(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// tally is a count by name, the largest first: "allowed 9, not_found 2".
func tally(counts map[string]int64) string {
	names := byCount(counts)
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %s", n, commas(counts[n]))
	}
	return strings.Join(names, ", ")
}
