package golden

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// special makes a FIFO, a socket or a node of the null device in dir.
func special(kind string, dir *os.File, name string) error {
	fd := int(dir.Fd())
	switch kind {
	case "fifo":
		return unix.Mknodat(fd, name, unix.S_IFIFO|0o644, 0)
	case "socket":
		return socket(fd, name)
	}
	err := unix.Mknodat(fd, name, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%w: making devices needs root: %w", ErrUnable, err)
	}
	return err
}

// socket binds through the directory, since a socket's path must be short.
func socket(dir int, name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir, name)})
}

// Skip says why this process can't lay the case out; "" when it may try.
func (c *Case) Skip() string {
	if os.Geteuid() == 0 {
		return ""
	}
	for _, l := range c.layout {
		if kind, _, _ := words(l.text); kind == "device" {
			return "making devices needs root"
		}
	}
	return ""
}
