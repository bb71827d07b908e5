//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// probeName is the argv[0] under which the test binary is a program that tries
// things. Each further argument is one thing, its words separated by \x1f; for
// each it prints a line: "ok", what it saw, or the name of the error.
const probeName = "runlens-probe"

func probeMain(args []string) int {
	for _, arg := range args {
		words := strings.Split(arg, "\x1f")
		text, err := attempt(words[0], words[1:])
		var errno syscall.Errno
		switch {
		case err == nil:
		case errors.As(err, &errno):
			text = unix.ErrnoName(errno)
		default:
			text = "error " + err.Error()
		}
		if text == "" {
			text = "ok"
		}
		fmt.Println(strings.ReplaceAll(text, "\n", "|"))
	}
	return 0
}

func attempt(what string, w []string) (string, error) {
	if f := files[what]; f != nil {
		return f(w)
	}
	for _, some := range []map[string]func(w []string) error{calls, descriptors, connections, attacks} {
		if f := some[what]; f != nil {
			return "", f(w)
		}
	}
	return "", fmt.Errorf("no attempt %q", what)
}

var files = map[string]func(w []string) (string, error){
	"read": func(w []string) (string, error) {
		text, err := os.ReadFile(w[0])
		return string(text), err
	},
	"readfd": func(w []string) (string, error) {
		text, err := io.ReadAll(os.NewFile(long(w[0]), "given"))
		return string(text), err
	},
	"list": func(w []string) (string, error) {
		entries, err := os.ReadDir(w[0])
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " "), err
	},
	"write":   func(w []string) (string, error) { return "", os.WriteFile(w[0], []byte("x"), 0o644) },
	"append":  func(w []string) (string, error) { return appendTo(w[0]) },
	"trunc":   func(w []string) (string, error) { return "", syscall.Truncate(w[0], 0) },
	"stat":    func(w []string) (string, error) { _, err := os.Stat(w[0]); return "", err },
	"chmod":   func(w []string) (string, error) { return "", syscall.Chmod(w[0], number(w[1])) },
	"utime":   func(w []string) (string, error) { return "", os.Chtimes(w[0], time.Unix(1, 0), time.Unix(1, 0)) },
	"link":    func(w []string) (string, error) { return "", os.Link(w[0], w[1]) },
	"symlink": func(w []string) (string, error) { return "", os.Symlink(w[0], w[1]) },
	"rename":  func(w []string) (string, error) { return "", os.Rename(w[0], w[1]) },
	"remove":  func(w []string) (string, error) { return "", os.Remove(w[0]) },
	"mkdir":   func(w []string) (string, error) { return "", os.Mkdir(w[0], 0o755) },
	"create":  createMode,
	"env":     func(w []string) (string, error) { return strings.Join(os.Environ(), " "), nil },
	"ids": func(w []string) (string, error) {
		return fmt.Sprint(os.Getuid() == 0, os.Geteuid() == 0, os.Getgid() == 0), nil
	},
	"pids":   func(w []string) (string, error) { return seenProcesses() },
	"status": func(w []string) (string, error) { return statusLines(w) },
	"fds":    func(w []string) (string, error) { return openDescriptors() },
	"limit": func(w []string) (string, error) {
		var l unix.Rlimit
		err := unix.Getrlimit(int(number(w[0])), &l)
		return fmt.Sprint(l.Cur, " ", l.Max), err
	},
	"chdir": func(w []string) (string, error) {
		here, _ := os.Getwd()
		err := os.Chdir(w[0])
		os.Chdir(here)
		return "", err
	},
	"exec": func(w []string) (string, error) {
		out, err := exec.Command(w[0], w[1:]...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	},
}

func appendTo(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, err = f.WriteString("x")
	return "", err
}

func createMode(w []string) (string, error) {
	fd, err := unix.Open(w[0], unix.O_CREAT|unix.O_WRONLY, number(w[1]))
	if err == nil {
		unix.Close(fd)
	}
	return "", err
}

func seenProcesses() (string, error) {
	paths, err := filepath.Glob("/proc/[0-9]*")
	return strconv.Itoa(len(paths)), err
}

func statusLines(keys []string) (string, error) {
	text, err := os.ReadFile("/proc/self/status")
	var found []string
	for _, line := range strings.Split(string(text), "\n") {
		key, value, _ := strings.Cut(line, ":")
		if slices.Contains(keys, key) {
			found = append(found, strings.TrimSpace(value))
		}
	}
	return strings.Join(found, " "), err
}

// openDescriptors names those that a program started with these has not made.
func openDescriptors() (string, error) {
	var open []string
	for fd := range 200 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			open = append(open, strconv.Itoa(fd))
		}
	}
	return strings.Join(open, " "), nil
}

