//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Init takes over when this process is the first of a sandbox, or makes such, and
// then doesn't return. Else it does nothing. A program that calls Start calls it
// first thing in main, and a test in TestMain. fold maps a file's name to the form
// that Names.Match compares; it must be the one that the caller of Start means. nil
// is lower case.
func Init(fold func(string) string) {
	if fold == nil {
		fold = strings.ToLower
	}
	switch {
	case len(os.Args) == 0:
	case os.Args[0] == forkerName && isSocket(forkerFD, unix.SOCK_SEQPACKET):
		fork()
	case os.Args[0] == firstName && os.Getpid() == 1 && isSocket(controlFD, unix.SOCK_STREAM):
		firstMain(fold)
	}
}

func isSocket(fd, kind int) bool {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || domain != unix.AF_UNIX {
		return false
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && got == kind
}

// firstMain waits for the order and follows it, and doesn't return.
func firstMain(fold func(string) string) {
	runtime.LockOSThread() // restrictions are a thread's; the program is started by this one
	debug.SetGCPercent(-1)
	settleSignals()
	s := &stage{fold: fold}
	err := s.ready()
	given, takeErr := takeRights(controlFD)
	if takeErr != nil {
		end() // there will be no order
	}
	if err == nil {
		err = receive(control{}, &s.order)
	}
	if err == nil {
		err = s.adopt(given)
	}
	if err == nil {
		err = s.run()
	}
	if err != nil {
		send(control{}, report{Failed: asFailure(err)})
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
	fold  func(string) string
	own   map[string]string // namespaces
	watch func()            // begins to watch the process that gave the order
	gathered
	pins
	root    int   // the new root directory
	program int   // a mount of the program
	opened  []int // the files of Open
}

// ready does what needs no order. It closes what this process was not handed, and
// itself to others: the program must not see it in /proc.
func (s *stage) ready() (err error) {
	if err := closed(); err != nil {
		return unavailable("hide the first process", err)
	}
	err = closeInherited(controlFD + 1)
	if err == nil {
		err = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	}
	if err != nil {
		return unavailable("close descriptors", err)
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return unavailable("name the host", err)
	}
	if s.own, err = ownNamespaces(); err != nil {
		return unavailable("read the namespaces", err)
	}
	if err := s.gather(); err != nil {
		return err
	}
	provide()
	if s.watch, err = watchParent(); err != nil {
		return err
	}
	// It learns the types: once memory is bounded there may be none for that.
	if _, err := json.Marshal(report{Failed: &failure{}, Ended: &ending{}}); err != nil {
		return err
	}
	return json.Unmarshal([]byte("{}"), &order{})
}

// adopt puts the descriptors that came in the place of their numbers in the order.
func (s *stage) adopt(given []int) error {
	if s.Version != wireVersion {
		return &Error{Kind: ErrUnavailable, Step: "read the order", Note: "the first process's executable is of another version"}
	}
	if s.Count != len(given) {
		return &Error{Kind: ErrUnavailable, Step: "read the order", Note: "descriptors are missing"}
	}
	numbers := []*int{}
	for i := range s.Stdio {
		if s.Stdio[i] == 0 {
			s.Stdio[i] = i // what this process has there is /dev/null
		} else {
			numbers = append(numbers, &s.Stdio[i])
		}
	}
	for i := range s.Files {
		numbers = append(numbers, &s.Files[i])
	}
	for _, places := range [][]place{s.Roots, s.Open} {
		for i := range places {
			numbers = append(numbers, &places[i].Mount)
		}
	}
	if s.Program != nil {
		numbers = append(numbers, &s.Program.Mount)
	}
	for _, n := range numbers {
		if *n < 0 || *n > len(given) {
			return &Error{Kind: ErrUnavailable, Step: "read the order", Note: "it counts wrong"}
		}
		if *n > 0 {
			*n = given[*n-1]
		}
	}
	return nil
}

// run goes through the steps of the set-up in order, starts the program and
// waits for its end. An error before the start means that nothing has run.
func (s *stage) run() error {
	if err := s.isolated(); err != nil {
		return err
	}
	s.watch()
	for _, step := range []func() error{
		s.loopback, s.mount, s.makeDir, s.mask, s.openFiles, s.enterDir, s.lineUp, s.limit, s.landlock, dropPrivileges, s.filter, s.prove,
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

// isolated makes sure that no namespace is the starting process's.
func (s *stage) isolated() error {
	for _, name := range namespaces {
		if s.own[name] == "" || s.own[name] == s.Namespaces[name] {
			return &Error{Kind: ErrUnavailable, Step: "look at the namespaces", Note: "the " + name + " namespace is the host's"}
		}
	}
	if os.Getuid() != s.UID || os.Geteuid() != s.UID || os.Getgid() != s.GID || os.Getegid() != s.GID || s.UID == 0 {
		return &Error{Kind: ErrUnavailable, Step: "look at the identity", Note: "it is not the one asked for"}
	}
	return nil
}

// closeInherited closes what this process got, from a descriptor on. What the
// Go runtime has opened for itself since must stay: it is marked to be closed on
// exec, and what came through an exec can't be.
func closeInherited(from int) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < from {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	return nil
}

// lineUp moves what the program gets above the numbers that it will have, and the
// program out of the way of what syscall.ForkExec moves further up.
func (s *stage) lineUp() error {
	above := 3 + len(s.Files) + len(s.opened) + 1 // the last is the handle of a script
	last := above
	for _, list := range [][]int{s.Stdio[:], s.Files, s.opened} {
		for i, fd := range list {
			if fd > 2 && fd < above {
				if err := move(&list[i], above); err != nil {
					return err
				}
			}
			last = max(last, list[i])
		}
	}
	if s.Program == nil {
		return nil
	}
	return move(&s.program, last+8)
}

func move(fd *int, least int) error {
	moved, err := unix.FcntlInt(uintptr(*fd), unix.F_DUPFD_CLOEXEC, least)
	if err != nil {
		return unavailable("line up descriptors", err)
	}
	unix.Close(*fd)
	*fd = moved
	return nil
}

// exec starts the program: by its handle, so that nobody can put another in its
// place. A script keeps its handle as the descriptor after the last of Open,
// because its interpreter opens it anew, as /proc/self/fd/N.
func (s *stage) exec() (pid int, err error) {
	handed := slices.Concat(s.Stdio[:], s.Files, s.opened)
	var files []uintptr
	for _, fd := range handed {
		files = append(files, uintptr(fd))
	}
	program := s.program
	if s.isScript() {
		program = len(files)
		files = append(files, uintptr(s.program))
	}
	if err := s.limitMemory(); err != nil {
		return 0, err
	}
	pid, err = syscall.ForkExec(fdPath(program), unpack(s.Argv), &syscall.ProcAttr{
		Env:   unpack(s.Env),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fail(ErrProgram, "start the program", err)
	}
	for _, fd := range handed {
		if fd > controlFD {
			unix.Close(fd) // the program's end of a pipe is the only one now
		}
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
