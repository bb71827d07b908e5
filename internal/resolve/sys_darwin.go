package resolve

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

const (
	haveOpenat2 = false
	atCWD       = unix.AT_FDCWD
)

func openProc() (int, error) { return -1, nil }

func openTop() (int, error) {
	return unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

func openBest(int, string) (int, error) { return -1, errNoOpenat2 }

// openNode opens one entry without following it. There is no O_PATH here: files
// and directories need read permission, a link is opened as a link, and what
// could block or act is opened for events only.
func openNode(dir int, name string) (node, error) {
	st, err := statAt(dir, name)
	if err != nil {
		return node{fd: -1}, err
	}
	flags := unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	switch st.kind() {
	case facts.File, facts.Directory:
	case facts.Symlink:
		flags = unix.O_SYMLINK | unix.O_CLOEXEC
	default:
		flags |= unix.O_EVTONLY
	}
	fd, err := openat(dir, name, flags, 0)
	if err != nil {
		return node{fd: -1}, err
	}
	n := node{fd: fd}
	if n.st, err = statFD(fd); err == nil && !n.st.same(st) {
		err = unix.EAGAIN
	}
	if err == nil && st.kind() == facts.Symlink {
		n.link, err = readLink(dir, name)
	}
	if err != nil {
		closeFD(fd)
		return node{fd: -1}, err
	}
	return n, nil
}

func openat(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func openFolder(p string) (int, error) {
	return openat(unix.AT_FDCWD, p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}

func dupFD(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1
	}
	return n
}

func statFD(fd int) (stat, error) {
	var x unix.Stat_t
	err := unix.Fstat(fd, &x)
	return statOf(&x), err
}

func statAt(dir int, name string) (stat, error) {
	var x unix.Stat_t
	err := unix.Fstatat(dir, name, &x, unix.AT_SYMLINK_NOFOLLOW)
	return statOf(&x), err
}

// statThrough describes what a path leads to.
func statThrough(dir int, p string) (stat, error) {
	var x unix.Stat_t
	if err := unix.Fstatat(dir, p, &x, 0); err != nil {
		return stat{}, err
	}
	return statOf(&x), nil
}

func statOf(x *unix.Stat_t) stat {
	return stat{
		dev: uint64(uint32(x.Dev)), ino: x.Ino, nlink: uint64(x.Nlink),
		size: x.Size, allocated: x.Blocks * 512,
		changed: [2]int64{x.Ctim.Sec, x.Ctim.Nsec},
		mode:    uint32(x.Mode), uid: x.Uid, gid: x.Gid,
	}
}

func changedAt(fd int) ([2]int64, error) {
	st, err := statFD(fd)
	return st.changed, err
}

func readLink(dir int, name string) (string, error) {
	buf := make([]byte, maxPath)
	n, err := unix.Readlinkat(dir, name, buf)
	return string(buf[:max(n, 0)]), err
}

// nameOf is the kernel's own name of a handle: fcntl(2), F_GETPATH.
func nameOf(_, fd int) (string, error) {
	buf := make([]byte, 1024) // MAXPATHLEN
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETPATH, int(uintptr(unsafe.Pointer(&buf[0]))))
	runtime.KeepAlive(buf)
	name, _, _ := bytes.Cut(buf, []byte{0})
	return string(name), err
}

func liveName(proc, fd int, st stat) (string, error) {
	if st.nlink == 0 {
		return "", errUnlinked
	}
	name, err := nameOf(proc, fd)
	if err == nil && !strings.HasPrefix(name, "/") {
		err = unix.EIO
	}
	return name, err
}

func pseudoFS(fd int, _ stat) string {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return "unknown"
	}
	if name := unix.ByteSliceToString(fs.Fstypename[:]); name == "devfs" {
		return name
	}
	return ""
}

// reopen opens a held directory for reading by its handle, and a held file by
// its present name; the caller compares.
func reopen(fd int) (int, error) {
	if got, err := openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		return got, nil
	}
	return openat(unix.AT_FDCWD, heldPath(fd), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
}

func heldPath(fd int) string {
	name, _ := nameOf(-1, fd)
	return name
}

func readNames(fd, limit int) (entries []Entry, more bool, err error) {
	f := os.NewFile(uintptr(dupFD(fd)), "directory")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for i, name := range names {
		if i == limit {
			return entries, true, err
		}
		st, err := statAt(fd, name)
		if err != nil {
			st = stat{}
		}
		entries = append(entries, Entry{Name: name, Kind: st.kind()})
	}
	return entries, false, err
}

// permitted asks about directories alone: a file was opened for reading already.
func permitted(fd int, want uint32) error {
	if st, err := statFD(fd); err != nil || st.kind() != facts.Directory {
		return nil
	}
	err := unix.Faccessat(fd, ".", want, unix.AT_EACCESS)
	if err == unix.EROFS {
		err = unix.EACCES
	}
	return err
}

func renameNew(fromDir int, from string, toDir int, to string) error {
	err := unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_EXCL)
	switch err {
	case unix.EEXIST:
		return ErrChanged
	case unix.ENOTSUP, unix.EINVAL:
		return ErrNoExchange
	}
	return err
}

func exchange(aDir int, a string, bDir int, b string) error {
	err := unix.RenameatxNp(aDir, a, bDir, b, unix.RENAME_SWAP)
	if err == unix.ENOTSUP || err == unix.EINVAL {
		return ErrNoExchange
	}
	return err
}

// syncFD asks the drive, too, where fsync(2) does not.
func syncFD(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); err == nil {
		return nil
	}
	return unix.Fsync(fd)
}

func syncAll() { _ = unix.Sync() }
