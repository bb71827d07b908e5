package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// ErrRunExists is a run that was to be started and has events already.
var ErrRunExists = errors.New("run exists")

// StartSpec is what a new run is to be held to.
type StartSpec struct {
	RunID    string            // "" makes one
	Goal     string            // "" is the skill's own; without a skill the run has no contract
	Skill    string            // "" is none
	Inputs   map[string]string // input name → path
	ReadOnly bool              // beside what the skill says
}

// Task is a run as it was started: what its contract fixes, and what the model
// is told.
type Task struct {
	RunID        string
	Dir          string // of the run
	Goal         string
	Skill        *manifest.Skill // nil: none
	Inputs       map[string]string
	Instructions string   // the skill's, inputs filled in; "" without a skill
	Approved     []string // calls that a person has approved and nobody has made since: `write_file (call_1)`
}

// Start opens a new run and fixes what it is held to: run_started is durable
// and contract.json stands beside it when Start returns. ErrRunExists when the
// run has events already. Every problem of the spec is reported at once.
func (x *Executor) Start(ctx context.Context, spec StartSpec) (*Task, error) {
	id := spec.RunID
	if id == "" {
		id = x.cfg.NewID()
	}
	c, task, err := x.terms(id, spec)
	if err != nil {
		return nil, err
	}
	r, err := x.enter(id, true)
	if err != nil {
		return nil, err
	}
	err = r.log.Commit(ctx, func(tx *ledger.Tx) error {
		if r.state.Seq > 0 {
			return fmt.Errorf("start run %s: %w", id, ErrRunExists)
		}
		if err := r.checkEmpty(); err != nil {
			return fmt.Errorf("start run %s: %w", id, err)
		}
		if c.Goal != "" {
			if err := r.writeContract(c); err != nil {
				return err
			}
		}
		_, err := tx.Add(ledger.RunStarted, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	task.Dir = r.dir
	return task, nil
}

// checkEmpty refuses to start a run over files that it has not made. What a start
// that broke off leaves is no such file.
func (r *run) checkEmpty() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case "events.jsonl", contractName:
		case artifactsDir:
			if left, err := os.ReadDir(filepath.Join(r.dir, artifactsDir)); err != nil || len(left) > 0 {
				return errors.Join(errors.New("its artifacts directory is not empty: choose another name for the run, or clear it"), err)
			}
		default:
			if !strings.HasPrefix(e.Name(), "."+contractName) {
				return fmt.Errorf("there is %.200q in its directory already: choose another name for the run, or clear it", e.Name())
			}
		}
	}
	return nil
}

// ErrNoEvents is a run that was to be gone on with and has not begun.
var ErrNoEvents = errors.New("the run has no events")

// ErrNoContract is a run without a contract that was to be gone on with under a
// goal, a skill, inputs or read-only: nothing would hold it to them.
var ErrNoContract = errors.New("the run was started without a goal, so it can't be held to one now")

