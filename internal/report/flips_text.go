package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/replay"
)

// callsShown is how many calls of a group are named in text.
const callsShown = 20

// FlipsText is a comparison for people: what was judged, what must be known
// before a flip is believed, the flips by group, what could not be judged, and
// the outcome in one line at the end.
//
//	deny → allow  read_file  2 calls
//	  deny outside_roots → allow
//	    example  runs/demo/events.jsonl:8  call c7
//	    path     /home/me/shop/secret/a.txt
//	    was      outside_roots: path: secret/a.txt is outside the roots that allow read: data
//	    by       policies/runlens/rules/paths/paths.rego:26
//	    now      allowed
//	    by       policies/runlens/decision.rego:40
//	    calls    runs/demo 8, 12
func FlipsText(f *Flips) []byte {
	var b strings.Builder
	writeCovered(&b, f)
	for _, note := range f.Notes {
		fmt.Fprintf(&b, "note: %s\n", Escape(note))
	}
	writeMismatches(&b, f.mismatches())
	for _, g := range f.groups().List() {
		b.WriteByte('\n')
		writeGroup(&b, g)
	}
	writeTrouble(&b, f)
	writeUnjudged(&b, f)
	writeRest(&b, f)
	fmt.Fprintf(&b, "\n%s\n", Escape(f.Summary()))
	return []byte(b.String())
}

// writeCovered writes what was judged and by what.
func writeCovered(b *strings.Builder, f *Flips) {
	for _, c := range f.Covered {
		counts := ""
		for _, n := range c.Counts {
			counts += counted(n.N, n.Name) + ", "
		}
		fmt.Fprintf(b, "%s: %s%s, %s judged\n", Escape(c.What), Escape(counts), counted(c.Inputs, "inputs"), number(c.Judged))
		for _, note := range c.Notes {
			fmt.Fprintf(b, "  %s\n", Escape(note))
		}
	}
	var sides facet
	for _, s := range f.Old {
		sides.add("old", sideWords(s))
	}
	sides.add("new", sideWords(f.New))
	sides.write(b)
}

// sideWords is a policy and, when there is a record of its own, whether it still
// says what is recorded.
func sideWords(s Side) string {
	text := shortRevision(s.Revision) + "  " + s.Name
	switch {
	case s.Inputs == 0:
		return text
	case !s.Known:
		return fmt.Sprintf("%s  %s; not at hand, so nobody looked whether it still decides so", text, counted(s.Inputs, "verdicts"))
	}
	return fmt.Sprintf("%s  %s; judged again under it: %s, %s as recorded", text, counted(s.Inputs, "verdicts"), number(s.Judged), number(s.Same))
}

// shortRevision is a revision as people compare them.
func shortRevision(revision string) string {
	hex := strings.TrimPrefix(revision, "sha256:")
	return hex[:min(len(hex), 12)]
}

// writeMismatches comes before any flip: what is wrong there makes every flip doubtful.
func writeMismatches(b *strings.Builder, groups *replay.Groups) {
	n := 0
	for _, count := range groups.Counts() {
		n += count
	}
	if n == 0 {
		return
	}
	fmt.Fprintf(b, "\nbefore any flip: the policy that gave them decides otherwise now about %s.\n"+
		"Either the record is not whole or the program judges differently. They count as not judged.\n", counted(n, "verdicts"))
	for _, g := range groups.List() {
		b.WriteString("mismatch  ")
		writeGroup(b, g)
	}
}

// writeGroup writes flips that are alike, with the example that is quickest to read.
func writeGroup(b *strings.Builder, g *replay.Group) {
	fmt.Fprintf(b, "%s  %s  %s\n", classWords(g.Class), Escape(toolWords(g)), counted(g.Count, "calls"))
	fmt.Fprintf(b, "  %s\n", Escape(change(g)))
	f := &g.Smallest
	var lines facet
	lines.add("example", exampleWords(f))
	if g.Tool == "" {
		lines.add("tool", f.Tool)
	}
	for _, t := range f.Targets {
		lines.add(cmp.Or(t.Param, t.Access), t.Path)
	}
	addReason(&lines, "was", f.Was)
	addReason(&lines, "now", f.Reason)
	if g.Count > 1 {
		lines.add("calls", callWords(g))
	}
	lines.write(b)
}

