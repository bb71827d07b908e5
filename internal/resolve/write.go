package resolve

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// ErrNoExchange says that a file system cannot exchange two names, or rename to
// a name that must be free, in one step. There an existing file cannot be
// replaced, nor a file renamed, with a check of what is replaced: so it is not.
// New files are written and files removed there all the same.
var ErrNoExchange = errors.New("the file system cannot exchange two names in one step")

// tempPrefix starts the names that stand for a moment beside what is written.
// One that is left over after a crash is safe to remove.
const tempPrefix = ".runlens-"

// maxBackOut bounds the attempts to give others' objects their names back.
const maxBackOut = 64

// Written says what a write did.
type Written struct {
	Bytes   int64
	Created bool     // the file is new
	Parents []string // directories that were made, outermost first, as canonical paths
}

// Write makes the entry a file that holds data, all or nothing, and returns
// when that is durable. The Object must have been resolved for writing and be
// free or an existing file. A free name that is taken by now, or an existing
// file that is another one by now, gives ErrChanged and changes nothing.
//
// An existing file is replaced by a new one with its permission bits (no setuid,
// setgid or sticky bit) and, where permitted, its owner; other hard links keep
// the old content, and extended attributes are not carried over.
func (o *Object) Write(data []byte) (Written, error) {
	w := Written{Bytes: int64(len(data)), Created: o.Facts.Resolution == facts.Absent}
	err := o.writable(facts.Write)
	if err == nil && !w.Created && o.st.kind() != facts.File {
		err = fmt.Errorf("it is a %s", o.st.kind())
	}
	if err != nil {
		return Written{}, o.problem("write", err)
	}
	p, err := o.makeParents()
	if err != nil {
		return Written{}, o.problem("write", err)
	}
	defer p.close()
	if err := o.writeIn(p, data, w.Created); err != nil {
		p.undo()
		return Written{}, o.problem("write", err)
	}
	w.Parents = p.names()
	return w, nil
}

func (o *Object) writeIn(p *parents, data []byte, created bool) error {
	dir := p.last()
	t, err := newTemp(dir, data, o.st, created)
	if err != nil {
		return err
	}
	defer t.close()
	if created {
		// Until here a crash leaves a temp file and maybe empty directories.
		// After it the file is whole under its name, or not there.
		err = landNew(dir, t.name, o.name)
	} else {
		// Until here a crash leaves the old file and a temp file. After it the
		// new file is whole under the name, and the old one under the temp name.
		err = o.replace(dir, t)
	}
	if err != nil {
		t.remove()
		return err
	}
	// The names are durable only after this: a crash before it may bring back
	// the state before, never a mixture.
	return p.sync()
}

// replace exchanges the temp file with what is at the name and keeps the result
// only if the object that came back is the judged one. It is held, so its
// number is its own.
//
// If another process moves the names at the same time, what comes back may be
// a stranger, in every round. No stranger is removed: each is put back, until
// the temp file is what comes back.
func (o *Object) replace(dir int, t *temp) error {
	placed := t.st
	for range maxBackOut {
		if err := exchange(dir, t.name, dir, o.name); err != nil {
			if resolutionOf(err) != facts.NotFound {
				return err
			}
			// The name is free now. What the temp name holds belongs there,
			// unless it is ours.
			if placed.same(t.st) {
				return ErrChanged
			}
			if err := renameNew(dir, t.name, dir, o.name); err == nil {
				t.name = ""
				return ErrChanged
			}
			continue
		}
		back, err := statAt(dir, t.name)
		switch {
		case err != nil:
			return ErrChanged
		case placed.same(t.st) && back.same(o.st):
			// A crash here leaves the old file under the temp name.
			return unlinkAt(dir, t.name, false)
		case back.same(t.st):
			return ErrChanged
		}
		placed = back
	}
	t.name = "" // a stranger: it stays
	return fmt.Errorf("%w; one that was moved meanwhile is now named %s…", ErrChanged, tempPrefix)
}

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
	isDir := o.st.kind() == facts.Directory
	if err == nil && isDir {
		entries, _, lerr := o.Entries(1)
		if err = lerr; len(entries) > 0 {
			err = errors.New("the directory is not empty")
		}
	}
	if err != nil {
		return o.problem("remove", err)
	}
	t := tempName()
	if err := setAside(o.dir, o.name, t); err != nil {
		if resolutionOf(err) == facts.NotFound {
			err = ErrChanged
		}
		return o.problem("remove", err)
	}
	st, err := statAt(o.dir, t)
	if err == nil && !st.same(o.st) {
		err = ErrChanged
	}
	if err == nil {
		err = unlinkAt(o.dir, t, isDir)
	}
	if err != nil {
		if back := renameNew(o.dir, t, o.dir, o.name); back != nil {
			err = fmt.Errorf("%w; it is now named %s", err, t)
		}
		return o.problem("remove", err)
	}
	return o.problem("remove", syncFolder(o.dir))
}

