package handlers

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/manifest"
)

func handler(run func(context.Context, *Grant) (Result, error)) Handler {
	return Handler{Handler: manifest.Handler{Name: "h"}, Run: run}
}

func TestRunErrors(t *testing.T) {
	var list []int
	for _, c := range []struct {
		name    string
		h       Handler
		code    string
		message string
	}{
		{"own", handler(func(context.Context, *Grant) (Result, error) {
			return Result{Output: map[string]any{"leak": 1}}, &Error{Code: CodeChanged, Message: "m"}
		}), CodeChanged, "m"},
		{"zero", handler(func(context.Context, *Grant) (Result, error) { return Result{}, &Error{} }), CodeFailed, ""},
		{"foreign", handler(func(context.Context, *Grant) (Result, error) { return Result{}, errors.New("a\x1bb") }), CodeFailed, `run handler "h": a\x1bb`},
		{"panic of the runtime", handler(func(context.Context, *Grant) (Result, error) { return Result{}, errors.New(string(rune(list[3]))) }), CodeFailed, `run handler "h": panic: runtime error: index out of range [3] with length 0 at run_test.go:`},
		{"panic with a value", handler(func(context.Context, *Grant) (Result, error) { panic("the secret") }), CodeFailed, `run handler "h": panic with a string at run_test.go:`},
		{"panic with nil", handler(func(context.Context, *Grant) (Result, error) { panic(nil) }), CodeFailed, `run handler "h": panic: panic called with nil argument`},
		{"goroutine ended", handler(func(context.Context, *Grant) (Result, error) { runtime.Goexit(); return Result{}, nil }), CodeFailed, `run handler "h": it ended without a result`},
		{"for judging only", handler(nil), CodeFailed, `run handler "h": it is declared for judging only`},
	} {
		released := 0
		res, err := Run(context.Background(), c.h, &Grant{Release: func() { released++ }})
		e, code := code(t, err)
		if code != c.code || !strings.HasPrefix(e.Message, c.message) || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: code %q, message %q", c.name, code, e.Message)
		}
		if res.Output != nil {
			t.Errorf("%s: output beside an error: %v", c.name, res.Output)
		}
		if released != 1 {
			t.Errorf("%s: released %d times", c.name, released)
		}
	}
}

// A handler that ignores its deadline is given up on; its result goes to Late,
// and the grant is released only then.
func TestRunLate(t *testing.T) {
	hold, late, released := make(chan struct{}), make(chan Result, 1), make(chan struct{})
	h := handler(func(context.Context, *Grant) (Result, error) {
		<-hold
		return Result{Observation: "late"}, nil
	})
	g := &Grant{
		Timeout: time.Millisecond,
		Late:    func(res Result, err error) { late <- res },
		Release: func() { close(released) },
	}
	res, err := runWithin(context.Background(), h, g, time.Millisecond)
	if e, code := code(t, err); code != CodeTimeout || e.Message != `run handler "h": not done after 1ms` || res.Observation != "" {
		t.Errorf("code %q, message %q, result %v", code, e.Message, res)
	}
	select {
	case <-released:
		t.Error("released while the handler uses it")
	default:
	}
	close(hold)
	if res := <-late; res.Observation != "late" {
		t.Errorf("late result %v", res)
	}
	<-released
}

// One that panics late, or ends its goroutine, brings nothing down; it has failed
// late, and the grant is released.
func TestRunLatePanic(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("the secret") }, "goroutine": runtime.Goexit} {
		hold, late, released := make(chan struct{}), make(chan error, 1), make(chan struct{})
		h := handler(func(context.Context, *Grant) (Result, error) {
			<-hold
			end()
			return Result{}, nil
		})
		g := &Grant{
			Timeout: time.Millisecond,
			Late:    func(res Result, err error) { late <- err },
			Release: func() { close(released) },
		}
		_, err := runWithin(context.Background(), h, g, time.Millisecond)
		if _, code := code(t, err); code != CodeTimeout {
			t.Errorf("%s: code %q", name, code)
		}
		close(hold)
		if e, code := code(t, <-late); code != CodeFailed || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: late with code %q, message %q", name, code, e.Message)
		}
		<-released
	}
}

// A handler that heeds its deadline reports by itself.
func TestRunDeadline(t *testing.T) {
	h := handler(func(ctx context.Context, g *Grant) (Result, error) {
		<-ctx.Done()
		return Result{}, &Error{Code: CodeTimeout, Message: "so far", Output: map[string]any{"stdout": "x"}}
	})
	h.TimeoutMS = 1
	_, err := Run(context.Background(), h, &Grant{Late: func(Result, error) { t.Error("called as late") }})
	if e, code := code(t, err); code != CodeTimeout || e.Output["stdout"] != "x" {
		t.Errorf("code %q, output %v", code, e.Output)
	}
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	hold := make(chan struct{})
	defer close(hold)
	h := handler(func(context.Context, *Grant) (Result, error) { <-hold; return Result{}, nil })
	_, err := runWithin(ctx, h, &Grant{}, time.Millisecond)
	if e, code := code(t, err); code != CodeCancel || e.Message != `run handler "h": the caller cancelled it` {
		t.Errorf("code %q, message %q", code, e.Message)
	}
}

// A handler sees its payload as rendered bytes only, and the caller's grant stays
// as it was.
func TestRunWithholdsPayload(t *testing.T) {
	var seen map[string]any
	h := handler(func(ctx context.Context, g *Grant) (Result, error) {
		seen = g.Args
		return Result{}, nil
	})
	h.Payload = []string{"content", "more"}
	g := &Grant{Args: map[string]any{"content": "c", "more": 1, "mode": "m"}}
	if _, err := Run(context.Background(), h, g); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen["mode"] != "m" {
		t.Errorf("the handler saw %v", seen)
	}
	if len(g.Args) != 3 {
		t.Errorf("the caller's arguments became %v", g.Args)
	}
}

func TestTimeout(t *testing.T) {
	h := Handler{Handler: manifest.Handler{TimeoutMS: 5}}
	for _, c := range []struct {
		g    Grant
		h    Handler
		want time.Duration
	}{
		{Grant{}, Handler{}, DefaultTimeout},
		{Grant{}, h, 5 * time.Millisecond},
		{Grant{Timeout: time.Second}, h, time.Second},
	} {
		if got := c.g.timeout(c.h); got != c.want {
			t.Errorf("timeout %s, want %s", got, c.want)
		}
	}
}

// TestCancelled: once the caller has gone, a handler's own failure and its
// deadline are a cancelled call; a success and a changed object stay what they are.
func TestCancelled(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a success":        {nil, ""},
		"a failure":        {failed("no luck"), CodeCancel},
		"a plain error":    {errors.New("no luck"), CodeCancel},
		"a deadline":       {&Error{Code: CodeTimeout, Message: "read: the deadline came first"}, CodeCancel},
		"a changed object": {&Error{Code: CodeChanged}, CodeChanged},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		h := handler(func(context.Context, *Grant) (Result, error) { cancel(); return Result{}, c.err })
		_, err := Run(ctx, h, &Grant{})
		var e *Error
		if got := ""; errors.As(err, &e) {
			got = e.Code
			if got != c.want || strings.Contains(e.Message, "deadline") {
				t.Errorf("%s: %s %q, want %s", name, got, e.Message, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
