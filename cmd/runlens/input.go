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

// openInput opens a file of calls, or stdin for "-".
func (w *world) openInput(name string) (in io.Reader, closeIn func() error, err error) {
	if name == "-" {
		return w.stdin, func() error { return nil }, nil
	}
	f, err := openRegular(name)
	if errors.Is(err, errNotRegular) {
		return nil, nil, hinted("pipe the calls in, with - for the file", "read %s: %w", name, err)
	}
	if err != nil {
		return nil, nil, hinted(similar(name), "read %s: %w", name, cause(err))
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

// callFiles lists the files of calls that an argument names: itself, or what a
// directory holds, sorted. Hidden entries and links to directories are left
// out. There can be both files and an error: some could not be looked at.
func callFiles(arg string) (files []string, isDir bool, err error) {
	if arg == "-" {
		return []string{arg}, false, nil
	}
	st, err := os.Stat(arg)
	if err != nil {
		return nil, false, hinted(similar(arg), "read %s: %w", arg, cause(err))
	}
	if !st.IsDir() {
		return []string{arg}, false, nil
	}
	files, err = callsBelow(arg)
	return files, true, err
}

// callsBelow walks a directory. What can't be looked at is told, and the rest
// is listed all the same; a directory that is too large gives no files at all.
func callsBelow(dir string) (files []string, err error) {
	var troubles []error
	tell := func(name string, err error) {
		troubles = append(troubles, hinted("", "read %s: %w", name, cause(err)))
	}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			tell(name, err)
		case name != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			if strings.Count(strings.TrimPrefix(name, dir), string(filepath.Separator)) > maxDepth {
				return fmt.Errorf("folders are nested deeper than %d", maxDepth)
			}
		case isCallFile(name):
			// A link to a file counts, what could block does not.
			st, err := os.Stat(name)
			switch {
			case err != nil:
				tell(name, err)
			case st.Mode().IsRegular():
				files = append(files, name)
			case !st.IsDir():
				tell(name, errNotRegular)
			}
		}
		if len(files) > maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		return nil
	})
	if err != nil {
		return nil, hinted("name the folders to check one by one", "read %s: %w", dir, cause(err))
	}
	slices.Sort(files)
	return files, together(troubles...)
}

func isCallFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".json" || ext == ".jsonl"
}
