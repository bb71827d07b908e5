package resolve

import (
	"sort"

	"github.com/runlens/runlens/internal/facts"
)

// Bounds of a recursive look. Beyond them Walk is "cut".
const (
	maxBelow = 10_000
	maxDepth = 64
)

// Walks of a recursive target.
const (
	walkComplete = "complete"
	walkCut      = "cut"
)

// below walks a directory tree without following links, each directory opened
// below the handle of its parent.
type below struct {
	o     *Object
	cares func(folded string) bool
	left  int
	cut   bool
	safe  bool // no place that is protected for every access lies below
}

// lookBelow lists the entries whose folded name policy data cares about, and
// those that are protected for every access. What this process may not list,
// another of its user may not either: it does not make the walk incomplete.
func (o *Object) lookBelow(cares func(folded string) bool) {
	b := &below{o: o, cares: cares, left: maxBelow, safe: !o.r.secretBelow(o.path)}
	b.dir(o.fd, "", 0)
	sort.Slice(o.Facts.Below, func(i, j int) bool { return o.Facts.Below[i].Path < o.Facts.Below[j].Path })
	o.Facts.Walk = walkComplete
	if b.cut {
		o.Facts.Walk = walkCut
	}
}

func (b *below) dir(fd int, rel string, depth int) {
	if depth >= maxDepth || b.left <= 0 {
		b.cut = true
		return
	}
	real, err := reopen(fd)
	if err != nil {
		b.cut = b.cut || resolutionOf(err) != facts.NoAccess
		return
	}
	defer closeFD(real)
	entries, more, err := readNames(real, b.left)
	b.cut = b.cut || more || err != nil
	b.left -= len(entries)
	for _, e := range entries {
		p := e.Name
		if rel != "" {
			p = rel + "/" + e.Name
		}
		folded := Fold(e.Name)
		if b.cares != nil && b.cares(folded) || !b.safe && b.o.r.secret(join(b.o.path, p)) {
			b.o.Facts.Below = append(b.o.Facts.Below, facts.Below{Path: valid(p), Folded: folded, Kind: e.Kind})
		}
		if e.Kind != facts.Directory {
			continue
		}
		n, err := openNode(real, e.Name)
		if err != nil || n.st.kind() != facts.Directory {
			closeFD(n.fd)
			b.cut = true // it changed while it was walked
			continue
		}
		b.dir(n.fd, p, depth+1)
		closeFD(n.fd)
	}
}
