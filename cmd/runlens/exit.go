package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Exit codes. CI and scripts rely on them.
const (
	exitAllowed = 0 // all allowed, or as expected
	exitDenied  = 1 // denied, blocked, failed, or an expectation failed
	exitBroken  = 2 // usage, broken policy or manifest, unreadable input, policy_* and ledger_*
	exitAsk     = 3 // nothing worse than a person's approval is missing
	exitNothing = 4 // nothing was evaluated
	exitRecord  = 5 // too much of a record can't be replayed (replay)
)

// worse returns the exit code that wins when several things happened.
func worse(a, b int) int {
	if rank(a) >= rank(b) {
		return a
	}
	return b
}

func rank(code int) int {
	switch code {
	case exitAllowed:
		return 0
	case exitNothing:
		return 1
	case exitAsk:
		return 2
	case exitRecord:
		return 3
	case exitDenied:
		return 4
	default:
		return 5
	}
}

// ending ends a command with an exit code when everything there is to say has
// been said.
type ending int

func (e ending) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// end is the error of a command that ends with code; nil for 0.
func end(code int) error {
	if code == exitAllowed {
		return nil
	}
	return ending(code)
}

// trouble is an error that a command ends with, and what to do about it.
type trouble struct {
	cause error
	hint  string
}

func (t *trouble) Error() string { return t.cause.Error() }
func (t *trouble) Unwrap() error { return t.cause }

// hinted is a trouble with a hint; the hint is left out when empty.
func hinted(hint, format string, args ...any) error {
	return &trouble{cause: fmt.Errorf(format, args...), hint: hint}
}

// together joins errors and keeps their hints.
func together(errs ...error) error {
	var list []error
	var hints []string
	for _, err := range errs {
		if err == nil {
			continue
		}
		list = append(list, err)
		if t, ok := errors.AsType[*trouble](err); ok && t.hint != "" && !slices.Contains(hints, t.hint) {
			hints = append(hints, t.hint)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &trouble{cause: errors.Join(list...), hint: strings.Join(hints, "\n")}
}

// exitCode is the one place where an error becomes an exit code. It tells the
// person at the terminal what went wrong; nothing is said for an ending.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitAllowed
	}
	if e, ok := errors.AsType[ending](err); ok {
		return int(e)
	}
	complain(stderr, err)
	return exitBroken
}

// complain writes an error and its hint for people, one line a problem.
func complain(stderr io.Writer, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line != "" {
			fmt.Fprintf(stderr, "runlens: error: %s\n", printable(line))
		}
	}
	if t, ok := errors.AsType[*trouble](err); ok && t.hint != "" {
		for line := range strings.SplitSeq(t.hint, "\n") {
			fmt.Fprintf(stderr, "runlens: hint: %s\n", printable(line))
		}
	}
}

// note tells a person something that is no error.
func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.stderr, "runlens: note: %s\n", printable(fmt.Sprintf(format, args...)))
}
