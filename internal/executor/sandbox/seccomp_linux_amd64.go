package sandbox

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const nativeArch = unix.AUDIT_ARCH_X86_64

// archGuard kills the x32 numbers, which come under the native architecture.
var archGuard = []bpf.Instruction{
	bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 0x40000000, SkipTrue: 1},
	kill,
}

var archDenied = []uint32{
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB,
	unix.SYS__SYSCTL, unix.SYS_SYSFS, unix.SYS_USTAT, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
}

// archRules are for calls that newer processors never had.
func archRules(f *filter) {
	f.on(unix.SYS_CHMOD, denyBits(1, setID)...)
	f.on(unix.SYS_CREAT, denyBits(1, setID)...)
	f.on(unix.SYS_MKNOD, denyBits(1, setID)...)
	f.on(unix.SYS_OPEN, denyCreateBits(1, 2)...)
}