func addReason(lines *facet, name string, r engine.Reason) {
	text := r.Code
	if r.Message != "" && r.Message != r.Code {
		text += ": " + r.Message
	}
	lines.add(name, text)
	if r.File != "" {
		lines.add("by", r.File+":"+strconv.Itoa(r.Line))
	}
}

// exampleWords says where a flip stands.
func exampleWords(f *replay.Flip) string {
	text := placeWords(f.File, f.Line)
	switch {
	case text == "":
		text = f.Where + "  " + f.Name
	case f.Seq == 0 && f.Name != "":
		text += "  " + f.Name
	}
	if f.CallID != "" {
		text += "  call " + f.CallID
	}
	return text
}

func placeWords(file string, line int) string {
	if file == "" || line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}

// callWords names the first calls of a group by where they stand.
func callWords(g *replay.Group) string {
	var b strings.Builder
	where := ""
	shown := g.Calls[:min(len(g.Calls), callsShown)]
	for i, c := range shown {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "%s %s", c.Where, c.Name)
		case c.Where != where:
			fmt.Fprintf(&b, "; %s %s", c.Where, c.Name)
		default:
			fmt.Fprintf(&b, ", %s", c.Name)
		}
		where = c.Where
	}
	if more := g.Count - len(shown); more > 0 {
		fmt.Fprintf(&b, " and %s more", number(more))
	}
	return b.String()
}

// writeTrouble writes the verdicts in which the new policy itself failed.
func writeTrouble(b *strings.Builder, f *Flips) {
	if len(f.Trouble) == 0 {
		return
	}
	b.WriteString("\nthe new policy fails:\n")
	for _, code := range slices.Sorted(maps.Keys(f.Trouble)) {
		e := f.Trouble[code]
		fmt.Fprintf(b, "  %s  %s\n", Escape(code), counted(e.Count, "verdicts"))
		writeExample(b, e)
	}
}

// writeUnjudged writes what could not be judged, and why.
func writeUnjudged(b *strings.Builder, f *Flips) {
	n := f.unjudged()
	if n == 0 {
		return
	}
	of := f.Judged() + n
	over := ""
	if f.Over() {
		over = ", more than the limit of " + strconv.FormatFloat(f.Limit, 'f', -1, 64) + " %"
	}
	fmt.Fprintf(b, "\nnot judged: %s of %s (%.2f %%%s)\n", number(n), counted(of, "inputs"), 100*float64(n)/float64(of), over)
	for _, u := range f.Unjudged {
		fmt.Fprintf(b, "  %s  %s: %s\n", Escape(u.Cause), number(u.Example.Count), Escape(u.Meaning))
		writeExample(b, u.Example)
	}
}

func writeExample(b *strings.Builder, e *replay.Example) {
	var lines facet
	at := cmp.Or(placeWords(e.File, e.Line), e.Where)
	if e.Tool != "" {
		at += "  " + e.Tool
	}
	lines.add("example", at)
	lines.add("what", e.Note)
	lines.write(b)
}

// writeRest writes what is neither judged nor unjudged, and what can't be read.
func writeRest(b *strings.Builder, f *Flips) {
	if n := f.apart(); n > 0 {
		fmt.Fprintf(b, "\nrefused without policy, so there is nothing to judge: %s\n", number(n))
		for _, code := range slices.Sorted(maps.Keys(f.Apart)) {
			fmt.Fprintf(b, "  %s  %s\n", Escape(code), number(f.Apart[code]))
		}
	}
	if len(f.Torn) > 0 {
		fmt.Fprintf(b, "\nthe last line is not whole, as after a crash; what stands before it was judged:\n")
		for _, where := range f.Torn {
			fmt.Fprintf(b, "  %s\n", Escape(where))
		}
	}
	if len(f.Broken) > 0 {
		fmt.Fprintf(b, "\nnot readable to the end; what stands behind was not judged:\n")
		for _, broken := range f.Broken {
			for line := range strings.SplitSeq(broken.Err.Error(), "\n") {
				fmt.Fprintf(b, "  %s\n", Escape(line))
			}
		}
	}
}
