//go:build amd64 || arm64

package sandbox

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The first process must outlive a program that takes every process the sandbox
// may have, and the Go runtime gives up when it can't make a thread. So both of
// its threads that matter wait in the kernel without telling the runtime, which
// then never sees a reason for a third. Signals from the program are ignored, by
// the kernel: the runtime would end the process for some.

// watchParent makes a thread that ends the sandbox, once the watch has begun, when
// the process that gave the order is gone, which the kernel tells by closing the
// other end of the socket. Nothing else may be awaited from the socket then.
func watchParent() (begin func(), err error) {
	start, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, unavailable("watch the starting process", err)
	}
	waiting := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(waiting)
		wait(start, 8)
		wait(controlFD, 1)
		end()
	}()
	<-waiting
	return func() { unix.Write(start, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }, nil
}

// What this process has at hand when its address space is bounded.
const (
	spareThreads = 6
	spareMemory  = 8 << 20
)

// provide sees to it that the Go runtime needs nothing more of the kernel then: it
// would get neither a thread, which it wants when a call takes long, nor memory, and
// give up. It must come before watchParent, since a collection waits for all threads.
func provide() {
	var there, gone sync.WaitGroup
	there.Add(spareThreads)
	release := make(chan struct{})
	for range spareThreads {
		gone.Go(func() {
			runtime.LockOSThread() // so each has a thread of its own, which is kept when it ends
			there.Done()
			<-release
			runtime.UnlockOSThread()
		})
	}
	there.Wait()
	close(release)
	gone.Wait()
	spare := make([]byte, spareMemory)
	runtime.KeepAlive(spare)
	runtime.GC() // it is free now, and mapped
}

// wait reads so many bytes, or the end.
func wait(fd int, size uintptr) {
	var b [8]byte
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b)), size)
		if errno != unix.EINTR {
			return
		}
	}
}

// reap reaps until the program has ended, and says how.
func reap(program int) *ending {
	for {
		var status uint32
		pid, _, errno := unix.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&status)), unix.WALL, 0, 0, 0)
		if errno != 0 && errno != unix.EINTR {
			return nil
		}
		if errno != 0 || int(pid) != program {
			continue
		}
		w := syscall.WaitStatus(status)
		if w.Signaled() {
			return &ending{Exit: -1, Signal: int(w.Signal())}
		}
		return &ending{Exit: w.ExitStatus()}
	}
}

// settleSignals ignores what the Go runtime handles, and the other way round: the
// program starts with every signal at its default, because the runtime resets in
// a child what it thinks it handles. For the first process itself a default means
// to be left alone by its descendants. SIGCHLD stays: without it there would be
// nothing to reap.
func settleSignals() {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch handler := handlerOf(sig); {
		case sig == unix.SIGCHLD || handler == handlerDefault:
		case handler == handlerIgnore:
			setHandler(sig, handlerDefault)
		default:
			setHandler(sig, handlerIgnore)
		}
	}
}

// Signal handlers that are none (signal(7)).
const handlerDefault, handlerIgnore = 0, 1

type sigaction struct{ handler, flags, restorer, mask uintptr }

func handlerOf(sig syscall.Signal) uintptr {
	var now sigaction
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&now)), 8, 0, 0)
	return now.handler
}

func setHandler(sig syscall.Signal, handler uintptr) {
	var now sigaction
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&now)), 8, 0, 0)
	now.handler = handler
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&now)), 0, 8, 0, 0)
}
