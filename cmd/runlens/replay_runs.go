package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/replay"
)

// foundRuns are the runs that the arguments of a replay name.
type foundRuns struct {
	dirs   []string // of runs, in the order of the arguments and then of names, each once
	broken []replay.Broken
	passed []string // linked directories and names that begin with a dot, up to passedShown
	over   int      // how many there are of those
	bare   []string // directories in which there is no run
	seen   map[string]bool
	empty  bool // an argument held no run
}

// passedShown is how many names a note tells of.
const passedShown = 5

// findRuns finds the runs that the arguments name. What can't be looked at is a
// broken run: nobody knows what is in it.
func (p *project) findRuns(args []string) *foundRuns {
	f := &foundRuns{seen: map[string]bool{}}
	for _, arg := range args {
		if err := f.argument(p, arg); err != nil {
			f.broken = append(f.broken, replay.Broken{Where: arg, Err: err})
		}
	}
	f.empty = len(f.bare) > 0
	return f
}

// argument finds the runs of one argument: a run of the project by its id, else
// what stands at that path.
func (f *foundRuns) argument(p *project, arg string) error {
	byID := !strings.ContainsRune(arg, '/') && !strings.ContainsRune(arg, filepath.Separator)
	if byID && isRun(filepath.Join(p.in("runs"), arg)) {
		f.add(filepath.Join(p.in("runs"), arg))
		return nil
	}
	dir := filepath.Clean(arg)
	if filepath.Base(dir) == "events.jsonl" {
		dir = filepath.Dir(dir)
	}
	st, err := os.Stat(dir)
	switch {
	case err != nil && byID && !exists(dir):
		return p.mustExist(arg)
	case err != nil:
		return hinted(similar(arg), "read runs %s: %w", arg, cause(err))
	case !st.IsDir():
		return hinted("name a run by its id, its directory or a directory of runs", "read runs %s: not a directory", arg)
	}
	before := len(f.seen) + len(f.broken)
	f.walk(dir)
	if len(f.seen)+len(f.broken) == before && !f.within(dir) {
		f.bare = append(f.bare, arg)
	}
	return nil
}

// walk finds the runs in dir at any depth. It looks into no run: what lies there
// was written by tools.
func (f *foundRuns) walk(dir string) {
	if isRun(dir) {
		f.add(dir)
		return
	}
	entries, err := os.ReadDir(dir) // in the order of names
	if err != nil {
		f.broken = append(f.broken, replay.Broken{Where: dir, Err: hinted("", "read runs %s: %w", dir, cause(err))})
		return
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		link := e.Type()&fs.ModeSymlink != 0
		if link {
			st, err := os.Stat(name)
			link = err != nil || st.IsDir()
		}
		switch {
		case link, e.IsDir() && e.Name()[0] == '.':
			f.over++
			if len(f.passed) < passedShown {
				f.passed = append(f.passed, name)
			}
		case e.IsDir():
			f.walk(name)
		}
	}
}

// add takes a run once, under whatever names it was given.
func (f *foundRuns) add(dir string) {
	if key := realName(dir); !f.seen[key] {
		f.seen[key] = true
		f.dirs = append(f.dirs, dir)
	}
}

// within tells whether a run that was found already lies in dir.
func (f *foundRuns) within(dir string) bool {
	real := realName(dir)
	for key := range f.seen {
		if key == real || strings.HasPrefix(key, real+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

func realName(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return dir
}

// isRun tells whether dir is a run's: something is called as its ledger is, and
// if that can't be read, the run is broken and not passed over.
func isRun(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "events.jsonl"))
	return err == nil
}

// tell says on stderr what was passed over and what held nothing.
func (f *foundRuns) tell(w *world) {
	if f.over > 0 {
		more := ""
		if f.over > len(f.passed) {
			more = fmt.Sprintf(" and %d more", f.over-len(f.passed))
		}
		w.note("%d passed over, linked or with a dot in front: %s%s", f.over, strings.Join(f.passed, ", "), more)
	}
	for _, arg := range slices.Compact(slices.Clone(f.bare)) {
		w.note("%s holds no runs: no events.jsonl", arg)
	}
}
