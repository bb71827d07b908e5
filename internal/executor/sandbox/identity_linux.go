//go:build amd64 || arm64

package sandbox

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// identity of the program when this process is root: nobody for the host, an
// ordinary user inside. (Inside it is not 65534, which is what the kernel shows
// for owners that are not mapped.)
const (
	nobody   = 65534
	insideID = 1000
)

// identity is who a program is in its own view, and for the host.
type identity struct {
	uid, gid         int
	hostUID, hostGID int
	root             bool // this process is uid 0 of the host
}

func readIdentity() identity {
	who := identity{uid: os.Geteuid(), gid: os.Getegid(), hostUID: os.Geteuid(), hostGID: os.Getegid(), root: hostRoot()}
	if who.root {
		who.hostUID, who.hostGID = nobody, nobody
	}
	if who.root || who.uid == 0 {
		who.uid, who.gid = insideID, insideID
	}
	return who
}

// hostRoot says whether this process is uid 0 for the host itself, not only in a
// user namespace.
func hostRoot() bool {
	if os.Geteuid() != 0 {
		return false
	}
	text, err := os.ReadFile("/proc/self/uid_map")
	return err != nil || slices.Equal(strings.Fields(string(text)), []string{"0", "0", "4294967295"})
}

// visible opens this process to others of its user, until what it returns is
// called: the identity of a child in a user namespace of its own is written through
// /proc, which only root may do for a child of one that is closed.
func (who identity) visible() (closeAgain func()) {
	if os.Geteuid() == 0 {
		return func() {}
	}
	unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	return func() { closed() }
}

// closed keeps this process from being looked into by others of its user.
func closed() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// namespaces that every sandbox has for itself, as /proc/self/ns names them.
var namespaces = []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}

func ownNamespaces() (map[string]string, error) {
	own := map[string]string{}
	for _, name := range namespaces {
		link, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			return nil, err
		}
		own[name] = link
	}
	return own, nil
}
