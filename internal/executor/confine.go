package executor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// probeWait bounds the finding out about this machine.
const probeWait = 10 * time.Second

// probe finds out what isolation this machine can give to a program.
func probe(l *sandbox.Launcher) facts.Sandbox {
	ctx, cancel := context.WithTimeout(context.Background(), probeWait)
	defer cancel()
	s := l.Probe(ctx)
	return facts.Sandbox{Level: s.Level, Filesystem: s.Filesystem, Network: s.Network, Secrets: s.Secrets, Limits: s.Limits}
}

// confined says whether the tool's program runs in a sandbox.
func (p *proposal) confined() bool {
	return p.tool != nil && (p.tool.Operation == facts.Execute || p.tool.Program != "") && p.tool.Sandbox == sandbox.Full
}

// sandboxFacts are what would be applied to the call's program: nothing, unless its
// tool asks. The machine is asked once, by the first call that wants to know.
func (p *proposal) sandboxFacts() facts.Sandbox {
	switch {
	case !p.confined():
		return facts.Sandbox{Level: sandbox.None}
	case p.x.cfg.Sandbox.Level != "":
		return p.x.cfg.Sandbox
	}
	return p.x.probed()
}

// openConfinement opens what the call's program will see: the roots that were
// judged, as far as they exist, and the run's artifacts. What stands against it is
// kept in the confinement, and comes out when the program would start: it is
// nothing that policy judges. A virtual run starts nothing.
func (p *proposal) openConfinement() {
	if !p.confined() || p.run.virtual {
		return
	}
	c := &handlers.Confinement{
		Begin: p.x.launcher, Names: p.x.hiddenNames(),
		Limits: p.sandboxLimits(), Loopback: p.tool.Network == "private",
	}
	p.confinement = c
	open := p.openRoots
	if p.tool.Program != "" {
		open = p.openFolders
	}
	if err := open(c); err != nil {
		code := handlers.CodeSandbox
		if errors.Is(err, resolve.ErrChanged) {
			code = handlers.CodeChanged
		}
		c.Refuse = &handlers.Error{Code: code, Message: "run command: nothing was run: " + err.Error()}
	}
}

// openRoots opens the roots. Policy has judged how they stand to protected places;
// what has come to be there since is refused here.
func (p *proposal) openRoots(c *handlers.Confinement) error {
	if err := p.run.checkPlain(); err != nil {
		return err
	}
	roots, own, err := p.run.confinedRoots(p.input.Tool.Roots)
	if err != nil {
		return err
	}
	places := p.x.resolver.Shadowed()
	for _, root := range roots {
		o, err := p.x.resolver.Folder(root)
		if err != nil {
			return err
		}
		write := writable(root)
		c.Roots = append(c.Roots, handlers.Root{Object: o, Write: write})
		if within(o.Path(), own) {
			continue
		}
		if write && p.x.resolver.Holds(o.Path()) {
			return fmt.Errorf("root %.200q may be written and holds a place of policies, manifests, runs, keys or tools' programs: give it \"access\": [\"read\"], or name the folders in it that may be written", root.Declared)
		}
		if inPlace(o, places) {
			return fmt.Errorf("root %.200q is or lies in a place of policies, manifests, runs or keys", root.Declared)
		}
	}
	c.Hidden = p.x.hidden(c.Roots, places)
	c.Objects, err = p.run.otherNames()
	return err
}

func inPlace(o *resolve.Object, places []string) bool {
	return slices.ContainsFunc(places, func(place string) bool { return within(o.Path(), place) })
}

// openFolders lets the program that serves a tool see the directories that the call
// names, and nothing else: no root of the tool, and nothing of the run. Files come
// to it as descriptors.
func (p *proposal) openFolders(c *handlers.Confinement) error {
	if err := p.run.checkPlain(); err != nil {
		return err
	}
	_, own, err := p.run.confinedRoots(nil)
	if err != nil {
		return err
	}
	places := p.x.resolver.Shadowed()
	for _, t := range p.targets {
		path := t.object.Path()
		if t.object.Facts.Kind != facts.Directory || !t.object.Facts.Handle ||
			slices.ContainsFunc(c.Roots, func(have handlers.Root) bool { return have.Object.Path() == path }) {
			continue
		}
		c.Roots = append(c.Roots, handlers.Root{Object: t.object})
		if !within(path, own) && inPlace(t.object, places) {
			return fmt.Errorf("%.200q is or lies in a place of policies, manifests, runs or keys", t.object.Facts.Requested)
		}
	}
	c.Hidden = p.x.hidden(c.Roots, places)
	if len(c.Roots) > 0 {
		c.Objects, err = p.run.otherNames()
	}
	return err
}

