package main

import (
	"errors"
	"path/filepath"

	"github.com/runlens/runlens/internal/ledger"
)

// stateDir is the directory for keys: $XDG_STATE_HOME/runlens, else
// ~/.local/state/runlens. It is never in a project and need not exist.
func (w *world) stateDir() (string, error) {
	// The XDG base directory specification: a relative path is to be ignored.
	if dir := w.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "runlens"), nil
	}
	if home := w.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "runlens"), nil
	}
	return "", errors.New("find state directory: neither XDG_STATE_HOME nor HOME is an absolute path")
}

// signerName is the name in the signatures of this machine's keys.
const signerName = "runlens"

// cacheKey is the key that authenticates the caches of run states, made the
// first time. nil, and so no caches, when there can be none: a cache saves time
// and decides nothing.
func (w *world) cacheKey() []byte {
	dir, err := w.stateDir()
	if err != nil {
		return nil
	}
	keys, err := ledger.OpenKeys(dir, signerName)
	if err != nil {
		return nil
	}
	return keys.Fold
}
