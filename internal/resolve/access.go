package resolve

import "github.com/runlens/runlens/internal/facts"

// Permission bits of access(2), the same on every Unix.
const (
	mayExecute = 1
	mayWrite   = 2
	mayRead    = 4
)

// checkAccess makes it a fact that the kernel will refuse what the request is
// for: a handle needs no permission on the object, so that it opened says
// nothing. A write or a delete changes the directory alone. What no tool works
// on anyway (a link, a device, a view of the kernel, a program without an execute
// bit) has a fact of its own, and the path and what it is protected as stay known.
func (o *Object) checkAccess() {
	f := &o.Facts
	if !f.Handle || o.failed || f.PseudoFS != "" {
		return
	}
	fd, want := o.fd, uint32(mayRead)
	switch kind := f.Kind; f.Access {
	case facts.Write, facts.Delete:
		if fd, want = o.dir, mayWrite|mayExecute; kind != facts.None && kind != facts.File && (kind != facts.Directory || f.Access == facts.Write) {
			return
		}
	case facts.Execute:
		if want = mayExecute; o.st.mode&0o111 == 0 {
			return
		}
		fallthrough
	default:
		if kind != facts.File && kind != facts.Directory {
			return
		}
	}
	if fd < 0 || resolutionOf(permitted(fd, want)) != facts.NoAccess {
		return
	}
	o.Close()
	f.Resolution, f.Handle = facts.NoAccess, false
	f.Kind, f.Size, f.Allocated, f.Nlink = facts.None, 0, 0, 0
	f.Device, f.MountID = 0, 0
}
