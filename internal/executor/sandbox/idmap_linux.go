//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// When this process is root, the program is nobody for the host, and a root that
// belongs to someone would be closed to it. So each root is mounted with its
// owner mapped to the program: there the program is who the owner is, and a file
// that it makes is the owner's. Files of other owners show no owner, can't be
// written, and are read as "others" may.

// mountMapped makes a detached mount of the root's handle. It is seen by whoever
// gets its descriptor, and gone with the last one.
func (h *handover) mountMapped(r Root, flags uint64) (tree *os.File, err error) {
	step := fmt.Sprintf("mount root %.200q", r.Path)
	var st unix.Stat_t
	if err := unix.Fstat(int(r.Handle.Fd()), &st); err != nil {
		return nil, unavailable(step, err)
	}
	err = h.launcher.mapped(h.ctx, st.Uid, st.Gid, func(owner *os.File) error {
		if tree, err = detach(r, flags, owner); err != nil {
			return fail(ErrUnavailable, step+" with its owner mapped (its file system may not allow that; run as an ordinary user)", err)
		}
		return nil
	})
	return tree, err
}

// detach makes a detached mount of a handle, with the owners of a user namespace
// or as they are.
func detach(r Root, flags uint64, owners *os.File) (*os.File, error) {
	fd, err := unix.OpenTree(int(r.Handle.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return nil, unavailable(fmt.Sprintf("mount %.200q", r.Path), err)
	}
	tree := os.NewFile(uintptr(fd), r.Path)
	attr := unix.MountAttr{Attr_set: flags, Propagation: unix.MS_PRIVATE}
	if owners != nil {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(owners.Fd())
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		tree.Close()
		return nil, unavailable(fmt.Sprintf("restrict mount %.200q", r.Path), err)
	}
	return tree, nil
}

func rootFlags(write bool) uint64 {
	if write {
		return unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	}
	return unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY
}
