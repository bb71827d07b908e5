package resolve

import (
	"path"
	"slices"

	"github.com/runlens/runlens/internal/facts"
)

// maxInventory bounds the look into protected places for an object that has
// more than one name. Beyond it, the object counts as theirs.
const maxInventory = 100_000

type identity struct{ dev, ino uint64 }

func (s stat) identity() identity { return identity{s.dev, s.ino} }

// inventory is what protected places hold, by object.
type inventory struct {
	dirs  map[identity]string // to the path in the place, and of the folders above it
	files map[identity]string // to the class
	left  int
	cut   string // class of a place that was too big
}

// judgeObject finds a protected object that goes by another name: a hard link
// to a file in a place, or a bind mount of a place, of a part of it, or of a
// folder above it. Only a file with several links, or an object on another
// mount than the place but on the same device, can be one; for all others this
// costs nothing. For reading, only the places that are secret are searched.
func (s *snapshot) judgeObject(o *Object, q query) string {
	linked := o.Facts.Kind == facts.File && o.Facts.Nlink > 1
	var inv *inventory
	mounted := false
	changes := q.access == facts.Write || q.access == facts.Delete
	for i := range s.known {
		k := &s.known[i]
		if int64(k.st.dev) != o.Facts.Device || k.st.mode == 0 || !changes && !isSecret(k.place.Class) {
			continue
		}
		other := int64(k.st.mount) != o.Facts.MountID
		if !linked && !other {
			continue
		}
		mounted = mounted || other
		if inv == nil {
			inv = &inventory{dirs: map[identity]string{}, files: map[identity]string{}, left: maxInventory}
		}
		inv.take(k)
	}
	if inv == nil {
		return ""
	}
	class := inv.cut
	if o.held() {
		class = stronger(class, inv.files[o.st.identity()])
	}
	if mounted {
		if alias := inv.alias(o, len(q.folded)); alias != "" {
			q.path, q.folded = alias, foldEach(nil, segments(alias))
			class = stronger(class, s.judge(q))
		}
	}
	return class
}

// take adds a place, and the folders above it, to the inventory.
func (inv *inventory) take(k *known) {
	for p := k.path; ; p = path.Dir(p) {
		if st, err := statAt(atCWD, p); err == nil {
			inv.dirs[st.identity()] = p
		}
		if p == "/" {
			break
		}
	}
	if k.place.Plain {
		return
	}
	folders := []string{k.path}
	if k.each() {
		var more bool
		if folders, more = k.folders(); more {
			inv.cut = stronger(inv.cut, k.place.Class)
		}
	} else if !k.place.counts(k.path) {
		return
	}
	for _, f := range folders {
		inv.folder(k.place, f, 0)
	}
}

func (inv *inventory) folder(p *Place, dir string, depth int) {
	st, err := statAt(atCWD, dir)
	if err != nil {
		return
	}
	if st.kind() != facts.Directory {
		inv.files[st.identity()] = p.Class
		return
	}
	inv.dirs[st.identity()] = dir
	fd, err := openFolder(dir)
	if err != nil {
		return
	}
	defer closeFD(fd)
	entries, more, err := readNames(fd, inv.left)
	if more || err != nil || depth > maxDepth {
		inv.cut = stronger(inv.cut, p.Class)
		return
	}
	inv.left -= len(entries)
	for _, e := range entries {
		switch {
		case depth == 0 && slices.Contains(p.Except, e.Name):
		case e.Kind == facts.Directory:
			inv.folder(p, join(dir, e.Name), depth+1)
		default:
			if st, err := statAt(fd, e.Name); err == nil {
				inv.files[st.identity()] = p.Class
			}
		}
	}
}

// alias climbs from the object to the root of its mount and gives the name the
// object has in a place, or in a folder above one, if it passes such a folder.
func (inv *inventory) alias(o *Object, depth int) string {
	fd := -1
	switch {
	case o.Facts.Kind == facts.Directory:
		fd = dupFD(o.fd)
	case o.dir >= 0:
		fd, depth = dupFD(o.dir), depth-1-len(o.rest)
	default:
		fd, _ = openFolder(path.Dir(o.path))
		depth--
	}
	for ; fd >= 0 && depth >= 0; depth-- {
		st, err := statFD(fd)
		if err != nil || int64(st.mount) != o.Facts.MountID {
			break
		}
		if p, ok := inv.dirs[st.identity()]; ok {
			closeFD(fd)
			if depth == 0 {
				return path.Join(p, o.path)
			}
			return path.Join(p, o.path[len(prefix(o.path, depth)):])
		}
		up, _ := openNode(fd, "..")
		closeFD(fd)
		fd = up.fd
	}
	closeFD(fd)
	return ""
}
