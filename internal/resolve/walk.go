package resolve

import (
	"errors"
	"strings"
	"syscall"

	"github.com/runlens/runlens/internal/facts"
)

const (
	maxLinks = 40 // path_resolution(7): more links than this are ELOOP
	maxTries = 16 // how often a path may change under us before it is busy
	maxPath  = 4096
)

var (
	errNoOpenat2 = errors.New("openat2 is not available")
	errUnlinked  = errors.New("the object was unlinked")
	errLink      = errors.New("a link to an open object, not to a path")
)

// node is a handle of one directory entry, not followed.
type node struct {
	fd   int
	st   stat
	link string // text of a symbolic link
}

// reached is where the resolution of a path ended.
type reached struct {
	fd      int      // the object, or the deepest object that opened; the receiver's
	res     string   // facts.OK, or why it went no further
	missing string   // with NotFound: "parent" or "name"
	rest    []string // with NotFound: the plain names that are missing, if all came from the request
	left    []string // names that were not walked, the one that failed first
}

// openPath resolves p below base, links followed. On an error it says where it
// ended. With f it notes which resolver did it.
func (r *Resolver) openPath(base int, p string, f *facts.Target) reached {
	if r.walk || !haveOpenat2 {
		return r.walkAll(base, p)
	}
	for range maxTries {
		fd, err := openBest(base, p)
		switch err {
		case nil:
			return reached{fd: fd, res: facts.OK}
		case syscall.EPERM, syscall.ENOSYS, errNoOpenat2:
			// A container's filter, or one file's security module: it says
			// nothing about the next call, so it is not remembered.
			if f != nil {
				f.Resolver = rootWalkResolver
			}
			return r.walkAll(base, p)
		case syscall.EAGAIN:
			continue
		}
		w := r.walkPath(base, p)
		want := resolutionOf(err)
		if want == w.res || want == facts.TooLong || want == facts.Failed {
			w.res = want
			if want != facts.NotFound {
				w.missing, w.rest = "", nil
			}
			return w
		}
		closeFD(w.fd) // the two disagree: it changed in between
	}
	w := r.walkPath(base, ".")
	w.res = facts.Busy
	return w
}

// walkAll is the portable resolver.
func (r *Resolver) walkAll(base int, p string) reached {
	w := r.walkPath(base, p)
	if len(p) >= maxPath {
		w.res, w.missing, w.rest = facts.TooLong, "", nil
	}
	return w
}

// step is one name still to be walked.
type step struct {
	name     string
	fromLink bool
}

// walkPath opens p component by component and reads links by hand, so that it
// can tell where a path stops. Every step is relative to a handle: what is
// renamed behind it cannot lead it elsewhere.
func (r *Resolver) walkPath(base int, p string) reached {
	return r.walkSteps(base, p, nil)
}

// walkSteps reports each entry it passes: the directory that has it, by its handle,
// its name there, and what it is.
func (r *Resolver) walkSteps(base int, p string, passed func(dir int, name string, n node)) reached {
	cur, owned := base, false
	move := func(fd int) {
		if owned {
			closeFD(cur)
		}
		cur, owned = fd, true
	}
	stop := func(err error, todo []step, failed step) reached {
		w := reached{fd: cur, res: resolutionOf(err)}
		if !owned {
			w.fd = dupFD(cur)
		}
		if err != nil {
			w.left = append(w.left, failed.name)
			for i := len(todo) - 1; i >= 0; i-- {
				w.left = append(w.left, todo[i].name)
			}
		}
		if w.res == facts.NotFound {
			w.missing, w.rest = missingNames(failed, todo)
		}
		return w
	}
	if strings.HasPrefix(p, "/") {
		cur = r.top
	}
	links := 0
	todo := pushSteps(nil, p, false)
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n, err := openNode(cur, s.name)
		if err != nil {
			return stop(err, todo, s)
		}
		if passed != nil {
			passed(cur, s.name, n)
		}
		if n.st.kind() != facts.Symlink {
			move(n.fd)
			continue
		}
		if links++; links > maxLinks {
			err = syscall.ELOOP
		} else if pseudoFS(n.fd, n.st) != "" {
			err = errLink // its text is not where the kernel would go
		}
		closeFD(n.fd)
		if err != nil {
			return stop(err, todo, s)
		}
		if strings.HasPrefix(n.link, "/") {
			if owned {
				closeFD(cur)
			}
			cur, owned = r.top, false
		}
		todo = pushSteps(todo, n.link, true)
	}
	return stop(nil, nil, step{})
}

// pushSteps puts the names of p on the stack, the first on top. A final slash
// becomes ".", which only a directory has.
func pushSteps(todo []step, p string, fromLink bool) []step {
	names := strings.Split(p, "/")
	if names[len(names)-1] == "" {
		names[len(names)-1] = "."
	}
	for i := len(names) - 1; i >= 0; i-- {
		if names[i] != "" {
			todo = append(todo, step{names[i], fromLink})
		}
	}
	return todo
}

// missingNames tells whether the last name or a parent is missing, and lists
// the missing ones when each is a plain name of the request: only these may be
// made.
func missingNames(failed step, todo []step) (missing string, rest []string) {
	missing = "name"
	plain := !failed.fromLink
	rest = []string{failed.name}
	for i := len(todo) - 1; i >= 0; i-- {
		switch s := todo[i]; {
		case s.name == ".":
		default:
			missing = "parent"
			plain = plain && !s.fromLink && s.name != ".."
			rest = append(rest, s.name)
		}
	}
	if !plain || failed.name == "." || failed.name == ".." {
		rest = nil
	}
	return missing, rest
}

// resolutionOf names an error of the kernel as facts do.
func resolutionOf(err error) string {
	switch err {
	case nil:
		return facts.OK
	case syscall.ENOENT:
		return facts.NotFound
	case syscall.EACCES, syscall.EPERM:
		return facts.NoAccess
	case syscall.ENOTDIR:
		return facts.NotADirectory
	case syscall.ELOOP, errLink:
		return facts.Loop
	case syscall.ENAMETOOLONG:
		return facts.TooLong
	case syscall.EAGAIN:
		return facts.Busy
	case errUnlinked:
		return facts.Changed
	case syscall.EINVAL:
		return facts.Invalid
	}
	return facts.Failed
}
