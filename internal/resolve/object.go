package resolve

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// Object is what a request led to: the facts about it and the handle they come
// from. The zero Object and a closed one hold nothing and do nothing. An Object
// is used by one goroutine at a time; Close ends it, whatever the verdict.
type Object struct {
	Facts facts.Target

	r       *Resolver
	fd      int    // O_PATH handle of the object; -1 while absent or not opened
	dir     int    // write, delete: O_PATH handle of the directory that holds the entry
	name    string // write, delete: the entry's name in it, or below rest
	rest    []string
	st      stat
	path    string // canonical, as the kernel spells it
	deepest int    // after an error: the deepest object that opened, until described
	failed  bool
}

// Close gives the handles back. It is safe to call twice.
func (o *Object) Close() error {
	if o.r == nil {
		return nil
	}
	closeFD(o.fd)
	closeFD(o.dir)
	closeFD(o.deepest)
	o.fd, o.dir, o.deepest = -1, -1, -1
	return nil
}

// Path is the canonical path as bytes of the kernel; Facts.Path escapes what is
// not UTF-8. It is for reports, never for opening.
func (o *Object) Path() string { return o.path }

// held says that the object itself is open.
func (o *Object) held() bool { return o.r != nil && o.fd >= 0 }

// Open opens the held file or directory for reading. It refuses with an error
// what could block or act: FIFOs, sockets, devices, links. ErrChanged cannot
// happen on a kernel that keeps its word; it is checked all the same.
// A file that may not be read gives an error that is fs.ErrPermission.
func (o *Object) Open() (*os.File, error) {
	if !o.held() {
		return nil, fmt.Errorf("open %q: nothing is held", cut(o.Facts.Path))
	}
	if k := o.st.kind(); k != facts.File && k != facts.Directory {
		return nil, fmt.Errorf("open %q: it is a %s", cut(o.Facts.Path), k)
	}
	fd, err := reopen(o.fd)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", cut(o.Facts.Path), err)
	}
	st, err := statFD(fd)
	if err == nil && !st.same(o.st) {
		err = ErrChanged
	}
	if err != nil {
		closeFD(fd)
		return nil, fmt.Errorf("open %q: %w", cut(o.Facts.Path), err)
	}
	return os.NewFile(uintptr(fd), o.path), nil
}

// Entry is one name in a directory, as bytes of the kernel. A link is not
// followed.
type Entry struct {
	Name string
	Kind string // facts.File, facts.Directory, …
}

// Entries lists at most limit entries of the held directory, sorted by name.
// more says that there are others; which ones were listed then is chance.
func (o *Object) Entries(limit int) (entries []Entry, more bool, err error) {
	if !o.held() || o.st.kind() != facts.Directory {
		return nil, false, fmt.Errorf("list %q: no directory is held", cut(o.Facts.Path))
	}
	fd, err := reopen(o.fd)
	if err == nil {
		defer closeFD(fd)
		entries, more, err = readNames(fd, limit)
	}
	if err != nil {
		return nil, false, fmt.Errorf("list %q: %w", cut(o.Facts.Path), err)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name < entries[j].Name })
	return entries, more, nil
}

// Child resolves one entry of the held directory by the rules of any other
// target: links are followed and the final object is described. The entry is
// found below the handle, whatever the directory's name is now. That it may be
// shown does not say that this process may use it.
func (o *Object) Child(name string) *Object {
	req := Request{Param: o.Facts.Param, Access: o.Facts.Access, Raw: name, Requested: name, shown: true}
	c := newObject(o.r, req)
	if !o.held() || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		c.Facts.Resolution = facts.Invalid
		c.setNames()
		return c
	}
	c.resolve(req, o.fd, o.path)
	c.Facts.Requested = join(strings.TrimRight(o.Facts.Requested, "/"), valid(name))
	return c
}

// Dir is a working directory for exec.Cmd.Dir: it names the held directory
// itself, for as long as the Object stays open.
func (o *Object) Dir() (string, error) {
	if !o.held() || o.st.kind() != facts.Directory {
		return "", fmt.Errorf("enter %q: no directory is held", cut(o.Facts.Path))
	}
	return heldPath(o.fd), nil
}

// Held names the held file for an exec or for a rule that takes a path, in this
// process and, until its exec, in a child.
func (o *Object) Held() (string, error) {
	if !o.held() {
		return "", errors.New("name handle: nothing is held")
	}
	return heldPath(o.fd), nil
}
