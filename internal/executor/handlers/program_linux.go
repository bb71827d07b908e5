package handlers

import (
	"os"

	"golang.org/x/sys/unix"
)

// newMemory makes a file that has no name and takes no room on a disk. With text it
// holds that, stands at its beginning and can't be changed; with nil it is empty, to
// be written.
func newMemory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("runlens", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "memory")
	if text == nil {
		return f, nil
	}
	_, err = f.WriteAt(text, 0)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
