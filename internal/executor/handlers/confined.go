package handlers

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/resolve"
)

// Confinement is all that a command sees and may change under the sandbox "full".
type Confinement struct {
	Roots   []Root
	Hidden  []string         // protected places that the roots hold
	Names   sandbox.Names    // kept from it wherever they are
	Objects []sandbox.Object // kept from it by whatever name
	Begin   *sandbox.Launcher

	Limits   sandbox.Limits
	Loopback bool   // a private one
	Refuse   *Error // why there can be none; nil when nothing stands against it
}

// Root is a directory that a confined command sees.
type Root struct {
	Object *resolve.Object
	Write  bool
}

// Levels of Grant.Sandbox.
const (
	confined   = sandbox.Full
	unconfined = sandbox.None
)

// endBound is how long the kernel may take to end the processes of a sandbox.
const endBound = 1500 * time.Millisecond

// runConfined runs the grant's command in a sandbox of its own until it has ended
// or ctx has. The sandbox ends with the command, and all its processes with it. An
// error means that the program never ran.
func runConfined(ctx context.Context, g *Grant, stdout, stderr io.Writer) (ending, error) {
	if ctx.Err() != nil {
		return ending{}, interrupted(ctx, ending{}, nil)
	}
	outputs, err := newPipes(stdout, stderr)
	if err != nil {
		return ending{}, failed("run command: make a pipe: %v", cause(err))
	}
	defer outputs.close()
	child, err := startConfined(ctx, g, outputs)
	outputs.started()
	if err != nil {
		if ctx.Err() != nil {
			return ending{}, interrupted(ctx, ending{}, nil)
		}
		return ending{}, sandboxError(err)
	}
	end := awaitConfined(ctx, child)
	outputs.drain(pipeGrace)
	return end, nil
}

// startConfined makes the sandbox of the grant and starts the program in it.
func startConfined(ctx context.Context, g *Grant, outputs *pipes) (*sandbox.Child, error) {
	c := g.Confinement
	switch {
	case c == nil:
		return nil, failed("run command: the grant holds no confinement")
	case c.Refuse != nil:
		return nil, c.Refuse
	}
	h := &handles{}
	defer h.close()
	spec := sandbox.Spec{
		Program: h.file(g.Executable), Argv: g.Argv, Env: g.Env,
		Dir:    sandbox.Root{Path: g.Dir.Path(), Handle: h.file(g.Dir)},
		Hidden: c.Hidden, Names: c.Names, Objects: c.Objects, Limits: c.Limits, Loopback: c.Loopback,
		Stdout: outputs.write[0], Stderr: outputs.write[1],
	}
	if g.handed != nil {
		spec.Stdin, spec.Files = g.handed.stdin, g.handed.files()
		for _, t := range g.handed.reads {
			spec.Open = append(spec.Open, sandbox.Root{Path: t.Object.Path(), Handle: h.file(t.Object)})
		}
	}
	for _, r := range c.Roots {
		root := sandbox.Root{Path: r.Object.Path(), Handle: h.file(r.Object)}
		if r.Write {
			spec.Write = append(spec.Write, root)
		} else {
			spec.Read = append(spec.Read, root)
		}
	}
	if h.err != nil {
		return nil, objectError("run command: hold what it may use", h.err)
	}
	return c.Begin.Start(ctx, spec)
}

// handles are held for as long as a start takes.
type handles struct {
	files []*os.File
	err   error // the first
}

func (h *handles) file(o *resolve.Object) *os.File {
	f, err := o.File()
	if err != nil {
		h.err = errors.Join(h.err, err)
		return nil
	}
	h.files = append(h.files, f)
	return f
}

func (h *handles) close() {
	for _, f := range h.files {
		f.Close()
	}
}

// awaitConfined waits for the end of the sandbox, and brings it about when ctx
// ends first.
func awaitConfined(ctx context.Context, child *sandbox.Child) ending {
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Kill()
		select {
		case <-child.Done():
		case <-time.After(endBound): // it hangs in the kernel, and ends when that lets go
			return ending{exit: -1, left: 1}
		}
	}
	result := child.Wait()
	end := ending{exit: result.ExitCode, signal: signalName(result.Signal), byItself: !result.Killed}
	end.killed = result.Killed && ctx.Err() == nil
	return end
}

// sandboxError is the error of a sandbox that did not start, as a handler's.
func sandboxError(err error) error {
	var own *Error
	var e *sandbox.Error
	switch {
	case errors.As(err, &own):
		return own
	case !errors.As(err, &e):
		return failed("run command: start it: %v", cause(err))
	case errors.Is(err, sandbox.ErrProgram):
		return failed("run command: start it: %v", e)
	case errors.Is(err, sandbox.ErrChanged):
		return &Error{Code: CodeChanged, Message: "run command: " + visible(e.Error())}
	}
	return &Error{Code: CodeSandbox, Message: "run command: nothing was run: " + visible(e.Error())}
}
