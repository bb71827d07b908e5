package resolve

import (
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// RootSpec is an allowed root as a tool declares it.
type RootSpec struct {
	Declared string   // as the manifest says, with {run_id} filled in
	Path     string   // what is opened; "" means Declared. Relative paths count from the project
	Access   []string // accesses it is a root for; shared with the facts, not copied
}

// rootHandle is a root that was open at some time. It is kept only while its
// canonical path is its lexical one: no link was on the way. Holding it keeps its inode
// number from being used again.
type rootHandle struct {
	fd        int
	st        stat
	canonical string
}

// maxRoots bounds the handles that are kept: runs come and go, and each has
// roots of its own.
const maxRoots = 64

// Roots describes roots, in order. A root that does not exist (any more) or is
// no directory has its lexical absolute path and Exists false.
func (r *Resolver) Roots(specs []RootSpec) []facts.Root {
	out := make([]facts.Root, len(specs))
	for i, s := range specs {
		out[i] = r.root(s)
	}
	return out
}

func (r *Resolver) root(s RootSpec) facts.Root {
	if s.Path == "" {
		s.Path = s.Declared
	}
	f := facts.Root{Declared: valid(s.Declared), Access: s.Access}
	if f.Access == nil {
		f.Access = []string{}
	}
	f.Path = r.Lexical(s.Path)
	if h, ok := r.rootNow(s.Path, f.Path); ok {
		f.Path, f.Exists = valid(h.canonical), true
		f.MountID, f.Device = int64(h.st.mount), int64(h.st.dev)
	}
	f.Prefix = strings.TrimRight(f.Path, "/") + "/"
	return f
}

// rootNow returns what the name of a root leads to now. A kept handle answers
// while it still has the name it was opened by; behind a link, which may lead
// elsewhere by now, the name is asked again.
func (r *Resolver) rootNow(p, lexical string) (rootHandle, bool) {
	r.mu.RLock()
	if h := r.roots[p]; h != nil {
		st, err := statFD(h.fd)
		if err == nil {
			var name string
			name, err = liveName(r.proc, h.fd, st)
			if err == nil && name == lexical {
				now := rootHandle{st: st, canonical: name}
				r.mu.RUnlock()
				return now, true
			}
		}
	}
	r.mu.RUnlock()

	h, ok := r.openRoot(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.roots[p]; old != nil {
		closeFD(old.fd)
		delete(r.roots, p)
	}
	if !ok {
		return rootHandle{}, false
	}
	if h.canonical != lexical || r.dir < 0 {
		closeFD(h.fd)
		return h, true
	}
	if len(r.roots) >= maxRoots {
		for k, old := range r.roots {
			closeFD(old.fd)
			delete(r.roots, k)
		}
	}
	r.roots[p] = &h
	return h, true
}

func (r *Resolver) openRoot(p string) (rootHandle, bool) {
	if p == "" || strings.IndexByte(p, 0) >= 0 {
		return rootHandle{}, false
	}
	if !r.walk && haveOpenat2 {
		if fd, err := openBest(r.dir, p+"/"); err == nil {
			closeFD(fd)
		} else if resolutionOf(err) == facts.NotFound {
			return rootHandle{}, false // no need to learn how far it goes
		}
	}
	got := r.openPath(r.dir, p+"/", nil)
	if got.res != facts.OK {
		closeFD(got.fd)
		return rootHandle{}, false
	}
	st, err := statFD(got.fd)
	name := ""
	if err == nil {
		name, err = liveName(r.proc, got.fd, st)
	}
	if err != nil {
		closeFD(got.fd)
		return rootHandle{}, false
	}
	return rootHandle{fd: got.fd, st: st, canonical: name}, true
}
