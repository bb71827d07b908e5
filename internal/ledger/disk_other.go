//go:build unix && !linux

package ledger

import "os"

func datasync(f *os.File) error { return f.Sync() }
