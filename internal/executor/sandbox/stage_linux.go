//go:build amd64 || arm64

package sandbox

import (
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Init takes over when this process is the first of a sandbox, and then doesn't
// return. Else it does nothing. A program that calls Start calls it first thing in
// main, and a test in TestMain. fold maps a file's name to the form that
// Names.Match compares; it must be the one that the caller of Start means. nil is
// lower case.
func Init(fold func(string) string) {
	if len(os.Args) == 0 || os.Args[0] != stageName || os.Getpid() != 1 {
		return
	}
	if kind, err := unix.GetsockoptInt(controlFD, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || kind != unix.AF_UNIX {
		return
	}
	runtime.LockOSThread() // restrictions are a thread's; the program is started by this one
	debug.SetGCPercent(-1)
	settleSignals()
	s := &stage{fold: fold}
	if fold == nil {
		s.fold = strings.ToLower
	}
	err := receive(control{}, &s.order)
	if err == nil && s.Version != wireVersion {
		err = &Error{Kind: ErrUnavailable, Step: "read the order", Note: "the first process's executable is of another version"}
	}
	if err == nil {
		err = s.run()
	}
	if err != nil {
		send(control{}, report{Failed: asFailure(err)}) // nobody reads it if it was the order that didn't come
	}
	end()
}

// end ends the first process, and with it all others, at once: os.Exit may wait
// for what nobody here needs.
func end() {
	for {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// stage is the first process of a sandbox.
type stage struct {
	order
	fold    func(string) string
	root    int // the new root directory
	program int // a mount of the program
}

// run goes through the steps of the set-up in order, starts the program and
// waits for its end. An error before the start means that nothing has run.
func (s *stage) run() error {
	if err := s.isolated(); err != nil {
		return err
	}
	watchParent()
	for _, step := range []func() error{
		s.mount, s.mask, s.enterDir, s.limit, s.landlock, dropPrivileges, s.filter, s.prove,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if s.Probe {
		return send(control{}, report{Running: true})
	}
	pid, err := s.exec()
	if err != nil {
		return err
	}
	if err := send(control{}, report{Running: true}); err != nil {
		return err
	}
	return send(control{}, report{Ended: reap(pid)})
}

// isolated closes what was not handed over, and makes sure that no namespace is
// the starting process's.
func (s *stage) isolated() error {
	if err := s.closeInherited(); err != nil {
		return unavailable("close descriptors", err)
	}
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return unavailable("close descriptors", err)
	}
	// The program must not see this process in /proc.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return unavailable("hide the first process", err)
	}
	own, err := ownNamespaces()
	if err != nil {
		return unavailable("read the namespaces", err)
	}
	for _, name := range namespaces {
		if own[name] == s.Namespaces[name] {
			return &Error{Kind: ErrUnavailable, Step: "look at the namespaces", Note: "the " + name + " namespace is the host's"}
		}
	}
	if os.Getuid() != s.UID || os.Geteuid() != s.UID || os.Getgid() != s.GID || os.Getegid() != s.GID || s.UID == 0 {
		return &Error{Kind: ErrUnavailable, Step: "look at the identity", Note: "it is not the one asked for"}
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return unavailable("name the host", err)
	}
	return nil
}

// closeInherited closes what this process got beside what it was handed. What the
// Go runtime has opened for itself since must stay: it is marked to be closed on
// exec, and what came through an exec can't be.
func (s *stage) closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < s.Count {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	return nil
}

// exec starts the program: by its handle, so that nobody can put another in its
// place. A script keeps its handle as the descriptor after the last of Files,
// because its interpreter opens it anew, as /proc/self/fd/N.
func (s *stage) exec() (pid int, err error) {
	files := make([]uintptr, 0, 3+len(s.Files)+1)
	for _, fd := range append(s.Stdio[:], s.Files...) {
		files = append(files, uintptr(fd))
	}
	program := s.program
	if s.isScript() {
		program = len(files)
		files = append(files, uintptr(s.program))
	}
	pid, err = syscall.ForkExec(fdPath(program), unpack(s.Argv), &syscall.ProcAttr{
		Env:   unpack(s.Env),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fail(ErrProgram, "start the program", err)
	}
	for fd := controlFD + 1; fd < s.Count; fd++ {
		unix.Close(fd) // the program's end of a pipe is the only one now
	}
	return pid, nil
}

func (s *stage) isScript() bool {
	f, err := os.Open(fdPath(s.program))
	if err != nil {
		return false // what may be run but not read can only be a binary
	}
	defer f.Close()
	var start [2]byte
	n, _ := f.ReadAt(start[:], 0)
	return string(start[:n]) == "#!"
}

// control is the socket to the process that started the sandbox.
type control struct{}

func (control) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(controlFD, p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (control) Write(p []byte) (int, error) {
	for written := 0; written < len(p); {
		n, err := unix.SendmsgN(controlFD, p[written:], nil, nil, unix.MSG_NOSIGNAL)
		if err != nil && err != unix.EINTR {
			return written, err
		}
		written += max(n, 0)
	}
	return len(p), nil
}
