package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/replay"
)

// Findings are a comparison as the formats of CI show it: one for each group of
// flips, for each cause that kept inputs from being judged, and for each record
// that can't be read. When nothing was judged, that is a finding too, so that no
// report is green for want of input.
func (f *Flips) Findings() []Finding {
	var list []Finding
	for _, g := range f.groups().List() {
		list = append(list, f.groupFinding(g))
	}
	for _, code := range slices.Sorted(maps.Keys(f.Trouble)) {
		e := f.Trouble[code]
		list = append(list, f.exampleFinding(Broken, code, "the new policy fails: "+code, "the new policy fails", e))
	}
	status := Skip
	if f.Over() {
		status = Broken
	}
	for _, u := range f.Unjudged {
		list = append(list, f.exampleFinding(status, "not_judged_"+u.Cause, "not judged: "+u.Cause, u.Meaning, u.Example))
	}
	for _, one := range f.Broken {
		list = append(list, Finding{
			Suite: f.Name, Name: "read " + one.Where, Status: Broken, Code: "unreadable_record",
			Message: one.Err.Error(), Place: Place{File: one.Where}, Title: "a record can't be read to its end",
		})
	}
	for _, where := range f.Torn {
		list = append(list, Finding{
			Suite: f.Name, Name: "read the last line of " + where, Status: Skip, Code: "torn_record",
			Message: "the last line is not whole; what stands before it was judged", Place: Place{File: where}, Title: "a torn record",
		})
	}
	return append(list, f.judgedFinding())
}

// judgedFinding says how much was judged.
func (f *Flips) judgedFinding() Finding {
	all := Finding{Suite: f.Name, Name: "inputs are judged", Status: Pass, Message: f.Summary()}
	if f.Judged() == 0 {
		all.Status, all.Code, all.Message = Broken, "nothing_judged", "nothing was judged: "+f.Summary()
		all.Title = "an empty comparison shows nothing"
	}
	return all
}

// groupFinding is a group of flips; those that FailOn does not count pass, and
// the message tells of them all the same.
func (f *Flips) groupFinding(g *replay.Group) Finding {
	e := &g.Smallest
	out := Finding{
		Suite: f.Name, Name: fmt.Sprintf("%s %s: %s", classWords(g.Class), toolWords(g), change(g)), Status: Pass, Code: g.Class.String(),
		Message: fmt.Sprintf("%s of %s: %s; for example %s", counted(g.Count, "calls"), toolWords(g), change(g), strings.ReplaceAll(exampleWords(e), "  ", ", ")),
		Place:   Place{File: e.File, Line: e.Line}, Rule: Place{File: e.Reason.File, Line: e.Reason.Line},
		Title: classTitle(g.Class),
	}
	if f.FailOn.Counts(g.Class) {
		out.Status = Fail
	}
	var lines []string
	for _, t := range e.Targets {
		lines = append(lines, cmp.Or(t.Param, t.Access)+" "+t.Path)
	}
	lines = append(lines, "was "+e.Was.Code+": "+e.Was.Message, "now "+e.Reason.Code+": "+e.Reason.Message, "calls "+callWords(g))
	out.Detail = strings.Join(lines, "\n")
	return out
}

func (f *Flips) exampleFinding(status Status, code, name, meaning string, e *replay.Example) Finding {
	message := fmt.Sprintf("%s: %s", counted(e.Count, "inputs"), meaning)
	if e.Note != "" {
		message += "; for example " + e.Note
	}
	return Finding{
		Suite: f.Name, Name: name, Status: status, Code: code, Message: message,
		Place: Place{File: cmp.Or(e.File, e.Where), Line: e.Line}, Title: meaning,
	}
}

// classTitle is what a class means.
func classTitle(c replay.Class) string {
	switch c {
	case replay.DenyToAllow:
		return "a call that was refused is allowed"
	case replay.AskToAllow:
		return "a call that needed an approval is allowed without one"
	case replay.DenyToAsk:
		return "a call that was refused is allowed once approved"
	case replay.GrantWidened:
		return "an allowed call may handle more bytes"
	case replay.AllowToDeny:
		return "a call that was allowed is refused"
	case replay.AllowToAsk:
		return "a call that was allowed needs an approval"
	case replay.AskToDeny:
		return "a call that could be approved is refused"
	case replay.GrantNarrowed:
		return "an allowed call may handle fewer bytes"
	}
	return "the same verdict for other reasons"
}