var calls = map[string]func(w []string) error{
	"socket":     func(w []string) error { return raw(unix.SYS_SOCKET, long(w[0]), long(w[1]), long(w[2])) },
	"socketpair": func(w []string) error { return pairOf(long(w[0]), unix.SOCK_STREAM) },
	"kill":       func(w []string) error { return syscall.Kill(int(number(w[0])), syscall.Signal(number(w[1]))) },
	"unshare":    func(w []string) error { return unix.Unshare(int(long(w[0]))) },
	"ptrace":     func(w []string) error { return raw(unix.SYS_PTRACE, 0, 0, 0) },
	"io_uring":   ioUring,
	"clone":      func(w []string) error { return cloned(long(w[0])) },
	"clone3":     func(w []string) error { return raw(unix.SYS_CLONE3, 0, 0, 0) },
	"openat2":    func(w []string) error { _, err := openInside("/usr"); return err },
	"mount":      func(w []string) error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
	"remount":    func(w []string) error { return unix.Mount("", w[0], "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"umount":     func(w []string) error { return unix.Unmount(w[0], unix.MNT_DETACH) },
	"fsopen":     func(w []string) error { _, err := unix.Fsopen("tmpfs", 0); return err },
	"open_tree": func(w []string) error {
		_, err := unix.OpenTree(unix.AT_FDCWD, "/usr", unix.OPEN_TREE_CLONE)
		return err
	},
	"chroot":    func(w []string) error { return unix.Chroot("/tmp") },
	"setns":     func(w []string) error { return unix.Setns(0, 0) },
	"keyctl":    func(w []string) error { _, err := unix.KeyctlGetKeyringID(-3, false); return err },
	"add_key":   func(w []string) error { _, err := unix.AddKey("user", "x", []byte("x"), -3); return err },
	"bpf":       func(w []string) error { return raw(unix.SYS_BPF, 0, 0, 0) },
	"perf":      func(w []string) error { return raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
	"userfault": func(w []string) error { return raw(unix.SYS_USERFAULTFD, 1, 0, 0) },
	"vm_readv":  func(w []string) error { return raw(unix.SYS_PROCESS_VM_READV, uintptr(os.Getpid()), 0, 0) },
	"handle_at": func(w []string) error { return raw(unix.SYS_NAME_TO_HANDLE_AT, 0, 0, 0) },
	"by_handle": func(w []string) error { return raw(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0) },
	"getfd":     func(w []string) error { return raw(unix.SYS_PIDFD_GETFD, 0, 0, 0) },
	"kexec":     func(w []string) error { return raw(unix.SYS_KEXEC_LOAD, 0, 0, 0) },
	"module":    func(w []string) error { return raw(unix.SYS_FINIT_MODULE, 0, 0, 0) },
	"reboot":    func(w []string) error { return raw(unix.SYS_REBOOT, 0, 0, 0) },
	"swapon":    func(w []string) error { return raw(unix.SYS_SWAPON, 0, 0, 0) },
	"syslog":    func(w []string) error { return raw(unix.SYS_SYSLOG, 10, 0, 0) },
	"hostname":  func(w []string) error { return unix.Sethostname([]byte("x")) },
	"ioctl":     func(w []string) error { return raw(unix.SYS_IOCTL, 0, long(w[0]), 0) },
	"persona":   func(w []string) error { return raw(unix.SYS_PERSONALITY, long(w[0]), 0, 0) },
	"x32":       func(w []string) error { return raw(0x40000000|unix.SYS_GETPID, 0, 0, 0) },
	"newest":    func(w []string) error { return raw(newestNumber+1, 0, 0, 0) },
	"setuid":    func(w []string) error { return syscall.Setuid(0) },
	"mknod":     func(w []string) error { return unix.Mknod(w[0], unix.S_IFCHR|0o666, 0x103) },
	"raise": func(w []string) error {
		return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
	},
	"memfd": func(w []string) error { _, err := unix.MemfdCreate("x", 0); return err },
}

func raw(number, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall6(number, a, b, c, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func pairOf(domain, kind uintptr) error {
	var fds [2]int32
	if _, _, errno := unix.Syscall6(unix.SYS_SOCKETPAIR, domain, kind, 0, uintptr(unsafe.Pointer(&fds)), 0, 0); errno != 0 {
		return errno
	}
	unix.Close(int(fds[0]))
	return unix.Close(int(fds[1]))
}

func ioUring(w []string) error {
	var params [120]byte
	return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
}

// cloned tries to start a process in the namespaces of flags.
func cloned(flags uintptr) error {
	_, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: flags}})
	return err
}

func number(s string) uint32 { return uint32(long(s)) }

func long(s string) uintptr {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return uintptr(n)
}
