//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// The program must not rename or remove a directory below which something is hidden:
// another sandbox that is being set up over the same root would look for it where it
// is no more. So each directory on the way from a write root to a hidden entry, a
// cover or a nested root is pinned.
//
// The kernel refuses to rename or remove, by whatever mount, what is a mount point in
// the mount namespace of who asks. A pin is a second mount of the directory, out of
// the way, with another mount on top of it, so that what the program sees stays as it
// is: one mounted in its place would make moving files into it an EXDEV.

const (
	pinsDir = scratchDir + "/pins"
	maxPins = 8192 // directories
)

// pins are the pinned directories.
type pins struct {
	dir, lid int // the file system where they are; what covers each; 0: not made yet
	held     map[[2]uint64]bool
}

// pinsWanted says whether a directory can be moved by the program at all.
func (s *stage) pinsWanted(p string) bool {
	r := s.rootOf(p)
	return r != nil && r.Write && string(r.Path) != p && !s.coveredBelow(p, string(r.Path))
}

// rootOf returns the root that a path lies in, the innermost, or nil.
func (s *stage) rootOf(p string) (innermost *place) {
	for i := range s.Roots { // sorted: an outer one comes first
		if within(p, string(s.Roots[i].Path)) {
			innermost = &s.Roots[i]
		}
	}
	return innermost
}

// pinAbove pins the directories above a path, up to the root that they are in.
func (s *stage) pinAbove(p string) error {
	for p = path.Dir(p); s.pinsWanted(p); p = path.Dir(p) {
		fd, err := openInside(p)
		if err != nil {
			return fail(ErrChanged, fmt.Sprintf("open directory %.200q", p), err)
		}
		err = s.pin(fd, p)
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// pin pins a directory, before anything of the sandbox is mounted in it but roots.
func (s *stage) pin(fd int, p string) error {
	err := s.addPin(fd, p)
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return unavailable(fmt.Sprintf("keep directory %.200q in its place", p), err)
}

func (s *stage) addPin(fd int, p string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	key := [2]uint64{uint64(st.Dev), st.Ino}
	if s.held[key] {
		return nil
	}
	if len(s.held) == maxPins {
		return (&folder{path: p}).cut(fmt.Sprintf("they are in more than %d directories", maxPins))
	}
	if err := s.preparePins(); err != nil {
		return err
	}
	name := strconv.Itoa(len(s.held))
	if err := unix.Mkdirat(s.dir, name, 0); err != nil {
		return err
	}
	at, err := unix.Openat(s.dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	// With what is mounted in it, since the kernel doesn't let everything be left off.
	second, err := cloneOnto(fd, at, unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(second)
	lid, err := cloneOnto(s.lid, second, 0)
	if err != nil {
		return err
	}
	s.held[key] = true
	return unix.Close(lid)
}

// cloneOnto mounts a directory a second time, on another, and returns the mount.
func cloneOnto(fd, at int, flags uint) (int, error) {
	second, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|flags)
	if err != nil {
		return -1, err
	}
	if err := unix.MoveMount(second, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		unix.Close(second)
		return -1, err
	}
	return second, nil
}

func (s *stage) preparePins() error {
	if s.held != nil {
		return nil
	}
	dir, err := newFS("tmpfs", quiet|unix.MOUNT_ATTR_NOEXEC, "mode=0755", "size=1m")
	if err != nil {
		return err
	}
	if err := s.attach(attachment{fd: dir, at: pinsDir, folder: true, flags: quiet}); err != nil {
		return err
	}
	if err := unix.Mkdirat(dir, "lid", 0); err != nil {
		return err
	}
	lid, err := clone(pinsDir+"/lid", quiet|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	if err != nil {
		return err
	}
	// Attached, though on itself: letting go of a detached mount takes long.
	if err := unix.MoveMount(lid.fd, "", dir, "lid", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	s.dir, s.lid, s.held = dir, lid.fd, map[[2]uint64]bool{}
	return nil
}

// closePins takes the right to write from where they are.
func (s *stage) closePins() error {
	if s.held == nil {
		return nil
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(s.dir, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return unavailable("close the pins", err)
	}
	return nil
}
