package ledger

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// newLocks prefers open-file-description locks (Linux 3.15): they belong to
// the open file, so closing another descriptor of it does not lose them.
// Kernels without them (gVisor among others) answer EINVAL.
func newLocks(f *os.File) (locks, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	ofd := ofdLocks{conn}
	if _, err := ofd.held(slotTurn); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return newFlocks(f.Name()), nil
	}
	return ofd, nil
}

type ofdLocks struct{ conn syscall.RawConn }

func (o ofdLocks) fcntl(cmd int, kind int16, slot int64) (unix.Flock_t, error) {
	lock := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: 1<<62 + 2*slot, Len: 1}
	var err error
	if outer := o.conn.Control(func(fd uintptr) {
		for {
			if err = unix.FcntlFlock(fd, cmd, &lock); err != unix.EINTR {
				return
			}
		}
	}); outer != nil {
		err = outer
	}
	return lock, err
}

func (o ofdLocks) try(slot int64) (bool, error) {
	_, err := o.fcntl(unix.F_OFD_SETLK, unix.F_WRLCK, slot)
	if err == unix.EAGAIN || err == unix.EACCES {
		return false, nil
	}
	return err == nil, err
}

func (o ofdLocks) drop(slot int64) error {
	_, err := o.fcntl(unix.F_OFD_SETLK, unix.F_UNLCK, slot)
	return err
}

func (o ofdLocks) held(slot int64) (bool, error) {
	lock, err := o.fcntl(unix.F_OFD_GETLK, unix.F_WRLCK, slot)
	return err == nil && lock.Type != unix.F_UNLCK, err
}

func (o ofdLocks) close() error { return nil } // they end with the file
