package resolve

import "github.com/runlens/runlens/internal/facts"

// stat is what the kernel says about a handle, as far as facts and checks need
// it.
type stat struct {
	dev, ino, nlink, mount uint64
	size, allocated        int64
	changed                [2]int64 // ctime, seconds and nanoseconds
	mode, uid, gid         uint32   // mode: type and permission bits, as in inode(7)
}

// typeBits are the bits of a mode that tell the type; the same on every Unix.
const typeBits = 0o170000

func (s stat) kind() string {
	switch s.mode & typeBits {
	case 0o100000:
		return facts.File
	case 0o040000:
		return facts.Directory
	case 0o120000:
		return facts.Symlink
	case 0o010000:
		return facts.FIFO
	case 0o140000:
		return facts.Socket
	case 0o020000:
		return facts.CharDevice
	case 0o060000:
		return facts.BlockDevice
	}
	return facts.None
}

// same says that two handles are of one object. Numbers are used again once an
// object is gone, so one of the two must still be held.
func (s stat) same(t stat) bool {
	return s.dev == t.dev && s.ino == t.ino && s.mode&typeBits == t.mode&typeBits
}
