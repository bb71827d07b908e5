//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Probe finds out what this machine can do by doing it: a sandbox with these
// roots goes through every step and ends before it would start
// a program. It
// takes about as long as a Start. Whether other roots can be had depends on their
// file systems; Start says so then.
func (l *Launcher) Probe(ctx context.Context, roots ...Root) Support {
	var s Support
	s.Landlock, _ = ll.LandlockGetABIVersion()
	s.Landlock = max(s.Landlock, 0)
	c, err := l.start(ctx, Spec{Read: roots}, true)
	if err == nil {
		c.Wait()
		s.Filesystem, s.Network, s.Secrets, s.Limits, s.Level = true, true, true, true, Full
		return s
	}
	// Start refuses. What is there all the same is for a person who wants to
	// know what to change.
	s.Level = None
	if filters() {
		s.Network, s.Limits, s.Level = true, true, Partial
	} else {
		s.Missing = append(s.Missing, "system call filter: the kernel has no seccomp filters, or forbids them here")
	}
	if s.Landlock >= landlockMin {
		s.Filesystem, s.Level = true, Partial
	} else {
		s.Missing = append(s.Missing, fmt.Sprintf("Landlock: the kernel offers version %d, at least %d is needed (Linux 6.2, with landlock among the security modules at boot)", s.Landlock, landlockMin))
	}
	s.Missing = append(s.Missing, missing(err))
	return s
}

// missing is a failed start in words, with what may help.
func missing(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Step + ": " + e.Note
	if e.Errno != 0 {
		text = e.Step + ": " + e.Errno.Error()
	}
	if e.Step == "make the namespaces" {
		text += " (user namespaces must be allowed: user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, a container's own system call filter; and this program must be executable for everyone)"
	}
	return text
}

// filters says whether the kernel takes a filter that kills, without one.
func filters() bool {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	return seccompHas(&action)
}

func seccompHas(action *uint32) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(action)))
	return errno == 0
}
