//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// owner is the uid of a file, -1 when unknown.
func owner(st fs.FileInfo) int {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}
