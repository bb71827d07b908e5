package resolve

import (
	"fmt"
	"slices"

	"github.com/runlens/runlens/internal/facts"
)

// ID names the held object so that another process can tell whether it finds
// the same one in the same state: device and inode, for a file also its size
// and the time of its last change. A free name is named after the folder that
// is held for it. It is "" when nothing is held; it says nothing to policy and
// is not kept beyond a run.
func (o *Object) ID() string {
	switch {
	case o.held() && o.Facts.Kind == facts.Directory:
		return fmt.Sprintf("%d:%d", o.st.dev, o.st.ino)
	case o.held():
		return fmt.Sprintf("%d:%d:%d:%d.%09d", o.st.dev, o.st.ino, o.st.size, o.st.changed[0], o.st.changed[1])
	case o.r != nil && o.dir >= 0:
		if st, err := statFD(o.dir); err == nil {
			return fmt.Sprintf("%d:%d/free", st.dev, st.ino)
		}
	}
	return ""
}

// InRuns says whether a path lies where runs are kept, or what it leads to, or a link
// on the way there: whoever may write in one of those has it in hand. What isn't there
// counts by its name.
func (r *Resolver) InRuns(p string) bool {
	s := r.refresh()
	in := func(name string) bool {
		folded := foldEach(nil, segments(name))
		return slices.ContainsFunc(s.known, func(k known) bool {
			return k.place.Class == facts.ProtectedRun && k.each() && samePrefix(folded, k.names) == len(k.names)
		})
	}
	linked := false
	name, _ := r.lead(p, func(link string) { linked = linked || in(link) })
	return linked || in(name)
}

// InPlace says whether a root, as facts describe it, is a protected place or
// lies in one, and of which class that place is. A tool with such a write root
// could change what it is judged by.
func (r *Resolver) InPlace(root facts.Root) (class string, inside bool) {
	folded := foldEach(nil, segments(root.Path))
	class = r.refresh().judge(query{path: root.Path, folded: folded, access: facts.Write})
	return class, class != "" && class != facts.ProtectedAncestor
}
