//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The forker is a small process of a Launcher's that makes first processes. A
// child with namespaces of its own can't share its parent's memory, so the kernel
// copies the page tables, and those of a process that holds policies are large.
//
// It gets nothing of what a sandbox is for: no order, no file, no name. It hands
// over a first process that waits for its order, the socket to it and a pidfd, and
// keeps neither. It ends when its own socket does, once those that it made have
// ended; their parent reaps them until then.
//
// One first process is made ahead, the next to be handed over. It has had no order,
// nor any descriptor but /dev/null and its socket, and ends with the forker.

const (
	forkerName = "runlens-forker" // argv[0]
	forkerFD   = 3                // its socket to the Launcher
	aheadAfter = time.Millisecond // quiet, before one is made ahead: the last one's start has the processors first
)

// What the forker is asked for, with two numbers. An answer is an error number, 0
// for none, and a number.
const (
	askFirst  uint32 = iota + 1 // a first process: its pid, its socket and a pidfd
	askOwners                   // a user namespace in which this uid and gid are nobody of the host
)

func encode(numbers ...uint32) (text []byte) {
	for _, n := range numbers {
		text = binary.NativeEndian.AppendUint32(text, n)
	}
	return text
}

// cloneFlags make the namespaces that a sandbox has for itself.
const cloneFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// firstCaps are what the first process can do within its own namespaces until it
// drops them: mount, look through directories, empty the bounding set, bring a
// loopback up.
var firstCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_READ_SEARCH, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN}

// forking is the forker.
type forking struct {
	who    identity
	null   *os.File
	mounts int    // tells whether the mounts have changed, once; so no *os.File, which Go waits for
	served bool   // a first process was asked for
	next   *first // made ahead; nil: none
}

// first is a first process that waits for its order.
type first struct{ pid, pidfd, control int }

func (f *first) close() {
	unix.Close(f.pidfd)
	unix.Close(f.control)
}

// fork serves until its socket ends, and doesn't return.
func fork() {
	runtime.LockOSThread() // a tracer is a thread
	closed()
	setHandler(unix.SIGCHLD, handlerIgnore) // the kernel reaps
	f := &forking{who: readIdentity()}
	err := closeInherited(forkerFD + 1)
	if err == nil {
		f.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
	}
	if err == nil {
		f.mounts, err = unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	for err == nil {
		err = f.serve()
	}
	if f.next != nil {
		f.next.close()
	}
	unix.Close(forkerFD)
	for err = nil; err != unix.ECHILD; {
		_, err = unix.Wait4(-1, nil, unix.WALL, nil)
	}
	end()
}

// serve answers one request, and makes a first process ahead when there is none
// and no other request has come meanwhile. Only what breaks the socket is an error.
func (f *forking) serve() error {
	if f.next == nil && f.served && !readable(forkerFD, aheadAfter) {
		f.next, _ = f.make() // a failure comes again, and to be told, with the request
	}
	var text [12]byte
	n, _, err := receiveRights(forkerFD, text[:], 0)
	if err != nil {
		return err
	}
	if n != len(text) {
		return unix.EPROTO
	}
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(text[4*i:]) }
	switch word(0) {
	case askFirst:
		f.served = true
		return f.first()
	case askOwners:
		ns, err := newUserNamespace(int(word(1)), int(word(2)))
		if err != nil {
			return refuse(err)
		}
		defer ns.Close()
		return sendRights(forkerFD, encode(0, 0), []int{int(ns.Fd())})
	}
	return unix.EPROTO
}

func refuse(err error) error {
	errno, ok := err.(syscall.Errno)
	if !ok {
		errno = unix.EIO
	}
	return sendRights(forkerFD, encode(uint32(errno), 0), nil)
}

// first hands a first process over. One made ahead, before the mounts of the machine
// changed, sees them as they were, and isn't used.
func (f *forking) first() error {
	next := f.next
	f.next = nil
	if next != nil && (f.mountsChanged() || readable(next.pidfd, 0)) {
		next.close()
		next = nil
	}
	if next == nil {
		var err error
		f.mountsChanged() // as of now
		if next, err = f.make(); err != nil {
			return refuse(err)
		}
	}
	err := sendRights(forkerFD, encode(0, uint32(next.pid)), []int{next.pidfd, next.control})
	next.close()
	return err
}

// mountsChanged says whether they have since it was last asked (proc(5), mountinfo).
func (f *forking) mountsChanged() bool {
	poll := []unix.PollFd{{Fd: int32(f.mounts), Events: unix.POLLPRI}}
	n, err := unix.Poll(poll, 0)
	return err != nil || n > 0
}

// readable waits so long until a descriptor is; a pidfd is at the process's end.
func readable(fd int, wait time.Duration) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(wait.Milliseconds()))
	return err != nil || n > 0
}

// make starts a first process, which waits for its order.
func (f *forking) make() (*first, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[1])
	pidfd := -1
	null := f.null.Fd()
	who := f.who
	defer who.visible()()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{firstName}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOGC=off", "GOMAXPROCS=2", "GOTRACEBACK=none"},
		Files: []uintptr{null, null, null, uintptr(pair[1])},
		Sys: &syscall.SysProcAttr{
			Cloneflags:                 cloneFlags,
			UidMappings:                []syscall.SysProcIDMap{{ContainerID: who.uid, HostID: who.hostUID, Size: 1}},
			GidMappings:                []syscall.SysProcIDMap{{ContainerID: who.gid, HostID: who.hostGID, Size: 1}},
			GidMappingsEnableSetgroups: who.root,
			Credential:                 &syscall.Credential{Uid: uint32(who.uid), Gid: uint32(who.gid), NoSetGroups: !who.root},
			AmbientCaps:                firstCaps,
			Setsid:                     true,
			PidFD:                      &pidfd,
		},
	})
	if err == nil {
		err = unix.SetNonblock(pair[0], true)
	}
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	return &first{pid: pid, pidfd: pidfd, control: pair[0]}, nil
}

// newUserNamespace makes a user namespace. The kernel wants a process in it at
// first: one that is stopped before its first instruction and killed.
func newUserNamespace(uid, gid int) (*os.File, error) {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{firstName}, &syscall.ProcAttr{
		Env: []string{},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: nobody, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: nobody, Size: 1}},
			Ptrace:      true,
			Pdeathsig:   syscall.SIGKILL,
		},
	})
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	syscall.Kill(pid, syscall.SIGKILL)
	for {
		var status syscall.WaitStatus
		_, waitErr := syscall.Wait4(pid, &status, 0, nil)
		if waitErr == nil && !status.Exited() && !status.Signaled() || waitErr == syscall.EINTR {
			continue // its stop comes first
		}
		break
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "owners"), nil
}
