package executor

import (
	"errors"
	"os"
)

var errNotPlain = errors.New("not a regular file")

// openPlain opens a regular file of the run's own for reading.
func openPlain(name string) (*os.File, error) {
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotPlain
	}
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}

// syncDir does nothing: Windows makes names durable by itself.
func syncDir(string) error { return nil }
