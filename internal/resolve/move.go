package resolve

import (
	"errors"
	"fmt"

	"github.com/runlens/runlens/internal/facts"
)

// Remove removes the entry: the judged object, a link as a link, a directory
// only when empty. The Object must have been resolved for deleting.
//
// The entry is moved to a temp name first, so that what is removed is what was
// compared. A crash in between leaves it there.
func (o *Object) Remove() error {
	err := o.writable(facts.Delete)
	if err == nil && o.Facts.Resolution != facts.OK {
		err = errors.New(o.Facts.Resolution)
	}
	if err == nil && o.st.kind() == facts.Directory {
		entries, _, lerr := o.Entries(1)
		if err = lerr; len(entries) > 0 {
			err = errors.New("the directory is not empty")
		}
	}
	if err != nil {
		return o.problem("remove", err)
	}
	if err = takeAway(o.dir, o.name, o.st); err == nil {
		err = syncFolder(o.dir)
	}
	return o.problem("remove", err)
}

// takeAway removes an entry if it is the given object, which must be held. It
// is compared under a name of ours, so that nobody exchanges it in between.
func takeAway(dir int, name string, want stat) error {
	t := tempName()
	if err := setAside(dir, name, t); err != nil {
		if resolutionOf(err) == facts.NotFound {
			err = ErrChanged
		}
		return err
	}
	st, err := statAt(dir, t)
	if err == nil && !st.same(want) {
		err = ErrChanged
	}
	if err == nil {
		// A crash here leaves the entry under the temp name.
		err = unlinkAt(dir, t, want.kind() == facts.Directory)
	}
	if err == nil {
		return nil
	}
	if back := renameNew(dir, t, dir, name); back != nil {
		err = fmt.Errorf("%w; what was displaced is now named %s", err, t)
	}
	return err
}

// RenameTo moves the entry to dst, which must have been resolved for writing
// and be free, or a file when the source is one. o must have been resolved for
// deleting. Both ends must still be what was judged, else ErrChanged and
// nothing is moved.
//
// An entry moved onto itself, however it is spelt, stays as it is, as rename(2)
// has it. Another name of the same file is an error: rename(2) would leave both
// and say that it moved, and taking the old one away could take the last.
func (o *Object) RenameTo(dst *Object) error {
	err := errors.Join(o.writable(facts.Delete), dst.writable(facts.Write))
	if err == nil && o.Facts.Resolution != facts.OK {
		err = errors.New(o.Facts.Resolution)
	}
	if err == nil {
		var same bool
		if same, err = o.sameEntry(dst); same {
			return o.problem("rename", err)
		}
	}
	free := dst.Facts.Resolution == facts.Absent
	if err == nil && !free && (o.st.kind() != facts.File || dst.st.kind() != facts.File) {
		err = errors.New("only a file replaces a file")
	}
	if err != nil {
		return o.problem("rename", err)
	}
	p, err := dst.makeParents()
	if err != nil {
		return o.problem("rename", err)
	}
	defer p.close()
	if free {
		err = o.moveNew(p.last(), dst.name)
	} else {
		err = o.moveOver(p.last(), dst)
	}
	if err != nil {
		p.undo()
		return o.problem("rename", err)
	}
	// Until here a crash may bring back the old names. Both stand for whole
	// objects in either state.
	return o.problem("rename", errors.Join(p.sync(), syncFolder(o.dir)))
}

// sameEntry says that both ends are one entry, or are two names of one object,
// which is an error, as it is that the entry is another object by now. Nothing
// is moved then.
func (o *Object) sameEntry(dst *Object) (bool, error) {
	if dst.Facts.Resolution != facts.OK || !dst.st.same(o.st) {
		return false, nil
	}
	from, err1 := statFD(o.dir)
	to, err2 := statFD(dst.dir)
	if err := errors.Join(err1, err2); err != nil {
		return true, err
	}
	if !from.same(to) || o.name != dst.name {
		return true, errors.New("both names are of one file")
	}
	if st, err := statAt(o.dir, o.name); err != nil || !st.same(o.st) {
		return true, ErrChanged
	}
	return true, nil
}

func (o *Object) moveNew(dir int, name string) error {
	if err := renameNew(o.dir, o.name, dir, name); err != nil {
		if resolutionOf(err) == facts.NotFound {
			err = ErrChanged
		}
		return err
	}
	st, err := statAt(dir, name)
	if err == nil && st.same(o.st) {
		return nil
	}
	if err := renameNew(dir, name, o.dir, o.name); err != nil {
		return fmt.Errorf("%w, and could not be moved back", ErrChanged)
	}
	return ErrChanged
}

// moveOver exchanges the two names, checks both objects, and removes the old
// one from the name it came to. A crash before that leaves the two exchanged.
func (o *Object) moveOver(dir int, dst *Object) error {
	if err := exchange(o.dir, o.name, dir, dst.name); err != nil {
		if resolutionOf(err) == facts.NotFound {
			err = ErrChanged
		}
		return err
	}
	moved, err1 := statAt(dir, dst.name)
	old, err2 := statAt(o.dir, o.name)
	if err1 == nil && err2 == nil && moved.same(o.st) && old.same(dst.st) {
		return takeAway(o.dir, o.name, dst.st)
	}
	if err := exchange(o.dir, o.name, dir, dst.name); err != nil {
		return fmt.Errorf("%w, and could not be moved back", ErrChanged)
	}
	return ErrChanged
}
