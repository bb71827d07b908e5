//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockMin is the oldest Landlock that will do: the first that covers
// truncation. What later ones add (sockets, signals, device ioctl) the namespaces
// and the seccomp filter have already.
const landlockMin = 3

// presets are Landlock's restrictions by ABI version.
var presets = map[int]landlock.Config{
	3: landlock.V3, 4: landlock.V4, 5: landlock.V5, 6: landlock.V6, 7: landlock.V7,
	8: landlock.V8, 9: landlock.V9, 10: landlock.V10, 11: landlock.V11,
}

const newestPreset = 11

// enterDir makes the working directory the judged one.
func (s *stage) enterDir() error {
	if s.Probe {
		return nil
	}
	open := s.Dir.open
	if s.OwnDir {
		open = s.ownDir
	}
	fd, err := open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Fchdir(fd); err != nil {
		return fail(ErrSpec, "enter the working directory", err)
	}
	return nil
}

// makeDir makes a working directory that no root holds, while the sandbox's own
// files can still be changed.
func (s *stage) makeDir() error {
	if s.Probe || !s.OwnDir {
		return nil
	}
	return s.makeFolders(string(s.Dir.Path))
}

func (s *stage) ownDir() (int, error) {
	fd, err := openInside(string(s.Dir.Path))
	if err != nil {
		return -1, unavailable("open the working directory", err)
	}
	return fd, nil
}

// limit sets the resource limits but that on memory (limitMemory). This process's
// own threads come on top of what the program may have.
func (s *stage) limit() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return unavailable("count the own threads", err)
	}
	l := s.Limits
	limits := []struct {
		name  string
		which int
		value int64
	}{
		{"core size", unix.RLIMIT_CORE, 0},
		{"CPU time", unix.RLIMIT_CPU, max(1, int64(l.CPU/time.Second))},
		{"file size", unix.RLIMIT_FSIZE, l.FileSize},
		{"open files", unix.RLIMIT_NOFILE, int64(l.OpenFiles)},
		{"processes", unix.RLIMIT_NPROC, int64(l.Processes + len(threads))},
		{"locked memory", unix.RLIMIT_MEMLOCK, 8 << 20},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"real-time priority", unix.RLIMIT_RTPRIO, 0},
		{"niceness", unix.RLIMIT_NICE, 0},
	}
	for _, limit := range limits {
		if err := setLimit(limit.name, limit.which, limit.value); err != nil {
			return err
		}
	}
	return nil
}

// limitMemory bounds the address space. The Go runtime of this process has more of
// it than a program may want, so this comes last: from here on nothing is to be had.
func (s *stage) limitMemory() error {
	if s.Limits.AddressSpace == 0 {
		return nil
	}
	return setLimit("address space", unix.RLIMIT_AS, s.Limits.AddressSpace)
}

// setLimit sets a limit for good, to what there was where that is less.
func setLimit(name string, which int, value int64) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(which, &old); err != nil {
		return unavailable("limit "+name, err)
	}
	least := min(uint64(value), old.Max)
	if err := unix.Setrlimit(which, &unix.Rlimit{Cur: least, Max: least}); err != nil {
		return unavailable("limit "+name, err)
	}
	return nil
}

// landlock repeats in a second mechanism which files may be used, in case the
// first has a hole.
func (s *stage) landlock() error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return unavailable("look for Landlock", err)
	}
	if abi < landlockMin {
		return &Error{Kind: ErrUnavailable, Step: "look for Landlock", Note: fmt.Sprintf("its version is %d, at least %d is needed", abi, landlockMin)}
	}
	rules := []landlock.Rule{
		landlock.RODirs("/usr", "/proc"),
		landlock.RODirs("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc").IgnoreIfMissing(),
		landlock.RWFiles(devices...),
		landlock.RWDirs(Temp, Home, "/dev/shm").WithRefer(),
	}
	if s.Program != nil {
		rules = append(rules, landlock.ROFiles(fdPath(s.program)))
	}
	for _, fd := range s.opened {
		rules = append(rules, landlock.PathAccess(ll.AccessFSReadFile, fdPath(fd)))
	}
	if s.OwnDir {
		rules = append(rules, landlock.RODirs(string(s.Dir.Path)))
	}
	for _, r := range s.Roots {
		p := string(r.Path)
		switch {
		case r.Write && r.Folder:
			rules = append(rules, landlock.RWDirs(p).WithRefer())
		case r.Write:
			rules = append(rules, landlock.RWFiles(p))
		case r.Folder:
			rules = append(rules, landlock.RODirs(p))
		default:
			rules = append(rules, landlock.ROFiles(p))
		}
	}
	config := presets[min(abi, newestPreset)]
	if s.Loopback {
		config.HandledAccessNet = 0 // the network namespace is what keeps it in
	}
	if s.UnixSockets && abi >= 9 {
		return &Error{Kind: ErrUnavailable, Step: "apply Landlock", Note: "UNIX sockets are not provided for with this version of it"}
	}
	fd, flags, err := config.NewRulesetFD(rules...)
	if err != nil {
		return unavailable("make the Landlock rules", err)
	}
	defer unix.Close(fd)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return unavailable("give up new privileges", err)
	}
	if err := ll.LandlockRestrictSelf(fd, flags); err != nil {
		return unavailable("apply Landlock", err)
	}
	return nil
}

// dropPrivileges takes every capability from this thread, and from all that it
// starts the means to get one back.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return unavailable("drop ambient capabilities", err)
	}
	for c := uintptr(0); c < 64; c++ {
		switch err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); {
		case err == unix.EINVAL && c > 0:
			c = 64 // the kernel knows no more
		case err != nil:
			return unavailable("drop bounding capabilities", err)
		}
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return unavailable("drop capabilities", err)
	}
	return nil
}

// prove asks the kernel, or tries, what is in force for this thread, and so for
// the program.
func (s *stage) prove() error {
	not := func(what string) error {
		return &Error{Kind: ErrUnavailable, Step: "prove the sandbox", Note: what + " not in force"}
	}
	if v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || v != 1 {
		return not("no_new_privs is")
	}
	if v, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || v != 2 {
		return not("the system call filter is")
	}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0]); err != nil || caps != [2]unix.CapUserData{} {
		return not("the loss of capabilities is")
	}
	if v, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0); err != nil || v != 0 {
		return not("the loss of capabilities is")
	}
	// The root directory is in no rule, and readable but for Landlock.
	if fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); !errors.Is(err, unix.EACCES) {
		unix.Close(fd)
		return not("Landlock is")
	}
	family := unix.AF_INET
	if s.Loopback {
		family = unix.AF_NETLINK
	}
	if fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); !errors.Is(err, unix.EPERM) {
		unix.Close(fd)
		return not("the denial of sockets is")
	}
	if err := unix.Unshare(unix.CLONE_NEWUSER); !errors.Is(err, unix.EPERM) {
		return not("the denial of namespaces is")
	}
	if err := unix.Mkdir("/proof", 0o700); !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EACCES) {
		return not("the read-only root is")
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil || l.Max == math.MaxUint64 || l.Cur != l.Max {
		return not("the limit on processes is")
	}
	return nil
}

// filter puts the system call filter on this thread.
func (s *stage) filter() error {
	program, err := seccompProgram(s.UnixSockets, s.Loopback)
	if err != nil {
		return unavailable("make the system call filter", err)
	}
	raw := make([]unix.SockFilter, len(program))
	for i, in := range program {
		raw[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return unavailable("apply the system call filter", errno)
	}
	return nil
}
