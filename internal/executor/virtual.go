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
// exec would in a fresh run: the run and the directory are there, and empty.
// What leads to them and what leads out again is resolved for real; nil leaves
// the whole request to the resolver.
func (x *Executor) openVirtual(req resolve.Request) *resolve.Object {
	if x.runsRel == "" || strings.HasPrefix(req.Requested, "/") || strings.ContainsRune(req.Requested, 0) {
		return nil
	}
	asked := slices.DeleteFunc(strings.Split(req.Requested, "/"), func(s string) bool { return s == "" || s == "." })
	rest := x.virtualRest(asked)
	if rest == nil {
		return nil
	}
	home := strings.Split(x.virtualArtifacts(), "/")
	// 2 is in the artifacts directory, 1 in the run's, 0 in that of all runs.
	level := 2
	for ; len(rest) > 0; rest = rest[1:] {
		switch name := rest[0]; {
		case name == ".." && level > 0:
			level--
		case level == 2:
			return x.virtualObject(req, home, rest)
		case level < 2 && name == home[len(home)-2+level]:
			level++
		default:
			return x.openOutside(req, home[:len(home)-2+level], rest)
		}
	}
	if level < 2 {
		return x.openOutside(req, home[:len(home)-2+level], nil)
	}
	return x.virtualObject(req, home, nil)
}

// virtualRest is what stands behind the virtual run's artifacts directory in a
// path that leads to it; nil for any other path.
func (x *Executor) virtualRest(asked []string) []string {
	for i := 0; i+2 <= len(asked); i++ {
		if asked[i] != virtualID || !x.isRuns(asked[:i]) {
			continue
		}
		switch asked[i+1] {
		case "artifacts":
			return asked[i+2 : len(asked) : len(asked)]
		case "..": // into the run's own directory and out again
			return x.virtualRest(slices.Delete(slices.Clone(asked), i, i+2))
		}
	}
	return nil
}

// isRuns says whether a relative path leads to the directory of all runs.
func (x *Executor) isRuns(segments []string) bool {
	p := strings.Join(segments, "/")
	if p == x.runsRel {
		return true
	}
	runs := x.resolver.Roots([]resolve.RootSpec{{Declared: x.runsRel}})[0]
	if p == "" {
		p = "."
	}
	o := x.resolver.Resolve(resolve.Request{Access: facts.List, Raw: p, Requested: p})
	defer o.Close()
	if o.Facts.Resolution == facts.OK {
		return o.Facts.Path == runs.Path
	}
	// The directory may not be there yet, behind a way that is.
	dir, last := path.Split(p)
	if runs.Exists || last != path.Base(x.runsRel) || dir == "" {
		return false
	}
	above := x.resolver.Resolve(resolve.Request{Access: facts.List, Raw: dir, Requested: dir})
	defer above.Close()
	return above.Facts.Resolution == facts.OK && above.Facts.Path == path.Dir(runs.Path)
}

// openOutside resolves a path that has left the virtual directory by "..": base
// is how far out it has come, and what comes then is real.
func (x *Executor) openOutside(req resolve.Request, base, rest []string) *resolve.Object {
	asked := req
	asked.Requested = strings.Join(append(slices.Clone(base), rest...), "/")
	if asked.Requested == "" {
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
	t.Lexical = req.Lexical()
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