// RenameTo moves the entry to dst, which must have been resolved for writing
// and be free, or a file when the source is one. o must have been resolved for
// deleting. Both ends must still be what was judged, else ErrChanged and
// nothing is moved.
func (o *Object) RenameTo(dst *Object) error {
	err := errors.Join(o.writable(facts.Delete), dst.writable(facts.Write))
	if err == nil && o.Facts.Resolution != facts.OK {
		err = errors.New(o.Facts.Resolution)
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
		return unlinkAt(o.dir, o.name, false)
	}
	if err := exchange(o.dir, o.name, dir, dst.name); err != nil {
		return fmt.Errorf("%w, and could not be moved back", ErrChanged)
	}
	return ErrChanged
}

// writable says that the entry is held by its directory and a single name.
func (o *Object) writable(access string) error {
	switch {
	case o.r == nil || o.dir < 0 || o.name == "" || !o.Facts.Handle:
		return errors.New("no entry is held")
	case o.Facts.Access != access:
		return fmt.Errorf("it was resolved for %s", o.Facts.Access)
	}
	return nil
}

func (o *Object) problem(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", verb, cut(o.Facts.Path), err)
}

// temp is a new file under a name of ours, written and synced.
type temp struct {
	dir, fd int
	name    string
	st      stat
}

func tempName() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return tempPrefix + hex.EncodeToString(b[:])
}

func newTemp(dir int, data []byte, old stat, created bool) (*temp, error) {
	t := &temp{dir: dir, name: tempName()}
	var err error
	if t.fd, err = createFile(dir, t.name); err != nil {
		return nil, err
	}
	if !created {
		err = keepOwner(t.fd, old)
	}
	if err == nil {
		err = writeAll(t.fd, data)
	}
	if err == nil {
		err = syncFD(t.fd)
	}
	if err == nil {
		t.st, err = statFD(t.fd)
	}
	if err != nil {
		t.remove()
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *temp) close() { closeFD(t.fd) }

// remove takes the temp name away, if it is ours that has it.
func (t *temp) remove() {
	if t.name == "" {
		return
	}
	ours, err1 := statFD(t.fd)
	there, err2 := statAt(t.dir, t.name)
	if err1 == nil && err2 == nil && ours.same(there) {
		_ = unlinkAt(t.dir, t.name, false)
	}
}

// parents are the directories below the held one that a write had to make.
type parents struct {
	o    *Object
	dirs []int // dirs[0] is the held one
	made []bool
}

// makeParents makes the missing directories below the judged handle. One that
// somebody else made meanwhile is used if it is a directory and no link.
func (o *Object) makeParents() (*parents, error) {
	p := &parents{o: o, dirs: []int{o.dir}, made: []bool{false}}
	for _, name := range o.rest {
		err := mkdirAt(p.last(), name)
		made := err == nil
		if err != nil && !errors.Is(err, os.ErrExist) {
			p.undo()
			p.close()
			return nil, err
		}
		n, err := openNode(p.last(), name)
		if err == nil && n.st.kind() != facts.Directory {
			closeFD(n.fd)
			err = ErrChanged
		}
		if err != nil {
			p.undo()
			p.close()
			return nil, err
		}
		p.dirs, p.made = append(p.dirs, n.fd), append(p.made, made)
	}
	return p, nil
}

func (p *parents) last() int { return p.dirs[len(p.dirs)-1] }

// undo removes what was made, unless something is in it by now.
func (p *parents) undo() {
	for i := len(p.dirs) - 1; i > 0; i-- {
		if p.made[i] {
			_ = unlinkAt(p.dirs[i-1], p.o.rest[i-1], true)
		}
	}
}

// sync makes the entries durable, the innermost first, so that a name that
// survives a crash leads to what it should.
func (p *parents) sync() error {
	for i := len(p.dirs) - 1; i >= 0; i-- {
		if err := syncFolder(p.dirs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *parents) names() []string {
	out := []string{}
	at := strings.TrimSuffix(p.o.path, "/"+strings.Join(append(slices.Clone(p.o.rest), p.o.name), "/"))
	for i, name := range p.o.rest {
		at += "/" + name
		if p.made[i+1] {
			out = append(out, valid(at))
		}
	}
	return out
}

func (p *parents) close() {
	for _, fd := range p.dirs[1:] {
		closeFD(fd)
	}
}
