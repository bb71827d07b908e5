package handlers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// patience is how long a handler may take to come back after its deadline: to
// kill what it started and to gather what was printed.
const patience = 3 * time.Second

// Run lets h work on g until its deadline. It always returns: a panic is a
// handler_failed, and a handler that ignores its deadline is a handler_timeout
// whose later result goes to g.Late and nowhere else. h never sees an argument that
// it declares as payload. The error is an *Error.
func Run(ctx context.Context, h Handler, g *Grant) (Result, error) {
	return runWithin(ctx, h, g, patience)
}

func runWithin(ctx context.Context, h Handler, g *Grant, patience time.Duration) (Result, error) {
	if h.Run == nil {
		if g.Release != nil {
			g.Release()
		}
		return Result{}, failed("run handler %.200q: it is declared for judging only", h.Name)
	}
	g = g.without(h.Payload)
	limit, caller := g.timeout(h), ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	type answer struct {
		result Result
		err    error
	}
	ended := make(chan answer, 1)
	var first gate
	go func() {
		// What stands when the handler ends its goroutine instead of returning.
		a := answer{err: failed("run handler %q: it ended without a result", h.Name)}
		defer func() {
			inTime := first.pass()
			if !inTime && g.Late != nil {
				g.Late(a.result, a.err)
			}
			if g.Release != nil {
				g.Release()
			}
			if inTime {
				ended <- a
			}
		}()
		a.result, a.err = protect(ctx, h, g)
	}()

	select {
	case e := <-ended:
		return e.result, cancelled(caller, h.Name, e.err)
	case <-ctx.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case e := <-ended:
		return e.result, cancelled(caller, h.Name, e.err)
	case <-timer.C:
	}
	if first.pass() {
		return Result{}, cancelled(caller, h.Name, expired(ctx, h.Name, limit))
	}
	e := <-ended // it came back in this very moment
	return e.result, cancelled(caller, h.Name, e.err)
}

// cancelled tells an error that came because the caller went away from the
// handler's own. Whatever the handler made of its end, the caller's comes first.
func cancelled(caller context.Context, name string, err error) error {
	if err == nil || caller.Err() == nil {
		return err
	}
	e := *typed(name, err)
	switch e.Code {
	case CodeTimeout:
		e.Message = fmt.Sprintf("run handler %q: the caller cancelled it", name)
	case CodeFailed:
	default:
		return err
	}
	e.Code = CodeCancel
	return &e
}

// without is the grant with no argument of these names: content reaches a
// handler as the rendered Data that was judged, and in no other way.
func (g *Grant) without(payload []string) *Grant {
	clean := *g
	clean.Args = maps.Clone(g.Args)
	for _, name := range payload {
		delete(clean.Args, name)
	}
	return &clean
}

// timeout is the deadline of one call.
func (g *Grant) timeout(h Handler) time.Duration {
	switch {
	case g.Timeout > 0:
		return g.Timeout
	case h.TimeoutMS > 0:
		return time.Duration(h.TimeoutMS) * time.Millisecond
	}
	return DefaultTimeout
}

// gate lets through the first of two: the handler with its result, or Run
// giving up on it.
type gate struct{ closed atomic.Bool }

func (g *gate) pass() bool { return g.closed.CompareAndSwap(false, true) }

// expired is the error of a handler whose context ended before it did.
func expired(ctx context.Context, name string, limit time.Duration) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Code: CodeTimeout, Abandoned: true, Message: fmt.Sprintf("run handler %q: not done after %s", name, limit)}
	}
	return &Error{Abandoned: true, Message: fmt.Sprintf("run handler %q: the caller cancelled it", name)}
}

// protect runs the handler and turns whatever it does into a Result or an *Error.
func protect(ctx context.Context, h Handler, g *Grant) (result Result, err error) {
	defer func() {
		if value := recover(); value != nil {
			result, err = Result{}, failed("run handler %q: panic%s", h.Name, panicText(value))
		}
	}()
	result, err = h.Run(ctx, g)
	if err == nil {
		return result, nil
	}
	return Result{}, typed(h.Name, err)
}

// typed makes sure that an error is an *Error with a code.
func typed(name string, err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		return failed("run handler %q: %.400s", name, visible(err.Error()))
	}
	if e.Code == "" {
		e.Code = CodeFailed
	}
	return e
}

// panicText says what kind of panic it was and where, without the value: a
// value may be an argument. The runtime's own texts hold none.
func panicText(value any) string {
	text := fmt.Sprintf(" with a %T", value)
	if e, ok := value.(runtime.Error); ok {
		text = ": " + e.Error()
	}
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") {
			file := frame.File[strings.LastIndexByte(frame.File, '/')+1:]
			return fmt.Sprintf("%s at %s:%d", text, file, frame.Line)
		}
		if !more {
			return text
		}
	}
}
