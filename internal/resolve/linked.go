package resolve

import (
	"fmt"
	"slices"

	"github.com/runlens/runlens/internal/facts"
)

// maxLinked bounds the entries of protected places that Linked looks at.
const maxLinked = 20_000

// Linked is a file of a protected place that has more than one name. The others may
// lie where a program, which nobody asks name by name, can open them.
type Linked struct {
	Dev, Ino uint64
	Class    string
}

// Linked lists such files in all places but those of runs, and in one run's directory
// with the exception of some of its entries. The other runs are not looked through:
// there may be any number of them. What can't be looked at is an error.
func (r *Resolver) Linked(run string, except ...string) ([]Linked, error) {
	l := &linkedLook{left: maxLinked, seen: map[identity]bool{}}
	for _, k := range r.refresh().known {
		if k.place.Class != facts.ProtectedRun && !k.place.Plain && (k.each() || k.place.counts(k.path)) {
			l.look(k.path, k.place.Class, k.place.Except, 0)
		}
	}
	l.look(run, facts.ProtectedRun, except, 0)
	return l.found, l.err
}

type linkedLook struct {
	found []Linked
	seen  map[identity]bool
	left  int
	err   error // the first
}

func (l *linkedLook) look(name, class string, except []string, depth int) {
	st, err := statAt(atCWD, name)
	switch {
	case l.err != nil || resolutionOf(err) == facts.NotFound || resolutionOf(err) == facts.NotADirectory:
		return
	case err != nil:
		l.err = fmt.Errorf("look for other names of %q: %w", cut(name), err)
		return
	case st.kind() != facts.Directory:
		l.file(st, class)
		return
	case l.seen[st.identity()]:
		return
	}
	l.seen[st.identity()] = true
	if err := l.folder(name, class, except, depth); err != nil {
		l.err = fmt.Errorf("look for other names of what is in %q: %w", cut(name), err)
	}
}

func (l *linkedLook) folder(name, class string, except []string, depth int) error {
	fd, err := openFolder(name)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	entries, more, err := readNames(fd, l.left)
	l.left -= len(entries)
	switch {
	case err != nil:
		return err
	case more || depth > maxDepth:
		return fmt.Errorf("there are more than %d entries, or they are too deep", maxLinked)
	}
	for _, e := range entries {
		switch {
		case depth == 0 && slices.Contains(except, e.Name):
		case e.Kind == facts.Directory:
			l.look(join(name, e.Name), class, nil, depth+1)
		default:
			if st, err := statAt(fd, e.Name); err == nil {
				l.file(st, class)
			}
		}
	}
	return nil
}

func (l *linkedLook) file(st stat, class string) {
	if st.kind() == facts.File && st.nlink > 1 {
		l.found = append(l.found, Linked{st.dev, st.ino, class})
	}
}
