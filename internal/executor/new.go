package executor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// Config is what an Executor works with; New checks it.
type Config struct {
	Project  string             // the project directory; paths count from it
	Engine   *engine.Engine     // the policy
	Tools    *manifest.Set      // the declared tools
	Handlers []handlers.Handler // what the tools may be bound to
	Runs     string             // where runs are kept; "" is <Project>/runs
	Places   []resolve.Place    // protected places beside the project's own
	Key      []byte             // MAC key of the fold caches; nil: no caches
	Door     string             // "cli", "hook" or "mcp"; "" is "cli"
	Sandbox  facts.Sandbox      // what isolation a child would get; no Level: this machine is asked when a tool wants it
	Stage    string             // path of a small executable that begins sandboxes (sandbox.Open); "" is this one

	Now   func() time.Time
	NewID func() string                    // a fresh run id
	Log   func(format string, args ...any) // faults of RunLens itself; nil drops them
	Note  func(format string, args ...any) // what a person may want to know; nil drops it
}

// Executor runs calls of one project under one policy and one set of tools. It
// is safe for concurrent use.
type Executor struct {
	cfg       Config
	settings  engine.Settings
	resolver  *resolve.Resolver
	handlers  map[string]*handlers.Handler
	program   handlers.Handler // of tools that a program serves
	withhold  *withholder
	approvers []note.Verifier // whose signature an approval needs; none: it needs none
	reach     []reach         // where tools may write, as declared
	runsRel   string          // Runs from the project directory, "" when it lies elsewhere
	probed    func() facts.Sandbox
	launcher  *sandbox.Launcher

	mu   sync.Mutex
	runs map[string]*run // recorded into
	seen map[string]*run // only looked at
}

// ErrPolicyWritable is a set-up in which a tool could write what it is judged
// by. RunLens refuses to start in it.
var ErrPolicyWritable = errors.New("policy_writable")

// New checks cfg and opens the project.
func New(cfg Config) (*Executor, error) {
	if cfg.Engine == nil || cfg.Tools == nil || cfg.Now == nil || cfg.NewID == nil || cfg.Project == "" {
		return nil, errors.New("open executor: project, engine, tools, clock and id source are all needed")
	}
	if err := absolute(&cfg); err != nil {
		return nil, err
	}
	if cfg.Door == "" {
		cfg.Door = "cli"
	}
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	if cfg.Note == nil {
		cfg.Note = func(string, ...any) {}
	}
	places := slices.Concat(resolve.DefaultPlaces(cfg.Runs), cfg.Places, programPlaces(cfg.Tools), ownPlaces(&cfg))
	resolver, err := resolve.Open(resolve.Config{Project: cfg.Project, Places: places})
	if err != nil {
		return nil, err
	}
	x := &Executor{cfg: cfg, settings: cfg.Engine.Settings(), resolver: resolver, launcher: sandbox.Open(cfg.Stage), runs: map[string]*run{}, seen: map[string]*run{}}
	x.probed = sync.OnceValue(func() facts.Sandbox { return probe(x.launcher) })
	if x.runsRel, err = relativeTo(resolver.Project(), cfg.Runs); err != nil {
		return nil, errors.Join(err, resolver.Close())
	}
	x.handlers = make(map[string]*handlers.Handler, len(cfg.Handlers))
	for i := range cfg.Handlers {
		x.handlers[cfg.Handlers[i].Name] = &cfg.Handlers[i]
	}
	x.program = handlers.Program(cfg.Handlers)
	for _, a := range cfg.Tools.Approvers {
		v, err := note.NewVerifier(a.Key)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open executor: approver %.200q: %w", a.Name, err), resolver.Close())
		}
		x.approvers = append(x.approvers, v)
	}
	for _, name := range x.settings.ApprovalTools {
		if cfg.Tools.Tools[name] == nil {
			cfg.Note("policy data asks about tool %.200q (approvals.tools), which no manifest declares", name)
		}
	}
	x.withhold = newWithholder(x.settings)
	x.reach = declaredReach(cfg.Tools, cfg.Runs)
	if err := errors.Join(x.checkRuns(), x.checkWriteRoots(), x.checkPrograms()); err != nil {
		return nil, errors.Join(err, resolver.Close())
	}
	return x, nil
}

// absolute fixes the directories once: what is protected, what is recorded into
// and what paths count from must not depend on who joins them to what.
func absolute(cfg *Config) (err error) {
	if cfg.Project, err = filepath.Abs(cfg.Project); err != nil {
		return fmt.Errorf("open project: %w", err)
	}
	if cfg.Runs == "" {
		cfg.Runs = filepath.Join(cfg.Project, "runs")
	}
	if cfg.Runs, err = filepath.Abs(cfg.Runs); err != nil {
		return fmt.Errorf("open runs: %w", err)
	}
	return nil
}

// relativeTo is dir from the project directory, with slashes; "" when it lies
// elsewhere.
func relativeTo(project, dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("open runs: %w", err)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(real, filepath.Base(abs))
	}
	rel, err := filepath.Rel(project, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", nil
	}
	return filepath.ToSlash(rel), nil
}

// checkWriteRoots refuses a set-up in which a write root equals or lies inside
// a place that policy, manifests, configuration or keys come from.
func (x *Executor) checkWriteRoots() error {
	var problems []error
	for _, name := range x.cfg.Tools.Names {
		tool := x.cfg.Tools.Tools[name]
		for _, access := range []string{facts.Write, facts.Delete} {
			if !accesses(tool, access) {
				continue
			}
			for _, root := range x.rootsOf(rootSpecs(tool, "{run_id}")) {
				if class, inside := x.resolver.InPlace(root); inside && slices.Contains(root.Access, access) {
					problems = append(problems, fmt.Errorf("%w: tool %q may %s in %q, which is or lies inside a place of class %s: give it another root", ErrPolicyWritable, name, access, root.Declared, class))
				}
			}
		}
	}
	return errors.Join(problems...)
}

// checkPrograms refuses a set-up in which the program of a tool lies where runs are
// kept: what programs make of a run lies there, too.
func (x *Executor) checkPrograms() error {
	var problems []error
	for _, name := range x.cfg.Tools.Names {
		program := x.cfg.Tools.Tools[name].Program
		if strings.Contains(program, "/") && x.resolver.InRuns(program) {
			problems = append(problems, fmt.Errorf("%w: tool %q is served by %q, which lies where runs are kept, and programs of a run may write there: move it to another directory", ErrPolicyWritable, name, program))
		}
	}
	return errors.Join(problems...)
}

// accesses says whether the tool, or a program that sees its roots, may access
// something so.
func accesses(tool *manifest.Tool, access string) bool {
	for _, t := range tool.Targets {
		if t.Access == access {
			return true
		}
	}
	for _, parts := range tool.Patterns {
		if slices.ContainsFunc(parts, func(p facts.Part) bool { return p.Kind == facts.Path && p.Access == access }) {
			return true
		}
	}
	return seesRoots(tool) && slices.ContainsFunc(tool.Roots, func(r manifest.Root) bool { return slices.Contains(r.Access, access) })
}

// Close gives back the project's handles and closes the ledgers.
func (x *Executor) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.launcher.Close()
	var errs []error
	for _, r := range x.runs {
		errs = append(errs, r.log.Close())
	}
	return errors.Join(append(errs, x.resolver.Close())...)
}

// below picks the entries of a recursive target that policy data cares about.
func (x *Executor) below(folded string) bool { return x.settings.Names.Refused(folded) }

// Codes lists what the policy in force can answer with.
func (x *Executor) Codes() []engine.Code { return x.cfg.Engine.Codes() }
