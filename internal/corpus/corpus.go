// Package corpus makes calls that cover a tool set: every tool, class of path,
// class of size and position in a plan.
//
// It promises that the same manifests and the same two policies make the same
// inputs under the same names; that what a call points at is really there, in a
// temporary project, and was found by the executor itself; that what no file or
// call can show was changed in a copy of the facts, and its name says so; and
// that what was left out is counted.
//
// It never opens a directory of the project that the manifests belong to, never
// runs a tool, never judges, and leaves nothing behind, also when it is
// interrupted.
//
// Read Make first, then Input, then classesOf for the classes of paths.
package corpus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// DefaultLimit is how many inputs a corpus holds at most when nobody says.
const DefaultLimit = 20000

// Config says what a corpus is made of. All but Limit and Temp is needed.
type Config struct {
	Tools    *manifest.Set
	Handlers []handlers.Handler
	Old, New *engine.Engine // whose data names limits and names to try
	Limit    int            // inputs at most; 0 is DefaultLimit
	Temp     string         // directory in which the temporary project is made; "" is the system's
}

// Input is one call as policy sees it, at one position of a plan, in one state of
// a run. Old and New are what the settings of each policy make of the call; they
// are one and the same where the settings do not differ. Both are immutable.
type Input struct {
	Tool  string
	Path  string // class of the path, or of the command; "PARAM.CLASS" for a tool with several
	Size  string // class of the size; "none" where there is nothing to measure
	Plan  string // position in a plan
	State string // of the run; "" is a fresh one in the command line's door
	Facts string // what was changed that no file shows; "" is nothing

	Old, New *facts.Input
}

// Name tells an input from all others of its corpus.
func (in *Input) Name() string {
	name := fmt.Sprintf("%s path=%s size=%s plan=%s", in.Tool, in.Path, in.Size, in.Plan)
	if in.State != "" {
		name += " state=" + in.State
	}
	if in.Facts != "" {
		name += " facts=" + in.Facts
	}
	return name
}

// Corpus is what was made, and what was not.
type Corpus struct {
	Inputs    []Input
	Project   string            // the temporary project, which is gone
	TwoViews  bool              // the settings differ in what facts depend on: each call was looked at under each
	Refused   map[string]int    // calls that never reached policy, by code
	Unreached map[string]string // tools of which no call reached policy, with what was said
	Cut       map[string]int    // inputs beyond the limit, by what they would have varied
	Unlaid    []string          // what this system could not lay out, with the cause; sorted
}

// Make makes the corpus of a tool set.
func Make(ctx context.Context, cfg Config) (c *Corpus, err error) {
	if cfg.Tools == nil || cfg.Old == nil || cfg.New == nil {
		return nil, errors.New("make corpus: tools and two policies are needed")
	}
	if cfg.Limit <= 0 {
		cfg.Limit = DefaultLimit
	}
	known, err := knowledgeOf(cfg.Old, cfg.New)
	if err != nil {
		return nil, fmt.Errorf("make corpus: %w", err)
	}
	l, err := newLayout(cfg.Temp)
	if err != nil {
		return nil, fmt.Errorf("make corpus: %w", err)
	}
	defer func() {
		if gone := l.remove(); gone != nil {
			err = errors.Join(err, fmt.Errorf("make corpus: %w", gone))
		}
	}()
	m := &maker{cfg: cfg, known: known, layout: l, set: l.moved(cfg.Tools), c: &Corpus{
		Project: l.project, TwoViews: known.twoViews,
		Refused: map[string]int{}, Unreached: map[string]string{}, Cut: map[string]int{},
	}}
	if err := m.make(ctx); err != nil {
		return nil, fmt.Errorf("make corpus: %w", err)
	}
	m.c.Unlaid = slices.Sorted(maps.Keys(l.failed))
	return m.c, nil
}

// maker is a corpus that is being made.
type maker struct {
	cfg    Config
	known  *knowledge
	layout *layout
	set    *manifest.Set
	views  []*view // of Old, and of New where it differs
	c      *Corpus
}

func (m *maker) make(ctx context.Context) error {
	tools := make([]*subject, 0, len(m.set.Names))
	for _, name := range m.set.Names {
		s := m.subject(m.set.Tools[name])
		m.layout.subject(s, m.known)
		tools = append(tools, s)
	}
	if err := errors.Join(ctx.Err(), m.layout.own(m.set)); err != nil {
		return err
	}
	if err := m.openViews(); err != nil {
		return err
	}
	defer m.closeViews()
	if len(tools) == 0 {
		return nil
	}
	for i, s := range tools {
		share := (m.cfg.Limit - len(m.c.Inputs)) / (len(tools) - i)
		if err := m.tool(ctx, s, share); err != nil {
			return err
		}
	}
	return m.undeclared(ctx)
}

// tool makes the inputs of one tool, at most share.
func (m *maker) tool(ctx context.Context, s *subject, share int) error {
	if err := m.wrongTypes(ctx, s.tool); err != nil {
		return err
	}
	bases, err := m.bases(ctx, s)
	if err != nil {
		return err
	}
	if len(bases) == 0 {
		return nil
	}
	for v := range m.variants(s, bases) {
		if share <= 0 {
			m.c.Cut[v.rank]++
			continue
		}
		share--
		m.c.Inputs = append(m.c.Inputs, v.make())
	}
	return ctx.Err()
}

// undeclared adds calls of a tool that no manifest declares.
func (m *maker) undeclared(ctx context.Context) error {
	name := "undeclared"
	for m.set.Tools[name] != nil {
		name += "_"
	}
	b, err := m.check(ctx, base{tool: name, path: "undeclared", size: noSize, target: -1}, map[string]any{"path": "data/a.txt"})
	if err != nil || b == nil {
		return err
	}
	b.few, b.good = true, true
	for v := range m.variants(&subject{tool: &manifest.Tool{Name: name}}, []*base{b}) {
		m.c.Inputs = append(m.c.Inputs, v.make())
	}
	return nil
}
