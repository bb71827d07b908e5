//go:build unix

package main

import "syscall"

// noWait opens a FIFO or a device without waiting for anybody; noLink refuses a
// link in the last place.
const (
	noWait = syscall.O_NONBLOCK
	noLink = syscall.O_NOFOLLOW
)
