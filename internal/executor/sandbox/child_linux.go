//go:build amd64 || arm64

package sandbox

import (
	"context"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child is a running sandbox. Its methods may be called from several goroutines.
type Child struct {
	PID int // of the sandbox's first process, on the host

	pidfd   *os.File // readable when the first process has ended, and so everything in its PID namespace
	control *os.File // a sandbox ends when the other end of it is closed, by whatever ends this process
	by      *forker
	result  Result
	done    chan struct{}
}

func newChild(pid int, pidfd, control *os.File, by *forker) *Child {
	return &Child{
		PID: pid, pidfd: pidfd, control: control, by: by,
		result: Result{ExitCode: -1, Signal: syscall.SIGKILL, Killed: true},
		done:   make(chan struct{}),
	}
}

// begin hands the order over and waits until the program runs.
func (c *Child) begin(ctx context.Context, h *handover) error {
	stop := context.AfterFunc(ctx, func() { c.control.SetDeadline(time.Unix(1, 0)) })
	var first report
	err := h.send(c.control)
	if receiveErr := receive(c.control, &first); err == nil {
		err = receiveErr // what it says of a failure is there even if it didn't read to the end
	}
	interrupted := !stop()
	if err == nil && !interrupted && first.Running {
		return nil
	}
	switch {
	case first.Failed != nil:
		return first.Failed.err()
	case ctx.Err() != nil:
		return &Error{Kind: ErrUnavailable, Step: "set up", Note: ctx.Err().Error()}
	case err != nil:
		return &Error{Kind: ErrUnavailable, Step: "set up", Note: "its first process ended without a word"}
	}
	return &Error{Kind: ErrUnavailable, Step: "set up", Note: "its first process said something else"}
}

// watch learns how the program ended and waits until the first process has. When
// the kernel lets go of that, it has ended all the others.
func (c *Child) watch() {
	var last report
	if receive(c.control, &last) == nil && last.Ended != nil {
		c.result = Result{ExitCode: last.Ended.Exit, Signal: syscall.Signal(last.Ended.Signal)}
	}
	c.wait()
	c.control.Close()
	c.pidfd.Close()
	c.by.live.Add(-1)
	close(c.done)
}

func (c *Child) wait() {
	ended := func(wait int) func(fd int) error {
		return func(fd int) error {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, wait)
			if err == unix.EINTR || err == nil && n == 0 {
				err = unix.EAGAIN
			}
			return err
		}
	}
	if whenReady(c.pidfd, false, ended(0)) != nil { // it can't be waited for with other things
		for ended(-1)(int(c.pidfd.Fd())) == unix.EAGAIN {
		}
	}
	// The forker's death may have made this process the parent.
	unix.Waitid(unix.P_PIDFD, int(c.pidfd.Fd()), nil, unix.WEXITED|unix.WNOHANG, nil)
}

// Done is closed when the sandbox has ended and nothing of it is left.
func (c *Child) Done() <-chan struct{} { return c.done }

// Wait waits for that and says how it ended.
func (c *Child) Wait() Result {
	<-c.done
	return c.result
}

// Kill ends every process of the sandbox. It doesn't wait; Wait does. A sandbox
// that has ended is none of its business.
func (c *Child) Kill() {
	if raw, err := c.pidfd.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
	}
}
