package resolve

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"time"

	"github.com/runlens/runlens/internal/facts"
)

// ErrNoExchange says that a file system cannot exchange two names, or rename to
// a name that must be free, in one step. There an existing file cannot be
// replaced, nor a file renamed, with a check of what is replaced: so it is not.
// New files are written and files removed there all the same.
var ErrNoExchange = errors.New("the file system cannot exchange two names in one step")

// Bounds of the attempts to give others' objects their names back.
const (
	maxBackOut = 128
	maxPause   = 100 * time.Microsecond
)

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
func (o *Object) replace(dir int, t *temp) error {
	if err := exchange(dir, t.name, dir, o.name); err != nil {
		if resolutionOf(err) == facts.NotFound {
			err = ErrChanged
		}
		return err
	}
	back, err := statAt(dir, t.name)
	if err == nil && back.same(o.st) {
		// A crash here leaves the old file under the temp name.
		return unlinkAt(dir, t.name, false)
	}
	return o.backOut(dir, t)
}

// backOut gives a stranger that came back its name again. Others may move the
// names at the same time, so the new file may be under any of them by now, and
// each exchange may bring the next stranger. None is removed: the exchange is
// made with the name that the new file has, until that is what comes back.
func (o *Object) backOut(dir int, t *temp) error {
	for round := range maxBackOut {
		name, gone := o.nameOfTemp(dir, t)
		if name == t.name {
			return ErrChanged // writeIn removes it
		}
		if gone {
			// Somebody removed or replaced the new file. What it displaced goes
			// back if its name is free.
			if renameNew(dir, t.name, dir, o.name) == nil {
				t.name = ""
				return ErrChanged
			}
			break
		}
		if round > 0 {
			// Whoever moves the names in a loop waits for the same lock, and
			// falls into step: without a pause of chance length it would move
			// them exactly once between the look and the exchange, every time.
			time.Sleep(rand.N(maxPause))
		}
		_ = exchange(dir, t.name, dir, name)
	}
	return fmt.Errorf("%w; what was displaced is now named %s", ErrChanged, t.name)
}

// nameOfTemp is the name in dir that the new file has now, o.name in doubt.
func (o *Object) nameOfTemp(dir int, t *temp) (name string, gone bool) {
	if there, err := statAt(dir, t.name); err == nil && there.same(t.st) {
		return t.name, false
	}
	st, err := statFD(t.fd)
	if err == nil && st.nlink == 0 {
		return "", true
	}
	folder, err1 := nameOf(o.r.proc, dir)
	file, err2 := nameOf(o.r.proc, t.fd)
	if err1 == nil && err2 == nil && path.Dir(file) == folder {
		return path.Base(file), false
	}
	return o.name, false
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
