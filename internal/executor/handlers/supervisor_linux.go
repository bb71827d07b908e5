package handlers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/resolve"
)

// How long the stages of stopping may take. Together they stay under patience.
const (
	termGrace = 250 * time.Millisecond // between SIGTERM and SIGKILL at the deadline
	pipeGrace = 300 * time.Millisecond // for output still in a pipe when the command has ended
	killBound = 1500 * time.Millisecond
	lookEvery = 50 * time.Millisecond
)

// supervisor runs commands and sees to it that each leaves no process behind.
//
// The process becomes the reaper of its orphans (prctl PR_SET_CHILD_SUBREAPER),
// so whatever a command starts stays below it, and the kernel's parent links,
// sessions and an unguessable variable in the environment tell whose it is; see
// family. What it can't promise without a PID namespace: a program that outruns
// the killing by forking into ever new sessions (it is counted and reported), and
// one that asks another program of the same user (a service manager, cron) to
// run something. Isolation closes both.
//
// Programs that other parts of this process start are never touched.
type supervisor struct {
	mu       sync.Mutex
	families map[*family]struct{} // of the commands running now
	since    uint64               // start of the first of them
	foreign  bool                 // something else was started meanwhile, so an orphan of unknown origin may be its

	reap func(*exec.Cmd) error // gives up a dead command's number, under mu; nil is its Wait
}

// run starts the grant's command, waits for it or for ctx, kills whatever is
// left of it, and reports how it ended. It returns within termGrace, pipeGrace
// and killBound of the end of ctx. An error means that nothing was started.
func (s *supervisor) run(ctx context.Context, g *Grant, stdout, stderr io.Writer) (ending, error) {
	if ctx.Err() != nil {
		return ending{}, interrupted(ctx, ending{}, nil)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return ending{}, failed("run command: become the reaper of its orphans: %v", err)
	}
	outputs, err := newPipes(stdout, stderr)
	if err != nil {
		return ending{}, failed("run command: make a pipe: %v", cause(err))
	}
	defer outputs.close()
	c, err := prepare(g, outputs)
	if err != nil {
		return ending{}, err
	}
	defer c.close()
	f, exited, err := s.start(c)
	outputs.started()
	if err != nil {
		return ending{}, failed("run command: start it: %v", cause(err))
	}
	byItself := s.wait(ctx, f, exited, outputs)
	end := s.finish(f, c, exited)
	outputs.drain(pipeGrace)
	end.byItself = byItself
	return end, nil
}

// wait returns true when the command has ended by itself and its output is
// closed or late, or false when ctx has ended and the command had its chance to
// end in order.
func (s *supervisor) wait(ctx context.Context, f *family, exited <-chan struct{}, outputs *pipes) (byItself bool) {
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-exited:
			select {
			case <-outputs.ended:
			case <-ctx.Done():
			case <-time.After(pipeGrace):
			}
			return true
		case <-ctx.Done():
			unix.Kill(-f.leader.pid, unix.SIGTERM)
			select {
			case <-exited:
			case <-time.After(termGrace):
			}
			return false
		case <-look.C:
			took := s.look(f)
			look.Reset(max(lookEvery, 20*took)) // 5 % of a core at most, however many processes there are
		}
	}
}

// child is a prepared or running command.
type child struct {
	cmd    exec.Cmd
	marker string
	own    []*os.File // opened for it, to be closed here
}

func (c *child) close() {
	for _, f := range c.own {
		f.Close()
	}
}

// open opens one of the grant's objects for the child.
func (c *child) open(o *resolve.Object) error {
	f, err := o.Open()
	if err != nil {
		return err
	}
	c.own = append(c.own, f)
	c.cmd.ExtraFiles = append(c.cmd.ExtraFiles, f)
	return nil
}

// prepare makes a command of the grant: program and working directory by
// handle, environment, argv and what it is handed from the grant alone, stdin empty
// otherwise, a session of its own. A script keeps its handle as the last descriptor,
// because its interpreter opens it anew (and sees it as /proc/self/fd/3 when it is
// handed nothing); a binary keeps none.
func prepare(g *Grant, outputs *pipes) (c *child, err error) {
	c = &child{}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	program, err := g.Executable.Held()
	if err != nil {
		return c, objectError("run command: hold its executable", err)
	}
	dir, err := g.Dir.Dir()
	if err != nil {
		return c, objectError("run command: hold its directory", err)
	}
	if c.marker, err = newMarker(); err != nil {
		return c, failed("run command: read random bytes: %v", err)
	}
	c.cmd = exec.Cmd{
		Path:   program,
		Args:   g.Argv,
		Env:    append(append([]string{}, g.Env...), c.marker),
		Dir:    dir,
		Stdout: outputs.write[0],
		Stderr: outputs.write[1],
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:    true,
			Pdeathsig: syscall.SIGKILL,
		},
	}
	if h := g.handed; h != nil {
		c.cmd.Stdin, c.cmd.ExtraFiles = h.stdin, h.files()
		for _, t := range h.reads {
			if err := c.open(t.Object); err != nil {
				return c, objectError("run program: open what it is handed", err)
			}
		}
	}
	script, err := openScript(g.Executable)
	if err != nil {
		return c, objectError("run command: read its executable", err)
	}
	if script != nil {
		c.own = append(c.own, script)
		c.cmd.Path = fmt.Sprintf("/proc/self/fd/%d", firstFD+len(c.cmd.ExtraFiles))
		c.cmd.ExtraFiles = append(c.cmd.ExtraFiles, script)
	}
	return c, nil
}

// start starts the command and returns a channel that closes when it has ended,
// before it is reaped: until then its process, group and session number are not
// given to anyone else. The thread that starts it waits for it too, since
// Pdeathsig counts from that thread.
func (c *child) start() (<-chan struct{}, error) {
	started, exited := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(exited)
		// Descriptors that this process was itself given must not reach the child.
		unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for {
			err := unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return exited, <-started
}

// ending is how the command ended, once it is reaped.
func (c *child) ending() ending {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		return ending{exit: -1}
	case status.Signaled():
		return ending{exit: -1, signal: unix.SignalName(status.Signal())}
	}
	return ending{exit: status.ExitStatus()}
}

// openScript opens the executable when it is a script, and returns nil when it
// is a binary. What may be run but not read can only be a binary.
func openScript(o *resolve.Object) (*os.File, error) {
	f, err := o.Open()
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var start [2]byte
	if n, _ := f.ReadAt(start[:], 0); string(start[:n]) == "#!" {
		return f, nil
	}
	return nil, f.Close()
}

// newMarker is a variable that every process of one command inherits and no
// other has.
func newMarker() (string, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return "RUNLENS_COMMAND=" + hex.EncodeToString(random[:]), nil
}

// signalName is "" for no signal.
func signalName(sig syscall.Signal) string {
	if sig == 0 {
		return ""
	}
	return unix.SignalName(sig)
}

// cause is an error of the system without the path it names.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}
