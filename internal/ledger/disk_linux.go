package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync leaves out times: fdatasync(2) writes the new size, which is needed
// to read the bytes back.
func datasync(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	outer := conn.Control(func(fd uintptr) {
		for {
			if err = unix.Fdatasync(int(fd)); err != unix.EINTR {
				return
			}
		}
	})
	return errors.Join(outer, err)
}
