//go:build unix

package ledger

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// flocks stand in where locks on byte ranges that belong to an open file are
// missing: flock(2) on one file a slot, beside the ledger. The files of the
// turn and of the commit lock stay; that of a tool_started goes with its lock.
type flocks struct {
	name string // of events.jsonl
	mu   sync.Mutex
	mine map[int64]*os.File
}

func newFlocks(name string) *flocks {
	return &flocks{name: name, mine: map[int64]*os.File{}}
}

func (l *flocks) path(slot int64) string {
	return l.name + ".lock." + strconv.FormatInt(slot, 10)
}

func (l *flocks) try(slot int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine[slot] != nil {
		return true, nil
	}
	f, err := os.OpenFile(l.path(slot), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return false, err
	}
	ok, err := flock(f)
	if !ok {
		return false, errors.Join(err, f.Close())
	}
	l.mine[slot] = f
	return true, nil
}

func (l *flocks) drop(slot int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.mine[slot]
	if f == nil {
		return nil
	}
	delete(l.mine, slot)
	var err error
	if slot >= slotStarted {
		err = os.Remove(l.path(slot))
	}
	return errors.Join(err, f.Close())
}

// held opens without creating: a slot without a file is free. A file that its
// holder removed in between is free too, and so is the lock on it.
func (l *flocks) held(slot int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine[slot] != nil {
		return false, nil
	}
	f, err := os.OpenFile(l.path(slot), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	free, err := flock(f)
	return err == nil && !free, errors.Join(err, f.Close())
}

func (l *flocks) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for slot, f := range l.mine {
		errs = append(errs, f.Close())
		delete(l.mine, slot)
	}
	return errors.Join(errs...)
}

// flock takes the lock on f, if nobody has it.
func flock(f *os.File) (bool, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	outer := conn.Control(func(fd uintptr) {
		for {
			if err = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB); err != unix.EINTR {
				return
			}
		}
	})
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	err = errors.Join(outer, err)
	return err == nil, err
}
