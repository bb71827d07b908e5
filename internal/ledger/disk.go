package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk is the one way from this package's writers to the file system, so that
// tests can make each step fail or be the last.
type disk interface {
	io.Writer   // appends; n > 0 may come with an error
	io.ReaderAt // of events.jsonl
	truncate(size int64) error
	sync() error                            // fdatasync: the bytes and what is needed to read them
	look() (int64, error)                   // size; ErrReplaced when the path names another file
	save(name string, r io.Reader) error    // a new file beside it, whole and synced or not there; fs.ErrExist
	replace(name string, data []byte) error // atomically, not synced
	locks
}

const eventsName = "events.jsonl"

// file is the disk that stands on a real one.
type file struct {
	*os.File
	locks
	id os.FileInfo // of the open file
}

// openFile opens dir/events.jsonl for a writer. Its directory entry, and those
// of the directories that were made for it, are durable when it returns.
func openFile(dir string, create bool) (f *file, err error) {
	flags := os.O_RDWR | os.O_APPEND | noFollow
	entries := []string{dir, filepath.Dir(dir)} // directories whose entries may be new
	if create {
		for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
			if _, err := os.Stat(up); err == nil || up == filepath.Dir(up) {
				break
			}
			entries = append(entries, filepath.Dir(up))
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		flags |= os.O_CREATE
	}
	opened, err := os.OpenFile(filepath.Join(dir, eventsName), flags, 0o600)
	if err != nil {
		return nil, err
	}
	f = &file{File: opened}
	if f.id, err = opened.Stat(); err == nil && !f.id.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err == nil {
		f.locks, err = newLocks(opened)
	}
	// An empty file has no acknowledged event yet, and may be new, whoever
	// made it.
	for i := 0; err == nil && f.id.Size() == 0 && i < len(entries); i++ {
		err = syncDir(entries[i])
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return f, nil
}

func (f *file) truncate(size int64) error { return f.Truncate(size) }
func (f *file) sync() error               { return datasync(f.File) }
func (f *file) close() error              { return errors.Join(f.locks.close(), f.File.Close()) }

func (f *file) look() (int64, error) {
	now, err := os.Lstat(f.Name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("%w: it was deleted", ErrReplaced)
	case err != nil:
		return 0, err
	case !os.SameFile(now, f.id):
		return 0, ErrReplaced
	}
	return now.Size(), nil
}

func (f *file) save(name string, r io.Reader) error {
	dir := filepath.Dir(f.Name())
	path, part := filepath.Join(dir, name), f.Name()+".part"
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	out, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|noFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return syncDir(dir)
}

// replace and save are called under the run's lock, so that one temporary
// name is enough for each.
func (f *file) replace(name string, data []byte) error {
	path := filepath.Join(filepath.Dir(f.Name()), name)
	out, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC|noFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
