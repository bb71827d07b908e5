//go:build unix

package executor

import (
	"errors"
	"os"
	"syscall"
)

var errNotPlain = errors.New("not a regular file")

// openPlain opens a regular file of the run's own for reading; a link or a FIFO
// that somebody put there is refused and not waited for.
func openPlain(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errNotPlain
	}
	return f, nil
}

// syncDir makes the names in a directory durable.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
