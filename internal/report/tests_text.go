package report

import (
	"fmt"
	"strings"
)

// TestsText is the tests for people: what did not come out as wanted, then
// coverage, then how many there were of all.
//
//	fail   policy_test/paths/drafts.txtar:9  "ws/drafts/a"
//	  got   allow allowed "ws/drafts/a"
//	  want  deny draft_refused
//
//	1 case, 3 rows: 2 as wanted, 1 not; 12 Rego tests: 12 passed, 0 failed
func TestsText(t *Tests) []byte {
	var b strings.Builder
	for i := range t.List {
		one := &t.List[i]
		switch {
		case one.Updated:
		case one.Status == Pass, one.Kind == TestCoverage:
		default:
			writeTested(&b, one)
		}
	}
	for _, name := range t.Written {
		fmt.Fprintf(&b, "wrote  %s\n", Escape(name))
	}
	if t.Coverage != nil {
		writeCoverage(&b, t.Coverage)
	}
	fmt.Fprintln(&b, t.Summary())
	return []byte(b.String())
}

func writeTested(b *strings.Builder, one *Tested) {
	where := one.Place.File
	if one.Place.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, one.Place.Line)
	}
	fmt.Fprintf(b, "%-5s  %s", one.Status, Escape(where))
	if one.Name != "" && one.Kind != TestProblem && one.Kind != GoldenCase {
		fmt.Fprintf(b, "  %s", Escape(shortened(one.Name)))
	}
	b.WriteByte('\n')
	if one.Kind == GoldenRow || one.Kind == GoldenLedger {
		writeLines(b, "got ", one.Got)
		writeLines(b, "want", one.Want)
		return
	}
	text := one.Message
	if one.Remedy != "" {
		text += " (" + one.Remedy + ")"
	}
	for line := range strings.SplitSeq(text+"\n"+one.Detail, "\n") {
		if line != "" {
			fmt.Fprintf(b, "  %s\n", Escape(line))
		}
	}
}

// writeLines puts lines into one column behind a word.
func writeLines(b *strings.Builder, word, text string) {
	if text == "" {
		text = "(nothing)"
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(b, "  %s  %s\n", word, Escape(line))
		word = "    "
	}
}

// shortened is a name that fits a line.
func shortened(name string) string {
	const most = 120
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

func writeCoverage(b *strings.Builder, c *Coverage) {
	shares := func(title string, list []Share) {
		fmt.Fprintf(b, "%s\n", title)
		for _, s := range list {
			mark := ""
			if c.Low(s) {
				mark = fmt.Sprintf("  below %g %%", *c.Threshold)
			}
			fmt.Fprintf(b, "  %5.1f %%  %s  (%d of %d)%s\n", s.Percent, Escape(s.Name), s.Covered, s.Rules, mark)
		}
	}
	shares("coverage of packages", c.Packages)
	shares("coverage of codes", c.Codes)
	if len(c.Uncovered) > 0 {
		fmt.Fprintln(b, "nothing made true")
	}
	for _, u := range c.Uncovered {
		fmt.Fprintf(b, "  %s:%d  %s\n", Escape(u.Place.File), u.Place.Line, Escape(u.Name))
	}
}
