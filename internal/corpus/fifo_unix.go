//go:build unix

package corpus

import "syscall"

func makeFIFO(at string) error { return syscall.Mkfifo(at, 0o644) }
