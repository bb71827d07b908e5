//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts the program of the Spec in a sandbox of its own. When it returns
// a Child, every restriction is in force and the program runs. When it returns
// an error, an *Error that tells its Kind, nothing of it runs any more. ctx
// bounds the start alone. The calling program must call Init first thing in main.
func (l *Launcher) Start(ctx context.Context, spec Spec) (*Child, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	return l.start(ctx, spec, false)
}

func (l *Launcher) start(ctx context.Context, spec Spec, probe bool) (*Child, error) {
	h := &handover{launcher: l, ctx: ctx}
	defer h.close()
	if err := h.prepare(spec, probe); err != nil {
		return nil, err
	}
	c, err := l.first(ctx)
	if err != nil {
		return nil, err
	}
	err = c.begin(ctx, h)
	go c.watch()
	if err != nil {
		c.Kill()
		c.Wait()
		return nil, err
	}
	return c, nil
}

// handover is a sandbox before it exists: the order, and the descriptors that go
// with it.
type handover struct {
	launcher *Launcher
	ctx      context.Context // of the start
	order    order
	files    []*os.File
	own      []*os.File // of files, to be closed here
	self     self
}

func (h *handover) close() {
	for _, f := range h.own {
		f.Close()
	}
}

// hand returns the number of the descriptor in the order: they count from 1.
func (h *handover) hand(f *os.File) int {
	h.files = append(h.files, f)
	return len(h.files)
}

// send sends the descriptors and the order.
func (h *handover) send(control *os.File) error {
	var rights []int
	for _, f := range h.files {
		rights = append(rights, int(f.Fd()))
	}
	err := handRights(control, rights)
	runtime.KeepAlive(h.files)
	if err != nil {
		return err
	}
	return send(control, &h.order)
}

func (h *handover) prepare(spec Spec, probe bool) (err error) {
	if h.self, err = h.launcher.self(); err != nil {
		return unavailable("read the own namespaces", err)
	}
	o := &h.order
	o.Version, o.Namespaces, o.UID, o.GID = wireVersion, h.self.namespaces, h.self.uid, h.self.gid
	o.Probe, o.Names, o.Objects, o.Limits, o.UnixSockets, o.Loopback = probe, spec.Names, spec.Objects, spec.Limits.withDefaults(), spec.UnixSockets, spec.Loopback
	o.Argv, o.Env = pack(spec.Argv), pack(spec.Env)
	for _, p := range spec.Hidden {
		o.Hidden = append(o.Hidden, []byte(p))
	}
	for i, f := range []*os.File{spec.Stdin, spec.Stdout, spec.Stderr} {
		if f != nil {
			o.Stdio[i] = h.hand(f)
		}
	}
	for _, f := range spec.Files {
		o.Files = append(o.Files, h.hand(f))
	}
	if spec.Program != nil {
		if err := h.program(spec.Program); err != nil {
			return err
		}
	}
	if err := h.roots(spec); err != nil {
		return err
	}
	if err := h.open(spec.Open); err != nil {
		return err
	}
	o.Count = len(h.files)
	return nil
}

// program makes the program a read-only mount of its own. Through the mount that
// the handle comes from, the program could change its own file's mode.
func (h *handover) program(f *os.File) error {
	name, err := os.Readlink(fdPath(int(f.Fd())))
	if err != nil {
		return unavailable("name the program", err)
	}
	r := Root{Path: name, Handle: f}
	p, err := newPlace(r, false)
	if err != nil {
		return err
	}
	if h.self.root {
		mount, err := detach(r, rootFlags(false), nil)
		if err != nil {
			return err
		}
		h.own = append(h.own, mount)
		p.Mount = h.hand(mount)
	}
	h.order.Program = &p
	return nil
}

func (h *handover) roots(spec Spec) error {
	add := func(r Root, write bool) error {
		p, err := h.place(r, write, rootFlags(write))
		h.order.Roots = append(h.order.Roots, p)
		return err
	}
	for _, r := range spec.Read {
		if err := add(r, false); err != nil {
			return err
		}
	}
	for _, r := range spec.Write {
		if err := add(r, true); err != nil {
			return err
		}
	}
	slices.SortFunc(h.order.Roots, func(a, b place) int { return strings.Compare(string(a.Path), string(b.Path)) })
	if spec.Dir.Handle == nil {
		return nil
	}
	var err error
	h.order.Dir, err = newPlace(spec.Dir, false)
	h.order.OwnDir = !spec.inRoot(spec.Dir.Path)
	h.order.Covers = covers(spec)
	return err
}

// place is the root on its way. As root its owner is mapped to the program.
func (h *handover) place(r Root, write bool, flags uint64) (place, error) {
	p, err := newPlace(r, write)
	if err != nil || !h.self.root {
		return p, err
	}
	mount, err := h.mountMapped(r, flags)
	if err != nil {
		return p, err
	}
	h.own = append(h.own, mount)
	p.Mount = h.hand(mount)
	return p, nil
}

// open are the files that the program gets opened. They are compared here too, since
// a mount of the handle is no longer what the path names.
func (h *handover) open(files []Root) error {
	for _, r := range files {
		p, err := newPlace(r, false)
		if err == nil && p.Kind != unix.S_IFREG {
			err = &Error{Kind: ErrSpec, Step: "read the spec", Note: fmt.Sprintf("a file to open that is no regular file, %.200q", r.Path)}
		}
		if err != nil {
			return err
		}
		fd, err := p.open()
		if err != nil {
			return err
		}
		unix.Close(fd)
		if p, err = h.place(r, false, openFlags); err != nil {
			return err
		}
		h.order.Open = append(h.order.Open, p)
	}
	return nil
}

func newPlace(r Root, write bool) (place, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(r.Handle.Fd()), &st); err != nil {
		return place{}, fail(ErrSpec, fmt.Sprintf("stat the handle of %.200q", r.Path), err)
	}
	if st.Nlink == 0 { // it has been replaced or removed, and can't be mounted
		return place{}, &Error{Kind: ErrChanged, Step: fmt.Sprintf("open %.200q", r.Path), Note: "it is not there any more"}
	}
	kind := st.Mode & unix.S_IFMT
	return place{Path: []byte(r.Path), Write: write, Dev: uint64(st.Dev), Ino: st.Ino, Kind: kind, Folder: kind == unix.S_IFDIR}, nil
}

func unavailable(step string, err error) error { return fail(ErrUnavailable, step, err) }

// fail keeps the number of a system error and drops the paths that Go adds.
func fail(kind error, step string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return &Error{Kind: kind, Step: step, Errno: errno}
	}
	return &Error{Kind: kind, Step: step, Note: err.Error()}
}
