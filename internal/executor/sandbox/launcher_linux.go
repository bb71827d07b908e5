//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	askBound   = 10 * time.Second // for an answer of the forker
	closeBound = 2 * time.Second  // for its end
	maxOwners  = 64               // mappings kept
)

// Launcher begins sandboxes. Its methods may be called from several goroutines. It
// holds a small process, the forker, from the first Start to Close.
type Launcher struct {
	stage string
	self  func() (self, error)

	turn   chan struct{} // holds one while someone talks with the forker; guards what follows
	forker *forker       // nil: none yet
	shut   bool

	mu     sync.Mutex // guards what follows; held before turn
	owners []owner    // as root; the oldest first
}

// self is what a first process is compared with.
type self struct {
	identity
	namespaces map[string]string
}

type owner struct {
	uid, gid uint32
	ns       *os.File // user namespace in which they are nobody of the host
}

// Open makes a Launcher and starts nothing yet. stage is the path of the
// executable that becomes the forker and the first process of each sandbox: one
// that calls Init, and that nobody but its owner can replace. "" is this same one.
// A small one starts sooner than a large one.
func Open(stage string) *Launcher {
	return &Launcher{stage: stage, turn: make(chan struct{}, 1), self: sync.OnceValues(readSelf)}
}

func readSelf() (self, error) {
	ns, err := ownNamespaces()
	return self{readIdentity(), ns}, err
}

// Close lets go of what the Launcher holds. Sandboxes that it began run on, and
// Start begins no more. A Launcher that is dropped without it is closed at leisure.
func (l *Launcher) Close() {
	l.mu.Lock()
	for _, o := range l.owners {
		o.ns.Close()
	}
	l.owners = nil
	l.mu.Unlock()
	l.turn <- struct{}{}
	f := l.forker
	l.forker, l.shut = nil, true
	<-l.turn
	if f != nil {
		f.close()
	}
}

// forker is the Launcher's side of that process.
type forker struct {
	socket *os.File
	ended  chan struct{}
	live   atomic.Int64 // sandboxes that it made, until they have ended
}

// close ends the forker. It waits for that, unless sandboxes run.
func (f *forker) close() {
	f.socket.Close()
	if f.live.Load() > 0 {
		return
	}
	select {
	case <-f.ended:
	case <-time.After(closeBound):
	}
}

// Forks says whether a child of this process is the forker of a Launcher. Its
// orphans are its own and end with their PID namespaces.
func Forks(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && strings.TrimRight(string(text), "\x00") == forkerName
}

// newForker starts the forker, as any process is started: it has no namespaces of
// its own, so nothing is copied.
func newForker(stage string) (*forker, error) {
	if len(os.Args) > 0 && (os.Args[0] == forkerName || os.Args[0] == firstName) {
		// It would start itself, and that again.
		return nil, &Error{Kind: ErrUnavailable, Step: "start the forker", Note: "the executable does not call Init"}
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, unavailable("make a socket pair", err)
	}
	far := os.NewFile(uintptr(pair[1]), "forker")
	defer far.Close()
	err = unix.SetNonblock(pair[0], true)
	f := &forker{socket: os.NewFile(uintptr(pair[0]), "forker"), ended: make(chan struct{})}
	if err == nil {
		err = f.start(stage, far)
	}
	if err != nil {
		f.socket.Close()
		return nil, err
	}
	return f, nil
}

func (f *forker) start(stage string, far *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return unavailable("open /dev/null", err)
	}
	defer null.Close()
	files, path := []*os.File{null, null, null, far}, "/proc/self/exe"
	if stage != "" {
		// By descriptor: what is at its path may change before it is run.
		exe, err := os.Open(stage)
		if err != nil {
			return unavailable("open the first process's executable", err)
		}
		defer exe.Close()
		path, files = fdPath(len(files)), append(files, exe)
	}
	process, err := os.StartProcess(path, []string{forkerName}, &os.ProcAttr{
		Dir: "/", Env: []string{"GOTRACEBACK=none", "GOMAXPROCS=2"}, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true}, // a signal to the terminal's processes is not for it
	})
	if err != nil {
		return unavailable("start the forker", err)
	}
	go func() {
		process.Wait()
		close(f.ended)
	}()
	return nil
}

// ask sends a request to the forker and returns its answer. One that has died
// meanwhile is replaced, once.
func (l *Launcher) ask(ctx context.Context, request []byte, want int) (number int, rights []int, by *forker, err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, nil, nil, unavailable("ask the forker", ctx.Err())
	}
	defer func() { <-l.turn }()
	for again := l.forker != nil; ; again = false {
		if l.shut {
			return 0, nil, nil, unavailable("ask the forker", os.ErrClosed)
		}
		if l.forker == nil {
			if l.forker, err = newForker(l.stage); err != nil {
				return 0, nil, nil, err
			}
			runtime.AddCleanup(l, func(f *forker) { f.socket.Close() }, l.forker)
		}
		f := l.forker
		text, rights, err := f.ask(ctx, request)
		if err == nil {
			if errno := syscall.Errno(binary.NativeEndian.Uint32(text)); errno != 0 {
				return 0, nil, nil, unavailable("make the namespaces", errno)
			}
			if len(rights) == want {
				return int(binary.NativeEndian.Uint32(text[4:])), rights, f, nil
			}
			closeAll(rights)
			err = errors.New("it is of another version")
		}
		f.socket.Close() // an answer that is late would be taken for the next one's
		l.forker = nil
		if !again || ctx.Err() != nil {
			return 0, nil, nil, unavailable("ask the forker", err)
		}
	}
}

func (f *forker) ask(ctx context.Context, request []byte) (text []byte, rights []int, err error) {
	f.socket.SetDeadline(time.Now().Add(askBound))
	stop := context.AfterFunc(ctx, func() { f.socket.SetDeadline(time.Unix(1, 0)) })
	err = whenReady(f.socket, true, func(fd int) error { return sendRights(fd, request, nil) })
	text = make([]byte, 8)
	n := 0
	if err == nil {
		err = whenReady(f.socket, false, func(fd int) (err error) {
			n, rights, err = receiveRights(fd, text, 2)
			return err
		})
	}
	if err == nil && n != len(text) {
		err = unix.EPROTO
	}
	if !stop() && err == nil { // the deadline may be set at any moment, also of the next
		err = ctx.Err()
	}
	if err != nil {
		closeAll(rights)
		return nil, nil, err
	}
	return text, rights, nil
}

// first gets a first process that waits for its order.
func (l *Launcher) first(ctx context.Context) (*Child, error) {
	pid, rights, by, err := l.ask(ctx, encode(askFirst, 0, 0), 2)
	if err != nil {
		return nil, err
	}
	unix.SetNonblock(rights[0], true)
	by.live.Add(1)
	return newChild(pid, os.NewFile(uintptr(rights[0]), "pidfd"), os.NewFile(uintptr(rights[1]), "control"), by), nil
}

// mapped calls do with a user namespace in which the owner is nobody of the host.
func (l *Launcher) mapped(ctx context.Context, uid, gid uint32, do func(ns *os.File) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.owners {
		if o.uid == uid && o.gid == gid {
			return do(o.ns)
		}
	}
	_, rights, _, err := l.ask(ctx, encode(askOwners, uid, gid), 1)
	if err != nil {
		return err
	}
	if len(l.owners) == maxOwners {
		l.owners[0].ns.Close()
		l.owners = l.owners[1:]
	}
	o := owner{uid, gid, os.NewFile(uintptr(rights[0]), "owners")}
	l.owners = append(l.owners, o)
	return do(o.ns)
}
