//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

const (
	maxDepth = 256  // of directories below a root
	maxMasks = 8192 // hidden entries

	maskFile, maskFolder = scratchDir + "/hidden-file", scratchDir + "/hidden-folder"
)

// masker hides entries by mounting an empty file or directory on them that
// nobody can open. A mounted-on name can't be removed, renamed or linked either.
type masker struct {
	*stage
	file, folder int // mounts to be cloned; 0: not made yet
	left         int // entries that may still be looked at
	masks        int
	linked       map[uint64]bool // inode numbers of hidden files that have other names
	hit          map[[2]uint64]bool
	searching    bool                // for those other names
	objects      map[uint64][]Object // of the order, by inode number
}

// mask hides what is to be hidden, and closes the root directory for writing.
//
// A walk meets every entry below a granted root, whatever the name, and follows
// no link: what a link names is met under its own name or isn't in a root. A
// directory that can't be looked through is hidden as a whole. A hidden file with
// more than one name is looked for under the others in a second walk.
func (s *stage) mask() error {
	m := &masker{stage: s, left: s.Limits.Entries, linked: map[uint64]bool{}, hit: map[[2]uint64]bool{}, objects: map[uint64][]Object{}}
	for _, o := range s.Objects {
		m.objects[o.Ino] = append(m.objects[o.Ino], o)
	}
	if !s.Names.empty() || len(s.Objects) > 0 {
		if err := m.walkRoots(); err != nil {
			return err
		}
		if len(m.linked) > 0 {
			m.searching = true
			if err := m.walkRoots(); err != nil {
				return err
			}
		}
	}
	for _, p := range s.Hidden {
		if s.covered(string(p)) {
			continue
		}
		if err := m.hidePath(string(p)); err != nil {
			return err
		}
	}
	if err := s.closeCovers(); err != nil {
		return err
	}
	if err := s.closePins(); err != nil {
		return err
	}
	attr := unix.MountAttr{Attr_set: quiet | unix.MOUNT_ATTR_RDONLY} // of the root alone
	if err := unix.MountSetattr(s.root, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return unavailable("close the root directory", err)
	}
	return nil
}

// prepare makes the masks when the first is needed.
func (m *masker) prepare() error {
	if err := unix.Mkdir(maskFolder, 0); err != nil {
		return unavailable("make a mask", err)
	}
	fd, err := unix.Open(maskFile, unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if err != nil {
		return unavailable("make a mask", err)
	}
	unix.Close(fd)
	const flags = quiet | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY
	a, err := clone(maskFile, flags)
	if err != nil {
		return err
	}
	b, err := clone(maskFolder, flags)
	if err != nil {
		return err
	}
	// Attached, though on themselves: letting go of a detached mount takes long.
	for at, fd := range map[string]int{maskFile: a.fd, maskFolder: b.fd} {
		if err := unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return unavailable("make a mask", err)
		}
	}
	m.file, m.folder = a.fd, b.fd
	return nil
}

// walkRoots walks each root that isn't below another.
func (m *masker) walkRoots() error {
	last := ""
	for _, r := range m.Roots {
		p := string(r.Path)
		if !r.Folder || last != "" && within(p, last) {
			continue
		}
		last = p
		fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{
			Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
		})
		if err != nil {
			return unavailable(fmt.Sprintf("look through root %.200q", p), err)
		}
		if err := m.walk(&folder{fd: fd, path: p}); err != nil {
			return err
		}
	}
	return nil
}

// folder is a directory that is being looked through.
type folder struct {
	in    *folder // nil: a root
	fd    int
	depth int
	path  string
	held  bool // it and those above are pinned, as far as that is wanted
}

