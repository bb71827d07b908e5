//go:build amd64 || arm64

package sandbox

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// processRules keep the program from the sandbox's first process, which has its
// user: were that never scheduled, nothing would end the sandbox. A process is told
// by its number, and every thread of the first has one; so a thread may set these
// for itself alone, as 0.
func processRules(f *filter) {
	for _, number := range []uint32{
		unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETAFFINITY, unix.SYS_PRLIMIT64,
	} {
		f.on(number, append(denyUnless(0, 0, 0), allow)...)
	}
	self := append(denyUnless(1, 0, 0), denyUnless(0, 0, unix.PRIO_PROCESS, unix.PRIO_PGRP)...)
	f.on(unix.SYS_SETPRIORITY, append(self, allow)...)
	self = append(denyUnless(1, 0, 0), denyUnless(0, 0, ioprioProcess, ioprioGroup)...)
	f.on(unix.SYS_IOPRIO_SET, append(self, allow)...)
}

const ioprioProcess, ioprioGroup = 1, 2

// socketRules are for what makes and names sockets. A datagram socket of a pair can
// be sent from to any other in a granted root, so pairs are of the kinds that stay
// connected. Where no socket can be made, none has to be named.
func socketRules(f *filter, unixSockets, loopback bool) {
	pair := denyUnless(0, 0, unix.AF_UNIX)
	if !unixSockets {
		pair = append(pair, denyUnless(1, socketFlags, unix.SOCK_STREAM, unix.SOCK_SEQPACKET)...)
	}
	f.on(unix.SYS_SOCKETPAIR, append(pair, allow)...)
	f.on(unix.SYS_SOCKET, socketRule(unixSockets, loopback)...)
	if unixSockets || loopback {
		return
	}
	for _, number := range []uint32{unix.SYS_BIND, unix.SYS_CONNECT, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4} {
		f.on(number, deny)
	}
}

const socketFlags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK

func socketRule(unixSockets, loopback bool) (rules []bpf.Instruction) {
	switch {
	case unixSockets && loopback:
		rules = append(denyUnless(0, 0, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6), // leaves the family loaded
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 1},
			allow)
	case unixSockets:
		return append(denyUnless(0, 0, unix.AF_UNIX), allow)
	case loopback:
		rules = denyUnless(0, 0, unix.AF_INET, unix.AF_INET6)
	default:
		return []bpf.Instruction{deny}
	}
	rules = append(rules, denyUnless(1, socketFlags, unix.SOCK_STREAM, unix.SOCK_DGRAM)...)
	rules = append(rules, denyUnless(2, 0, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP)...)
	return append(rules, allow)
}