// Reopen is Start for a run that has events. A goal, skill or input in spec that
// is not the run's own is no error: every call of this Executor in that run is
// judged with that drift, which the shipped policy denies as contract_drift.
func (x *Executor) Reopen(ctx context.Context, spec StartSpec) (*Task, *History, error) {
	r, err := x.enter(spec.RunID, false)
	if err != nil {
		return nil, nil, err
	}
	expect := expectation{goal: spec.Goal, skill: spec.Skill, inputs: x.inputPaths(spec.Inputs), readOnly: spec.ReadOnly}
	var c contract
	var approved []string
	err = r.log.View(ctx, func(ledger.Head) error {
		switch c = r.state.Contract; {
		case r.state.Seq == 0:
			return fmt.Errorf("reopen run %s: %w", r.id, ErrNoEvents)
		case c.Goal == "" && !expect.empty():
			return fmt.Errorf("reopen run %s: %w", r.id, ErrNoContract)
		}
		r.expect = expect
		for _, a := range r.state.Answers {
			if !a.refuses() && !a.expired(x.cfg.Now()) && x.counts(r.id, &a.answer) {
				approved = append(approved, fmt.Sprintf("%s (%s)", a.Tool, a.CallID))
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	task := &Task{RunID: r.id, Dir: r.dir, Goal: c.Goal, Inputs: map[string]string{}, Approved: approved}
	for _, in := range c.Inputs {
		task.Inputs[in.Name] = in.Path
	}
	if c.Skill != nil {
		task.Skill = x.cfg.Tools.Skills[c.Skill.Name] // nil when it is gone: then every call drifts
		task.instruct()
	}
	h, err := x.History(ctx, r.id)
	return task, h, err
}

// terms makes the contract of a run from what is asked for and what is declared.
func (x *Executor) terms(id string, spec StartSpec) (*contract, *Task, error) {
	if err := ledger.CheckRunID(id); err != nil {
		return nil, nil, err
	}
	c := &contract{
		Goal: spec.Goal, PolicyRevision: x.cfg.Engine.Revision(), ManifestRevision: x.cfg.Tools.Revision,
		Door: x.cfg.Door, ReadOnly: spec.ReadOnly,
	}
	task := &Task{RunID: id, Inputs: map[string]string{}}
	problems := []error{x.checkText("the goal", spec.Goal)}
	tools := x.cfg.Tools.Tools
	if spec.Skill != "" {
		s := x.cfg.Tools.Skills[spec.Skill]
		if s == nil {
			return nil, nil, &UnknownSkill{Name: spec.Skill, Known: x.cfg.Tools.SkillNames}
		}
		task.Skill, tools = s, s.Tools
		if c.Goal == "" {
			c.Goal = s.Goal
		}
		c.Skill = &contractSkill{Name: s.Name, Title: s.Title, Digest: s.Digest, Tools: slices.Clone(s.Names)}
		c.Plan, c.Artifacts, c.ReadOnly = s.Plan, s.Artifacts, c.ReadOnly || s.ReadOnly
		c.Limits = &facts.RunLimits{InRow: s.Limits.InRow, Total: s.Limits.Total, Malformed: s.Limits.Malformed}
	}
	task.Goal = c.Goal
	inputs, err := x.inputs(task.Skill, spec.Inputs)
	problems = append(problems, err)
	if c.Goal == "" {
		if len(spec.Inputs) > 0 {
			problems = append(problems, &InputError{errors.New("start run: inputs belong to a run with a goal or a skill")})
		}
		return c, task, errors.Join(problems...)
	}
	for _, in := range inputs {
		task.Inputs[in.Name] = in.Path
	}
	c.Inputs = inputs
	c.WriteRoots = x.writeRoots(tools, id)
	c.Checks = commands(tools, id)
	task.instruct()
	return c, task, errors.Join(append(problems, c.seal(id))...)
}

// checkText refuses what a person says when no ledger should hold it.
func (x *Executor) checkText(what, text string) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not valid UTF-8", what)
	case len(text) > maxText:
		return fmt.Errorf("%s is longer than %d bytes", what, maxText)
	case strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("%s holds a control character", what)
	case len(x.withhold.scan(text)) > 0:
		return fmt.Errorf("%s looks like a secret, and it would be recorded", what)
	}
	return nil
}

// maxText bounds what a person says in a ledger.
const maxText = 64 << 10

// UnknownSkill is a run that names a skill which the manifests do not declare.
type UnknownSkill struct {
	Name  string
	Known []string // sorted
}

func (e *UnknownSkill) Error() string { return fmt.Sprintf("start run: unknown skill %.200q", e.Name) }

// InputError is what is wrong with the inputs that a run was to be given.
type InputError struct{ cause error }

func (e *InputError) Error() string { return e.cause.Error() }
func (e *InputError) Unwrap() error { return e.cause }

// instruct fills the inputs into what the skill tells the model.
func (t *Task) instruct() {
	if t.Skill == nil {
		return
	}
	var pairs []string
	for name, path := range t.Inputs {
		pairs = append(pairs, "{input."+name+"}", path)
	}
	t.Instructions = strings.NewReplacer(pairs...).Replace(t.Skill.Instructions)
}

// inputs finds the files that a run is given.
func (x *Executor) inputs(skill *manifest.Skill, given map[string]string) ([]contractInput, error) {
	want := maps.Clone(given)
	if want == nil {
		want = map[string]string{}
	}
	var problems []error
	if skill != nil {
		known := map[string]bool{}
		for _, in := range skill.Inputs {
			known[in.Name] = true
			switch _, has := want[in.Name]; {
			case has:
			case in.Default != "":
				want[in.Name] = in.Default
			case in.Required:
				problems = append(problems, fmt.Errorf("start run: input %q of skill %s is missing", in.Name, skill.Name))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if !known[name] {
				problems = append(problems, fmt.Errorf("start run: skill %s has no input %.200q", skill.Name, name))
			}
		}
	}
	var list []contractInput
	for _, name := range slices.Sorted(maps.Keys(want)) {
		in, err := x.input(name, want[name])
		if err != nil {
			problems = append(problems, fmt.Errorf("start run: input %.200q: %w", name, err))
			continue
		}
		list = append(list, in)
	}
	if problems != nil {
		return list, &InputError{errors.Join(problems...)}
	}
	return list, nil
}

// inputPaths are the paths of inputs as a contract has them; one that leads to
// nothing is left as it is.
func (x *Executor) inputPaths(given map[string]string) map[string]string {
	paths := maps.Clone(given)
	for name, path := range given {
		o := x.resolver.Resolve(resolve.Request{Param: name, Access: facts.Read, Raw: path, Requested: path, Absolute: true})
		if o.Facts.Resolution == facts.OK && o.Facts.InProject {
			paths[name] = relative(o.Facts)
		}
		o.Close()
	}
	return paths
}

// input is one file as it is now.
func (x *Executor) input(name, path string) (in contractInput, err error) {
	o := x.resolver.Resolve(resolve.Request{Param: name, Access: facts.Read, Raw: path, Requested: path, Absolute: true})
	defer o.Close()
	switch f := o.Facts; {
	case f.Resolution != facts.OK:
		return in, fmt.Errorf("%.200q: %s", path, strings.ReplaceAll(f.Resolution, "_", " "))
	case !f.InProject:
		return in, fmt.Errorf("%.200q lies outside the project", path)
	case f.Kind != facts.File:
		return in, fmt.Errorf("%.200q is no regular file but a %s", path, f.Kind)
	}
	f, err := o.Open()
	if err != nil {
		return in, fmt.Errorf("read %.200q: %w", path, err)
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return in, fmt.Errorf("read %.200q: %w", path, err)
	}
	return contractInput{Name: name, Path: relative(o.Facts), Bytes: n, Digest: "sha256:" + hex.EncodeToString(sum.Sum(nil))}, nil
}

// writeRoots are the directories that the tools may write or delete below.
func (x *Executor) writeRoots(tools map[string]*manifest.Tool, id string) []contractRoot {
	found := map[string]string{}
	for _, t := range tools {
		for _, access := range []string{facts.Write, facts.Delete} {
			if !accesses(t, access) {
				continue
			}
			for _, root := range x.resolver.Roots(rootSpecs(t, id)) {
				if slices.Contains(root.Access, access) {
					found[root.Declared] = root.Path
				}
			}
		}
	}
	var list []contractRoot
	for _, declared := range slices.Sorted(maps.Keys(found)) {
		list = append(list, contractRoot{declared, found[declared]})
	}
	return list
}

// commands are all that the tools may run in a run, each once, in a fixed order.
// What a call may fill in stands as people read it.
func commands(tools map[string]*manifest.Tool, id string) (list [][]string) {
	add := func(argv []string) {
		if !slices.ContainsFunc(list, func(have []string) bool { return slices.Equal(have, argv) }) {
			list = append(list, argv)
		}
	}
	for _, t := range tools {
		for _, argv := range t.Commands {
			add(argv)
		}
		for _, pattern := range patterns(t, id) {
			words := make([]string, len(pattern))
			for i, part := range pattern {
				words[i] = part.Word
				if part.Kind != facts.Word {
					words[i] = part.String()
				}
			}
			add(words)
		}
	}
	slices.SortFunc(list, slices.Compare)
	return list
}
