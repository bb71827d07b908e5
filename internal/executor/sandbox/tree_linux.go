//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// system is what programs need of the host to start at all. What isn't there is
// left out; a link stays a link.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// scratchDir is where all temporary files are, under a second name.
const scratchDir = "/.scratch"

const quiet = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// attachment is a detached mount and where it goes.
type attachment struct {
	fd     int
	at     string
	folder bool
	flags  uint64 // that must be in force
}

// mount makes the sandbox's file tree and makes it the root. All sources are
// taken before the new root covers anything.
func (s *stage) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return unavailable("keep mounts to itself", err)
	}
	if !s.gathered.current() {
		s.gathered.close()
		if err := s.gather(); err != nil {
			return err
		}
	}
	parts := s.gathered.parts
	granted, err := s.rootParts()
	if err != nil {
		return err
	}
	opened, err := s.openParts()
	if err != nil {
		return err
	}
	parts = append(append(parts, granted...), opened...)
	if s.Program != nil {
		part, err := rootPart(*s.Program)
		if err != nil {
			return err
		}
		s.program = part.fd
	}
	proc, err := newFS("proc", quiet|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY, "hidepid=invisible", "subset=pid")
	if err != nil {
		return err
	}
	parts = append(parts, attachment{fd: proc, at: "/proc", folder: true, flags: quiet | unix.MOUNT_ATTR_RDONLY})
	if err := s.enterRoot(); err != nil {
		return err
	}
	if err := s.furnish(s.gathered.links); err != nil {
		return err
	}
	for _, part := range parts {
		if err := s.pinAbove(part.at); err != nil {
			return err
		}
		if err := s.attach(part); err != nil {
			return err
		}
		unix.Close(part.fd)
	}
	if s.Program != nil { // it would run detached, but letting go of it takes long
		return s.attach(attachment{fd: s.program, at: scratchDir + "/program", folder: s.Program.Folder, flags: rootFlags(false)})
	}
	return nil
}

// enterRoot makes an empty root, and lets go of the host's.
func (s *stage) enterRoot() (err error) {
	s.root, err = newFS("tmpfs", quiet, "mode=0755", "size=1m")
	if err != nil {
		return err
	}
	// Covering /proc of the host's tree, which nobody will look at again.
	if err := unix.MoveMount(s.root, "", unix.AT_FDCWD, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return unavailable("attach the new root", err)
	}
	if err := unix.Fchdir(s.root); err != nil {
		return unavailable("enter the new root", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return unavailable("change the root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return unavailable("leave the old root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return unavailable("enter the new root", err)
	}
	return nil
}

// furnish makes what the sandbox has of its own.
func (s *stage) furnish(links map[string]string) error {
	scratch, err := newFS("tmpfs", quiet, "mode=0755", "size="+strconv.FormatInt(s.Limits.Temp, 10), "nr_inodes=65536")
	if err != nil {
		return err
	}
	// It stays attached, since taking it off takes long: another name of the same.
	if err := s.attach(attachment{fd: scratch, at: scratchDir, folder: true, flags: quiet}); err != nil {
		return err
	}
	defer unix.Close(scratch)
	for _, at := range []string{Temp, Home, "/dev/shm"} {
		name := scratchDir + "/" + path.Base(at)
		if err := unix.Mkdir(name, 0o700); err != nil {
			return unavailable("make "+at, err)
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return unavailable("make "+at, err)
		}
		if err := s.attach(attachment{fd: fd, at: at, folder: true, flags: quiet}); err != nil {
			return err
		}
		unix.Close(fd)
	}
	links["/dev/fd"], links["/dev/stdin"] = "/proc/self/fd", "/proc/self/fd/0"
	links["/dev/stdout"], links["/dev/stderr"] = "/proc/self/fd/1", "/proc/self/fd/2"
	for at, target := range links {
		if err := s.makeFolders(path.Dir(at)); err != nil {
			return err
		}
		if err := unix.Symlink(target, at); err != nil {
			return unavailable("make "+at, err)
		}
	}
	for at, text := range map[string]string{
		"/etc/passwd":        fmt.Sprintf("sandbox:x:%d:%d:sandbox:%s:/bin/sh\n", s.UID, s.GID, Home),
		"/etc/group":         fmt.Sprintf("sandbox:x:%d:\n", s.GID),
		"/etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		if err := s.makeFolders(path.Dir(at)); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o444); err != nil {
			return unavailable("make "+at, err)
		}
	}
	return nil
}

// clone makes a detached mount of a path of the host.
func clone(p string, flags uint64) (attachment, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, p, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return attachment{}, unavailable("mount "+p, err)
	}
	return attachment{fd: fd, at: p, flags: flags}, restrict(fd, p, flags)
}

