//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity of the program when this process is root: nobody for the host, an
// ordinary user inside. (Inside it is not 65534, which is what the kernel shows
// for owners that are not mapped.)
const (
	nobody   = 65534
	insideID = 1000
)

// namespaces that every sandbox has for itself, as /proc/self/ns names them.
var namespaces = []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}

const cloneFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// stageCaps are what the first process can do within its own namespaces until it
// drops them: mount, look through directories, empty the bounding set.
var stageCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_READ_SEARCH, unix.CAP_SETPCAP}

// Launcher begins sandboxes. Its methods may be called from several goroutines.
type Launcher struct {
	stage string
}

// Open makes a Launcher and starts nothing yet. stage is the path of the
// executable that becomes the first process of each sandbox: one that calls Init,
// and that nobody but its owner can replace. "" is this same one. A small one
// starts sooner than a large one, and each sandbox waits for that.
func Open(stage string) *Launcher { return &Launcher{stage: stage} }

// Close lets go of what the Launcher holds. Sandboxes that it began run on.
func (l *Launcher) Close() {}

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
	h := &handover{}
	err := h.prepare(l.stage, spec, probe)
	var process *os.Process
	if err == nil {
		process, err = h.launch()
	}
	h.close() // the first process alone holds its end of the socket now
	if err != nil {
		if h.control != nil {
			h.control.Close()
		}
		return nil, err
	}
	c := newChild(process, h.control)
	if err := c.begin(ctx, &h.order); err != nil {
		c.Kill()
		c.Wait()
		return nil, err
	}
	go c.watch()
	return c, nil
}

// check reports all that is wrong with a Spec.
func (s *Spec) check() error {
	var wrong []string
	add := func(bad bool, text string) {
		if bad {
			wrong = append(wrong, text)
		}
	}
	add(s.Program == nil, "no program")
	add(len(s.Argv) == 0, "no argv")
	add(s.Dir.Handle == nil, "no working directory")
	add(!s.Limits.valid(), "a limit below zero")
	for _, text := range slices.Concat(s.Argv, s.Env, s.Hidden) {
		if strings.Contains(text, "\x00") {
			add(true, "a NUL in argv, env or a hidden path")
			break
		}
	}
	for _, f := range s.Files {
		add(f == nil, "a file that is nil")
	}
	seen := map[string]bool{}
	covered := map[string]bool{}
	for _, p := range s.Hidden {
		covered[p] = true
	}
	for _, r := range slices.Concat(s.Read, s.Write) {
		add(r.Handle == nil, "a root without a handle")
		add(!grantable(r.Path), fmt.Sprintf("a root at %.200q", r.Path))
		add(seen[r.Path], fmt.Sprintf("two roots at %.200q", r.Path))
		add(covered[r.Path], fmt.Sprintf("a root at a hidden path, %.200q", r.Path))
		seen[r.Path] = true
	}
	add(!s.inRoot(s.Dir.Path) && !s.own(s.Dir.Path), "a working directory that is neither in the roots nor the sandbox's own")
	for _, p := range s.Hidden {
		add(!s.inRoot(p) && !Shows(p), "a hidden path outside the roots")
	}
	if wrong != nil {
		return &Error{Kind: ErrSpec, Step: "read the spec", Note: strings.Join(wrong, ", ")}
	}
	return nil
}

func (s *Spec) inRoot(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && slices.ContainsFunc(slices.Concat(s.Read, s.Write), func(r Root) bool {
		return within(p, r.Path)
	})
}

// own holds for a directory that shows nothing of the host.
func (s *Spec) own(p string) bool {
	return grantable(p) && (!Shows(p) || slices.ContainsFunc(s.Hidden, func(h string) bool { return within(p, h) }))
}

// Shows says whether a path lies in what every sandbox has of the system.
func Shows(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && slices.ContainsFunc(system, func(s string) bool { return within(p, s) })
}

func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// grantable holds for clean absolute paths that are not part of what the sandbox
// makes for itself.
func grantable(p string) bool {
	if !path.IsAbs(p) || path.Clean(p) != p || strings.Contains(p, "\x00") {
		return false
	}
	for _, own := range []string{"/proc", "/dev", "/sys"} {
		if within(p, own) {
			return false
		}
	}
	return !slices.Contains([]string{"/", "/etc", "/home", Home, Temp}, p)
}

// handover is a sandbox before it exists: the order, and the descriptors that go
// with it.
type handover struct {
	order   order
	files   []*os.File // by the number they get
	own     []*os.File // to be closed here
	control *os.File
	stage   string
	root    bool // this process is uid 0 of the host
}

func (h *handover) close() {
	for _, f := range h.own {
		f.Close()
	}
}

func (h *handover) hand(f *os.File) int {
	h.files = append(h.files, f)
	return len(h.files) - 1
}

