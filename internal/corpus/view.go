package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// view looks at calls with the settings of one policy.
type view struct{ x *executor.Executor }

// now is when the calls are made.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (m *maker) openViews() error {
	engines := []*engine.Engine{m.cfg.Old}
	if m.known.twoViews {
		engines = append(engines, m.cfg.New)
	}
	for _, e := range engines {
		x, err := executor.New(executor.Config{
			Project: m.layout.project, Engine: e, Tools: m.set, Handlers: m.cfg.Handlers, Places: m.layout.places(),
			Sandbox: facts.Sandbox{Level: "full", Filesystem: true, Network: true, Secrets: true, Limits: true},
			Now:     func() time.Time { return now },
			NewID:   func() string { return runID },
		})
		if err != nil {
			m.closeViews()
			return err
		}
		m.views = append(m.views, &view{x})
	}
	return nil
}

func (m *maker) closeViews() {
	for _, v := range m.views {
		v.x.Close()
	}
	m.views = nil
}

// base is a call that was really looked at.
type base struct {
	tool, path, size string
	target           int  // place of the varied target in the input; -1: none is
	few              bool // it stands for others where everything else is varied
	good             bool // nothing is wrong with it
	odd              bool // its size is not the plain one

	old, new *facts.Input
}

// check looks at a call with each policy's settings. It returns nil for a call that
// does not reach policy, and counts it.
func (m *maker) check(ctx context.Context, b base, args map[string]any) (*base, error) {
	raw, err := json.Marshal(map[string]any{"name": b.tool, "arguments": args})
	if err != nil {
		return nil, err
	}
	var seen []*facts.Input
	for _, v := range m.views {
		out, err := v.x.Check(ctx, raw, runID)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if out.Input == nil {
			first := out.Verdict.Reasons[0]
			m.c.Refused[first.Code]++
			if b.good {
				m.c.Unreached[b.tool] = first.Code + ": " + first.Message
			}
			return nil, nil
		}
		seen = append(seen, out.Input)
	}
	b.old, b.new = seen[0], seen[len(seen)-1]
	return &b, nil
}

// bases looks at the tool's calls, one for each class of path and of size.
func (m *maker) bases(ctx context.Context, s *subject) (list []*base, err error) {
	add := func(b base, args map[string]any) error {
		found, err := m.check(ctx, b, args)
		if found != nil {
			list = append(list, found)
		}
		return err
	}
	for _, c := range s.commands {
		if err := add(base{tool: s.tool.Name, path: c.name, size: noSize, target: -1, few: true, good: c.good}, c.args); err != nil {
			return nil, err
		}
	}
	if len(s.slots) == 0 && len(s.commands) == 0 {
		err = add(base{tool: s.tool.Name, path: "none", size: noSize, target: -1, few: true, good: true}, s.args())
	}
	for _, slot := range s.slots {
		for _, c := range slot.classes {
			if m.layout.unlaid[c.name] {
				continue
			}
			for _, size := range c.sizes {
				b := base{
					tool: s.tool.Name, path: slot.shown + c.name, size: size.name, target: slot.index,
					few: c.few && !size.odd, good: c.good && !size.odd, odd: size.odd,
				}
				if err := add(b, slot.with(s, c.value(size.bytes))); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, b := range list {
		if b.good {
			delete(m.c.Unreached, s.tool.Name)
		}
	}
	return list, err
}

// wrongTypes makes a call with each argument of a type that the tool does not take:
// it must not reach policy.
func (m *maker) wrongTypes(ctx context.Context, tool *manifest.Tool) error {
	doc := schemaOf(tool)
	for _, name := range propertiesOf(doc) {
		args := example(doc, doc, 0)
		object, is := args.(map[string]any)
		if !is {
			continue
		}
		object[name] = otherType(object[name])
		if _, err := m.check(ctx, base{tool: tool.Name, path: "none", size: noSize}, object); err != nil {
			return err
		}
	}
	return nil
}
