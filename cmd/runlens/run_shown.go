package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
)

// seen takes note of an answer.
func (d *driven) seen(r *executor.ToolResult, took time.Duration, answered bool) {
	d.shown.line(r, took, answered)
	if d.broken == nil && codeOf(engine.Deny, r.Reason) == exitBroken {
		d.broken = fmt.Errorf("run: %s: %s", r.Reason, r.ErrorMessage)
	}
}

// seenAndTold is seen where no caller waits for the answers.
func (d *driven) seenAndTold(r *executor.ToolResult, took time.Duration, answered bool) {
	d.seen(r, took, answered)
	_ = d.out(r) // an error ends the run
}

// progressLines tell a person at a terminal what each call came to, one line each:
//
//	3  extract       extract_evidence      data/feedback.csv             12ms  allowed
//
// What is too long for its column is cut.
type progressLines struct {
	w     *world
	calls int
}

func (p *progressLines) line(r *executor.ToolResult, took time.Duration, answered bool) {
	p.calls++
	if !p.w.stderrTerminal {
		return
	}
	step, tool, target := "-", "?", "-"
	if r.Plan != nil {
		// The step that the call was made in.
		switch {
		case len(r.Plan.Completed) > 0:
			step = r.Plan.Completed[0]
		case r.Plan.Step != "":
			step = r.Plan.Step
		}
	}
	if r.ToolName != "" {
		tool = r.ToolName
	}
	if words := targetWords(r, 26); words != "" {
		target = words
	}
	when, outcome := took.Round(time.Millisecond).String(), outcomeWords(r)
	if answered {
		when, outcome = "-", outcome+", answered before"
	}
	fmt.Fprintf(p.w.stderr, "%4d  %s%s%s%8s  %s\n", p.calls,
		pad(cutHead(step, 12), 12), pad(cutHead(tool, 20), 20), pad(target, 26), when, outcome)
}

// targetWords are what a call points at first, as it was asked for: a path, else
// a command, cut to most characters; "" when it points at nothing, or nothing is known of it.
func targetWords(r *executor.ToolResult, most int) string {
	if r.Outcome == nil || r.Outcome.Input == nil {
		return ""
	}
	if in := r.Outcome.Input; len(in.Targets) > 0 {
		return cutTail(inRun(r.RunID, in.Targets[0].Requested), most)
	} else if in.Command.Present {
		return cutHead(argvWords(in.Command.Argv), most)
	}
	return ""
}

// cutHead is the head of a word that most come from a model, at most most
// characters long and safe to print.
func cutHead(word string, most int) string {
	runes := []rune(printable(word))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// cutTail is cutHead for a path, of which the end says more.
func cutTail(word string, most int) string {
	runes := []rune(printable(word))
	if len(runes) > most {
		return "…" + string(runes[len(runes)-most+1:])
	}
	return string(runes)
}

// outcomeWords tell what a call came to.
func outcomeWords(r *executor.ToolResult) string {
	if r.Status == executor.StatusSuccess {
		return "allowed"
	}
	return printable(r.Status + " " + r.Reason)
}

// vouched says that a run's end is checked against something.
func vouched(t *executor.Task) bool {
	return t.Skill != nil && (t.Skill.Plan != nil || len(t.Skill.Artifacts) > 0)
}

// summary tells a person how a run ended:
//
//	run r1 failed: 6 calls, 4 allowed, 2 denied; ended by input_ended
//	refused: outside_roots 2
//	steps: read, extract
//	artifact: runs/r1/artifacts/summary.json (1204 bytes)
//	failed: plan_incomplete: step report (3 of 3) is not complete
func summary(out io.Writer, id string, s *executor.Summary) {
	parts := []string{fmt.Sprintf("run %s %s: %s", id, s.Status, counted(s.Calls, "call"))}
	for _, v := range []struct{ verdict, word string }{{"allow", "allowed"}, {"deny", "denied"}, {"block", "blocked"}, {"ask", "asked"}} {
		if n := s.Verdicts[v.verdict]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v.word))
		}
	}
	fmt.Fprintf(out, "%s; %s\n", strings.Join(parts, ", "), printable(strings.ReplaceAll(s.Cause, "_", " ")))
	for _, list := range []struct {
		word   string
		counts map[string]int64
	}{{"refused", s.Codes}, {"tools that failed", s.Failures}} {
		if len(list.counts) > 0 {
			fmt.Fprintf(out, "%s: %s\n", list.word, printable(countsOf(list.counts)))
		}
	}
	if s.Truncated > 0 {
		fmt.Fprintf(out, "cut: %s\n", counted(s.Truncated, "result"))
	}
	if s.Unknown > 0 {
		fmt.Fprintf(out, "unknown: %s began and nobody knows how it ended\n", counted(s.Unknown, "call"))
	}
	if len(s.Steps) > 0 {
		fmt.Fprintf(out, "steps: %s\n", printable(strings.Join(s.Steps, ", ")))
	}
	for i, a := range s.Artifacts {
		if i == maxListed {
			fmt.Fprintf(out, "artifact: … and %d more\n", len(s.Artifacts)-i)
			break
		}
		fmt.Fprintf(out, "artifact: %s (%s)\n", printable(a.Path), counted(a.Bytes, "byte"))
	}
	for _, r := range s.Reasons {
		fmt.Fprintf(out, "failed: %s: %s\n", r.Code, printable(r.Message))
	}
}

// maxListed is how many artifacts a person is told; the ledger has them all.
const maxListed = 20

// countsOf lists counts by name.
func countsOf(counts map[string]int64) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(words, ", ")
}

func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
