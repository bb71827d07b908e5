package executor

import (
	"path"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/resolve"
)

// virtualArtifacts is the artifacts directory of the virtual run, from the
// project directory.
func (x *Executor) virtualArtifacts() string {
	return path.Join(x.runsRel, virtualID, "artifacts")
}

// virtualRoots marks the root that is the virtual run's artifacts directory as
// present, with the project directory's mount.
func (x *Executor) virtualRoots(roots []facts.Root) {
	for i := range roots {
		if path.Clean(roots[i].Declared) == x.virtualArtifacts() {
			project := x.resolver.Roots([]resolve.RootSpec{{Declared: "."}})[0]
			roots[i].Path = path.Join(project.Path, x.virtualArtifacts())
			roots[i].Prefix = roots[i].Path + "/"
			roots[i].Exists, roots[i].MountID, roots[i].Device = true, project.MountID, project.Device
		}
	}
}

// openVirtual answers for what lies in the virtual run's artifacts directory as
// exec would in a fresh run: the directory is there and empty. What leads to it
// is resolved for real; nil leaves the whole request to the resolver.
func (x *Executor) openVirtual(req resolve.Request) *resolve.Object {
	if x.runsRel == "" || strings.HasPrefix(req.Requested, "/") || strings.ContainsRune(req.Requested, 0) {
		return nil
	}
	home := strings.Split(x.virtualArtifacts(), "/")
	asked := slices.DeleteFunc(strings.Split(req.Requested, "/"), func(s string) bool { return s == "" || s == "." })
	at := indexOf(asked, home)
	if at < 0 || !x.isProject(asked[:at]) {
		return nil
	}
	rest := asked[at+len(home):]
	for len(rest) > 0 && rest[0] == ".." {
		if len(rest) == 1 || rest[1] != home[len(home)-1] {
			return x.openOutside(req, home, rest[1:])
		}
		rest = rest[2:] // out of the directory and back in
	}
	return x.virtualObject(req, home, rest)
}

// indexOf is where part first stands in list, -1 when it does not.
func indexOf(list, part []string) int {
	for i := 0; i+len(part) <= len(list); i++ {
		if slices.Equal(list[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// isProject says whether a relative path leads to the project directory.
func (x *Executor) isProject(segments []string) bool {
	if len(segments) == 0 {
		return true
	}
	p := strings.Join(segments, "/")
	o := x.resolver.Resolve(resolve.Request{Access: facts.List, Raw: p, Requested: p})
	defer o.Close()
	return o.Facts.Resolution == facts.OK && o.Facts.Path == x.resolver.Project()
}

// openOutside resolves a path that has left the virtual directory for the run's
// own, in which nothing else is; after another ".." it is in the directory of
// all runs, and what comes then is real.
func (x *Executor) openOutside(req resolve.Request, home, rest []string) *resolve.Object {
	real := append(slices.Clone(home[:len(home)-1]), rest...)
	if len(rest) > 0 && rest[0] == ".." {
		real = append(slices.Clone(home[:len(home)-2]), rest[1:]...)
	}
	asked := req
	asked.Requested = strings.Join(real, "/")
	if len(real) == 0 {
		asked.Requested = "."
	}
	if strings.HasSuffix(req.Requested, "/") {
		asked.Requested += "/"
	}
	o := x.resolver.Resolve(asked)
	o.Facts.Requested = req.Requested
	o.Facts.Folded = resolve.Folded(req.Requested, strings.Join(o.Facts.Segments, "/"))
	return o
}

// virtualObject are the facts of rest in the empty directory home.
func (x *Executor) virtualObject(req resolve.Request, home, rest []string) *resolve.Object {
	o := x.resolver.Resolve(resolve.Request{Param: req.Param, Access: facts.List, Raw: ".", Requested: "."})
	t := &o.Facts
	t.Access, t.Raw, t.Requested, t.Recursive = req.Access, req.Raw, req.Requested, req.Recursive
	t.Lexical = resolve.Lexical(req.Raw)
	if req.Recursive {
		t.Walk = "complete"
	}
	t.Segments = home
	slash := strings.HasSuffix(req.Requested, "/")
	makes := req.Access == facts.Write && req.CreateParents && !slices.Contains(rest, "..")
	missing := ""
	switch {
	case len(rest) == 0:
	case req.Access == facts.Write && !slash && (len(rest) == 1 || makes):
		t.Resolution, t.Kind = facts.Absent, facts.None
		t.Segments = append(slices.Clone(home), rest...)
	case len(rest) == 1:
		missing = "name"
	default:
		missing = "parent"
	}
	if missing != "" {
		t.Resolution, t.Missing, t.Kind, t.Handle = facts.NotFound, missing, facts.None, false
	}
	if t.Kind == facts.None {
		t.Size, t.Allocated, t.Nlink = 0, 0, 0
	}
	t.Path = path.Join(append([]string{t.Path}, t.Segments...)...)
	t.Folded = resolve.Folded(req.Requested, strings.Join(t.Segments, "/"))
	return o
}
