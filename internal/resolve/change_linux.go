package resolve

import (
	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

// createFile makes a new file below dir; a link in its place is an error.
func createFile(dir int, name string) (int, error) {
	return openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
}

// keepOwner gives a new file the owner and the permission bits of the old one.
// Without the right to give files away it stays ours, which lets no one in whom
// the bits would not have let in.
func keepOwner(fd int, old stat) error {
	if err := unix.Fchown(fd, int(old.uid), int(old.gid)); err != nil && err != unix.EPERM {
		return err
	}
	return unix.Fchmod(fd, old.mode&0o777)
}

func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		default:
			data = data[n:]
		}
	}
	return nil
}

func syncFD(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}

// syncFolder makes the entries of a held directory durable. One that may be
// written but not read cannot be opened for that; then all of the file system
// is synced, by way of the directory's own handle.
func syncFolder(dir int) error {
	fd, err := reopen(dir)
	if resolutionOf(err) == facts.NoAccess {
		unix.Sync()
		return nil
	}
	if err != nil {
		return err
	}
	defer closeFD(fd)
	return syncFD(fd)
}

// renameNew gives an entry another name that must be free. A file system that
// cannot promise that in one step gets a second link and loses the first: a
// crash in between leaves both names.
func renameNew(fromDir int, from string, toDir int, to string) error {
	err := unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		if err = unix.Linkat(fromDir, from, toDir, to, 0); err == nil {
			err = unix.Unlinkat(fromDir, from, 0)
		}
	}
	if err == unix.EEXIST {
		return ErrChanged
	}
	return err
}

// exchange swaps two entries in one step.
func exchange(aDir int, a string, bDir int, b string) error {
	err := unix.Renameat2(aDir, a, bDir, b, unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return ErrNoExchange
	}
	return err
}

func unlinkAt(dir int, name string, folder bool) error {
	flags := 0
	if folder {
		flags = unix.AT_REMOVEDIR
	}
	return unix.Unlinkat(dir, name, flags)
}

func mkdirAt(dir int, name string) error { return unix.Mkdirat(dir, name, 0o777) }
