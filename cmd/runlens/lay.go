package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// lay writes new files below dir and names them on stderr. When any of them
// exists nothing is written: what is there is never changed, and a half-made
// set of files helps nobody.
func (w *world) lay(dir string, files map[string][]byte) error {
	var taken []error
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			taken = append(taken, fmt.Errorf("write %s: exists", filepath.Join(dir, name)))
		}
	}
	if len(taken) > 0 {
		return hinted("nothing was written; move these away, or choose another directory", "%w", errors.Join(taken...))
	}
	for _, name := range names {
		if err := layOne(filepath.Join(dir, name), files[name]); err != nil {
			return err
		}
		if len(names) <= mostNamed {
			w.note("wrote %s", filepath.Join(dir, name))
		}
	}
	if len(names) > mostNamed {
		w.note("wrote %d files into %s", len(names), dir)
	}
	return nil
}

// mostNamed is how many new files are named one by one.
const mostNamed = 10

func layOne(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return hinted("", "write %s: %w", name, cause(err))
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return hinted("", "write %s: %w", name, cause(err))
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return hinted("", "write %s: %w", name, cause(err))
	}
	return nil
}
