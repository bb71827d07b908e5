package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

func makeFIFO(at string) error { return syscall.Mkfifo(at, 0o644) }

// makeDevice makes a node of the null device.
func makeDevice(at string) error { return syscall.Mknod(at, syscall.S_IFCHR|0o666, 1<<8|3) }

// makeSocket binds through the directory, since a socket's path must be short.
func makeSocket(at string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	dir, err := os.Open(filepath.Dir(at))
	if err != nil {
		return err
	}
	defer dir.Close()
	short := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(at))
	return syscall.Bind(fd, &syscall.SockaddrUnix{Name: short})
}
