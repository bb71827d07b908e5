package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// lay writes new files below dir and names them on stderr. When any of them
// exists nothing is written: what is there is never changed, and a half-made
// set of files helps nobody.
func (w *world) lay(dir string, files map[string][]byte) error {
	names := slices.Sorted(maps.Keys(files))
	if taken := inTheWay(dir, names); taken != nil {
		return hinted("nothing was written; move these away, or choose another directory", "%w", taken)
	}
	var made []string
	for _, name := range names {
		if err := layOne(filepath.Join(dir, name), files[name], &made); err != nil {
			for _, name := range slices.Backward(made) {
				err = errors.Join(err, os.Remove(name))
			}
			return hinted("nothing was written", "write %s: %w", filepath.Join(dir, name), cause(err))
		}
	}
	for _, name := range names {
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

// inTheWay is everything that keeps the files from being new below dir: a file
// of that name, and anything but a folder where a folder must be. A link to a
// folder would take the files to some other place.
func inTheWay(dir string, names []string) error {
	var problems []error
	told := map[string]bool{}
	tell := func(name, format string, args ...any) {
		if !told[name] {
			problems = append(problems, fmt.Errorf("write %s: %w", name, fmt.Errorf(format, args...)))
		}
		told[name] = true
	}
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return fmt.Errorf("write %s: not a directory", dir)
	} else if _, linkErr := os.Lstat(dir); err != nil && linkErr == nil {
		return fmt.Errorf("write %s: %w", dir, cause(err))
	}
	for _, name := range names {
		parts := strings.Split(name, string(filepath.Separator))
		for i := range parts {
			at := filepath.Join(dir, filepath.Join(parts[:i+1]...))
			st, err := os.Lstat(at)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			switch last := i == len(parts)-1; {
			case err != nil:
				tell(at, "%w", cause(err))
			case last:
				tell(at, "exists")
			case st.Mode()&fs.ModeSymlink != 0:
				tell(at, "%w", errLink)
			case !st.IsDir():
				tell(at, "not a directory")
			default:
				continue
			}
			break
		}
	}
	return errors.Join(problems...)
}

// layOne writes a new file and the folders above it, and adds what it made.
func layOne(name string, data []byte, made *[]string) error {
	var missing []string
	for dir := filepath.Dir(name); !exists(dir); dir = filepath.Dir(dir) {
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		*made = append(*made, dir)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	*made = append(*made, name)
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
