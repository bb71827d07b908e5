package resolve

import (
	"fmt"
	"os"
	"slices"

	"github.com/runlens/runlens/internal/facts"
)

// Shadowed are the canonical paths of all protected places as they are now: what
// a program that runs by itself, and is not asked name by name, must not see. Of
// a "*" place it is the folder as a whole. A folder that does not count as a place
// is an ordinary one, and the program of a tool may be seen: it is no secret, and
// Holds keeps it out of what may be written.
func (r *Resolver) Shadowed() []string {
	var list []string
	for _, k := range r.refresh().known {
		if k.place.Class != facts.ProtectedHandler && (k.each() || k.place.counts(k.path)) {
			list = append(list, k.path)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Holds says whether a folder, by its canonical path, is or holds a protected
// place or would: whoever may write in it could make one. One that lies in a place of
// programs counts as well; it is none that Shadowed names.
func (r *Resolver) Holds(folder string) bool {
	folded := foldEach(nil, segments(folder))
	return slices.ContainsFunc(r.refresh().known, func(k known) bool {
		n := samePrefix(folded, k.names)
		return n == len(folded) || n == len(k.names) && k.place.Class == facts.ProtectedHandler
	})
}

// Folder opens a root again that facts describe, by its canonical path. It fails
// when the path leads to something else by now, or is part of a protected place.
// The caller closes the Object.
func (r *Resolver) Folder(root facts.Root) (*Object, error) {
	o := r.Resolve(Request{Access: facts.List, Raw: root.Path, Requested: root.Path, Absolute: true})
	f := o.Facts
	var err error
	switch {
	case f.Resolution != facts.OK:
		err = fmt.Errorf("open root %q: %s", cut(root.Declared), f.Resolution)
	case f.Kind != facts.Directory || f.Path != root.Path || f.Device != root.Device || f.MountID != root.MountID:
		err = fmt.Errorf("open root %q: %w", cut(root.Declared), ErrChanged)
	case f.Protected != "":
		err = fmt.Errorf("open root %q: it is part of a place of class %s", cut(root.Declared), f.Protected)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// Unchanged gives ErrChanged when the held file is not as it was when it was judged,
// by its size and the time of its last change. It comes before an exec: what is run
// is the object, and that may have been written to since.
func (o *Object) Unchanged() error {
	if !o.held() {
		return fmt.Errorf("look at %q: nothing is held", cut(o.Facts.Path))
	}
	st, err := statFD(o.fd)
	if err == nil && (!st.same(o.st) || st.size != o.st.size || st.changed != o.st.changed) {
		err = ErrChanged
	}
	return o.problem("look at", err)
}

// File is the held object as an open file that nothing can be read from: it
// stands for the object where a handle of it is asked for. The caller closes it.
func (o *Object) File() (*os.File, error) {
	if !o.held() {
		return nil, fmt.Errorf("name handle of %q: nothing is held", cut(o.Facts.Path))
	}
	fd := dupFD(o.fd)
	if fd < 0 {
		return nil, fmt.Errorf("name handle of %q: out of descriptors", cut(o.Facts.Path))
	}
	return os.NewFile(uintptr(fd), o.path), nil
}
