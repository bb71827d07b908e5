//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// gathered is what a sandbox has of the system, taken before its order: detached
// mounts, and links. It is the same for all.
type gathered struct {
	parts []attachment
	links map[string]string
	seen  map[string]unix.Stat_t // what was at the paths
}

// gather takes what is there. What it can't have, mount will ask for again.
func (s *stage) gather() error {
	g := gathered{links: map[string]string{}, seen: map[string]unix.Stat_t{}}
	for _, p := range system {
		if err := g.add(p); err != nil {
			return err
		}
	}
	for _, p := range devices {
		// NODEV would close them.
		part, err := clone(p, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
		if err != nil {
			return err
		}
		g.parts = append(g.parts, part)
	}
	s.gathered = g
	return nil
}

func (g *gathered) add(p string) error {
	g.seen[p] = lookAt(p)
	info, err := os.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unavailable("look at "+p, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(p)
		if err != nil {
			return unavailable("look at "+p, err)
		}
		g.links[p] = target
		return nil
	}
	part, err := clone(p, quiet|unix.MOUNT_ATTR_RDONLY)
	part.folder = info.IsDir()
	g.parts = append(g.parts, part)
	return err
}

// lookAt returns what tells one object at a path from another; zeros for none.
func lookAt(p string) unix.Stat_t {
	var st unix.Stat_t
	if unix.Lstat(p, &st) != nil {
		return unix.Stat_t{}
	}
	return unix.Stat_t{Dev: st.Dev, Ino: st.Ino, Mode: st.Mode, Ctim: st.Ctim}
}

// current says whether the paths still name what was gathered.
func (g *gathered) current() bool {
	for p, seen := range g.seen {
		if lookAt(p) != seen {
			return false
		}
	}
	return len(g.seen) == len(system)
}

func (g *gathered) close() {
	for _, part := range g.parts {
		unix.Close(part.fd)
	}
}
