// Package resolve turns a path that a tool call names into one open handle and
// the facts about it, and does the work on that handle.
//
// It promises that the object whose facts policy saw is the object that is
// read, listed, replaced, removed or run: a path is resolved once, facts come
// from the handle, and everything after the verdict starts from the handle. A
// path is never resolved a second time. Links are followed by the kernel and
// the final object is described; for writes and deletes the last name is never
// followed.
//
// It never decides. Containment, kinds, names and sizes are facts here and
// rules elsewhere; a refusal by the kernel is a fact too ([facts.Target].
// Resolution), so that [Resolver.Resolve] cannot fail. It opens no FIFO, socket
// or device, follows no magic link, and never says more about an object outside
// than the canonical path of the deepest thing that opens.
//
// Read [Resolver] first, then [Request], then [Object].
package resolve

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/runlens/runlens/internal/facts"
)

// Names of the resolvers, as they stand in facts.
const (
	openat2Resolver  = "openat2"
	rootWalkResolver = "root_walk"
)

// ErrChanged says that what is at a name now is not the object that was judged.
// Nothing was changed, or what had been changed was put back.
var ErrChanged = errors.New("the object is not the one that was judged")

// Config fixes a Resolver.
type Config struct {
	Project  string  // directory that paths count from; made absolute and canonical
	Places   []Place // protected places; see DefaultPlaces
	Resolver string  // "": the best there is; "root_walk": the portable one, for tests
}

// Resolver opens objects and describes them. It holds a handle of the project
// directory and of each root it was asked about. It is safe for concurrent use.
type Resolver struct {
	project string // canonical, as the kernel spells it
	folded  []string
	dir     int // O_PATH handle of the project
	top     int // O_PATH handle of "/"
	proc    int // O_PATH handle of /proc/self/fd, for names of handles; Linux only
	mount   uint64
	walk    bool // never ask openat2

	places []Place
	snap   atomic.Pointer[snapshot]

	mu    sync.RWMutex
	roots map[string]*rootHandle
}

// Open returns a Resolver for a project directory that exists.
func Open(cfg Config) (*Resolver, error) {
	if cfg.Resolver != "" && cfg.Resolver != rootWalkResolver {
		return nil, fmt.Errorf("open resolver: unknown resolver %q", cut(cfg.Resolver))
	}
	for _, p := range cfg.Places {
		if err := p.check(); err != nil {
			return nil, err
		}
	}
	abs, err := filepath.Abs(cfg.Project)
	if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	proc, err := openProc()
	if err != nil {
		return nil, fmt.Errorf("open resolver: %w", err)
	}
	r := &Resolver{
		dir: -1, top: -1, proc: proc, walk: cfg.Resolver == rootWalkResolver,
		places: cfg.Places, roots: map[string]*rootHandle{},
	}
	if err := r.openProject(abs); err != nil {
		r.Close()
		return nil, fmt.Errorf("open project %q: %w", cut(abs), err)
	}
	r.refresh()
	return r, nil
}

func (r *Resolver) openProject(abs string) error {
	var err error
	if r.top, err = openTop(); err != nil {
		return err
	}
	got := r.openPath(r.top, abs+"/", nil)
	if got.res != facts.OK {
		return fmt.Errorf("%s", got.res)
	}
	r.dir = got.fd
	st, err := statFD(r.dir)
	if err != nil {
		return err
	}
	r.mount = st.mount
	if r.project, err = nameOf(r.proc, r.dir); err != nil {
		return err
	}
	if !strings.HasPrefix(r.project, "/") {
		return errors.New("its canonical path is not absolute")
	}
	r.folded = foldEach(nil, segments(r.project))
	return nil
}

// Close closes every handle that the Resolver holds. Objects stay open.
func (r *Resolver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, h := range r.roots {
		closeFD(h.fd)
		delete(r.roots, k)
	}
	closeFD(r.dir)
	closeFD(r.top)
	closeFD(r.proc)
	r.dir, r.top, r.proc = -1, -1, -1
	return nil
}

// Project returns the canonical path of the project directory.
func (r *Resolver) Project() string { return r.project }

// cut bounds foreign text in an error to 200 bytes.
func cut(s string) string {
	if len(s) > 200 {
		return s[:200]
	}
	return s
}
