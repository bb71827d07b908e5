package resolve

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

const (
	haveOpenat2 = true
	atCWD       = unix.AT_FDCWD
)

// openProc opens /proc/self/fd, which names handles.
func openProc() (int, error) {
	fd, err := unix.Open(heldDir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", heldDir, err)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type != unix.PROC_SUPER_MAGIC {
		closeFD(fd)
		return -1, fmt.Errorf("open %s: not on a proc file system", heldDir)
	}
	return fd, nil
}

const heldDir = "/proc/self/fd"

func openTop() (int, error) {
	return unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// openBest resolves a whole path in the kernel, links followed, magic links of
// /proc refused.
func openBest(dir int, p string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(dir, p, &how)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// openNode opens one entry without following it. An O_PATH handle needs no
// permission on the object, blocks on no FIFO and wakes no device.
func openNode(dir int, name string) (node, error) {
	fd, err := openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return node{fd: -1}, err
	}
	st, err := statFD(fd)
	n := node{fd: fd, st: st}
	if err == nil && st.kind() == facts.Symlink {
		n.link, err = readLink(fd, "")
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
	return statx(fd, "", unix.AT_EMPTY_PATH)
}

// statAt describes an entry without following it.
func statAt(dir int, name string) (stat, error) {
	return statx(dir, name, unix.AT_SYMLINK_NOFOLLOW)
}

// statThrough describes what a path leads to, as far as a comparison needs it.
func statThrough(dir int, p string) (stat, error) {
	var x unix.Stat_t
	if err := unix.Fstatat(dir, p, &x, unix.AT_NO_AUTOMOUNT); err != nil {
		return stat{}, err
	}
	return stat{dev: x.Dev, ino: x.Ino, changed: [2]int64{x.Ctim.Sec, x.Ctim.Nsec}}, nil
}

func statx(dir int, name string, flags int) (stat, error) {
	var x unix.Statx_t
	err := unix.Statx(dir, name, flags|unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &x)
	if err != nil {
		return stat{}, err
	}
	st := stat{
		dev: unix.Mkdev(x.Dev_major, x.Dev_minor), ino: x.Ino, nlink: uint64(x.Nlink),
		size: int64(x.Size), allocated: int64(x.Blocks) * 512,
		changed: [2]int64{x.Ctime.Sec, int64(x.Ctime.Nsec)},
		mode:    uint32(x.Mode), uid: x.Uid, gid: x.Gid,
	}
	if x.Mask&unix.STATX_MNT_ID != 0 {
		st.mount = x.Mnt_id
	}
	return st, nil
}

// changedAt is when an entry of a directory last came or went.
func changedAt(fd int) ([2]int64, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return [2]int64{st.Ctim.Sec, st.Ctim.Nsec}, err
}

func readLink(dir int, name string) (string, error) {
	var buf [512]byte
	n, err := unix.Readlinkat(dir, name, buf[:])
	if err != nil || n < len(buf) {
		return string(buf[:max(n, 0)]), err
	}
	long := make([]byte, 2*maxPath)
	if n, err = unix.Readlinkat(dir, name, long); err != nil {
		return "", err
	}
	if n == len(long) {
		return "", unix.ENAMETOOLONG
	}
	return string(long[:n]), nil
}

// nameOf is the kernel's own name of a handle.
func nameOf(proc, fd int) (string, error) { return readLink(proc, strconv.Itoa(fd)) }

const deletedMark = " (deleted)"

// liveName is nameOf for an object that still has a name. The kernel marks one
// that lost it by a suffix that a live file may bear, too, so nlink decides,
// and the name itself where there are several.
func liveName(proc, fd int, st stat) (string, error) {
	if st.nlink == 0 {
		return "", errUnlinked
	}
	name, err := nameOf(proc, fd)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(name, "/") {
		return "", unix.EIO // outside what this process can name
	}
	if strings.HasSuffix(name, deletedMark) {
		at, err := statAt(unix.AT_FDCWD, name)
		if err != nil || !at.same(st) {
			return "", errUnlinked
		}
	}
	return name, nil
}

// pseudoFS names the file system when its files are views of the kernel. One on
// a block device never is, and device numbers of the others are used again
// after an unmount, so nothing is remembered.
func pseudoFS(fd int, st stat) string {
	if unix.Major(st.dev) != 0 {
		return ""
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return "unknown"
	}
	switch uint32(fs.Type) {
	case unix.PROC_SUPER_MAGIC:
		return "proc"
	case unix.SYSFS_MAGIC:
		return "sysfs"
	case unix.CGROUP_SUPER_MAGIC:
		return "cgroup"
	case unix.CGROUP2_SUPER_MAGIC:
		return "cgroup2"
	case unix.DEBUGFS_MAGIC:
		return "debugfs"
	case unix.TRACEFS_MAGIC:
		return "tracefs"
	case unix.SECURITYFS_MAGIC:
		return "securityfs"
	case unix.DEVPTS_SUPER_MAGIC:
		return "devpts"
	case unix.BPF_FS_MAGIC:
		return "bpf"
	case unix.PSTOREFS_MAGIC:
		return "pstore"
	case unix.EFIVARFS_MAGIC:
		return "efivarfs"
	case unix.SELINUX_MAGIC:
		return "selinuxfs"
	case unix.BINFMTFS_MAGIC:
		return "binfmt_misc"
	case unix.NSFS_MAGIC:
		return "nsfs"
	case 0x62656570:
		return "configfs"
	case 0x50495045:
		return "pipefs"
	case 0x534F434B:
		return "sockfs"
	case unix.ANON_INODE_FS_MAGIC:
		return "anon_inode"
	case 0x19800202:
		return "mqueue"
	case 0x65735543:
		return "fusectl"
	}
	return ""
}

// reopen opens a held file or directory for reading. The link in /proc leads to
// the object itself, whatever its name is now.
func reopen(fd int) (int, error) {
	return openat(unix.AT_FDCWD, heldPath(fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
}

// heldPath is a path of a handle for this process and for a child of it up to
// its exec.
func heldPath(fd int) string { return heldDir + "/" + strconv.Itoa(fd) }

// permitted asks the kernel whether this process may use a held object so. Where
// the newer call is missing or filtered, the older one goes by the real user.
func permitted(fd int, want uint32) error {
	err := unix.Faccessat2(fd, "", want, unix.AT_EMPTY_PATH|unix.AT_EACCESS)
	if err == unix.ENOSYS || err == unix.EPERM || err == unix.EINVAL {
		err = unix.Faccessat(unix.AT_FDCWD, heldPath(fd), want, 0)
	}
	if err == unix.EROFS {
		err = unix.EACCES
	}
	return err
}

// readNames lists at most limit entries of an open directory with their kinds,
// in the order of the file system.
func readNames(fd, limit int) (entries []Entry, more bool, err error) {
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if n <= 0 {
			return entries, false, nil
		}
		for b := buf[:n]; len(b) >= 19; {
			size := int(b[16]) | int(b[17])<<8
			name, _, _ := strings.Cut(string(b[19:size]), "\x00")
			kind := direntKind(b[18])
			b = b[size:]
			if name == "." || name == ".." {
				continue
			}
			if len(entries) == limit {
				return entries, true, nil
			}
			if kind == "" {
				if st, err := statAt(fd, name); err == nil {
					kind = st.kind()
				} else {
					kind = facts.None
				}
			}
			entries = append(entries, Entry{Name: name, Kind: kind})
		}
	}
}

// direntKind reads d_type of getdents64(2); "" when the file system gives none.
func direntKind(t byte) string {
	switch t {
	case unix.DT_REG:
		return facts.File
	case unix.DT_DIR:
		return facts.Directory
	case unix.DT_LNK:
		return facts.Symlink
	case unix.DT_FIFO:
		return facts.FIFO
	case unix.DT_SOCK:
		return facts.Socket
	case unix.DT_CHR:
		return facts.CharDevice
	case unix.DT_BLK:
		return facts.BlockDevice
	}
	return ""
}

// openFolder opens a directory by a canonical name of ours, not followed.
func openFolder(p string) (int, error) {
	return openat(unix.AT_FDCWD, p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}
