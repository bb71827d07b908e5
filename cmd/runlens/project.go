package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// project is what a command works in, and where its policy and its tools come
// from: one place each, fixed by whoever typed the command. No environment
// variable has a say.
type project struct {
	w        *world
	dir      string // --project, else "."
	policies place
	tools    place
	key      string // --verification-key
}

// place is where policies or manifests come from.
type place struct {
	kind  placeKind
	path  string // as a person would type it; "" when embedded
	given bool   // by a flag
	real  string // path without links, found out once; everything is read from here
}

// at fixes where a place really is. A path that can't be followed stays as it
// was typed, and loading says why.
func (p place) at() place {
	p.real = p.path
	if real, err := filepath.EvalSymlinks(p.path); err == nil {
		p.real = real
	}
	return p
}

type placeKind int

const (
	embedded    placeKind = iota
	ownTree               // a directory that stands alone
	overlayTree           // a project's additions to the embedded tree
	bundleFile
	manifestFile
	manifestDir
	looseFile // tools.json in the project itself
)

func (p place) String() string {
	switch p.kind {
	case embedded:
		return "embedded"
	case overlayTree:
		return p.path + " on top of the embedded tree"
	}
	return p.path
}

// openProject finds out where everything comes from; it loads nothing yet.
func (w *world) openProject(c *cli.Context) (*project, error) {
	p, err := w.projectDir(c)
	if err != nil {
		return nil, err
	}
	p.key = c.String("verification-key")
	return p, p.find(c.String("policies"), c.String("manifests"))
}

// projectDir is the project that the command line names, and nothing found in it yet.
func (w *world) projectDir(c *cli.Context) (*project, error) {
	p := &project{w: w, dir: c.String("project")}
	if p.dir == "" {
		p.dir = "."
	}
	if st, err := os.Stat(p.dir); err != nil {
		return nil, hinted(similar(p.dir), "open project %s: %w", p.dir, cause(err))
	} else if !st.IsDir() {
		return nil, hinted("--project names a directory", "open project %s: not a directory", p.dir)
	}
	w.noteState()
	return p, nil
}

// find fixes the places of policies and manifests, by flag where there is one.
func (p *project) find(policies, manifests string) error {
	err := together(p.findPolicies(policies), p.findManifests(manifests))
	p.policies, p.tools = p.policies.at(), p.tools.at()
	return err
}

// findPolicies fixes the policy tree: the flag, else the project's own, else
// the embedded one. A project's policies/ counts only when it holds
// policies/runlens/; any other is an ordinary folder.
func (p *project) findPolicies(flag string) error {
	if flag != "" {
		st, err := os.Stat(flag)
		switch {
		case err != nil:
			return hinted(similar(flag), "load policies %s: %w", flag, cause(err))
		case !st.IsDir():
			p.policies = place{kind: bundleFile, path: flag, given: true}
			return nil
		case !exists(filepath.Join(flag, "runlens", "decision.rego")):
			return hinted("--policies takes a whole tree: `runlens policy export DIR` writes the shipped one",
				"load policies %s: no runlens/decision.rego in it", flag)
		}
		p.policies = place{kind: ownTree, path: flag, given: true}
		return nil
	}
	dir := p.in("policies")
	tree, err := present(dir, "runlens")
	root := filepath.Join(dir, "runlens")
	if err == nil && tree {
		if st, statErr := os.Stat(root); statErr != nil {
			err = fmt.Errorf("%s: %w", root, cause(statErr))
		} else if !st.IsDir() {
			err = fmt.Errorf("%s: not a directory", root)
		}
	}
	if err != nil {
		return hinted("mend or remove it: without it calls would be judged by the embedded policies alone", "load policies: %w", err)
	}
	if tree {
		p.policies = place{kind: overlayTree, path: dir}
		// Whatever stands in the place of the decision, the tree is meant to
		// stand alone: if it can't be read it does not load.
		if _, err := os.Lstat(filepath.Join(root, "decision.rego")); !errors.Is(err, fs.ErrNotExist) {
			p.policies.kind = ownTree
		}
	}
	if p.key != "" {
		return hinted("give the bundle with --policies FILE.tar.gz", "load policies: --verification-key is only for a bundle")
	}
	return nil
}

// in is a name in the project as a person would type it.
func (p *project) in(name string) string { return filepath.Join(p.dir, name) }

// loadPolicies loads the policy tree.
func (p *project) loadPolicies() (*engine.Engine, error) {
	src, err := p.policySource()
	if err != nil {
		return nil, err
	}
	e, err := engine.Load(src)
	if err != nil {
		return nil, hinted(p.loadHint(), "%w", err)
	}
	p.noteUnchecked(e, p.policies.path)
	return e, nil
}

