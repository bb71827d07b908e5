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

var (
	errNotRegular = errors.New("not a regular file")
	errLink       = errors.New("is a symbolic link")
)

// openRegular opens a regular file, behind links too. Anything else is refused,
// a FIFO without waiting for somebody who writes into it.
func openRegular(name string) (*os.File, error) { return openPlain(name, os.Stat, 0) }

// openUnlinked is openRegular of a file that stands there itself.
func openUnlinked(name string) (*os.File, error) { return openPlain(name, os.Lstat, noLink) }

// openPlain looks before it opens, since opening can already do something to a
// device, and looks again at what it opened.
func openPlain(name string, look func(string) (fs.FileInfo, error), flags int) (*os.File, error) {
	st, err := look(name)
	if err == nil {
		err = plain(st)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|noWait|flags, 0)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err == nil {
		err = plain(st)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func plain(st fs.FileInfo) error {
	switch {
	case st.IsDir():
		return errors.New("is a directory")
	case st.Mode()&fs.ModeSymlink != 0:
		return errLink
	case !st.Mode().IsRegular():
		return errNotRegular
	}
	return nil
}

// readFile reads a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) { return readOpened(openRegular, name, limit) }

func readOpened(open func(string) (*os.File, error), name string, limit int64) ([]byte, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimited(f, limit)
}

// plainDir is a directory whose files are opened as openUnlinked does, however
// it changes while it is read.
type plainDir string

func (d plainDir) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	full := filepath.Join(string(d), filepath.FromSlash(name))
	if st, err := os.Lstat(full); err != nil {
		return nil, err
	} else if st.IsDir() {
		return os.OpenFile(full, os.O_RDONLY|noWait|noLink, 0)
	}
	return openUnlinked(full)
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
