package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// JUnit is the findings as a JUnit XML report: a testsuite for each Suite, in
// order of first appearance, and in it a testcase for each finding. name is what
// the whole is called. An empty list is a report without suites.
//
// What XML 1.0 has no character for comes out as Escape writes it.
func JUnit(name string, list []Finding) ([]byte, error) {
	var order []string
	suites := map[string]*junitSuite{}
	var all junitSuite
	for i := range list {
		f := &list[i]
		s := suites[f.Suite]
		if s == nil {
			s = &junitSuite{name: attribute(f.Suite), seen: map[string]int{}}
			suites[f.Suite], order = s, append(order, f.Suite)
		}
		s.add(f)
		all.count(f)
	}
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
	fmt.Fprintf(&b, "<testsuites name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" time=\"%s\">\n",
		attribute(name), all.tests, all.failures, all.errors, seconds(all.took))
	for _, key := range order {
		s := suites[key]
		fmt.Fprintf(&b, "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%s\">\n",
			s.name, s.tests, s.failures, s.errors, s.skipped, seconds(s.took))
		b.Write(s.cases.Bytes())
		b.WriteString("  </testsuite>\n")
	}
	b.WriteString("</testsuites>\n")
	return b.Bytes(), nil
}

type junitSuite struct {
	name                             string
	tests, failures, errors, skipped int
	took                             time.Duration
	seen                             map[string]int // names given out, and how often each was asked for
	cases                            bytes.Buffer
}

func (s *junitSuite) count(f *Finding) {
	s.tests++
	s.took += max(f.Took, 0)
	switch f.Status {
	case Pass:
	case Skip:
		s.skipped++
	case Broken:
		s.errors++
	default:
		s.failures++
	}
}

func (s *junitSuite) add(f *Finding) {
	s.count(f)
	fmt.Fprintf(&s.cases, "    <testcase name=\"%s\" classname=\"%s\" time=\"%s\"", s.unique(attribute(f.Name)), s.name, seconds(f.Took))
	message := attribute(f.lines()[0])
	switch f.Status {
	case Pass:
		s.cases.WriteString("/>\n")
		return
	case Skip:
		fmt.Fprintf(&s.cases, ">\n      <skipped>%s</skipped>\n", message)
	case Broken:
		fmt.Fprintf(&s.cases, ">\n      <error type=\"%s\" message=\"%s\">%s</error>\n", attribute(f.code()), message, body(f))
	case Ask:
		fmt.Fprintf(&s.cases, ">\n      <failure type=\"ask\" message=\"%s\">%s</failure>\n", message, body(f))
	default:
		fmt.Fprintf(&s.cases, ">\n      <failure type=\"%s\" message=\"%s\">%s</failure>\n", attribute(f.code()), message, body(f))
	}
	s.cases.WriteString("    </testcase>\n")
}

// unique is a name that no other case of the suite has: consumers know a case by
// it, and would take two of one name for one.
func (s *junitSuite) unique(name string) string {
	for {
		s.seen[name]++
		n := s.seen[name]
		if n == 1 {
			return name
		}
		name = fmt.Sprintf("%s (%d)", name, n)
	}
}

// body is the text of a failure, with the place of the call, which not all
// consumers show otherwise.
func body(f *Finding) string {
	lines := f.lines()
	lines[0] = f.code() + ": " + lines[0]
	if f.Place.File != "" {
		lines = append(lines, "at: "+f.Place.String())
	}
	for i := range lines {
		lines[i] = attribute(lines[i])
	}
	return strings.Join(lines, "\n")
}

// attribute is one line of text inside XML, between quotes or not. The last
// three keep it from being a command to a runner that sees the report go by.
func attribute(text string) string {
	text = xmlEscape.Replace(Escape(text))
	text = strings.ReplaceAll(text, "##[", "##&#91;")
	if rest, command := strings.CutPrefix(strings.TrimLeft(text, " "), "::"); command {
		text = text[:len(text)-len(rest)-1] + "&#58;" + rest
	}
	return text
}

var xmlEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", max(d, 0).Seconds()) }
