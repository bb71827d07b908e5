package resolve

import (
	"path"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// Executable finds a program by name in absolute directories, the first that
// has a file of that name that this process may execute, and describes it. A name with a
// slash is a path from the project and is not searched for. The Object is never
// nil; the caller closes it. Writable bits count for the file, its directory,
// and the directory in which the search found its name.
func (r *Resolver) Executable(name string, search []string) (facts.Executable, *Object) {
	req := Request{Access: facts.Execute, Raw: name, Requested: name, Absolute: true}
	if name == "" || strings.Contains(name, "/") {
		o := r.Resolve(req)
		return r.describeExecutable(o, ""), o
	}
	denied := false
	for _, dir := range search {
		if !strings.HasPrefix(dir, "/") {
			continue
		}
		req.Requested = path.Join(dir, name)
		o := r.Resolve(req)
		if o.held() && o.st.kind() == facts.File && o.st.mode&0o111 != 0 {
			return r.describeExecutable(o, dir), o
		}
		denied = denied || o.Facts.Resolution == facts.NoAccess
		o.Close()
	}
	o := newObject(r, req)
	o.Facts.Resolution, o.Facts.Missing = facts.NotFound, "name"
	if denied {
		o.Facts.Resolution, o.Facts.Missing = facts.NoAccess, ""
	}
	return r.describeExecutable(o, ""), o
}

func (r *Resolver) describeExecutable(o *Object, dir string) facts.Executable {
	e := facts.Executable{Resolution: o.Facts.Resolution, Kind: o.Facts.Kind}
	if !o.held() {
		return e
	}
	e.Path, e.InProject, e.Protected = o.Facts.Path, o.Facts.InProject, o.Facts.Protected
	e.Executable = o.st.kind() == facts.File && o.st.mode&0o111 != 0
	e.UID = int64(o.st.uid)
	modes := []uint32{o.st.mode}
	for _, d := range []string{path.Dir(o.path), dir} {
		if d == "" {
			continue
		}
		got := r.openPath(r.dir, d+"/", nil)
		st, err := statFD(got.fd)
		closeFD(got.fd)
		if got.res != facts.OK || err != nil {
			st.mode = 0o022 // unknown: not trusted
		}
		modes = append(modes, st.mode)
	}
	for _, m := range modes {
		e.GroupWritable = e.GroupWritable || m&0o020 != 0
		e.OtherWritable = e.OtherWritable || m&0o002 != 0
	}
	return e
}
