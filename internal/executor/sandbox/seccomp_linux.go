//go:build amd64 || arm64

package sandbox

import (
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Where struct seccomp_data has its parts (seccomp(2)). Both processors are
// little-endian, so the low half of an argument comes first.
const (
	offNumber, offArch = 0, 4
	offArgs            = 16
)

func lowHalf(arg int) uint32  { return uint32(offArgs + 8*arg) }
func highHalf(arg int) uint32 { return uint32(offArgs + 8*arg + 4) }

var (
	allow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	kill  = bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
	deny  = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	// absent makes a libc fall back to the older call, whose arguments are not
	// behind a pointer and can be judged.
	absent = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
)

const (
	newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	setID        = unix.S_ISUID | unix.S_ISGID
	createsFile  = unix.O_CREAT | 0x400000 // and what sets O_TMPFILE apart
	tiocsetd     = 0x5423
	newestNumber = unix.SYS_RSEQ_SLICE_YIELD
)

// denied are calls that no program needs here and that reach for the kernel, for
// other processes, or out of the sandbox.
var denied = []uint32{
	// other processes
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	// the kernel
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_NFSSERVCTL, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_LSM_SET_SELF_ATTR,
	// namespaces and mounts
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_LISTNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT,
	unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT,
	// files by other means than a path
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
}

// filter is a program for seccomp in the making.
type filter []bpf.Instruction

// on appends what happens to one system call; it must end in a return.
func (f *filter) on(number uint32, then ...bpf.Instruction) {
	*f = append(*f, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(then))})
	*f = append(*f, then...)
}

// seccompProgram lets everything through but
//   - another processor's calls, by which numbers mean something else: killed,
//   - numbers newer than this list: they don't exist,
//   - the denied, and those whose arguments tell that they are no better.
//
// A condition on an argument is "deny unless it is this", over as many bits as
// the kernel looks at or more. unixSockets lets socket(AF_UNIX) through, loopback
// those of the internet for streams and datagrams, by TCP and UDP. Rules for a
// kind of object are in seccomp_rules_linux.go.
func seccompProgram(unixSockets, loopback bool) ([]bpf.RawInstruction, error) {
	f := filter{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: nativeArch, SkipTrue: 1},
		kill,
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
	}
	f = append(f, archGuard...)
	f = append(f,
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newestNumber, SkipTrue: 1},
		absent,
	)
	f = append(f, denyAny(slices.Sorted(slices.Values(slices.Concat(denied, archDenied))))...)
	f.on(unix.SYS_CLONE3, absent)
	f.on(unix.SYS_OPENAT2, absent)
	f.on(unix.SYS_SCHED_SETATTR, absent)
	socketRules(&f, unixSockets, loopback)
	processRules(&f)
	f.on(unix.SYS_CLONE, denyBits(0, newNamespace)...)
	f.on(unix.SYS_IOCTL,
		bpf.LoadAbsolute{Off: lowHalf(1), Size: 4}, // the kernel takes 32 bits
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCLINUX, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: tiocsetd, SkipTrue: 1},
		deny,
		allow,
	)
	f.on(unix.SYS_FCNTL,
		bpf.LoadAbsolute{Off: lowHalf(1), Size: 4}, // the kernel takes 32 bits
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.F_SETLEASE, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.F_SETDELEG, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.F_NOTIFY, SkipTrue: 1},
		deny, // who opens the file outside would have to wait
		allow,
	)
	f.on(unix.SYS_PERSONALITY,
		bpf.LoadAbsolute{Off: lowHalf(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},          // the ordinary one
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0xffffffff, SkipTrue: 1}, // only asks
		deny,
		allow,
	)
	// A file that runs as its owner would be a way out for a friend outside.
	f.on(unix.SYS_FCHMOD, denyBits(1, setID)...)
	f.on(unix.SYS_FCHMODAT, denyBits(2, setID)...)
	f.on(unix.SYS_FCHMODAT2, denyBits(2, setID)...)
	f.on(unix.SYS_MKNODAT, denyBits(2, setID)...)
	f.on(unix.SYS_OPENAT, denyCreateBits(2, 3)...)
	archRules(&f)
	f = append(f, allow)
	return bpf.Assemble(f)
}

// denyAny denies the numbers, which are sorted. It halves them until few are left:
// the kernel runs a new filter over every number there is before it takes it.
func denyAny(numbers []uint32) []bpf.Instruction {
	if len(numbers) <= 4 {
		var f filter
		for _, number := range numbers {
			f.on(number, deny)
		}
		return f
	}
	half := len(numbers) / 2
	above := denyAny(numbers[half:])
	below := append(denyAny(numbers[:half]), bpf.Jump{Skip: uint32(len(above))})
	return slices.Concat(
		[]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: numbers[half], SkipTrue: uint8(len(below))}},
		below, above)
}

// denyUnless lets an argument through that is, but for the ignored bits of its low
// half, one of these.
func denyUnless(arg int, ignored uint32, these ...uint32) []bpf.Instruction {
	rules := []bpf.Instruction{
		bpf.LoadAbsolute{Off: highHalf(arg), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		deny,
		bpf.LoadAbsolute{Off: lowHalf(arg), Size: 4},
	}
	if ignored != 0 {
		rules = append(rules, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^ignored})
	}
	for i, one := range these {
		rules = append(rules, bpf.JumpIf{Cond: bpf.JumpEqual, Val: one, SkipTrue: uint8(len(these) - i)})
	}
	return append(rules, deny)
}

func denyBits(arg int, bits uint32) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: lowHalf(arg), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: bits, SkipTrue: 1},
		deny,
		allow,
	}
}

// denyCreateBits looks at the mode only where it counts: without these flags it
// is whatever the register holds.
func denyCreateBits(flags, mode int) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: lowHalf(flags), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: createsFile, SkipTrue: 1},
		allow,
	}, denyBits(mode, setID)...)
}
