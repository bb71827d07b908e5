package openai

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// private keeps other processes of the same user, the tools that runlens starts
// among them, from reading the key in the memory or the environment of this one,
// and from tracing it. It does not hold against root.
func private() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide this process from the tools: %w", err)
	}
	return nil
}
