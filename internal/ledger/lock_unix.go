//go:build unix && !linux

package ledger

import "os"

func newLocks(f *os.File) (locks, error) { return newFlocks(f.Name()), nil }
