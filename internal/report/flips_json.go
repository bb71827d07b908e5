package report

import (
	"maps"
	"slices"

	"github.com/runlens/runlens/internal/replay"
)

// FlipsJSON is a comparison as one indented document with a final newline.
func FlipsJSON(f *Flips) ([]byte, error) { return encode(comparisonOf(f, true), "", "  ") }

// FlipJSONL is one flip as one line, for those who write flips as they come.
// FlipsJSONLEnd comes behind the last one: without it the report is not whole.
func FlipJSONL(f *replay.Flip) ([]byte, error) {
	return encode(struct {
		SchemaVersion int `json:"schema_version"`
		flip
	}{SchemaVersion, flipOf(f)}, "", "")
}

// FlipsJSONLEnd is the last line of a report in lines: the comparison without
// the groups, under the key "summary".
func FlipsJSONLEnd(f *Flips) ([]byte, error) {
	return encode(struct {
		SchemaVersion int        `json:"schema_version"`
		Summary       comparison `json:"summary"`
	}{SchemaVersion, comparisonOf(f, false)}, "", "")
}

// comparison is Flips as programs see it: every field is always there, but for
// the groups, which a report in lines does not have.
type comparison struct {
	SchemaVersion int            `json:"schema_version"`
	Command       string         `json:"command"`
	Outcome       string         `json:"outcome"` // one line
	Old           []side         `json:"old"`
	New           side           `json:"new"`
	Covered       []covered      `json:"covered"`
	Inputs        int            `json:"inputs"`
	Judged        int            `json:"judged"`
	Same          int            `json:"same"`
	Flips         int            `json:"flips"`
	Loosened      int            `json:"loosened"`
	Classes       map[string]int `json:"classes"`
	Failed        bool           `json:"failed"` // a flip is a failure
	Notes         []string       `json:"notes"`
	Mismatches    []group        `json:"mismatches"`
	Groups        *[]group       `json:"groups,omitempty"`
	NotJudged     notJudged      `json:"not_judged"`
	Apart         map[string]int `json:"apart"`
	Trouble       []caused       `json:"trouble"`
	Broken        []broken       `json:"broken"`
	Torn          []string       `json:"torn"`
}

type side struct {
	Name     string `json:"name"`
	Revision string `json:"revision"`
	Known    bool   `json:"known"`
	Inputs   int    `json:"inputs"`
	Judged   int    `json:"judged"`
	Same     int    `json:"same"`
}

type covered struct {
	What   string         `json:"what"`
	Counts map[string]int `json:"counts"`
	Inputs int            `json:"inputs"`
	Judged int            `json:"judged"`
	Same   int            `json:"same"`
	Notes  []string       `json:"notes"`
}

type notJudged struct {
	Count     int      `json:"count"`
	Percent   float64  `json:"percent"`
	Limit     float64  `json:"limit_percent"`
	OverLimit bool     `json:"over_limit"`
	Causes    []caused `json:"causes"`
}

