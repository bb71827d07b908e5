package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of a directory of calls. A larger one is refused, not cut: a report
// that leaves out calls in silence would pass for a good one.
const (
	maxFiles = 100_000
	maxDepth = 32
)

// unread is an input that can't be read.
type unread struct {
	name  string
	cause error
}

func (u *unread) Error() string { return fmt.Sprintf("read %s: %v", u.name, u.cause) }
func (u *unread) Unwrap() error { return u.cause }

// openInput opens a file of calls, or stdin for "-".
func (w *world) openInput(name string) (in io.Reader, closeIn func() error, err error) {
	if name == "-" {
		return w.stdin, func() error { return nil }, nil
	}
	f, err := openRegular(name)
	if errors.Is(err, errNotRegular) {
		return nil, nil, &trouble{cause: &unread{name: name, cause: err}, hint: "pipe the calls in, with - for the file"}
	}
	if err != nil {
		return nil, nil, &trouble{cause: &unread{name: name, cause: cause(err)}, hint: similar(name)}
	}
	return f, f.Close, nil
}

// readCall reads the one call that the arguments name, or that comes from
// stdin, bounded. It is not empty.
func (w *world) readCall(args []string) ([]byte, error) {
	if len(args) == 0 {
		if w.stdinTerminal {
			return nil, hinted("name a file, or pipe the call in", "read call: no file given, and stdin is a terminal")
		}
		args = []string{"-"}
	}
	name := args[0]
	in, closeIn, err := w.openInput(name)
	if err != nil {
		return nil, err
	}
	defer closeIn()
	// One byte more than a call may have: admission says what is wrong with it.
	data, err := io.ReadAll(io.LimitReader(in, maxCall+1))
	if err != nil {
		return nil, hinted("", "read %s: %w", sourceName(name), cause(err))
	}
	if len(data) == 0 {
		return nil, hinted("", "read %s: it is empty", sourceName(name))
	}
	return data, nil
}

// maxCall is the most bytes that admission takes.
const maxCall = 16 << 20

// found is what an argument holds: files of calls, sorted, and what was passed
// over, so that nobody takes a report for one about everything.
type found struct {
	files  []string
	isDir  bool
	passed []string // the first of what was passed over, below the directory; folders end in a slash
	over   int      // how many there are
}

// mostPassed is how many of them are named.
const mostPassed = 5

func (f *found) pass(rel string) {
	if f.over++; len(f.passed) < mostPassed {
		f.passed = append(f.passed, rel)
	}
}

// callFiles lists the files of calls that an argument names: itself, or what a
// directory holds. Hidden entries, links to directories and files of other
// kinds are passed over. There can be both files and an error: some could not
// be looked at.
func callFiles(arg string) (found, error) {
	if arg == "-" {
		return found{files: []string{arg}}, nil
	}
	st, err := os.Stat(arg)
	if err != nil {
		return found{}, &trouble{cause: &unread{name: arg, cause: cause(err)}, hint: similar(arg)}
	}
	if !st.IsDir() {
		return found{files: []string{arg}}, nil
	}
	w := walk{dir: arg, found: found{isDir: true}}
	// With the slash the argument may be a link itself.
	err = filepath.WalkDir(arg+string(filepath.Separator), w.entry)
	if err != nil { // a directory that is too large gives no files at all
		return found{isDir: true}, &trouble{cause: &unread{name: arg, cause: cause(err)}, hint: "name the folders to check one by one"}
	}
	slices.Sort(w.files)
	return w.found, together(w.troubles...)
}

// walk goes through a directory of calls. What can't be looked at is told, and
// the rest is listed all the same.
type walk struct {
	found
	dir      string
	troubles []error
}

func (w *walk) tell(name string, err error) {
	w.troubles = append(w.troubles, &unread{name: name, cause: cause(err)})
}

func (w *walk) entry(name string, d fs.DirEntry, err error) error {
	rel, relErr := filepath.Rel(w.dir, name)
	switch {
	case err != nil:
		w.tell(name, err)
	case relErr != nil:
		w.tell(name, relErr)
	case rel != "." && strings.HasPrefix(d.Name(), "."):
		if d.IsDir() {
			w.pass(rel + "/")
			return fs.SkipDir
		}
		w.pass(rel)
	case d.IsDir():
		if strings.Count(rel, string(filepath.Separator)) >= maxDepth {
			return fmt.Errorf("folders are nested deeper than %d", maxDepth)
		}
	case isCallFile(name):
		// A link to a file counts, what could block does not.
		st, err := os.Stat(name)
		switch {
		case err != nil:
			w.tell(name, err)
		case st.Mode().IsRegular():
			w.files = append(w.files, name)
		case st.IsDir():
			w.pass(rel + "/")
		default:
			w.tell(name, errNotRegular)
		}
	default:
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			rel += "/"
		}
		w.pass(rel)
	}
	if len(w.files) > maxFiles {
		return fmt.Errorf("more than %d files", maxFiles)
	}
	return nil
}

// callKinds are the endings of files that hold calls.
var callKinds = []string{".json", ".jsonl", ".ndjson"}

func isCallFile(name string) bool {
	return slices.Contains(callKinds, strings.ToLower(filepath.Ext(name)))
}

// isLines tells a file of JSON lines by its name.
func isLines(name string) bool {
	return isCallFile(name) && strings.ToLower(filepath.Ext(name)) != ".json"
}
