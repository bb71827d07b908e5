package executor

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// A link that lies where a tool may write may be a tool's own: it must not lead RunLens
// to a root, a program, a working directory or the runs, since it could be made to lead
// anywhere. Links of the operator lie elsewhere.

// reach is a directory that tools may write below.
type reach struct {
	path  string
	begin string // of the names in it that count; "": all, and the directory itself
	links bool   // by a program, which may make links; RunLens' own handlers make none
	free  bool   // by a program without a sandbox, which the protected places don't stop
}

func (r reach) holds(p string) bool {
	if r.begin == "" {
		return within(p, r.path)
	}
	return strings.HasPrefix(p, strings.TrimRight(r.path, "/")+"/"+r.begin)
}

// declaredReach is where the tools of the set and of its skills may write, as it is
// declared, each once. What is named after a run is taken for all of them, and so is
// the directory of all runs.
func declaredReach(set *manifest.Set, runs string) (list []reach) {
	add := func(r reach) {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	add(reach{path: filepath.ToSlash(runs), links: true})
	addAll := func(tools map[string]*manifest.Tool) {
		for _, t := range tools {
			if t.Operation != facts.Execute && !accesses(t, facts.Write) && !accesses(t, facts.Delete) {
				continue
			}
			free := (t.Operation == facts.Execute || t.Program != "") && t.Sandbox != sandbox.Full
			for _, root := range t.Roots {
				if writable(facts.Root{Access: root.Access}) {
					dir, begin := beforeRun(root.Path)
					add(reach{path: dir, begin: begin, links: free || seesRoots(t), free: free})
				}
			}
		}
	}
	addAll(set.Tools)
	for _, s := range set.Skills {
		addAll(s.Tools)
	}
	return list
}

// beforeRun is the part of a declared path that is the same in each run: a directory,
// and how the name in it begins.
func beforeRun(p string) (dir, begin string) {
	at := strings.Index(p, "{run_id}")
	if at < 0 {
		return p, ""
	}
	slash := strings.LastIndexByte(p[:at], '/')
	if dir = p[:slash+1]; dir == "" {
		dir = "."
	}
	return dir, p[slash+1 : at]
}

// reachNow is where the tools may write now: at the declared places, and where links
// lead from there that are not a tool's own.
func (x *Executor) reachNow() []reach {
	specs := make([]resolve.RootSpec, len(x.reach))
	for i, w := range x.reach {
		specs[i].Declared = w.path
	}
	var list []reach
	led := map[int]facts.Root{} // by place in x.reach
	for i, root := range x.resolver.Roots(specs) {
		lexical := x.resolver.Lexical(specs[i].Declared)
		now := x.reach[i]
		now.path = lexical
		list = append(list, now)
		if root.Path != lexical {
			led[i] = root
		}
	}
	// Round by round, so that nothing goes by an order: of two that lead through each
	// other both are added, and neither counts as a root afterwards.
	for more := true; more; {
		var next []reach
		for i, root := range led {
			if links, leads := x.resolver.Way(specs[i].Declared, root.Path); leads && !x.touched(links, list) {
				now := x.reach[i]
				now.path = root.Path
				next = append(next, now)
				delete(led, i)
			}
		}
		list, more = append(list, next...), len(next) > 0
	}
	return list
}

// touched says whether a tool could have made one of the links: it lies where one may
// write, and is no name that is protected from that.
func (x *Executor) touched(links []string, where []reach) bool {
	for _, link := range links {
		folder := path.Dir(link)
		for _, w := range where {
			if w.links && w.holds(folder) && (w.free || !x.resolver.Guarded(link)) {
				return true
			}
		}
	}
	return false
}

// planted returns a function that says whether a path of the set-up leads to its
// canonical path by a link that a tool could have made, or leads elsewhere by now.
// Where the tools may write is found out once, and only when there is a link.
func (x *Executor) planted() func(p, canonical string) bool {
	where := sync.OnceValue(x.reachNow)
	return func(p, canonical string) bool {
		links, leads := x.resolver.Way(p, canonical)
		return !leads || len(links) > 0 && x.touched(links, where())
	}
}

// rootsOf are roots as they are on disk now. One that a tool could have planted is as
// if it did not exist.
func (x *Executor) rootsOf(specs []resolve.RootSpec) []facts.Root {
	roots := x.resolver.Roots(specs)
	planted := x.planted()
	for i := range roots {
		root := &roots[i]
		if !planted(specs[i].Declared, root.Path) {
			continue
		}
		root.Path, root.Exists, root.Place = x.resolver.Lexical(specs[i].Declared), false, facts.PlacePlanted
		root.Prefix = strings.TrimRight(root.Path, "/") + "/"
		root.MountID, root.Device = 0, 0
	}
	return roots
}

// executable finds a program, and whether a tool could have put it there: where one may
// write lies the file itself, or a link that it is found by.
func (x *Executor) executable(name string) (facts.Executable, *resolve.Object) {
	e, o := x.resolver.Executable(name, x.cfg.Tools.Path)
	if e.Path == "" {
		return e, o
	}
	ways := []string{name}
	if !strings.Contains(name, "/") {
		ways = nil
		for _, dir := range x.cfg.Tools.Path {
			ways = append(ways, path.Join(dir, name))
		}
	}
	where := sync.OnceValue(x.reachNow)
	e.Planted = true // unless some way leads to it
	for _, way := range ways {
		if links, leads := x.resolver.Way(way, e.Path); leads {
			e.Planted = len(links) > 0 && x.touched(links, where())
			break
		}
	}
	e.Planted = e.Planted || !x.resolver.Guarded(e.Path) &&
		slices.ContainsFunc(where(), func(w reach) bool { return w.holds(e.Path) })
	return e, o
}

// checkRuns refuses a directory of runs that a tool could have put there.
func (x *Executor) checkRuns() error {
	declared := filepath.ToSlash(x.cfg.Runs)
	runs := x.resolver.Roots([]resolve.RootSpec{{Declared: declared}})[0]
	if x.planted()(declared, runs.Path) {
		return fmt.Errorf("open runs: %w", errPlanted)
	}
	return nil
}

var errPlanted = errors.New("the directory is reached through a link that a tool could have made: put a directory there, or let no tool write where the link lies")

// refusedName says whether policy refuses a name in a root's path, as it is declared
// or as it is on disk.
func (x *Executor) refusedName(root facts.Root) bool {
	project := x.resolver.Project()
	inProject := func(p string) string {
		if within(p, project) {
			return strings.TrimPrefix(p, project)
		}
		return p
	}
	return slices.ContainsFunc(resolve.Folded(inProject(root.Declared), inProject(root.Path)), x.settings.Names.Refused)
}
