//go:build !linux

package handlers

import (
	"context"
	"io"
	"runtime"
)

// supervisor can run nothing here: a program can't be run by the handle that
// was judged, and its descendants can't be found.
type supervisor struct{}

func (*supervisor) run(context.Context, *Grant, io.Writer, io.Writer) (ending, error) {
	return ending{}, failed("run command: running a program by its handle needs Linux, this is %s", runtime.GOOS)
}
