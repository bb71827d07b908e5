package resolve

import (
	"os"
	"path"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// Executable finds a program by name in absolute directories, the first that
// has a file of that name that this process may execute, and describes it. A name with a
// slash is a path from the project and is not searched for. The Object is never
// nil; the caller closes it. Owners and writable bits count for the file and for
// every directory on the way to it.
func (r *Resolver) Executable(name string, search []string) (facts.Executable, *Object) {
	req := Request{Access: facts.Execute, Raw: name, Requested: name, Absolute: true}
	if name == "" || strings.Contains(name, "/") {
		o := r.Resolve(req)
		return r.describeExecutable(o, req.Requested), o
	}
	denied := false
	for _, dir := range search {
		if !strings.HasPrefix(dir, "/") {
			continue
		}
		req.Requested = path.Join(dir, name)
		o := r.Resolve(req)
		if o.held() && o.st.kind() == facts.File && o.st.mode&0o111 != 0 {
			return r.describeExecutable(o, req.Requested), o
		}
		denied = denied || o.Facts.Resolution == facts.NoAccess
		o.Close()
	}
	o := newObject(r, req)
	o.Facts.Resolution, o.Facts.Missing = facts.NotFound, "name"
	if denied {
		o.Facts.Resolution, o.Facts.Missing = facts.NoAccess, ""
	}
	return r.describeExecutable(o, req.Requested), o
}

func (r *Resolver) describeExecutable(o *Object, requested string) facts.Executable {
	e := facts.Executable{Resolution: o.Facts.Resolution, Kind: o.Facts.Kind}
	if !o.held() {
		return e
	}
	e.Path, e.InProject, e.Protected = o.Facts.Path, o.Facts.InProject, o.Facts.Protected
	e.Executable = o.st.kind() == facts.File && o.st.mode&0o111 != 0
	e.UID = int64(o.st.uid)
	ours := r.ours(e.InProject)
	e.Foreign = !ours(o.st.uid)
	e.GroupWritable, e.OtherWritable = o.st.shared(), o.st.mode&otherWrite != 0
	r.describeWay(&e, o, requested, ours)
	return e
}

// Bits of a mode, the same on every Unix.
const (
	groupWrite = 0o020
	otherWrite = 0o002
	sticky     = 0o1000 // of a directory: each may remove and rename his own entries only
)

// shared says that a group may write that isn't its owner's own, which has his number
// where each user has one: such a group has nobody else in it.
func (s stat) shared() bool { return s.mode&groupWrite != 0 && s.gid != s.uid }

// describeWay adds who could put another program in the place of this one: whoever
// may change an entry of a directory on the way to it, from "/" on and through each
// link. What is not the program any more, or can't be looked at, counts as changed
// by everyone.
func (r *Resolver) describeWay(e *facts.Executable, o *Object, p string, ours func(uid uint32) bool) {
	if !strings.HasPrefix(p, "/") {
		p = r.project + "/" + p
	}
	unknown := false
	got := r.walkSteps(r.top, p, func(dir int, name string, n node) {
		if name == "." || name == ".." {
			return // no entry that could be changed
		}
		st, err := statFD(dir)
		unknown = unknown || err != nil
		e.Foreign = e.Foreign || !ours(st.uid)
		if st.mode&sticky != 0 && ours(n.st.uid) {
			return
		}
		e.GroupWritable = e.GroupWritable || st.shared()
		e.OtherWritable = e.OtherWritable || st.mode&otherWrite != 0
	})
	st, err := statFD(got.fd)
	closeFD(got.fd)
	if unknown || err != nil || got.res != facts.OK || !st.same(o.st) {
		e.Foreign, e.GroupWritable, e.OtherWritable = true, true, true
	}
}

// ours tells the users who may change what this process runs anyway: root, the one
// that it runs as, and for what lies in the project its owner, who could change the
// manifests too.
func (r *Resolver) ours(inProject bool) func(uid uint32) bool {
	project, err := statFD(r.dir)
	owned := inProject && err == nil
	return func(uid uint32) bool {
		return uid == 0 || int64(uid) == int64(os.Geteuid()) || owned && uid == project.uid
	}
}
