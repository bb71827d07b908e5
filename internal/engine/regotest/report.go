package regotest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Report is what a run of the tests found.
type Report struct {
	Results  []Result  // by file and line
	Problems []Problem // inputs of tests that break the input schema, by file and line

	// What the tests and the given inputs made true, of the files that are
	// counted; see Run. All of it holds when a test fails, too.
	Rules    []Rule    // by file and line
	Packages []Package // by name
	Codes    []Code    // by code
	Missing  []Place   // lines of rules that nothing reached
}

// Result is one test.
type Result struct {
	Name  string // "data.runlens.rules.paths_test.test_quiet"; the second of that name ends in "#01"
	Place Place
	Pass  bool
	Skip  bool   // its name starts with todo_test_
	Error string // why it could not be evaluated, "timeout" among it; "" when it passed or failed
	Cases []Case // of a test that is written test_name[case], by name
	Print string // what it printed, cut at 4096 bytes
	Took  time.Duration
}

// Case is one case of a test with cases.
type Case struct {
	Name string // levels joined with "/"
	Pass bool
}

// Problem is an input document of a test that breaks schemas/input.json. Its
// test may pass all the same: a rule that asks for a field that is misspelt in
// the test is quiet.
type Problem struct {
	Test    string // full name; the tests of one tree have each its own
	Place   Place  // of the expression whose `with input` was in force
	Pointer string // JSON pointer into the document; "" is all of it
	Message string
	Fix     string // what to do about it; "" when the message says it
}

// String gives the problem a line of its own.
func (p Problem) String() string {
	where := "input"
	if p.Pointer != "" {
		where += " " + p.Pointer
	}
	line := fmt.Sprintf("%s: %s: %s %s", p.Place, p.Test, where, p.Message)
	if p.Fix != "" {
		line += " (" + p.Fix + ")"
	}
	return line
}

// Rule is one rule, public or not, and whether something made it true. Every
// rule counts by itself, of those that share a name too, and so does every
// branch of an else-chain and every default.
type Rule struct {
	Name    string // "data.runlens.rules.paths.deny"
	Package string // "data.runlens.rules.paths"
	Place   Place
	Codes   []string // that its METADATA says it emits, sorted
	Covered bool
}

// Package is the coverage of one package: how many of its rules came true at
// least once. A package without rules is wholly covered.
type Package struct {
	Name    string
	Rules   int
	Covered int
	Percent float64 // 0 to 100
}

// Code is the coverage of a reason's code: how many of the rules that carry it
// in their METADATA came true at least once. A rule that picks among several
// codes counts for each of them.
type Code struct {
	Code    string
	Rules   int
	Covered int
	Percent float64 // 0 to 100
	Places  []Place // of the rules, by file and line
}

// Place is a line of a file, counted from 1.
type Place struct {
	File string
	Line int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

func (p Place) compare(q Place) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line))
}

// Failed lists the tests that did not pass, skipped ones among them.
func (r *Report) Failed() []Result {
	return slices.DeleteFunc(slices.Clone(r.Results), func(t Result) bool { return t.Pass })
}

// Uncovered lists the rules that nothing made true.
func (r *Report) Uncovered() []Rule {
	return slices.DeleteFunc(slices.Clone(r.Rules), func(rule Rule) bool { return rule.Covered })
}
