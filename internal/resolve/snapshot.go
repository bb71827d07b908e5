package resolve

import (
	"path"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/facts"
)

// snapshot is where the places are. It is immutable.
type snapshot struct {
	taken   time.Time
	changed [2]int64 // of the project directory
	known   []known
	lists   map[string]*listing // folders that were read, by canonical path
	watch   []watched           // folders of secret places
	young   bool                // what is compared may have changed since without a trace
	again   bool                // a link in a secret place may be turned where nothing is watched
}

// known is one canonical name of a place, or of what a link in it leads to. A
// place behind a link has several: its own, and that of each link, since who
// replaces a link replaces the place.
type known struct {
	place *Place
	path  string   // as the kernel spells it
	names []string // folded, from "/"
	st    stat     // of what is there; zero while nothing is
	entry bool     // an entry of a "*" place, by a name outside of it
}

// each says that the known name is a folder whose entries are the places.
func (k *known) each() bool { return k.place.each() && !k.entry }

func (s *snapshot) add(k known) {
	k.names = foldEach(nil, segments(k.path))
	s.known = append(s.known, k)
}

// watched is a folder as it was when the snapshot was taken.
type watched struct {
	path string // absolute, or from the project; links are followed
	st   stat   // zero when there was nothing
}

func (w watched) same(r *Resolver) bool {
	st, _ := statThrough(r.dir, w.path)
	return st.identity() == w.st.identity() && st.changed == w.st.changed
}

// placesNow is the snapshot to judge by. A write or a delete looks again, since
// policies, manifests and configuration are protected from these alone, and so
// does a program that is to run: being protected makes it trusted. Other
// accesses look again when an entry of the project directory has come or gone,
// or one of a folder that is protected from reading; or always, when a link in
// such a folder leads elsewhere.
func (r *Resolver) placesNow(access string) *snapshot {
	s := r.snap.Load()
	if access == facts.Write || access == facts.Delete || access == facts.Execute || s.young || s.again {
		return r.refresh()
	}
	if t, err := changedAt(r.dir); err != nil || t != s.changed {
		return r.refresh()
	}
	for _, w := range s.watch {
		if !w.same(r) {
			return r.refresh()
		}
	}
	return s
}

func (r *Resolver) refresh() *snapshot {
	s := &snapshot{taken: time.Now(), lists: map[string]*listing{}}
	s.changed, _ = changedAt(r.dir)
	s.young = !s.settled(s.changed)
	old := r.snap.Load()
	for i := range r.places {
		p := &r.places[i]
		if isSecret(p.Class) {
			s.watchPlace(r, p)
		}
		if s.keep(r, old, p) {
			continue
		}
		name, st := r.lead(p.folder(), func(link string) { s.add(known{place: p, path: link}) })
		s.add(known{place: p, path: name, st: st})
		if st.kind() == facts.Directory && !p.Plain {
			r.lookInto(s, old, p, name)
		}
	}
	r.snap.Store(s)
	return s
}

// keep takes a place of programs over from the snapshot before, when by its path is found
// what was found then, unchanged: such a place has an absolute path, no tool may change
// what that passes, and only what it leads to itself is protected.
func (s *snapshot) keep(r *Resolver, old *snapshot, p *Place) bool {
	if old == nil || p.Class != facts.ProtectedHandler || !path.IsAbs(p.Path) {
		return false
	}
	st, _ := statThrough(r.top, p.Path)
	before := len(s.known)
	for _, k := range old.known {
		if k.place == p {
			s.known = append(s.known, k)
		}
	}
	if n := len(s.known); n > before {
		leads := s.known[n-1].st // the last of them is what it leads to
		if leads.identity() == st.identity() && leads.changed == st.changed && (p.Plain || leads.kind() != facts.Directory) {
			return true
		}
	}
	s.known = s.known[:before]
	return false
}

// watchPlace comes before the place is looked at: what changes meanwhile shows.
func (s *snapshot) watchPlace(r *Resolver, p *Place) {
	st, err := statThrough(r.dir, p.folder())
	if err != nil && !strings.Contains(p.folder(), "/") {
		return // it cannot come without a trace in the project directory
	}
	s.watchFolder(p.folder(), st)
}

func (s *snapshot) watchFolder(path string, st stat) {
	s.watch = append(s.watch, watched{path, st})
	s.young = s.young || !s.settled(st.changed)
}

// settled says that a time of change tells: a file system's clock ticks a few
// milliseconds apart, or seconds, and two changes in one tick look like one.
func (s *snapshot) settled(changed [2]int64) bool {
	return s.taken.Sub(time.Unix(changed[0], changed[1])) > tickOf(changed)
}

// lead follows a path and gives the canonical name of what is there, or would
// be. It reports the canonical name of each link on the way.
func (r *Resolver) lead(p string, passed func(link string)) (string, stat) {
	got := r.walkSteps(r.dir, p, func(_ int, _ string, n node) {
		if n.st.kind() != facts.Symlink {
			return
		}
		if name, err := nameOf(r.proc, n.fd); err == nil {
			passed(name)
		}
	})
	defer closeFD(got.fd)
	name, _ := nameOf(r.proc, got.fd)
	var st stat
	switch {
	case name == "": // out of handles, say: the name as it was given still holds
		if name = p; !strings.HasPrefix(name, "/") {
			name = path.Join(r.project, name)
		}
	case got.res == facts.OK:
		st, _ = statFD(got.fd)
	default:
		name = path.Join(append([]string{name}, got.left...)...)
	}
	return name, st
}
