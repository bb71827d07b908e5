//go:build linux || darwin

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
// Without the right to give files away it stays ours, and without the right to
// the old group, the bits for a group are dropped: they were for another one.
func keepOwner(fd int, old stat) error {
	now, err := statFD(fd)
	if err != nil {
		return err
	}
	mode := old.mode & 0o777
	if now.uid != old.uid || now.gid != old.gid {
		err = unix.Fchown(fd, int(old.uid), int(old.gid))
		if err == unix.EPERM {
			err = unix.Fchown(fd, -1, int(old.gid))
		}
		if err == unix.EPERM {
			mode, err = mode&^0o070, nil
		}
	}
	if err != nil {
		return err
	}
	return unix.Fchmod(fd, mode)
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

// syncFolder makes the entries of a held directory durable. One that may be
// written but not read cannot be opened for that; then everything is synced.
func syncFolder(dir int) error {
	fd, err := reopen(dir)
	if resolutionOf(err) == facts.NoAccess {
		syncAll()
		return nil
	}
	if err != nil {
		return err
	}
	defer closeFD(fd)
	return syncFD(fd)
}

// landNew is renameNew for a temp file of ours. Where the file system cannot do
// it in one step, the file gets a second link, which fails when the name is
// taken, and loses the first: a crash in between leaves both names.
func landNew(dir int, temp, name string) error {
	err := renameNew(dir, temp, dir, name)
	if err == ErrNoExchange {
		err = linkNew(dir, temp, name)
	}
	return err
}

func linkNew(dir int, temp, name string) error {
	err := unix.Linkat(dir, temp, dir, name, 0)
	if err == unix.EEXIST {
		return ErrChanged
	}
	if err == nil {
		err = unix.Unlinkat(dir, temp, 0)
	}
	return err
}

// setAside moves an entry to a temp name, which nothing else has.
func setAside(dir int, name, temp string) error {
	err := renameNew(dir, name, dir, temp)
	if err == ErrNoExchange {
		err = unix.Renameat(dir, name, dir, temp)
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
