package resolve

import (
	"strings"
	"time"

	"github.com/runlens/runlens/internal/facts"
)

// Stands gives ErrChanged when an entry that is held to be written is not what and
// where it was judged to be: a file with that content, as far as size and time of
// change tell, or a free name, in the folder that has the name it had. It comes
// before a Write of what was made in the meantime from what was judged.
func (o *Object) Stands() error {
	err := o.writable(facts.Write)
	if err == nil {
		err = o.standsWhere()
	}
	switch {
	case err != nil:
	case o.held():
		return o.Unchanged()
	case len(o.rest) == 0:
		if _, found := statAt(o.dir, o.name); resolutionOf(found) != facts.NotFound {
			err = ErrChanged
		}
	}
	return o.problem("look at", err)
}

// standsWhere compares the name that the held folder has now, and what is found by
// it, with the folder that was judged.
func (o *Object) standsWhere() error {
	judged := o.path
	for range len(o.rest) + 1 {
		judged = judged[:max(strings.LastIndexByte(judged, '/'), 0)]
	}
	if judged == "" {
		judged = "/"
	}
	st, err := statFD(o.dir)
	if err != nil {
		return err
	}
	name, err := liveName(o.r.proc, o.dir, st)
	if err == nil {
		var there stat
		there, err = statAt(atCWD, judged)
		if err == nil && name == judged && there.same(st) {
			return nil
		}
	}
	return ErrChanged
}

// Young is how long it takes until a change of the held file is sure to show in its
// time of change: 0, unless it has been changed within the last tick of that clock.
func (o *Object) Young() time.Duration {
	if !o.held() {
		return 0
	}
	tick := tickOf(o.st.changed)
	return min(max(tick-time.Since(time.Unix(o.st.changed[0], o.st.changed[1])), 0), tick) // of another's clock, maybe
}

// SameEntry says whether two Objects that are held to be written are one: one name,
// or two of one file. Writing the one would then change the other.
func (o *Object) SameEntry(other *Object) bool {
	return o.path == other.path || o.held() && other.held() && o.st.same(other.st)
}

// tickOf is how far apart the readings of the clock are that a time of change came
// from, at most.
func tickOf(changed [2]int64) time.Duration {
	if changed[1] == 0 {
		return 2 * time.Second
	}
	return 20 * time.Millisecond
}
