//go:build !linux

package handlers

import (
	"os"
	"runtime"
)

// newMemory makes nothing here, where no program can be run either.
func newMemory([]byte) (*os.File, error) {
	return nil, failed("running a program by its handle needs Linux, this is %s", runtime.GOOS)
}
