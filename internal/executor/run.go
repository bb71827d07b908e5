package executor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// run is one open run: its ledger and the fold over it. A run without a log is
// only looked at; a virtual one exists nowhere.
type run struct {
	x       *Executor
	id      string
	dir     string
	virtual bool
	size    int64 // of the ledger that was looked at
	log     *ledger.Log
	state   *State // the log's own once there is one: read it under the log's lock

	expect expectation // of whoever goes on with the run; under the log's lock

	mu    sync.Mutex
	again map[string]int64 // calls of lines that are judged again; see History.Answer
	tools map[*manifest.Tool]*facts.Tool
}

// virtualID names the run that `check` judges in when it is given none.
const virtualID = "check"

// enter opens a run for recording. "" makes a new one; a named one is made when
// create is set, and must exist otherwise.
func (x *Executor) enter(runID string, create bool) (*run, error) {
	if runID == "" {
		runID = x.cfg.NewID()
	}
	if err := ledger.CheckRunID(runID); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.runs[runID]; r != nil {
		return r, nil
	}
	r := &run{x: x, id: runID, dir: filepath.Join(x.cfg.Runs, runID), state: NewState(), tools: map[*manifest.Tool]*facts.Tool{}}
	if err := r.checkPlain(); err != nil {
		return nil, err
	}
	if create {
		if err := os.MkdirAll(filepath.Join(r.dir, artifactsDir), 0o700); err != nil {
			return nil, fmt.Errorf("make run %s: %w", runID, err)
		}
	}
	log, err := ledger.Open(r.dir, ledger.Options{RunID: runID, Create: create, State: r.state, Now: x.cfg.Now, Key: x.cfg.Key})
	if err != nil {
		return nil, err
	}
	r.log = log
	x.noteFold(runID, log.Folded())
	x.runs[runID] = r
	return r, nil
}

// view folds a run as it is recorded, and changes nothing. A run that this
// Executor records into is seen through its ledger; another is folded once and
// again when it has grown.
func (x *Executor) view(runID string) (*run, error) {
	if runID == "" {
		return &run{x: x, id: virtualID, virtual: true, state: NewState(), tools: map[*manifest.Tool]*facts.Tool{}}, nil
	}
	if err := ledger.CheckRunID(runID); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.runs[runID]; r != nil {
		return r, nil
	}
	r := &run{x: x, id: runID, dir: filepath.Join(x.cfg.Runs, runID), state: NewState(), tools: map[*manifest.Tool]*facts.Tool{}}
	if err := x.checkRuns(); err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(r.dir, "events.jsonl"))
	if err == nil {
		r.size = info.Size()
	}
	if seen := x.seen[runID]; seen != nil && err == nil && seen.size == r.size {
		return seen, nil
	}
	folded, err := ledger.Fold(r.dir, ledger.Options{RunID: runID, State: r.state, Key: x.cfg.Key})
	if err != nil {
		return nil, err
	}
	x.noteFold(runID, folded)
	x.seen[runID] = r
	return r, nil
}

// slowFold is how long the reading of a run may take before somebody is told.
const slowFold = 250 * time.Millisecond

func (x *Executor) noteFold(runID string, f ledger.Folded) {
	if f.Took >= slowFold {
		x.cfg.Note("run %s: %d events were read again in %.1f s: its fold cache is missing or out of date", runID, f.Events, f.Took.Seconds())
	}
}

// arrive looks at the run as a call comes in: what its caller can have learnt
// of, and what policy would be shown. A run that cannot be read is seen as one
// without events; recording the verdict then fails with the cause.
func (r *run) arrive(ctx context.Context) (after int64, j judgedBy) {
	look := func() { after, j = r.state.Seq, r.judgedByLocked() }
	if r.log == nil {
		look()
		return after, j
	}
	_ = r.log.View(ctx, func(ledger.Head) error {
		look()
		return nil
	})
	return after, j
}

