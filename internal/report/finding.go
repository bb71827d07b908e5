package report

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/engine"
)

// Status is how a Finding came out. The zero Status is a failure.
type Status uint8

// Statuses.
const (
	Fail   Status = iota // denied or blocked, an expectation not met, a verdict loosened
	Ask                  // a person's approval is missing
	Broken               // the set-up is at fault: policy or ledger trouble, an input that can't be read
	Pass
	Skip // not done, and Message says why
)

func (s Status) String() string {
	switch s {
	case Pass:
		return "pass"
	case Skip:
		return "skip"
	case Ask:
		return "ask"
	case Broken:
		return "error"
	default:
		return "fail"
	}
}

// Finding is one thing that was looked at, as the formats of CI show it: junit,
// sarif and github. Its texts may hold what a model wrote; the formats escape.
type Finding struct {
	Suite   string // what it belongs to: the file of calls, the golden case, the Rego test file, the run
	Name    string // within the suite
	Status  Status
	Code    string // reason code of a verdict, or a word of its own such as "expectation"; "" on a pass
	Message string // one line
	Detail  string // more lines; "" when Message says it all
	Place   Place  // of the call, the case's row, the test or the recorded event
	Rule    Place  // of the rule behind Code; zero when there is none
	Title   string // what Code means, for people; "" when unknown
	Remedy  string
	Took    time.Duration // 0 when not measured
}

// Place is a place in a file. Line and Column count from 1, 0 is unknown.
type Place struct {
	File   string // as a person would type it from the current directory; "" for none
	Line   int
	Column int // in characters
}

// Stdin is the File of what came from standard input.
const Stdin = "stdin"

// code is Code, or a word for a finding that has none.
func (f *Finding) code() string {
	switch {
	case f.Code != "":
		return f.Code
	case f.Status == Broken:
		return "broken"
	case f.Status == Ask:
		return "ask"
	}
	return "failed"
}

// lines is what a finding says, for people.
func (f *Finding) lines() []string {
	lines := []string{cmp.Or(f.Message, f.code())}
	if f.Detail != "" {
		lines = append(lines, strings.Split(strings.TrimRight(f.Detail, "\n"), "\n")...)
	}
	if f.Remedy != "" {
		lines = append(lines, "fix: "+f.Remedy)
	}
	if f.Rule.File != "" {
		lines = append(lines, "rule: "+f.Rule.String())
	}
	return lines
}

// String is the place as people write it: file:line:column, as far as known.
func (p Place) String() string {
	text := p.File
	for _, n := range []int{p.Line, p.Column} {
		if n <= 0 {
			break
		}
		text += ":" + strconv.Itoa(n)
	}
	return text
}

// levelOf is how loud a finding is: error, warning or "" for not at all.
func levelOf(s Status) string {
	switch s {
	case Fail, Broken:
		return "error"
	case Ask:
		return "warning"
	}
	return ""
}

// FindingOf is a judged call as a finding.
func FindingOf(r *Result) Finding {
	first := r.primary()
	f := Finding{Suite: r.Place.File, Name: r.Source, Place: r.Place}
	switch r.Effect {
	case engine.Allow:
		f.Status = Pass
	case engine.Ask:
		f.Status = Ask
	default:
		f.Status = Fail
	}
	if f.Status != Pass {
		f.Code, f.Message, f.Remedy = first.Code, first.Message, first.Remedy
		f.Rule = Place{File: first.File, Line: first.Line}
		f.Detail = alsoOf(r.Reasons)
	}
	return f
}

// alsoOf tells of the reasons behind the first, one a line.
func alsoOf(reasons []engine.Reason) string {
	var lines []string
	for i := 1; i < len(reasons); i++ {
		lines = append(lines, "also "+reasons[i].Code+": "+reasons[i].Message)
	}
	return strings.Join(lines, "\n")
}