// caused is how often something came up, and where it did first.
type caused struct {
	Cause   string `json:"cause"`
	Meaning string `json:"meaning"`
	Count   int    `json:"count"`
	Where   string `json:"where"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Seq     int64  `json:"seq"`
	Tool    string `json:"tool"`
	Note    string `json:"note"`
}

type broken struct {
	Where string `json:"where"`
	Error string `json:"error"`
}

// group is flips that are alike. More of them came than Calls names.
type group struct {
	Class    string  `json:"class"`
	Loosened bool    `json:"loosened"`
	Tool     string  `json:"tool"`
	Others   bool    `json:"others"`
	Count    int     `json:"count"`
	Old      verdict `json:"old"`
	New      verdict `json:"new"`
	Smallest flip    `json:"smallest"`
	Calls    []named `json:"calls"`
	More     int     `json:"more"`
}

type named struct {
	Where  string `json:"where"`
	Name   string `json:"name"`
	Seq    int64  `json:"seq"`
	CallID string `json:"call_id"`
}

type verdict struct {
	Verdict  string   `json:"verdict"`
	Codes    []string `json:"codes"`
	MaxBytes int64    `json:"max_bytes"`
}

type flip struct {
	Class     string   `json:"class"`
	Loosened  bool     `json:"loosened"`
	Where     string   `json:"where"`
	Name      string   `json:"name"`
	File      string   `json:"file"`
	Line      int      `json:"line"`
	Seq       int64    `json:"seq"`
	CallID    string   `json:"call_id"`
	Tool      string   `json:"tool"`
	Declared  bool     `json:"declared"`
	Old       verdict  `json:"old"`
	New       verdict  `json:"new"`
	OldReason reason   `json:"old_reason"`
	NewReason reason   `json:"new_reason"`
	Targets   []object `json:"targets"`
}

type object struct {
	Param  string `json:"param"`
	Access string `json:"access"`
	Path   string `json:"path"`
}

func comparisonOf(f *Flips, withGroups bool) comparison {
	counts := f.groups().Counts()
	unjudged := f.unjudged()
	c := comparison{
		SchemaVersion: SchemaVersion, Command: f.Name, Outcome: f.Summary(),
		Old: make([]side, 0, len(f.Old)), New: side(f.New), Covered: make([]covered, 0, len(f.Covered)),
		Inputs: f.Judged() + unjudged, Judged: f.Judged(), Loosened: f.groups().Loosened(), Classes: map[string]int{},
		Failed: f.Failed(), Notes: orEmpty(f.Notes), Mismatches: groupsOf(f.mismatches()),
		NotJudged: notJudged{Count: unjudged, Limit: f.Limit, OverLimit: f.Over(), Causes: []caused{}},
		Apart:     map[string]int{}, Trouble: []caused{}, Broken: []broken{}, Torn: orEmpty(f.Torn),
	}
	for _, s := range f.Old {
		c.Old = append(c.Old, side(s))
	}
	for _, one := range f.Covered {
		counted := map[string]int{}
		for _, n := range one.Counts {
			counted[n.Name] = n.N
		}
		c.Same += one.Same
		c.Covered = append(c.Covered, covered{one.What, counted, one.Inputs, one.Judged, one.Same, orEmpty(one.Notes)})
	}
	for class, n := range counts {
		c.Flips += n
		c.Classes[class.String()] = n
	}
	if withGroups {
		groups := groupsOf(f.groups())
		c.Groups = &groups
	}
	if c.Inputs > 0 {
		c.NotJudged.Percent = 100 * float64(unjudged) / float64(c.Inputs)
	}
	for _, u := range f.Unjudged {
		c.NotJudged.Causes = append(c.NotJudged.Causes, causedOf(u.Cause, u.Meaning, u.Example))
	}
	maps.Copy(c.Apart, f.Apart)
	for _, code := range slices.Sorted(maps.Keys(f.Trouble)) {
		c.Trouble = append(c.Trouble, causedOf(code, "the new policy fails", f.Trouble[code]))
	}
	for _, one := range f.Broken {
		c.Broken = append(c.Broken, broken{one.Where, one.Err.Error()})
	}
	return c
}

func causedOf(cause, meaning string, e *replay.Example) caused {
	return caused{cause, meaning, e.Count, e.Where, e.File, e.Line, e.Seq, e.Tool, e.Note}
}

func groupsOf(groups *replay.Groups) []group {
	list := []group{}
	for _, g := range groups.List() {
		one := group{
			Class: g.Class.String(), Loosened: g.Class.Loosened(), Tool: g.Tool, Others: g.Others, Count: g.Count,
			Old: verdictOf(g.Old), New: verdictOf(g.New), Smallest: flipOf(&g.Smallest),
			Calls: make([]named, 0, len(g.Calls)), More: g.Count - len(g.Calls),
		}
		for _, call := range g.Calls {
			one.Calls = append(one.Calls, named{call.Where, call.Name, call.Seq, call.ID})
		}
		list = append(list, one)
	}
	return list
}

func flipOf(f *replay.Flip) flip {
	out := flip{
		Class: f.Class.String(), Loosened: f.Class.Loosened(), Where: f.Where, Name: f.Name, File: f.File, Line: f.Line,
		Seq: f.Seq, CallID: f.CallID, Tool: f.Tool, Declared: f.Declared, Old: verdictOf(f.Old), New: verdictOf(f.New),
		OldReason: reasonOf(f.Was), NewReason: reasonOf(f.Reason), Targets: make([]object, 0, len(f.Targets)),
	}
	for _, t := range f.Targets {
		out.Targets = append(out.Targets, object(t))
	}
	return out
}

func verdictOf(v replay.Verdict) verdict {
	return verdict{v.Effect.String(), orEmpty(v.Codes), v.MaxBytes}
}

// orEmpty makes null an empty list.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