// toolFacts are the facts of a tool in this run. The same value comes back for
// as long as its roots are the same, so that the engine can keep what it made
// of it.
func (r *run) toolFacts(t *manifest.Tool) *facts.Tool {
	roots := r.roots(t)
	if r.virtual {
		r.x.virtualRoots(roots)
	}
	if len(t.Patterns) > 0 {
		roots = append(roots, r.argumentRoots(t, roots)...)
	}
	if seesRoots(t) {
		roots = r.placed(roots)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.tools[t]; have != nil && slices.EqualFunc(have.Roots, roots, equalRoots) {
		return have
	}
	f := facts.TotalTool(&facts.Tool{
		Declared: true, Name: t.Name, Operation: t.Operation, Handler: t.Handler, Roots: roots,
		MaxBytes: t.MaxBytes, TimeoutMS: t.TimeoutMS, Commands: t.Commands, Patterns: patterns(t, r.id),
		Absolute: t.Absolute, CreateParents: t.CreateParents, Network: t.Network, Sandbox: t.Sandbox,
	})
	r.tools[t] = f
	return f
}

// roots are a tool's roots as they are on disk now. One that a skill has
// narrowed counts only while it lies below a root of the tool itself: a link
// that leads out of it would widen what the skill was to narrow.
func (r *run) roots(t *manifest.Tool) []facts.Root {
	roots := r.x.rootsOf(rootSpecs(t, r.id))
	if !r.virtual {
		roots = slices.DeleteFunc(slices.Clone(roots), r.isElsewhere)
	}
	own := r.x.cfg.Tools.Tools[t.Name]
	if own == nil || own == t {
		return roots
	}
	wide := r.x.rootsOf(rootSpecs(own, r.id))
	narrowed := make([]facts.Root, 0, len(roots))
	for _, n := range roots {
		n.Access = slices.DeleteFunc(slices.Clone(n.Access), func(access string) bool {
			return !slices.ContainsFunc(wide, func(w facts.Root) bool {
				return slices.Contains(w.Access, access) && strings.HasPrefix(n.Prefix, w.Prefix)
			})
		})
		if len(n.Access) > 0 {
			narrowed = append(narrowed, n)
		}
	}
	return narrowed
}

// isElsewhere says whether a root that is the run's own by its name is not there:
// a link on the way leads out of the run.
func (r *run) isElsewhere(root facts.Root) bool {
	declared := path.Clean(root.Declared)
	for _, own := range []string{path.Join(r.x.runsRel, r.id), filepath.ToSlash(r.dir)} {
		if rest, is := strings.CutPrefix(declared+"/", own+"/"); is {
			return root.Prefix != r.runsRoot().Prefix+r.id+"/"+rest
		}
	}
	return false
}

// runsRoot is the directory of all runs as it is on disk.
func (r *run) runsRoot() facts.Root {
	return r.x.resolver.Roots([]resolve.RootSpec{{Declared: r.x.cfg.Runs, Access: []string{facts.Read}}})[0]
}

// checkPlain refuses a run whose directory, or that of its artifacts, is a link, and
// all runs behind a link that a tool could have made: what it leads to is not theirs.
func (r *run) checkPlain() error {
	if err := r.x.checkRuns(); err != nil {
		return err
	}
	for _, name := range []string{r.dir, filepath.Join(r.dir, artifactsDir)} {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !info.IsDir() {
			err = errors.New("it is a link or a file")
		}
		if err != nil {
			return fmt.Errorf("open run %s: want a directory in the place of %q: %w", r.id, filepath.Base(name), err)
		}
	}
	return nil
}

// rootSpecs are a tool's roots in a run.
func rootSpecs(t *manifest.Tool, runID string) []resolve.RootSpec {
	specs := make([]resolve.RootSpec, 0, len(t.Roots))
	for _, root := range t.Roots {
		specs = append(specs, resolve.RootSpec{Declared: fill(root.Path, runID), Access: root.Access})
	}
	return specs
}

func equalRoots(a, b facts.Root) bool {
	return a.Declared == b.Declared && a.Path == b.Path && a.Prefix == b.Prefix && a.Exists == b.Exists && a.Param == b.Param &&
		a.Place == b.Place && a.MountID == b.MountID && a.Device == b.Device && slices.Equal(a.Access, b.Access)
}

// open resolves a target, in a virtual run as if its artifacts directory were
// there and empty.
func (r *run) open(req resolve.Request) *resolve.Object {
	if asked, ok := fromProject(req); ok && r.virtual {
		if o := r.x.openVirtual(asked); o != nil {
			o.Facts.Requested = req.Requested
			return o
		}
	}
	return r.x.resolver.Resolve(req)
}
