//go:build amd64 || arm64

package sandbox

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Child is a running sandbox. Its methods may be called from several goroutines.
type Child struct {
	PID int // of the sandbox's first process, on the host

	process *os.Process
	control *os.File // a sandbox ends when the other end of it is closed, by whatever ends this process
	result  Result
	done    chan struct{}
}

func newChild(process *os.Process, control *os.File) *Child {
	return &Child{
		PID: process.Pid, process: process, control: control,
		result: Result{ExitCode: -1, Signal: syscall.SIGKILL, Killed: true},
		done:   make(chan struct{}),
	}
}

// begin hands the order over and waits until the program runs.
func (c *Child) begin(ctx context.Context, o *order) error {
	stop := context.AfterFunc(ctx, func() { c.control.SetDeadline(time.Unix(1, 0)) })
	var first report
	err := send(c.control, o)
	if err == nil {
		err = receive(c.control, &first)
	}
	interrupted := !stop()
	if err == nil && !interrupted && first.Running {
		return nil
	}
	go c.watch()
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

// watch learns how the program ended and reaps the first process. When the
// kernel lets go of that, it has ended all the others.
func (c *Child) watch() {
	var last report
	if receive(c.control, &last) == nil && last.Ended != nil {
		c.result = Result{ExitCode: last.Ended.Exit, Signal: syscall.Signal(last.Ended.Signal)}
	}
	c.process.Wait()
	c.control.Close()
	close(c.done)
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
func (c *Child) Kill() { c.process.Kill() }
