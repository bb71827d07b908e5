package report

import (
	"fmt"
	"strings"

	"github.com/runlens/runlens/internal/replay"
)

// Flips is what came of judging the same inputs by two policies: what replay and
// policy diff report. Its texts may hold what a model wrote; the formats escape.
//
// It counts as the same only what was judged by both, and claims nothing about
// inputs that were not.
type Flips struct {
	Name       string    // of the command
	Old        []Side    // where the verdicts before come from
	New        Side      // what judges now
	Covered    []Covered // where the inputs come from
	Groups     *replay.Groups
	Mismatches *replay.Groups             // verdicts that don't come out as recorded under the same policy; nil: none
	Unjudged   []Unjudged                 // what could not be judged, by cause, in the order of reports
	Limit      float64                    // percent of the inputs that may be unjudged
	FailOn     FailOn                     // which flips are failures
	Apart      map[string]int             // by code: refusals that no policy made
	Trouble    map[string]*replay.Example // by policy_* code: verdicts in which the new policy itself failed
	Broken     []replay.Broken            // what could not be read, or no further
	Torn       []string                   // runs whose last line is not whole
	Notes      []string                   // what else a reader must know before the flips, a line each
}

// Side is one policy of a comparison.
type Side struct {
	Name     string // how it was named: "policies", "embedded", "recorded"
	Revision string
	Known    bool // it was at hand
	Inputs   int  // that it has judged in a record; 0 when there is no record of it
	Judged   int  // of them, those that it judged again
	Same     int  // of those, the ones that came out as recorded
}

// Covered is one kind of input that was judged, and how much of it.
type Covered struct {
	What   string  // "recorded runs", "golden cases", "generated calls"
	Counts []Count // of what it consists
	Inputs int     // found, those that could not be judged too
	Judged int     // by both sides
	Same   int     // of them, those with the same verdict, codes and limit
	Notes  []string
}

// Count is a number of things, named in the plural.
type Count struct {
	Name string
	N    int
}

// Unjudged is one cause for which inputs could not be judged.
type Unjudged struct {
	Cause   string // one word, for programs
	Meaning string // one line
	Example *replay.Example
}

// UnjudgedOf lists the causes of a replay that came up, with what they mean.
func UnjudgedOf(causes map[replay.Cause]*replay.Example) []Unjudged {
	var list []Unjudged
	for _, cause := range replay.AllCauses() {
		if e := causes[cause]; e != nil && e.Count > 0 {
			list = append(list, Unjudged{Cause: string(cause), Meaning: meaningOf(cause), Example: e})
		}
	}
	return list
}

func meaningOf(cause replay.Cause) string {
	switch cause {
	case replay.Incomplete:
		return "the input is not one of this version: it lacks a field, or has one more"
	case replay.Altered:
		return "the input is not the one that its digest names"
	case replay.Unreadable:
		return "the event is not one that RunLens writes"
	case replay.TimedOut:
		return "the clock decided, and nobody can record that"
	case replay.Mismatch:
		return "its own policy decides otherwise now: the record is not whole, or the program judges differently"
	case replay.Unasked:
		return "the policy that judges asks for facts that were not looked for: other names below folders, other secrets or lengths of texts"
	case replay.Targets:
		return "these manifests change what the call points at or what is looked for, and nobody has looked"
	case replay.Skill:
		return "these manifests do not have the run's skill"
	}
	return "unknown to this report"
}

// FailOn says which flips are failures. The zero FailOn counts those that loosen.
type FailOn uint8

// What can be counted as a failure.
const (
	FailOnLoosened FailOn = iota
	FailOnAny
	FailOnNone
)

// Counts tells whether a flip of class c is a failure.
func (f FailOn) Counts(c replay.Class) bool {
	switch f {
	case FailOnNone:
		return false
	case FailOnAny:
		return c != replay.Same
	}
	return c.Loosened()
}

// Failed tells whether a flip is a failure by FailOn.
func (f *Flips) Failed() bool {
	for class := range f.groups().Counts() {
		if f.FailOn.Counts(class) {
			return true
		}
	}
	return false
}

