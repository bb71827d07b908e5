//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// When this process is root, the program is nobody for the host, and a root that
// belongs to someone would be closed to it. So each root is mounted with its
// owner mapped to the program: there the program is who the owner is, and a file
// that it makes is the owner's. Files of other owners show no owner, can't be
// written, and are read as "others" may.

// idmaps are user namespaces that hold such mappings, by owner.
type idmaps struct {
	byOwner map[[2]uint32]*os.File
}

func (m *idmaps) close() {
	for _, f := range m.byOwner {
		f.Close()
	}
}

// mount makes a detached mount of the root's handle. It is seen by whoever gets
// its descriptor, and gone with the last one.
func (m *idmaps) mount(r Root, write bool) (*os.File, error) {
	step := fmt.Sprintf("mount root %.200q", r.Path)
	var st unix.Stat_t
	if err := unix.Fstat(int(r.Handle.Fd()), &st); err != nil {
		return nil, unavailable(step, err)
	}
	owner, err := m.of(st.Uid, st.Gid)
	if err != nil {
		return nil, unavailable("make a mapping of owners", err)
	}
	tree, err := detach(r, rootFlags(write), owner)
	if err != nil {
		return nil, fail(ErrUnavailable, step+" with its owner mapped (its file system may not allow that; run as an ordinary user)", err)
	}
	return tree, nil
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

// of returns a user namespace in which the owner is nobody of the host.
func (m *idmaps) of(uid, gid uint32) (*os.File, error) {
	owner := [2]uint32{uid, gid}
	if f := m.byOwner[owner]; f != nil {
		return f, nil
	}
	f, err := newUserNamespace(int(uid), int(gid))
	if err != nil {
		return nil, err
	}
	if m.byOwner == nil {
		m.byOwner = map[[2]uint32]*os.File{}
	}
	m.byOwner[owner] = f
	return f, nil
}

// newUserNamespace makes a user namespace. The kernel wants a process in it at
// first: one that is stopped before its first instruction and killed.
func newUserNamespace(uid, gid int) (*os.File, error) {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{stageName}, &syscall.ProcAttr{
		Env: []string{},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: nobody, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: nobody, Size: 1}},
			Ptrace:      true,
			Pdeathsig:   syscall.SIGKILL,
		},
	})
	if err != nil {
		return nil, err
	}
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/user")
	syscall.Kill(pid, syscall.SIGKILL)
	for {
		var status syscall.WaitStatus
		_, waitErr := syscall.Wait4(pid, &status, 0, nil)
		if waitErr == nil && !status.Exited() && !status.Signaled() || waitErr == syscall.EINTR {
			continue // its stop comes first
		}
		return f, err
	}
}
