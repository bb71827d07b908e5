//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestFilter runs the filter itself, also where a processor to try it on is
// missing.
func TestFilter(t *testing.T) {
	const (
		i386   = unix.AUDIT_ARCH_I386
		eperm  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		enosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
		ok     = unix.SECCOMP_RET_ALLOW
		dies   = unix.SECCOMP_RET_KILL_PROCESS
	)
	raw, err := seccompProgram(false, false)
	if err != nil {
		t.Fatal(err)
	}
	program, whole := bpf.Disassemble(raw)
	if !whole {
		t.Fatal("the filter holds an unknown instruction")
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	for number := range uint32(newestNumber + 1) {
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[offNumber:], number)
		binary.BigEndian.PutUint32(data[offArch:], nativeArch)
		got, err := vm.Run(data)
		if want := slices.Contains(slices.Concat(denied, archDenied), number); err != nil || want && uint32(got) != eperm {
			t.Errorf("call %d: got %#x, %v", number, got, err)
		}
		if uint32(got) == eperm && !slices.Contains(slices.Concat(denied, archDenied, []uint32{
			unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_BIND, unix.SYS_CONNECT, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_IOPRIO_SET,
		}), number) {
			t.Errorf("call %d is denied", number)
		}
	}
	for _, test := range []struct {
		name   string
		arch   uint32
		number uint32
		args   [6]uint64
		want   uint32
	}{
		{"read", nativeArch, unix.SYS_READ, [6]uint64{}, ok},
		{"i386 socket", i386, 359, [6]uint64{}, dies},
		{"i386 ptrace", i386, 26, [6]uint64{}, dies},
		{"i386 read", i386, 3, [6]uint64{}, dies},
		{"no architecture", 0, unix.SYS_READ, [6]uint64{}, dies},
		{"above the newest", nativeArch, newestNumber + 1, [6]uint64{}, enosys},
		{"socket", nativeArch, unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX}, eperm},
		{"socketpair", nativeArch, unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, ok},
		{"socketpair, high bits", nativeArch, unix.SYS_SOCKETPAIR, [6]uint64{1<<32 | unix.AF_UNIX, unix.SOCK_STREAM}, eperm},
		{"fork", nativeArch, unix.SYS_CLONE, [6]uint64{uint64(unix.SIGCHLD)}, ok},
		{"namespace", nativeArch, unix.SYS_CLONE, [6]uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, eperm},
		{"clone3", nativeArch, unix.SYS_CLONE3, [6]uint64{}, enosys},
		{"open with a left-over mode", nativeArch, unix.SYS_OPENAT, [6]uint64{0, 0, unix.O_RDONLY, 0o7777}, ok},
		{"create set-user-ID", nativeArch, unix.SYS_OPENAT, [6]uint64{0, 0, unix.O_CREAT, 0o4755}, eperm},
		{"nameless set-user-ID", nativeArch, unix.SYS_OPENAT, [6]uint64{0, 0, unix.O_TMPFILE, 0o4755}, eperm},
		{"a directory", nativeArch, unix.SYS_OPENAT, [6]uint64{0, 0, unix.O_DIRECTORY, 0o4755}, ok},
		{"TIOCSTI, high bits", nativeArch, unix.SYS_IOCTL, [6]uint64{0, 1<<32 | unix.TIOCSTI}, eperm},
		{"TIOCSETD", nativeArch, unix.SYS_IOCTL, [6]uint64{0, tiocsetd}, eperm},
		{"TCGETS", nativeArch, unix.SYS_IOCTL, [6]uint64{0, unix.TCGETS}, ok},
		{"personality", nativeArch, unix.SYS_PERSONALITY, [6]uint64{8}, eperm},
		{"F_SETLEASE", nativeArch, unix.SYS_FCNTL, [6]uint64{0, unix.F_SETLEASE}, eperm},
		{"F_SETLEASE, high bits", nativeArch, unix.SYS_FCNTL, [6]uint64{0, 1<<32 | unix.F_SETLEASE}, eperm},
		{"F_SETDELEG", nativeArch, unix.SYS_FCNTL, [6]uint64{0, unix.F_SETDELEG}, eperm},
		{"F_NOTIFY", nativeArch, unix.SYS_FCNTL, [6]uint64{0, unix.F_NOTIFY}, eperm},
		{"F_GETLEASE", nativeArch, unix.SYS_FCNTL, [6]uint64{0, unix.F_GETLEASE}, ok},
		{"F_DUPFD_CLOEXEC", nativeArch, unix.SYS_FCNTL, [6]uint64{0, unix.F_DUPFD_CLOEXEC}, ok},
		{"sched_setattr", nativeArch, unix.SYS_SCHED_SETATTR, [6]uint64{}, enosys},
	} {
		got, err := vm.Run(seccompData(test.arch, test.number, test.args))
		if err != nil || uint32(got) != test.want {
			t.Errorf("%s: got %#x, %v, want %#x", test.name, got, err, test.want)
		}
	}
}

// seccompData is what the filter looks at. The machine of package bpf reads
// big-endian words where the kernel has its own.
func seccompData(arch, number uint32, args [6]uint64) []byte {
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offNumber:], number)
	binary.BigEndian.PutUint32(data[offArch:], arch)
	for i, arg := range args {
		binary.BigEndian.PutUint32(data[lowHalf(i):], uint32(arg))
		binary.BigEndian.PutUint32(data[highHalf(i):], uint32(arg>>32))
	}
	return data
}

// TestSocketFilter asks the filter about every family, type and protocol there may
// be, with and without high bits, against what is meant.
func TestSocketFilter(t *testing.T) {
	for _, unixSockets := range []bool{false, true} {
		for _, loopback := range []bool{false, true} {
			raw, err := seccompProgram(unixSockets, loopback)
			if err != nil {
				t.Fatal(err)
			}
			program, _ := bpf.Disassemble(raw)
			vm, err := bpf.NewVM(program)
			if err != nil {
				t.Fatal(err)
			}
			meant := func(family, kind, protocol uint64) bool {
				kind &^= unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
				return unixSockets && family == unix.AF_UNIX ||
					loopback && (family == unix.AF_INET || family == unix.AF_INET6) &&
						(kind == unix.SOCK_STREAM || kind == unix.SOCK_DGRAM) &&
						(protocol == 0 || protocol == unix.IPPROTO_TCP || protocol == unix.IPPROTO_UDP)
			}
			for family := range uint64(48) {
				for kind := range uint64(18) {
					for _, protocol := range []uint64{0, 1, 2, 6, 17, 41, 58, 132, 136, 255, 262} {
						for high := range uint64(8) {
							for _, flags := range []uint64{0, unix.SOCK_CLOEXEC, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 1 << 31} {
								a, b, c := family|high&1<<32, kind|flags|high>>1&1<<32, protocol|high>>2<<32
								want := unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
								if meant(a, b, c) {
									want = unix.SECCOMP_RET_ALLOW
								}
								got, err := vm.Run(seccompData(nativeArch, unix.SYS_SOCKET, [6]uint64{a, b, c}))
								if err != nil || uint32(got) != want {
									t.Fatalf("socket(%#x, %#x, %#x) with UNIX sockets %t, loopback %t: got %#x, %v, want %#x", a, b, c, unixSockets, loopback, got, err, want)
								}
							}
						}
					}
				}
			}
		}
	}
}
