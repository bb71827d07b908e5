package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// untilEnded is a context that ends with the first signal that asks this process
// to end: of a person, of a terminal that is closed, of whoever stops services.
// The tool that runs is then ended, and its end recorded. A signal that was
// ignored when the process began, as under nohup, stays ignored. What can't be
// caught, SIGKILL for one, leaves the tool's processes to themselves.
func untilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	asks := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}, signal.Ignored)
	if len(asks) == 0 { // NotifyContext would take none for all
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, asks...)
}

// outlivePipes makes a reader that has gone away an error of the write, as a full
// disk is: a report that nobody could read must end with the same code. Without
// it the process would die of SIGPIPE and say nothing. Programs that it starts
// keep the default, which an ignored signal would take from them.
func outlivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
