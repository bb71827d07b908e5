package replay

// Summary is what came of a replay. It holds a bounded number of everything but
// runs that are broken or torn, however long the records are.
type Summary struct {
	Runs   int // that were read to their end
	Events int // of all kinds
	Judged int // verdicts that were judged again: Same and those in Groups
	Same   int // of them, those that came out as recorded

	Groups     Groups               // flips: recorded, and judged again under Options.New
	Mismatches Groups               // recorded, and judged again under the same revision; each is Unreplayable too
	Recorded   map[string]*Revision // by recorded policy revision
	Causes     map[Cause]*Example   // verdicts that can't be judged again
	Apart      map[string]int       // by code: refusals that no policy made; neither judged nor unreplayable
	Trouble    map[string]*Example  // by policy_* code: verdicts of Options.New in which policy itself failed; they are judged and can flip
	Assumed    int                  // judged verdicts in which a root is assumed to be there that the record doesn't know
	Broken     []Broken             // runs of which the rest could not be read
	Torn       []string             // runs whose last line is not whole: what stands before it was judged
}

// Revision is what one policy, known by its revision, has judged in the record.
type Revision struct {
	Count  int  // verdicts recorded under it
	Known  bool // it was at hand
	Judged int  // verdicts that it judged again: Same and those in Summary.Mismatches
	Same   int  // of them, those that came out as recorded
}

// Cause says why a recorded verdict can't be judged again.
type Cause string

// Causes, in the order of reports.
const (
	Incomplete Cause = "incomplete" // the input isn't one of this version: it lacks a field, or has one more
	Altered    Cause = "altered"    // the input isn't the one that its digest names
	Unreadable Cause = "unreadable" // the event isn't one that RunLens writes
	TimedOut   Cause = "timed_out"  // the clock decided: policy_timeout
	Mismatch   Cause = "mismatch"   // its own policy decides otherwise now
	Unasked    Cause = "unasked"    // the new policy's data asks for facts that were not looked for
	Targets    Cause = "targets"    // the manifests change what would have been opened
	Skill      Cause = "skill"      // the manifests don't have the run's skill
)

// AllCauses lists all causes in the order of reports.
func AllCauses() []Cause {
	return []Cause{Mismatch, Altered, Unreadable, Incomplete, TimedOut, Unasked, Targets, Skill}
}

// Example is how often something came up and where it did first.
type Example struct {
	Count int
	Where string // the run's directory
	File  string
	Line  int
	Seq   int64
	Tool  string
	Note  string // what exactly: the first field that is missing, the code, the target
}

// Broken is a run that could not be read, or no further than some event.
type Broken struct {
	Where string
	Err   error
}

// Unreplayable is the number of verdicts that could not be judged again.
func (s *Summary) Unreplayable() int {
	n := 0
	for _, e := range s.Causes {
		n += e.Count
	}
	return n
}

func newSummary() *Summary {
	return &Summary{
		Recorded: map[string]*Revision{}, Causes: map[Cause]*Example{},
		Apart: map[string]int{}, Trouble: map[string]*Example{},
	}
}