func restrict(fd int, p string, flags uint64) error {
	attr := unix.MountAttr{Attr_set: flags, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return unavailable(fmt.Sprintf("restrict mount %.200q", p), err)
	}
	return nil
}

// rootPart makes a detached mount of a root. A handle of another mount namespace
// can't be mounted, so without one made by the starting process its path is opened
// here, and must be the handle's object.
func rootPart(r place) (attachment, error) {
	p := string(r.Path)
	part := attachment{fd: r.Mount, at: p, folder: r.Folder, flags: rootFlags(r.Write)}
	if r.Mount != 0 {
		return part, nil
	}
	held, err := r.open()
	if err != nil {
		return part, err
	}
	defer unix.Close(held)
	part.fd, err = unix.OpenTree(held, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return part, unavailable(fmt.Sprintf("mount root %.200q", p), err)
	}
	return part, restrict(part.fd, p, part.flags)
}

// open opens the place by its path, without following a link, and compares.
func (r place) open() (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, string(r.Path), &how)
	if err != nil {
		return -1, fail(ErrChanged, fmt.Sprintf("open %.200q", r.Path), err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || uint64(st.Dev) != r.Dev || st.Ino != r.Ino {
		unix.Close(fd)
		return -1, &Error{Kind: ErrChanged, Step: fmt.Sprintf("open %.200q", r.Path), Note: "it is another object than the handle"}
	}
	return fd, nil
}

// newFS makes a file system of its own, detached.
func newFS(kind string, flags int, options ...string) (int, error) {
	ctx, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, unavailable("make a "+kind, err)
	}
	defer unix.Close(ctx)
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		if err := unix.FsconfigSetString(ctx, key, value); err != nil {
			return -1, unavailable("make a "+kind+" with "+option, err)
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return -1, unavailable("make a "+kind, err)
	}
	fd, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, flags)
	if err != nil {
		return -1, unavailable("mount a "+kind, err)
	}
	return fd, nil
}

// attach puts a mount in its place, makes that first where it is the sandbox's
// own, and asks whether its flags are in force.
func (s *stage) attach(a attachment) error {
	step := fmt.Sprintf("attach %.200q", a.at)
	if err := s.makeTarget(a); err != nil {
		return err
	}
	target, err := openInside(a.at)
	if err != nil {
		return unavailable(step, err)
	}
	defer unix.Close(target)
	if err := unix.MoveMount(a.fd, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return unavailable(step, err)
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(a.fd, &st); err != nil {
		return unavailable(step, err)
	}
	// The first three mount attributes are numbered as the flags of statfs.
	if want := int64(a.flags & (unix.MOUNT_ATTR_RDONLY | quiet)); int64(st.Flags)&want != want {
		return &Error{Kind: ErrUnavailable, Step: step, Note: "its restrictions are not in force"}
	}
	return nil
}

func openInside(p string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

func (s *stage) makeTarget(a attachment) error {
	if fd, err := openInside(a.at); err == nil {
		return unix.Close(fd)
	}
	if err := s.makeFolders(path.Dir(a.at)); err != nil {
		return err
	}
	if a.folder {
		return s.makeFolders(a.at)
	}
	if err := s.ours(path.Dir(a.at)); err != nil {
		return err
	}
	fd, err := unix.Open(a.at, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return unavailable(fmt.Sprintf("make %.200q", a.at), err)
	}
	return unix.Close(fd)
}

// makeFolders makes directories where they are missing, in the sandbox's own
// file systems alone: in a root, the host would see them.
func (s *stage) makeFolders(p string) error {
	fd, err := openInside(p)
	if err == nil {
		return unix.Close(fd)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return unavailable(fmt.Sprintf("make %.200q", p), err)
	}
	if err := s.makeFolders(path.Dir(p)); err != nil {
		return err
	}
	if err := s.ours(path.Dir(p)); err != nil {
		return err
	}
	if err := unix.Mkdir(p, 0o755); err != nil {
		return unavailable(fmt.Sprintf("make %.200q", p), err)
	}
	return nil
}

func (s *stage) ours(p string) error {
	for _, r := range s.Roots {
		if within(p, string(r.Path)) && !s.coveredBelow(p, string(r.Path)) {
			fd, err := openInside(string(r.Path))
			if err != nil {
				return nil // not attached yet, so p is not in it
			}
			unix.Close(fd)
			return &Error{Kind: ErrChanged, Step: fmt.Sprintf("find a place in root %.200q", r.Path), Note: "a root below it is not there"}
		}
	}
	return nil
}

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
