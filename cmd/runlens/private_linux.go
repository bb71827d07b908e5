package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// private keeps other processes of the same user, the tools that this one starts
// among them, from reading its memory, its handles and its environment through
// /proc, and from tracing it. It does not hold against root.
func private() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide this process from its tools: %w", err)
	}
	return nil
}
