//go:build unix

package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// noWait does not wait at a FIFO, noFollow refuses a link in the file's place too.
const (
	noWait   = unix.O_NONBLOCK
	noFollow = unix.O_NOFOLLOW | noWait
)

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
