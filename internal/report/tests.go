package report

import (
	"fmt"
	"strings"
)

// Tests is what a run of the tests of a policy found.
type Tests struct {
	List     []Tested // in the order of the files
	Cases    int      // golden cases that were judged or skipped
	LeftOut  string   // why no Rego test was run; "" when they were
	Written  []string // files of cases that were updated
	Nothing  string   // why no golden case was judged; "" when one was
	Coverage *Coverage
}

// Tested is one thing that was tested, as a finding with more to it.
type Tested struct {
	Finding
	Kind    TestKind
	Got     string // of a row or a ledger
	Want    string
	Updated bool // what was wanted has been written anew
}

// TestKind is what was tested.
type TestKind string

// Kinds of what is tested.
const (
	GoldenRow    TestKind = "row"
	GoldenLedger TestKind = "ledger"
	GoldenCase   TestKind = "case" // as a whole: skipped
	RegoTest     TestKind = "rego"
	TestProblem  TestKind = "problem" // what is no test, and should be
	TestCoverage TestKind = "coverage"
)

// Coverage is how much of a policy the tests have made true.
type Coverage struct {
	Threshold *float64 // percent that each package and code must reach; nil: none
	Packages  []Share
	Codes     []Share
	Uncovered []Uncovered // by file and line
}

// Share is how many of some rules came true at least once.
type Share struct {
	Name    string
	Rules   int
	Covered int
	Percent float64
}

// Uncovered is a rule that nothing made true.
type Uncovered struct {
	Name  string
	Place Place
}

// Low says whether a share is below the threshold.
func (c *Coverage) Low(s Share) bool { return c.Threshold != nil && s.Percent < *c.Threshold }

// Findings is the list for the formats of CI. When nothing was tested, that is a
// finding too, so that no report is green for want of cases.
func (t *Tests) Findings() []Finding {
	list := make([]Finding, 0, len(t.List)+1)
	for i := range t.List {
		list = append(list, t.List[i].Finding)
	}
	if t.Nothing != "" {
		list = append(list, Finding{
			Suite: "test", Name: "golden cases are judged", Status: Broken, Code: "nothing_tested",
			Message: t.Nothing, Title: "a test of nothing shows nothing",
		})
	}
	return list
}

// count is how many things of the kinds came out so.
func (t *Tests) count(status Status, kinds ...TestKind) (n int) {
	for i := range t.List {
		for _, k := range kinds {
			if t.List[i].Kind == k && t.List[i].Status == status {
				n++
			}
		}
	}
	return n
}

// Summary is how it came out, in a line.
func (t *Tests) Summary() string {
	golden := []TestKind{GoldenRow, GoldenLedger}
	pass, fail := t.count(Pass, golden...), t.count(Fail, golden...)
	parts := []string{fmt.Sprintf("%s, %s: %d as wanted, %d not", counted(t.Cases, "cases"), counted(pass+fail, "rows"), pass, fail)}
	if skipped := t.count(Skip, GoldenCase); skipped > 0 {
		parts = append(parts, counted(skipped, "cases")+" skipped")
	}
	if t.LeftOut != "" {
		parts = append(parts, "no Rego tests ("+Escape(t.LeftOut)+")")
	} else {
		pass, fail := t.count(Pass, RegoTest), t.count(Fail, RegoTest)
		text := fmt.Sprintf("%s: %d passed, %d failed", counted(pass+fail, "Rego tests"), pass, fail)
		if skipped := t.count(Skip, RegoTest); skipped > 0 {
			text += fmt.Sprintf(", %d skipped", skipped)
		}
		parts = append(parts, text)
	}
	if low := t.count(Fail, TestCoverage); low > 0 {
		parts = append(parts, fmt.Sprintf("%d below the threshold", low))
	}
	if broken := t.count(Broken, TestProblem); broken > 0 {
		parts = append(parts, counted(broken, "problems"))
	}
	return strings.Join(parts, "; ")
}
