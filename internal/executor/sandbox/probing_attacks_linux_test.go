//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attacks are things to try against a sandbox's first process, other sandboxes, and
// who is on the host.
var attacks = map[string]func(w []string) error{
	"call": func(w []string) error { // a number and arguments
		var args [6]uintptr
		for i, word := range w[1:] {
			args[i] = long(word)
		}
		if _, _, errno := unix.Syscall6(long(w[0]), args[0], args[1], args[2], args[3], args[4], args[5]); errno != 0 {
			return errno
		}
		return nil
	},
	"demote":   func(w []string) error { return demote(int(long(w[0]))) },
	"spin":     func(w []string) error { return spin(w[0], int(long(w[1]))) },
	"pair":     func(w []string) error { return pairOf(long(w[0]), long(w[1])) },
	"pairsend": pairSend,
	"lease":    func(w []string) error { return controlFile(w[0], unix.F_SETLEASE, unix.F_RDLCK) },
	"delegate": func(w []string) error { return controlFile(w[0], unix.F_SETDELEG, 0) },
	"notify":   func(w []string) error { return controlFile(w[0], unix.F_NOTIFY, 4 /* DN_CREATE */) },
	"exchange": func(w []string) error {
		return unix.Renameat2(unix.AT_FDCWD, w[0], unix.AT_FDCWD, w[1], unix.RENAME_EXCHANGE)
	},
	// Renames one directory to and fro for some milliseconds.
	"shuttle": func(w []string) error {
		for end := time.Now().Add(time.Duration(long(w[2])) * time.Millisecond); time.Now().Before(end); {
			err := os.Rename(w[0], w[1])
			if err == nil {
				err = os.Rename(w[1], w[0])
			}
			if err != nil && !os.IsNotExist(err) {
				return err
			}
		}
		return nil
	},
}

func controlFile(path string, command, arg int) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.FcntlInt(uintptr(fd), command, arg)
	return err
}

// demote keeps a process from being scheduled, as far as it may, and says whether
// anything of it worked.
func demote(pid int) error {
	var one unix.CPUSet
	one.Set(0)
	var priority int32
	errs := []error{
		raw(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), unix.SCHED_IDLE, uintptr(unsafe.Pointer(&priority))),
		unix.SchedSetaffinity(pid, &one),
		unix.Setpriority(unix.PRIO_PROCESS, pid, 19),
	}
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errs[0]
}

// spin demotes the first process with its threads, and starts so many processes that
// take all the time there is, in sessions of their own. It stays.
func spin(word string, many int) error {
	runtime.LockOSThread() // affinity is a thread's
	for pid := 1; pid < os.Getpid(); pid++ {
		demote(pid)
	}
	var one unix.CPUSet
	one.Set(0)
	if err := unix.SchedSetaffinity(0, &one); err != nil { // and so where the first process is
		return err
	}
	const gate = Temp + "/gate"
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		return err
	}
	for range many {
		_, err := os.StartProcess("/bin/sh", []string{"sh", "-c", ": <" + gate + "; while :; do :; done", word}, &os.ProcAttr{
			Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			return err
		}
	}
	w, err := unix.Open(gate, unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	unix.Close(w)
	time.Sleep(time.Hour)
	return nil
}

// pairSend makes a pair of sockets of a kind and sends from it to a path, by an
// address with the message, and once connected; with a descriptor.
func pairSend(w []string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, int(long(w[0])), 0)
	if err != nil {
		return err
	}
	to := &unix.SockaddrUnix{Name: w[1]}
	rights := unix.UnixRights(0)
	if err := unix.Sendmsg(fds[0], []byte("x"), rights, to, 0); err == nil && long(w[0]) != unix.SOCK_SEQPACKET {
		return nil // a socket of the last kind sends to its peer all the same
	}
	if err := unix.Connect(fds[0], to); err != nil {
		return err
	}
	return unix.Sendmsg(fds[0], []byte("x"), rights, nil, 0)
}
