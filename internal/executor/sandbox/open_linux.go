//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// openFlags are in force for a file that the program gets opened: with a mount of
// its own that is read only, no descriptor of it can change anything of the file.
const openFlags = quiet | unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC

// openFiles opens the files of Open, each through a mount of its own that shows
// nothing but the file.
func (s *stage) openFiles() error {
	for i, p := range s.Open {
		fd, err := unix.Open(openPath(i), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return unavailable(fmt.Sprintf("open %.200q", p.Path), err)
		}
		s.opened = append(s.opened, fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || uint64(st.Dev) != p.Dev || st.Ino != p.Ino || st.Mode&unix.S_IFMT != unix.S_IFREG {
			return &Error{Kind: ErrChanged, Step: fmt.Sprintf("open %.200q", p.Path), Note: "it is another object than the handle"}
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0); err != nil { // no O_NONBLOCK
			return unavailable(fmt.Sprintf("open %.200q", p.Path), err)
		}
	}
	return nil
}

// openParts are the mounts of the files of Open.
func (s *stage) openParts() (parts []attachment, err error) {
	for i, p := range s.Open {
		part, err := rootPart(p)
		if err != nil {
			return nil, err
		}
		part.at, part.flags = openPath(i), openFlags
		if p.Mount == 0 {
			if err := restrict(part.fd, string(p.Path), part.flags); err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func openPath(i int) string { return scratchDir + "/open-" + strconv.Itoa(i) }

// loopback brings up the sandbox's own loopback.
func (s *stage) loopback() error {
	if !s.Loopback {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return unavailable("bring up a loopback", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err == nil {
		lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
	}
	if err != nil {
		return unavailable("bring up a loopback", err)
	}
	return nil
}
