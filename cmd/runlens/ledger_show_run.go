package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/ledger"
)

// started writes what the run is held to.
func (t *timeline) started(ev *ledger.Event) bool {
	var p struct {
		Goal     string `json:"goal"`
		Policy   string `json:"policy_revision"`
		Manifest string `json:"manifest_revision"`
		Door     string `json:"door"`
		ReadOnly bool   `json:"read_only"`
		Skill    *struct {
			Name, Title string
		} `json:"skill"`
		Inputs []struct {
			Name string `json:"name"`
			artifactWords
		} `json:"inputs"`
		Plan *struct {
			Steps []stepName `json:"steps"`
		} `json:"plan"`
	}
	if json.Unmarshal(ev.Payload, &p) != nil || ev.Seq != 1 {
		return false
	}
	words := []string{"started"}
	if p.Door != "" {
		words[0] += " by " + p.Door
	}
	words = append(words, "policy "+short(p.Policy), "manifest "+short(p.Manifest))
	if p.ReadOnly {
		words = append(words, "read only")
	}
	var below []string
	if p.Goal != "" {
		below = append(below, "goal   "+p.Goal)
	}
	if p.Skill != nil && p.Skill.Name != "" {
		below = append(below, "skill  "+described(p.Skill.Name, p.Skill.Title))
	}
	for _, in := range p.Inputs {
		below = append(below, "input  "+in.Name+": "+in.in(t.run))
	}
	t.line(ev, strings.Join(words, ", "), below...)
	if p.Plan != nil && len(p.Plan.Steps) > 0 {
		t.steps = p.Plan.Steps
		t.write(section(fmt.Sprintf("step %s (1 of %d)", described(t.steps[0].ID, t.steps[0].Title), len(t.steps))))
	}
	t.write(fmt.Sprintf("%5s  %-8s  %s%s%s%s", "#", "time", pad("call", idWidth), pad("tool", toolWidth), pad("what", pointsWidth), "result"))
	return true
}

// described is a name with what it stands for.
func described(name, title string) string {
	if title == "" {
		return name
	}
	return name + ": " + title
}

// stepCompleted parts the timeline where a step of the plan ends.
func (t *timeline) stepCompleted(ev *ledger.Event) bool {
	var p struct {
		Step      string          `json:"step"`
		Artifacts []artifactWords `json:"artifacts"`
	}
	if json.Unmarshal(ev.Payload, &p) != nil || p.Step == "" {
		return false
	}
	text := "step " + p.Step + " complete"
	at := slices.IndexFunc(t.steps, func(s stepName) bool { return s.ID == p.Step })
	if at >= 0 {
		text += fmt.Sprintf(" (%d of %d)", at+1, len(t.steps))
	}
	lines := []string{section(text)}
	for _, a := range p.Artifacts {
		lines = append(lines, belowAt+"has    "+a.in(t.run))
	}
	if at >= 0 && at+1 < len(t.steps) {
		lines = append(lines, section("next: "+described(t.steps[at+1].ID, t.steps[at+1].Title)))
	}
	t.write(lines...)
	return true
}

