//go:build unix

package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// noFollow refuses a link in the file's place, and does not wait at a FIFO.
const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// syncDir makes the entries of dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// private refuses a key directory that others may enter.
func private(info os.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return errors.New("open to others")
	}
	return nil
}
