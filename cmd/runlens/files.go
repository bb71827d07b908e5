package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// present tells whether a directory holds one of the names. A link that leads
// nowhere, and what can't be looked at, is an error: nobody knows whether it
// was meant to count.
func present(dir string, names ...string) (bool, error) {
	look := func(path string) (bool, error) {
		_, err := os.Lstat(path)
		if err == nil {
			_, err = os.Stat(path)
			if errors.Is(err, fs.ErrNotExist) {
				return false, fmt.Errorf("%s: the link leads nowhere", path)
			}
		}
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return false, nil
		}
		return false, fmt.Errorf("%s: %w", path, cause(err))
	}
	if there, err := look(dir); !there || err != nil {
		return false, err
	}
	for _, name := range names {
		if there, err := look(filepath.Join(dir, name)); there || err != nil {
			return there, err
		}
	}
	return false, nil
}

// exists follows links, as loading does; what can't be looked at counts as
// there, so that it is refused and not passed over.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// cause drops path and verb from a file error: the message names them.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// readFile reads a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if st.IsDir() {
		return nil, errors.New("is a directory")
	}
	return readLimited(f, limit)
}

func readLimited(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	return data, err
}

// entries are the names in a directory; none when it can't be read.
func entries(dir string) []string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(list))
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// similar says what a path that does not exist was probably meant to be.
func similar(name string) string {
	if exists(name) {
		return ""
	}
	dir, base := filepath.Split(filepath.Clean(name))
	if near := nearest(base, entries(filepath.Clean("./"+dir))); near != "" && !filepath.IsAbs(name) {
		return fmt.Sprintf("did you mean %q?", dir+near)
	}
	if filepath.IsAbs(name) {
		if near := nearest(base, entries(dir)); near != "" {
			return fmt.Sprintf("did you mean %q?", dir+near)
		}
	}
	return ""
}