func (h *handover) prepare(stage string, spec Spec, probe bool) error {
	h.root, h.stage = hostRoot(), "/proc/self/exe"
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return unavailable("open /dev/null", err)
	}
	h.own = append(h.own, null)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return unavailable("make a socket pair", err)
	}
	unix.SetNonblock(pair[0], true)
	h.control = os.NewFile(uintptr(pair[0]), "control")
	far := os.NewFile(uintptr(pair[1]), "control")
	h.own = append(h.own, far)
	h.files = []*os.File{null, null, null, far}

	o := &h.order
	o.Version = wireVersion
	o.Probe, o.Names, o.Limits, o.UnixSockets = probe, spec.Names, spec.Limits.withDefaults(), spec.UnixSockets
	o.Argv, o.Env = pack(spec.Argv), pack(spec.Env)
	o.UID, o.GID = h.inside()
	for _, p := range spec.Hidden {
		o.Hidden = append(o.Hidden, []byte(p))
	}
	if o.Namespaces, err = ownNamespaces(); err != nil {
		return unavailable("read the own namespaces", err)
	}
	for i, f := range []*os.File{spec.Stdin, spec.Stdout, spec.Stderr} {
		if f == nil {
			f = null
		}
		o.Stdio[i] = h.hand(f)
	}
	for _, f := range spec.Files {
		o.Files = append(o.Files, h.hand(f))
	}
	if stage != "" {
		// By descriptor: whoever the program is may not get to it by its path.
		f, err := os.Open(stage)
		if err != nil {
			return unavailable("open the first process's executable", err)
		}
		h.own = append(h.own, f)
		h.stage = fdPath(h.hand(f))
	}
	if spec.Program != nil {
		if err := h.program(spec.Program); err != nil {
			return err
		}
	}
	if err := h.roots(spec); err != nil {
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
	if h.root {
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
	maps := &idmaps{}
	defer maps.close()
	add := func(r Root, write bool) error {
		p, err := newPlace(r, write)
		if err != nil {
			return err
		}
		if h.root {
			mount, err := maps.mount(r, write)
			if err != nil {
				return err
			}
			h.own = append(h.own, mount)
			p.Mount = h.hand(mount)
		}
		h.order.Roots = append(h.order.Roots, p)
		return nil
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

func newPlace(r Root, write bool) (place, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(r.Handle.Fd()), &st); err != nil {
		return place{}, fail(ErrSpec, fmt.Sprintf("stat the handle of %.200q", r.Path), err)
	}
	folder := st.Mode&unix.S_IFMT == unix.S_IFDIR
	return place{Path: []byte(r.Path), Write: write, Dev: uint64(st.Dev), Ino: st.Ino, Folder: folder}, nil
}

// inside is who the program is in its own view.
func (h *handover) inside() (uid, gid int) {
	uid, gid = os.Geteuid(), os.Getegid()
	if h.root || uid == 0 {
		return insideID, insideID
	}
	return uid, gid
}

// launch starts the first process. It waits for its order.
func (h *handover) launch() (*os.Process, error) {
	host := [2]int{os.Geteuid(), os.Getegid()}
	credential := &syscall.Credential{Uid: uint32(h.order.UID), Gid: uint32(h.order.GID), NoSetGroups: true}
	if h.root {
		host, credential.NoSetGroups = [2]int{nobody, nobody}, false
	}
	attr := &os.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOGC=off", "GOMAXPROCS=2", "GOTRACEBACK=none"},
		Files: h.files,
		Sys: &syscall.SysProcAttr{
			Cloneflags:                 cloneFlags,
			UidMappings:                []syscall.SysProcIDMap{{ContainerID: h.order.UID, HostID: host[0], Size: 1}},
			GidMappings:                []syscall.SysProcIDMap{{ContainerID: h.order.GID, HostID: host[1], Size: 1}},
			GidMappingsEnableSetgroups: h.root,
			Credential:                 credential,
			AmbientCaps:                stageCaps,
			Setsid:                     true,
		},
	}
	process, err := startVisible(h.stage, []string{stageName}, attr)
	if err != nil {
		return nil, unavailable("make the namespaces", err)
	}
	return process, nil
}

// starting is held while this process can be looked into; see startVisible.
var starting sync.Mutex

// startVisible starts a process. The identity of one in a user namespace of its own
// is written through /proc, which only root may do for a process that is closed to
// others (PR_SET_DUMPABLE). One that an ordinary user runs is opened for as long
// as the start takes.
func startVisible(name string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	if os.Geteuid() == 0 {
		return os.StartProcess(name, argv, attr)
	}
	starting.Lock()
	defer starting.Unlock()
	if open, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && open == 0 {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err == nil {
			defer unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		}
	}
	return os.StartProcess(name, argv, attr)
}

// hostRoot says whether this process is uid 0 for the host itself, not only in a
// user namespace.
func hostRoot() bool {
	if os.Geteuid() != 0 {
		return false
	}
	text, err := os.ReadFile("/proc/self/uid_map")
	return err != nil || slices.Equal(strings.Fields(string(text)), []string{"0", "0", "4294967295"})
}

func ownNamespaces() (map[string]string, error) {
	own := map[string]string{}
	for _, name := range namespaces {
		link, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			return nil, err
		}
		own[name] = link
	}
	return own, nil
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
