package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// An approver's key is a file of one line, the signer key in the form of
// golang.org/x/mod/sumdb/note, in approvers/NAME.key of the state directory.
const (
	approversName = "approvers"
	keySuffix     = ".key"
)

// checkApprover refuses a name that could not be a file's and a signature's.
func checkApprover(name string) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._@-", r)
	}
	if len(name) > 64 || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) || strings.ContainsAny(name[:1], "._@-") {
		return hinted("letters, digits, '.', '_', '@' and '-', 64 at most, a letter or digit first", "read arguments: NAME %s can't be that of a key", quoted(name))
	}
	return nil
}

// approverDir is where the keys of the approvers who work on this machine are.
func (w *world) approverDir() (string, error) {
	dir, err := w.stateDir()
	return filepath.Join(dir, approversName), err
}

// makeApprover makes the key of an approver and returns its file and the
// verifier key. A key that is there is not written over.
func (w *world) makeApprover(name string) (path, verifier string, err error) {
	dir, err := w.approverDir()
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, name+keySuffix)
	secret, verifier, err := note.GenerateKey(w.random, name)
	if err != nil {
		return path, "", hinted("", "make key %s: %w", path, err)
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return path, "", hinted("", "make directory %s: %w", d, cause(err))
		}
		if err := kept(d); err != nil {
			return path, "", hinted("chmod 700 "+d, "make key %s: others may enter %s", path, d)
		}
	}
	err = putNew(path, []byte(secret+"\n"))
	switch {
	case errors.Is(err, fs.ErrExist):
		return path, "", hinted(fmt.Sprintf("`runlens approver show %s` prints its verifier key", name), "make key %s: it is there already, and is not written over", path)
	case err != nil:
		return path, "", hinted("", "make key %s: %w", path, cause(err))
	}
	return path, verifier, nil
}

// putNew writes a file (0600) that is whole and durable when it is there, and
// never in the place of another.
func putNew(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // has no call for it
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// kept refuses a file or directory that others may read.
func kept(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return cause(err)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
		return errOthers
	}
	return nil
}

var errOthers = errors.New("others may read it")

// signerOf is who signs what the person named by says: the key in a file, else
// the key of that name in the state directory, else nobody.
func (w *world) signerOf(by, file, project string) (note.Signer, error) {
	given := file != ""
	if !given {
		dir, err := w.approverDir()
		if err != nil || checkApprover(by) != nil {
			return nil, nil // no key can be there
		}
		file = filepath.Join(dir, by+keySuffix)
		if !exists(file) {
			return nil, nil
		}
	}
	s, err := w.readSigner(file)
	if err != nil {
		return nil, err
	}
	if s.Name() != by {
		return nil, hinted(fmt.Sprintf("--by %s, or another --key", printable(s.Name())), "read key %s: it is the key of %s, not of %s", file, quoted(s.Name()), quoted(by))
	}
	if given && w.inside(project, file) {
		return nil, hinted("keep keys where no tool can read them: `runlens approver new NAME` makes one", "read key %s: it lies in the project", file)
	}
	return s, nil
}

// readSigner reads a signer key that is kept from others.
func (w *world) readSigner(file string) (note.Signer, error) {
	secret, err := readSecret(file)
	if err != nil {
		return nil, err
	}
	s, err := note.NewSigner(secret)
	if err != nil {
		return nil, notSigner(file)
	}
	return s, nil
}

func readSecret(file string) (string, error) {
	text, err := readFile(file, maxKey)
	if err != nil {
		return "", hinted(similar(file), "read key %s: %w", file, cause(err))
	}
	if err := kept(file); err != nil {
		return "", hinted("chmod 600 "+file, "read key %s: %w", file, err)
	}
	return strings.TrimSpace(string(text)), nil
}

func notSigner(file string) error {
	return hinted("the file that `runlens approver new NAME` makes, in the key directory", "read key %s: not the key of an approver", file)
}

// inside tells whether a file really lies in a project, and in none of the
// directories for keys, which no tool can read.
func (w *world) inside(project, file string) bool {
	below := func(dir string) bool {
		dir, errDir := realPath(dir)
		file, errFile := realPath(file)
		if errDir != nil || errFile != nil {
			return false
		}
		rel, err := filepath.Rel(dir, file)
		return err == nil && filepath.IsLocal(rel)
	}
	return below(project) && !slices.ContainsFunc(w.stateDirs(), below)
}

// realPath is an absolute path without links.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