// Over tells whether more inputs than the limit could not be judged.
func (f *Flips) Over() bool {
	n := f.unjudged()
	return n > 0 && float64(n)*100 > f.Limit*float64(f.Judged()+n)
}

// Judged is the number of inputs that both sides judged.
func (f *Flips) Judged() int {
	n := 0
	for _, c := range f.Covered {
		n += c.Judged
	}
	return n
}

// Summary is the outcome in one line.
func (f *Flips) Summary() string {
	same, flips := 0, 0
	for _, c := range f.Covered {
		same += c.Same
	}
	for _, n := range f.groups().Counts() {
		flips += n
	}
	unjudged := f.unjudged()
	words := []string{fmt.Sprintf("%s: %s judged, %s the same, %s, %s loosened",
		counted(f.Judged()+unjudged, "inputs"), number(f.Judged()), number(same), counted(flips, "flips"), number(f.groups().Loosened()))}
	for _, more := range []struct {
		n    int
		what string
	}{{unjudged, "not judged"}, {f.apart(), "refused without policy"}, {len(f.Torn), "torn"}, {len(f.Broken), "not readable"}} {
		if more.n > 0 {
			words = append(words, number(more.n)+" "+more.what)
		}
	}
	return strings.Join(words, "; ")
}

func (f *Flips) unjudged() int {
	n := 0
	for _, u := range f.Unjudged {
		n += u.Example.Count
	}
	return n
}

func (f *Flips) apart() int {
	n := 0
	for _, count := range f.Apart {
		n += count
	}
	return n
}

func (f *Flips) groups() *replay.Groups {
	if f.Groups == nil {
		return &replay.Groups{}
	}
	return f.Groups
}

func (f *Flips) mismatches() *replay.Groups {
	if f.Mismatches == nil {
		return &replay.Groups{}
	}
	return f.Mismatches
}

// classWords is a class for people.
func classWords(c replay.Class) string {
	switch c {
	case replay.DenyToAllow:
		return "deny → allow"
	case replay.AskToAllow:
		return "ask → allow"
	case replay.DenyToAsk:
		return "deny → ask"
	case replay.GrantWidened:
		return "larger limit"
	case replay.AllowToDeny:
		return "allow → deny"
	case replay.AllowToAsk:
		return "allow → ask"
	case replay.AskToDeny:
		return "ask → deny"
	case replay.GrantNarrowed:
		return "smaller limit"
	case replay.CodesChanged:
		return "other codes"
	}
	return c.String()
}

// verdictWords is a verdict for people: the effect and the codes that say more.
func verdictWords(v replay.Verdict) string {
	codes := strings.Join(v.Codes, ", ")
	if codes == "" || codes == "allowed" {
		return v.Effect.String()
	}
	return v.Effect.String() + " " + codes
}

// change is what became of the verdict of a group, for people.
func change(g *replay.Group) string {
	old, now := verdictWords(g.Old), verdictWords(g.New)
	if g.Class == replay.GrantWidened || g.Class == replay.GrantNarrowed {
		old, now = old+" "+limitWords(g.Old.MaxBytes), now+" "+limitWords(g.New.MaxBytes)
	}
	return old + " → " + now
}

func limitWords(n int64) string {
	if n == 0 {
		return "without a limit"
	}
	return "up to " + thousands(n) + " bytes"
}

// toolWords is the tool of a group, or why it has none.
func toolWords(g *replay.Group) string {
	switch {
	case g.Others:
		return "(all others)"
	case g.Tool == "":
		return "(undeclared)"
	}
	return g.Tool
}

func number(n int) string { return thousands(int64(n)) }

// counted is a number of things, named in the plural.
func counted(n int, things string) string {
	if n == 1 {
		if word, ok := strings.CutSuffix(things, "sses"); ok {
			return "1 " + word + "ss"
		}
		things = strings.TrimSuffix(things, "s")
	}
	return number(n) + " " + things
}