func (p *project) policySource() (engine.Source, error) {
	if p.key != "" && p.policies.kind != bundleFile {
		return engine.Source{}, hinted("give the bundle with --policies FILE.tar.gz", "load policies %s: --verification-key is only for a bundle", p.policies.path)
	}
	return p.sourceAt(p.policies)
}

const (
	maxBundle   = 64 << 20
	maxKey      = 64 << 10
	maxManifest = 8 << 20
)

func (p *project) loadHint() string { return p.policies.loadHint() }

// loadHint is what helps with a tree that does not load.
func (p place) loadHint() string {
	switch p.kind {
	case embedded, bundleFile:
		return ""
	case overlayTree:
		return "an overlay adds families, data keys and codes; `runlens policy export DIR` writes a whole tree to change"
	}
	return "`runlens doctor` shows how the tree differs from the shipped one"
}

// open loads everything and makes the executor. The caller closes it. Commands
// that record get the key of the fold caches; those that only look make no key.
func (p *project) open(records bool) (*executor.Executor, *manifest.Set, error) {
	policy, policyErr := p.loadPolicies()
	tools, toolsErr := p.loadTools()
	if err := together(policyErr, toolsErr); err != nil {
		return nil, nil, err
	}
	key := p.w.knownKey()
	if records {
		key = p.w.cacheKey()
	}
	x, err := executor.New(executor.Config{
		Project: p.dir, Engine: policy, Tools: tools, Handlers: handlers.Builtin(),
		Places: p.places(), Key: key, Door: "cli", Stage: sandboxStage(),
		Now: p.w.now, NewID: p.w.newRunID, Note: p.w.note,
		Log: func(format string, args ...any) { fmt.Fprintf(p.w.stderr, format+"\n", args...) },
	})
	if err != nil {
		return nil, nil, openError(err)
	}
	return x, tools, nil
}

// openError adds what to do to the set-ups that RunLens refuses to start in.
func openError(err error) error {
	if errors.Is(err, executor.ErrPolicyWritable) {
		return hinted("give the tool a root that holds no policies, manifests or keys, or move those elsewhere", "%w", err)
	}
	return err
}

// places are what no call may write to, beside the project's own places: what
// the flags name, where keys may be, and the programs of RunLens itself.
func (p *project) places() []resolve.Place {
	var list []resolve.Place
	add := func(path, class string) {
		if abs, err := filepath.Abs(path); err == nil {
			list = append(list, resolve.Place{Path: abs, Class: class})
		}
	}
	for _, given := range []struct {
		place
		class string
	}{{p.policies, facts.ProtectedPolicy}, {p.tools, facts.ProtectedManifest}, {place{path: p.key, given: p.key != ""}.at(), facts.ProtectedKey}} {
		if !given.given {
			continue
		}
		// The links on the way, and what they lead to.
		add(given.path, given.class)
		if given.real != given.path {
			add(given.real, given.class)
		}
	}
	for _, dir := range p.w.stateDirs() {
		add(dir, facts.ProtectedKey)
	}
	// This program and those beside it, there or not: the next start would run them.
	if self, err := os.Executable(); err == nil {
		add(self, facts.ProtectedHandler)
	}
	for _, name := range []string{openaiProgram, sandboxProgram} {
		places, _ := besideNames(name)
		for _, path := range places {
			add(path, facts.ProtectedHandler)
		}
	}
	return list
}

// runID is --run, checked; "" when it was not given.
func runID(c *cli.Context) (string, error) {
	id := c.String("run")
	if id == "" {
		return "", nil
	}
	if err := ledger.CheckRunID(id); err != nil {
		return "", hinted("run ids are letters, digits, '.', '_' and '-', 64 at most, a letter or digit first", "read arguments: --run: %w", err)
	}
	return id, nil
}

// neededRun is runID of a run that must exist.
func (p *project) neededRun(c *cli.Context) (string, error) {
	id, err := runID(c)
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", hinted("name the run: --run ID", "read arguments: --run is missing")
	}
	return id, p.mustExist(id)
}

// mustExist refuses a run that has no ledger.
func (p *project) mustExist(id string) error {
	isRun := func(name string) bool { return exists(filepath.Join(p.in("runs"), name, "events.jsonl")) }
	if isRun(id) {
		return nil
	}
	hint := didYouMean(id, slices.DeleteFunc(entries(p.in("runs")), func(name string) bool { return !isRun(name) }))
	if exists(filepath.Join(p.in("runs"), id)) {
		hint = fmt.Sprintf("%s is there, and holds no events.jsonl", filepath.Join(p.in("runs"), id))
	}
	if hint == "" {
		hint = "`runlens run`, `runlens exec` and `runlens ledger append` make runs; --project says where they are"
	}
	return hinted(hint, "open run %s: no such run in %s", id, p.in("runs"))
}
