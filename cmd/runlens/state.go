package main

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/runlens/runlens/internal/ledger"
)

// stateDir is the directory for keys: $XDG_STATE_HOME/runlens, else
// ~/.local/state/runlens. It is never in a project and need not exist.
func (w *world) stateDir() (string, error) {
	if dirs := w.stateDirs(); len(dirs) > 0 {
		return dirs[0], nil
	}
	return "", errors.New("find state directory: neither XDG_STATE_HOME nor HOME is an absolute path, and the user has no home")
}

// stateDirs are the directories in which this user's keys may be: the one in
// use, then those that would be without the environment's word. All are
// protected, so that a variable that points elsewhere bares no key.
func (w *world) stateDirs() (dirs []string) {
	add := func(base string, below ...string) {
		if !filepath.IsAbs(base) {
			return
		}
		dir := filepath.Join(append([]string{base}, below...)...)
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	add(w.getenv("XDG_STATE_HOME"), "runlens")
	add(w.getenv("HOME"), ".local", "state", "runlens")
	if w.home != nil {
		add(w.home(), ".local", "state", "runlens")
	}
	return dirs
}

// noteState tells of a variable that was set for nothing. The XDG base directory
// specification wants relative paths ignored.
func (w *world) noteState() {
	if dir := w.getenv("XDG_STATE_HOME"); dir != "" && !filepath.IsAbs(dir) {
		w.note("XDG_STATE_HOME is ignored: %s is no absolute path", quoted(dir))
	}
}

// passwdHome is the home of the user in the system's list of users; "" when the
// user is not in it.
func passwdHome() string {
	// Not user.Current, which may believe the environment.
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return ""
	}
	return u.HomeDir
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

// knownKey is cacheKey for a command that only looks: it makes no key.
func (w *world) knownKey() []byte {
	dir, err := w.stateDir()
	if err != nil {
		return nil
	}
	key, err := ledger.ReadFoldKey(dir)
	if err != nil {
		return nil
	}
	return key
}