// otherNames are the files that a program must not reach under another name either:
// those that calls are judged by, keys, and the record of its run. A tool's program
// may be read.
func (r *run) otherNames() (list []sandbox.Object, err error) {
	found, err := r.x.resolver.Linked(r.dir, artifactsDir)
	for _, f := range found {
		list = append(list, sandbox.Object{Dev: f.Dev, Ino: f.Ino, Readable: f.Class == facts.ProtectedHandler})
	}
	return list, err
}

// confinedRoots are the roots that a program of the run gets, each path once, and
// the canonical path of the run's artifacts, which is always one of them.
func (r *run) confinedRoots(judged []facts.Root) (roots []facts.Root, own string, err error) {
	artifacts := r.x.resolver.Roots([]resolve.RootSpec{{
		Declared: path.Join(filepath.ToSlash(r.dir), artifactsDir), Access: []string{facts.Read, facts.Write},
	}})
	if r.isElsewhere(artifacts[0]) {
		return nil, "", errors.New("the run's artifacts lead elsewhere")
	}
	for _, root := range slices.Concat(judged, artifacts) {
		if !root.Exists || len(root.Access) == 0 || root.Param != "" {
			continue
		}
		i := slices.IndexFunc(roots, func(have facts.Root) bool { return have.Path == root.Path })
		if i < 0 {
			roots = append(roots, root)
		} else if !writable(roots[i]) {
			roots[i].Access = root.Access
		}
	}
	return roots, artifacts[0].Path, nil
}

// writable says whether a program may change what is in a root.
func writable(root facts.Root) bool {
	return slices.ContainsFunc(root.Access, func(access string) bool {
		return access == facts.Write || access == facts.Delete || access == facts.Rename
	})
}

// seesRoots says whether a program of the tool sees its roots: in a sandbox, where it
// is not asked name by name.
func seesRoots(t *manifest.Tool) bool {
	return t.Operation == facts.Execute && t.Program == "" && t.Sandbox == sandbox.Full
}

// placed finds out how each root stands to protected places.
func (r *run) placed(roots []facts.Root) []facts.Root {
	roots = slices.Clone(roots)
	places := r.x.resolver.Shadowed()
	for i := range roots {
		root := &roots[i]
		if root.Place == facts.PlacePlanted {
			continue
		}
		root.Place = r.place(root.Path, places)
		if root.Place != facts.PlaceInside && r.x.refusedName(*root) {
			root.Place = facts.PlaceSecret
		}
	}
	return roots
}

// place is how a directory stands to protected places.
func (r *run) place(p string, places []string) string {
	switch {
	case within(p, r.runsRoot().Prefix+r.id+"/"+artifactsDir):
	case slices.ContainsFunc(places, func(place string) bool { return within(p, place) }):
		return facts.PlaceInside
	case r.x.resolver.Holds(p):
		return facts.PlaceHolds
	}
	return ""
}

// placeTargets finds out how the directories that a program will see stand to
// protected places.
func (p *proposal) placeTargets() {
	if !p.confined() {
		return
	}
	for i := range p.input.Targets {
		t := &p.input.Targets[i]
		if t.Kind != facts.Directory || !t.Handle {
			continue
		}
		name := p.targets[i].object.Path()
		if name == "" { // it is there in this run alone, which is virtual
			name = t.Path
		}
		t.Place = p.run.place(name, p.x.resolver.Shadowed())
	}
}

// hidden are the protected places that a program would see otherwise: those in its
// roots, and in what every sandbox has of the system. There the project itself is
// one of them.
func (x *Executor) hidden(roots []handlers.Root, places []string) (list []string) {
	inRoots := func(p string) bool {
		return slices.ContainsFunc(roots, func(r handlers.Root) bool { return within(p, r.Object.Path()) })
	}
	for _, p := range places {
		if inRoots(p) || sandbox.Shows(p) {
			list = append(list, p)
		}
	}
	if p := x.resolver.Project(); sandbox.Shows(p) && !inRoots(p) {
		list = append(list, p)
	}
	return list
}

// hiddenNames are the names that policy refuses, for a program that nobody asks
// for each name.
func (x *Executor) hiddenNames() sandbox.Names {
	n := x.settings.Names
	return sandbox.Names{Exact: n.Exact, Prefix: n.Prefix, Suffix: n.Suffix, Except: n.Allowed}
}

func within(p, folder string) bool {
	return p == folder || strings.HasPrefix(p, strings.TrimRight(folder, "/")+"/")
}
