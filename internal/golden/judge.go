package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// now is when the calls of golden cases are judged.
func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Judge lays the case out, judges its calls, one outcome a row, and removes what
// it has laid out. Rows share the layout, and no call is executed. The error is a
// [*Problems], wraps ErrUnable, or tells that there is no room for the case.
func (c *Case) Judge(ctx context.Context, env Env) (list []Judged, err error) {
	err = c.with(ctx, env, func(p *Project, x *executor.Executor, set *manifest.Set) error {
		run, err := c.layEvents(ctx, env, p, set.Revision)
		if err != nil {
			return err
		}
		for i := range c.Rows {
			j, err := c.judge(ctx, env, p, x, run, i)
			if err != nil {
				return err
			}
			list = append(list, j)
		}
		return nil
	})
	return list, err
}

func (c *Case) judge(ctx context.Context, env Env, p *Project, x *executor.Executor, run string, i int) (Judged, error) {
	r := &c.Rows[i]
	j := Judged{Row: i, Name: r.Name, Line: r.Line, Want: r.Want, Call: []byte(p.placeJSON(r.Call))}
	out, err := x.Check(ctx, j.Call, run)
	switch {
	case ctx.Err() != nil:
		return j, ctx.Err()
	case err != nil:
		return j, c.problem(r.Line, "", "judge the call: %v", err)
	}
	j.Outcome, j.Input = out, out.Input
	if len(c.facts) > 0 {
		at := c.sections["facts"].line
		if out.Input == nil {
			return j, c.problem(at, "", "the call does not reach policy, so no fact can be changed: %s", Told(out.Verdict))
		}
		if j.Input, err = Alter(out.Input, c.facts); err != nil {
			return j, c.problem(at, "", "%v", err)
		}
		out.Verdict = env.Engine.Decide(ctx, j.Input)
	}
	j.Got = outcome(out, p, r.sep)
	return j, nil
}

// with lays the case out and opens an executor on it, for do.
func (c *Case) with(ctx context.Context, env Env, do func(*Project, *executor.Executor, *manifest.Set) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := c.layOut(env.TempDir)
	if err != nil {
		return err
	}
	defer func() {
		if closed := p.Close(); closed != nil {
			err = errors.Join(err, fmt.Errorf("remove what %s has laid out: %w", c.File, closed))
		}
	}()
	set, err := c.tool(env, p)
	if err != nil {
		return err
	}
	x, err := env.Open(p, set, c.door)
	if err != nil {
		return c.problem(0, "", "%v", err)
	}
	defer func() {
		if closed := x.Close(); err == nil && closed != nil {
			err = closed
		}
	}()
	return do(p, x, set)
}

// tool loads the tools that the case's calls are about.
func (c *Case) tool(env Env, p *Project) (*manifest.Set, error) {
	sources := env.Manifest
	own := c.tools.Data != nil
	if own {
		sources = []manifest.Source{{Name: c.tools.Name, Data: []byte(p.placeJSON(string(c.tools.Data)))}}
	} else if len(sources) == 0 {
		return nil, c.problem(0, "add a section tools.json", "the case has no manifest")
	}
	set, err := manifest.Load(sources, env.handlers())
	if failed, ok := errors.AsType[*manifest.LoadError](err); ok && own {
		found := &Problems{}
		for _, one := range failed.Problems {
			found.add(c.File, c.sections[c.tools.Name].line+one.Line, one.Fix, "%s: %s", c.tools.Name, one.Message)
		}
		return nil, found.err()
	}
	if err != nil {
		return nil, err
	}
	if !own {
		err = c.standIns(p, set)
	}
	return set, err
}

// standIns makes the programs that the project's own manifest names by a path in
// the project and that the case does not lay out: the case is about the call, not
// about what is built already.
func (c *Case) standIns(p *Project, set *manifest.Set) error {
	var names []string
	from := func(tools map[string]*manifest.Tool) {
		for _, t := range tools {
			name := path.Clean(t.Program)
			if strings.Contains(t.Program, "/") && inside(name) == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	from(set.Tools)
	for _, s := range set.Skills {
		from(s.Tools)
	}
	for _, name := range names {
		if _, err := p.root.Lstat(at(name)); err == nil {
			continue
		}
		if err := p.write(name, standIn, 0o755); err != nil {
			return c.problem(0, "", "lay out the program %s: %v", cut(name), cause(err))
		}
	}
	return nil
}

// Open makes an executor on a project, as cases are judged: at a fixed time, and
// with no sandbox whatever this machine has.
func (env Env) Open(p *Project, set *manifest.Set, door string) (*executor.Executor, error) {
	return executor.New(executor.Config{
		Project: p.Dir, Engine: env.Engine, Tools: set, Handlers: env.Handlers, Door: door,
		Now: now, NewID: func() string { return runID },
		Sandbox: facts.Sandbox{Level: "none"},
		Log:     env.Log,
	})
}

func (env Env) handlers() []manifest.Handler {
	list := make([]manifest.Handler, 0, len(env.Handlers))
	for _, h := range env.Handlers {
		list = append(list, h.Handler)
	}
	return list
}

// Place is text with the directories of the project put in for $PROJECT and
// $BESIDE.
func (p *Project) place(text string) string {
	return strings.NewReplacer("$PROJECT", p.Dir, "$BESIDE", p.Beside()).Replace(text)
}

// PlaceJSON is the same for a text in which they stand in JSON strings.
func (p *Project) placeJSON(text string) string {
	if !strings.Contains(text, "$PROJECT") && !strings.Contains(text, "$BESIDE") {
		return text
	}
	return strings.NewReplacer("$PROJECT", inJSON(p.Dir), "$BESIDE", inJSON(p.Beside())).Replace(text)
}

func inJSON(dir string) string {
	text, err := json.Marshal(dir)
	if err != nil {
		return dir
	}
	return string(text[1 : len(text)-1])
}
