//go:build unix

package openai

import "syscall"

// noWait opens a FIFO without waiting for somebody who writes into it.
const noWait = syscall.O_NONBLOCK