// walk closes the folder.
func (m *masker) walk(in *folder) error {
	defer unix.Close(in.fd)
	if in.depth > maxDepth {
		return in.cut(fmt.Sprintf("directories are more than %d deep", maxDepth))
	}
	var folders []string
	err := m.entries(in, func(name string, kind byte, ino uint64) error {
		if kind == unix.DT_UNKNOWN {
			var st unix.Stat_t
			if err := unix.Fstatat(in.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return in.gone(err)
			}
			kind = byte(st.Mode >> 12 & 15)
		}
		hidden := m.Names.Match(m.fold(name))
		switch {
		case kind == unix.DT_LNK:
		case hidden && !m.searching:
			return m.hide(in, name, kind == unix.DT_DIR)
		case kind == unix.DT_DIR && !hidden:
			folders = append(folders, name)
		case m.searching && m.linked[ino]:
			return m.hideOther(in, name)
		case !m.searching && m.objects[ino] != nil:
			return m.hideObject(in, name, m.objects[ino])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range folders {
		if err := m.enter(in, name); err != nil {
			return err
		}
	}
	return nil
}

func (m *masker) enter(in *folder, name string) error {
	below, err := unix.Openat(in.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		var st unix.Stat_t
		if err = unix.Fstatat(below, ".", &st, 0); err == nil { // it may be listed but not looked through
			return m.walk(&folder{in: in, fd: below, depth: in.depth + 1, path: path.Join(in.path, name)})
		}
		unix.Close(below)
	}
	switch err {
	case unix.EACCES, unix.EPERM:
		return m.hide(in, name, true)
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return nil // it was replaced meanwhile
	}
	return unavailable(fmt.Sprintf("look for hidden names in %.200q", path.Join(in.path, name)), err)
}

// entries calls f for each entry of a directory.
func (m *masker) entries(in *folder, f func(name string, kind byte, ino uint64) error) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(in.fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return in.gone(err)
		}
		for b := buf[:n]; len(b) > 19; {
			size := int(binary.NativeEndian.Uint16(b[16:]))
			ino, kind := binary.NativeEndian.Uint64(b), b[18]
			raw, _, _ := bytes.Cut(b[19:size], []byte{0})
			b = b[size:]
			name := string(raw)
			if name == "." || name == ".." {
				continue
			}
			if m.left--; m.left < 0 {
				return in.cut(fmt.Sprintf("there are more than %d entries", m.Limits.Entries))
			}
			if err := f(name, kind, ino); err != nil {
				return err
			}
		}
	}
}

// hide mounts a mask on an entry. An entry that is gone needs none.
func (m *masker) hide(in *folder, name string, folder bool) error {
	fd, err := unix.Openat(in.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return in.gone(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return unavailable("hide an entry", err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	if !folder && st.Nlink > 1 {
		m.linked[st.Ino], m.hit[[2]uint64{uint64(st.Dev), st.Ino}] = true, true
	}
	return m.cover(in, fd, st.Mode&unix.S_IFMT == unix.S_IFDIR)
}

// hideOther hides an entry that is another name of a hidden file.
func (m *masker) hideOther(in *folder, name string) error {
	fd, err := unix.Openat(in.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return in.gone(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return unavailable("hide an entry", err)
	}
	if !m.hit[[2]uint64{uint64(st.Dev), st.Ino}] {
		return nil
	}
	return m.cover(in, fd, false)
}

// hideObject hides an entry that is one of the objects.
func (m *masker) hideObject(in *folder, name string, objects []Object) error {
	fd, err := unix.Openat(in.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return in.gone(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	var mount unix.Statfs_t
	if err := unix.Fstat(fd, &st); err != nil {
		return unavailable("hide an entry", err)
	}
	if err := unix.Fstatfs(fd, &mount); err != nil {
		return unavailable("hide an entry", err)
	}
	for _, o := range objects {
		if o.Dev == uint64(st.Dev) && o.Ino == st.Ino && (!o.Readable || mount.Flags&unix.ST_RDONLY == 0) {
			return m.cover(in, fd, false)
		}
	}
	return nil
}

func (m *masker) cover(in *folder, fd int, folder bool) error {
	if m.masks++; m.masks > maxMasks {
		return in.cut(fmt.Sprintf("there are more than %d of them", maxMasks))
	}
	if err := m.hold(in); err != nil {
		return err
	}
	if m.file == 0 {
		if err := m.prepare(); err != nil {
			return err
		}
	}
	source := m.file
	if folder {
		source = m.folder
	}
	mask, err := unix.OpenTree(source, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return unavailable("hide an entry", err)
	}
	defer unix.Close(mask)
	if err := unix.MoveMount(mask, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return unavailable("hide an entry", err)
	}
	return nil
}

// hold pins a folder and those above it.
func (m *masker) hold(f *folder) error {
	for ; f != nil && !f.held; f = f.in {
		if m.pinsWanted(f.path) {
			if err := m.pin(f.fd, f.path); err != nil {
				return err
			}
		}
		f.held = true
	}
	return nil
}

func (m *masker) hidePath(p string) error {
	in := &folder{path: path.Dir(p), held: true}
	var err error
	if in.fd, err = openInside(in.path); err != nil {
		return in.gone(err)
	}
	defer unix.Close(in.fd)
	var st unix.Stat_t
	if err := unix.Fstatat(in.fd, path.Base(p), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return in.gone(err)
	}
	if err := m.pinAbove(p); err != nil {
		return err
	}
	return m.hide(in, path.Base(p), false)
}

// gone makes nothing of an entry that went away under the walk.
func (f *folder) gone(err error) error {
	if err == nil || err == unix.ENOENT || err == unix.ENOTDIR {
		return nil
	}
	return unavailable(fmt.Sprintf("look for hidden names in %.200q", f.path), err)
}

// cut is the failure for more than the sandbox takes on.
func (f *folder) cut(why string) error {
	return &Error{Kind: ErrWalkCut, Step: "look for hidden names", Note: fmt.Sprintf(
		"%s, counted up to %.200q; remove what is too much there, or give a root without it", why, f.path)}
}
