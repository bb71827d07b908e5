package ledger

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// newLocks uses LockFileEx, whose locks belong to a handle like
// open-file-description locks do, on the same bytes far behind the end.
func newLocks(f *os.File) (locks, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	return handleLocks{conn}, nil
}

type handleLocks struct{ conn syscall.RawConn }

func (h handleLocks) at(slot int64, do func(windows.Handle, *windows.Overlapped) error) error {
	pos := uint64(1<<62 + 2*slot)
	var err error
	outer := h.conn.Control(func(fd uintptr) {
		err = do(windows.Handle(fd), &windows.Overlapped{Offset: uint32(pos), OffsetHigh: uint32(pos >> 32)})
	})
	return errors.Join(outer, err)
}

func (h handleLocks) try(slot int64) (bool, error) {
	err := h.at(slot, func(fd windows.Handle, o *windows.Overlapped) error {
		return windows.LockFileEx(fd, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, o)
	})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func (h handleLocks) drop(slot int64) error {
	return h.at(slot, func(fd windows.Handle, o *windows.Overlapped) error {
		return windows.UnlockFileEx(fd, 0, 1, 0, o)
	})
}

// held takes the lock and gives it back. Callers ask only for slots that they
// do not hold themselves.
func (h handleLocks) held(slot int64) (bool, error) {
	free, err := h.try(slot)
	if free {
		err = h.drop(slot)
	}
	return !free && err == nil, err
}

func (h handleLocks) close() error { return nil }