// answered writes what a person has approved or refused.
func (t *timeline) answered(ev *ledger.Event) bool {
	var p struct {
		Kind    string `json:"kind"`
		Call    int64  `json:"call"`
		Tool    string `json:"tool"`
		By      string `json:"by"`
		Expires string `json:"expires"`
		Times   int64  `json:"times"`
		Signed  bool   `json:"signed"`
		Note    string `json:"note"`
		After   string `json:"after"`
		Objects []struct {
			Path string `json:"path"`
		} `json:"objects"`
	}
	if json.Unmarshal(ev.Payload, &p) != nil || p.By == "" {
		return false
	}
	var paths []string
	for _, o := range p.Objects {
		path := o.Path
		if below, ok := strings.CutPrefix(path, t.project+"/"); ok && t.project != "" {
			path = below
		}
		if path = oneWord(inRun(t.run, path), maxPath); o.Path != "" && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	signed := "unsigned"
	if p.Signed {
		signed = "marked signed"
	}
	what := strings.TrimSpace(p.Tool + " " + strings.Join(paths, ", "))
	switch {
	case ev.Type == ledger.ApprovalGranted && p.After != ev.Prev:
		t.line(ev, fmt.Sprintf("a copy of what %s said, in another place: it counts for nothing", p.By))
	case ev.Type == ledger.ApprovalRefused:
		t.line(ev, fmt.Sprintf("%s refused call %d: %s, %s", p.By, p.Call, what, signed))
	case p.Kind == "budget":
		t.line(ev, fmt.Sprintf("%s reset the budget of refused calls, %s", p.By, signed))
	default:
		t.line(ev, fmt.Sprintf("%s approved call %d: %s", p.By, p.Call, what),
			fmt.Sprintf("%s until %s, %s", count(p.Times, "use"), p.Expires, signed))
	}
	return true
}

// told writes what is in an event of the ledger's own, or in a note.
func (t *timeline) told(ev *ledger.Event) bool {
	if !json.Valid(ev.Payload) {
		return false
	}
	word := "note"
	if ev.Type == ledger.LedgerRecovered {
		word = "recovered"
	}
	var late struct {
		Artifacts []artifactWords `json:"artifacts"`
		Removed   []string        `json:"removed"`
	}
	var below []string
	if json.Unmarshal(ev.Payload, &late) == nil {
		for _, a := range late.Artifacts {
			below = append(below, "wrote "+a.in(t.run))
		}
		for _, name := range late.Removed {
			below = append(below, "removed "+inRun(t.run, name))
		}
	}
	t.line(ev, word+"  "+cutText(story(ev), maxNoteShown), below...)
	return true
}

// maxNoteShown bounds, in bytes, what is shown of a note.
const maxNoteShown = 2000

// stopped writes the run's summary.
func (t *timeline) stopped(ev *ledger.Event) bool {
	var p struct {
		Status    string           `json:"status"`
		Cause     string           `json:"cause"`
		Calls     int64            `json:"calls"`
		Verdicts  map[string]int64 `json:"verdicts"`
		Codes     map[string]int64 `json:"codes"`
		Failures  map[string]int64 `json:"failures"`
		Truncated int64            `json:"truncated"`
		Unknown   int64            `json:"unknown"`
		Steps     []string         `json:"steps"`
		Artifacts []artifactWords  `json:"artifacts"`
		Millis    int64            `json:"duration_ms"`
		Reasons   []struct{ Code, Message, Path, Step string }
	}
	if json.Unmarshal(ev.Payload, &p) != nil || p.Status == "" {
		return false
	}
	var below []string
	add := func(name, text string) {
		if text != "" {
			below = append(below, fmt.Sprintf("%-10s %s", name, text))
		}
	}
	for _, r := range p.Reasons {
		add("reason", r.Code+": "+cutText(r.Message, maxNoteShown))
	}
	add("calls", strings.TrimSuffix(commas(p.Calls)+": "+tally(p.Verdicts), ": "))
	add("codes", tally(p.Codes))
	add("failures", tally(p.Failures))
	if p.Truncated > 0 {
		add("truncated", commas(p.Truncated))
	}
	if p.Unknown > 0 {
		add("no end", commas(p.Unknown))
	}
	add("steps", strings.Join(p.Steps, ", "))
	for _, a := range p.Artifacts {
		add("artifact", a.in(t.run))
	}
	t.write(section("run " + p.Status))
	t.line(ev, fmt.Sprintf("%s, after %s", p.Cause, time.Duration(p.Millis)*time.Millisecond), below...)
	return true
}

// byCount are the names in counts that count something, the largest first.
func byCount(counts map[string]int64) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(n string) bool { return counts[n] == 0 })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return names
}
