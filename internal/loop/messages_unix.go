//go:build unix

package loop

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow refuses a link in the file's place and does not wait at a FIFO.
const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// linked says that the file has a second name: what is written here would show
// up there.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// lock keeps every other process from writing the file until this one ends.
func lock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	outer := conn.Control(func(fd uintptr) {
		for {
			if err = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB); err != unix.EINTR {
				return
			}
		}
	})
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrDriven
	}
	return errors.Join(outer, err)
}

// syncDir makes the entries of dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
