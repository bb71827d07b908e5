//go:build !linux

package handlers

import (
	"context"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// supervisor can run nothing here: a program can't be run by the handle that
// was judged, and its descendants can't be found.
type supervisor struct{}

func (*supervisor) run(context.Context, *Grant, io.Writer, io.Writer) (ending, error) {
	return ending{}, failed("run command: running a program by its handle needs Linux, this is %s", runtime.GOOS)
}

const pipeGrace = 0

// pipes carry a command's output; there is no command.
type pipes struct{ write [2]*os.File }

func newPipes(stdout, stderr io.Writer) (*pipes, error) { return &pipes{}, nil }
func (*pipes) started()                                 {}
func (*pipes) drain(time.Duration)                      {}
func (*pipes) close()                                   {}

func signalName(sig syscall.Signal) string { return "" }

func cause(err error) error { return err }
