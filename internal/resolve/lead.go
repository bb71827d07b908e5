package resolve

import (
	"path"
	"slices"

	"github.com/runlens/runlens/internal/facts"
)

// look finds the links in a place, the shallow ones first, and adds what they
// lead to, and each link on the way, to the snapshot: who changes the target of
// policies/runlens changes the policies. What lies deeper than maxDepth, or
// beyond the first maxBelow entries of the place, is not followed.
//
// In a "*" place the entries are looked at, not what is in them: the record of
// a run is never written or read through a link.
type look struct {
	r      *Resolver
	s, old *snapshot
	place  *Place
	todo   []folder
	seen   map[identity]bool // true: as protected as a whole
	left   int
}

// folder is one that is to be looked at.
type folder struct {
	path  string   // canonical
	rel   []string // folded, from the place, while it is not protected as a whole
	whole bool     // all in it is protected
	depth int
}

func (r *Resolver) lookInto(s, old *snapshot, p *Place, name string) {
	l := &look{r: r, s: s, old: old, place: p, seen: map[identity]bool{}, left: maxBelow}
	l.todo = append(l.todo, folder{path: name, whole: p.each() || p.counts(name)})
	for i := 0; i < len(l.todo) && l.left > 0; i++ {
		l.look(l.todo[i])
	}
}

func (l *look) look(f folder) {
	list := l.list(f.path)
	if list == nil {
		return
	}
	id := list.st.identity()
	if whole, seen := l.seen[id]; seen && (whole || !f.whole) {
		return
	}
	l.seen[id] = f.whole
	l.left -= list.entries
	if isSecret(l.place.Class) && f.depth > 0 {
		l.s.watchFolder(f.path, list.st)
	}
	for _, p := range list.links {
		if in, ok := l.enter(f, p); ok && in.whole {
			l.follow(in)
		}
	}
	if l.place.each() || f.depth >= maxDepth {
		return
	}
	for _, p := range list.folders {
		if in, ok := l.enter(f, p); ok {
			l.todo = append(l.todo, in)
		}
	}
}

// enter says whether an entry of a folder is protected, or something in it is
// or would be.
func (l *look) enter(f folder, p string) (folder, bool) {
	name := path.Base(p)
	in := folder{path: p, whole: f.whole, depth: f.depth + 1}
	if f.depth == 0 && !l.place.each() && slices.Contains(l.place.Except, name) {
		return in, false
	}
	if f.whole {
		return in, true
	}
	in.rel = append(slices.Clone(f.rel), Fold(name))
	class := l.place.named(in.rel, query{access: facts.Write, lands: true})
	in.whole = class == l.place.Class
	return in, class != ""
}

// follow adds what a link leads to. The link itself is in the place, and so is
// another entry of a "*" place.
func (l *look) follow(link folder) {
	p, entry := l.place, l.place.each()
	if !entry {
		p = &Place{Class: p.Class} // counts always
	}
	var on []string
	name, st := l.r.lead(link.path, func(link string) { on = append(on, link) })
	if entry && len(on) == 1 && path.Dir(name) == path.Dir(link.path) {
		return
	}
	l.s.again = l.s.again || isSecret(p.Class)
	for _, other := range on[min(1, len(on)):] {
		l.s.add(known{place: p, path: other, entry: entry})
	}
	l.s.add(known{place: p, path: name, st: st, entry: entry})
	if !entry && st.kind() == facts.Directory {
		l.todo = append(l.todo, folder{path: name, whole: true, depth: link.depth})
	}
}

// listing is what a look needs to know of a folder.
type listing struct {
	st      stat
	links   []string // canonical paths
	folders []string
	entries int
	settled bool
}

// list reads a folder unless it is known as it is now. It is nil for one that
// may not be read: RunLens takes nothing from it either.
func (l *look) list(p string) *listing {
	if have := l.s.lists[p]; have != nil {
		return have
	}
	if l.old != nil {
		if have := l.old.lists[p]; have != nil && have.settled {
			st, err := statAt(atCWD, p)
			if err == nil && st.same(have.st) && st.changed == have.st.changed {
				l.s.lists[p] = have
				return have
			}
		}
	}
	fd, err := openFolder(p)
	if err != nil {
		return nil
	}
	defer closeFD(fd)
	list := &listing{}
	if list.st, err = statFD(fd); err != nil {
		return nil
	}
	entries, _, err := readNames(fd, maxBelow)
	for _, e := range entries {
		switch e.Kind {
		case facts.Symlink:
			list.links = append(list.links, join(p, e.Name))
		case facts.Directory:
			list.folders = append(list.folders, join(p, e.Name))
		}
	}
	list.entries = len(entries)
	list.settled = err == nil && l.s.settled(list.st.changed)
	l.s.lists[p] = list
	return list
}
