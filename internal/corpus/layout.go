package corpus

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// layout is the temporary directory in which everything is that calls point at:
// the project, what lies beside it, programs and keys.
type layout struct {
	top     string
	project string
	failed  map[string]bool // what could not be made, with the cause
	unlaid  map[string]bool // classes that need it
	err     error           // the first that can't be left out
}

func newLayout(temp string) (*layout, error) {
	if temp == "" {
		temp = os.TempDir()
	}
	// Names are of one length, so that inputs are, too.
	var tail [8]byte
	if _, err := rand.Read(tail[:]); err != nil {
		return nil, fmt.Errorf("name temporary directory: %w", err)
	}
	temp, err := filepath.EvalSymlinks(temp)
	if err == nil {
		temp, err = filepath.Abs(temp)
	}
	if err != nil {
		return nil, err
	}
	l := &layout{top: filepath.Join(temp, "runlens-corpus-"+hex.EncodeToString(tail[:])), failed: map[string]bool{}, unlaid: map[string]bool{}}
	l.project = filepath.Join(l.top, "project")
	if err := os.Mkdir(l.top, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(l.project, 0o755); err != nil {
		return nil, errors.Join(err, l.remove())
	}
	return l, nil
}

func (l *layout) remove() error { return os.RemoveAll(l.top) }

// places are the protected places beside the project's own.
func (l *layout) places() []resolve.Place {
	return []resolve.Place{
		{Path: filepath.Join(l.top, "keys"), Class: facts.ProtectedKey},
		{Path: filepath.Join(l.top, "bin", "other-program"), Class: facts.ProtectedHandler},
	}
}

// moved is the set with every directory of the machine in the layout: nothing of
// the machine itself is looked at.
func (l *layout) moved(set *manifest.Set) *manifest.Set {
	out := *set
	out.Tools = map[string]*manifest.Tool{}
	out.Path = []string{filepath.Join(l.top, "bin")}
	out.Skills, out.SkillNames = nil, nil
	into := func(p string) string {
		if path.IsAbs(p) {
			return filepath.ToSlash(filepath.Join(l.top, "machine", p))
		}
		return p
	}
	for name, tool := range set.Tools {
		t := *tool
		t.Roots = make([]manifest.Root, len(tool.Roots))
		for i, root := range tool.Roots {
			t.Roots[i] = manifest.Root{Path: into(root.Path), Access: root.Access}
		}
		t.Targets = make([]manifest.Target, len(tool.Targets))
		for i, target := range tool.Targets {
			target.Template, target.Default = into(target.Template), into(target.Default)
			t.Targets[i] = target
		}
		t.Patterns = make([][]facts.Part, len(tool.Patterns))
		for i, parts := range tool.Patterns {
			for _, part := range parts {
				part.Root = into(part.Root)
				t.Patterns[i] = append(t.Patterns[i], part)
			}
		}
		if path.IsAbs(t.Program) {
			t.Program = into(t.Program)
		}
		out.Tools[name] = &t
	}
	return &out
}

// absolute is where a place is: one from the project, or an absolute one.
func (l *layout) absolute(place string) string {
	if path.IsAbs(place) {
		return place
	}
	return filepath.ToSlash(filepath.Join(l.project, place))
}

// real is the same, and never outside the layout.
func (l *layout) real(place string) (string, error) {
	at := filepath.Clean(l.absolute(place))
	if !strings.HasPrefix(at, l.top+string(filepath.Separator)) {
		return "", fmt.Errorf("lay out %q: it lies outside the temporary directory", place)
	}
	return at, os.MkdirAll(filepath.Dir(at), 0o755)
}

// needed keeps the first error of what no corpus does without.
func (l *layout) needed(err error) {
	if l.err == nil {
		l.err = err
	}
}

// file makes a file of so many bytes, sparse, unless it is there.
func (l *layout) file(place string, bytes int64) {
	at, err := l.real(place)
	if err != nil {
		l.needed(err)
		return
	}
	if _, err := os.Lstat(at); err == nil {
		return
	}
	err = os.WriteFile(at, nil, 0o644)
	if err == nil {
		err = os.Truncate(at, bytes)
	}
	if err != nil && bytes > 1 {
		l.failed[fmt.Sprintf("a file of %d bytes: %v", bytes, bare(err))] = true
		return
	}
	l.needed(err)
}

// program makes something that could be run.
func (l *layout) program(place string) {
	l.file(place, 1)
	if at, err := l.real(place); err == nil {
		l.needed(os.Chmod(at, 0o755))
	}
}

func (l *layout) dir(place string) {
	at, err := l.real(place)
	if err == nil {
		err = os.MkdirAll(at, 0o755)
	}
	l.needed(err)
}

// maybe makes what not every system has; without it its class is left out.
func (l *layout) maybe(class, place string, make func(at string) error) {
	at, err := l.real(place)
	if err == nil {
		err = make(at)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		l.failed[fmt.Sprintf("%s: %v", class, bare(err))] = true
		l.unlaid[class] = true
	}
}

// bare is a cause without the temporary names.
func bare(err error) error {
	var p *fs.PathError
	var k *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &k):
		return k.Err
	}
	return err
}

func (l *layout) link(class, place, to string) {
	l.maybe(class, place, func(at string) error { return os.Symlink(to, at) })
}

// own lays out RunLens' own places, the run, and what programs need.
func (l *layout) own(set *manifest.Set) error {
	for _, place := range []string{
		"policies/runlens/decision.rego", "manifests/tools.json", "tools.json",
		"runs/other/events.jsonl", "../keys/f1",
	} {
		l.file(place, 1)
	}
	l.dir("policies/runlens/rules")
	l.dir("runs/other/artifacts")
	for _, program := range []string{"other-program", "sh"} {
		l.program("../bin/" + program)
	}
	for _, name := range set.Names {
		tool := set.Tools[name]
		if tool.Dir != "" {
			l.dir(tool.Dir)
		}
		if tool.Program != "" {
			l.program(programPlace(tool.Program))
		}
	}
	if l.err != nil {
		return l.err
	}
	return l.run(set)
}

// programPlace is where a program is looked up.
func programPlace(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "../bin/" + name
}

// run records the run in which all calls are looked at: it has begun, and no more.
func (l *layout) run(set *manifest.Set) (err error) {
	dir := filepath.Join(l.project, "runs", runID)
	if err := os.MkdirAll(filepath.Join(dir, "artifacts"), 0o755); err != nil {
		return err
	}
	log, err := ledger.Open(dir, ledger.Options{
		RunID: runID, Create: true, State: executor.NewState(), Now: func() time.Time { return now.Add(-time.Hour) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	started, err := json.Marshal(map[string]string{"goal": "", "policy_revision": "", "manifest_revision": set.Revision, "door": "cli"})
	if err != nil {
		return err
	}
	return log.Commit(context.Background(), func(tx *ledger.Tx) error {
		_, err := tx.Add(ledger.RunStarted, json.RawMessage(started))
		return err
	})
}

// subject lays out what a tool's calls point at.
func (l *layout) subject(s *subject, k *knowledge) {
	for _, t := range s.slots {
		l.slot(t, k, sizesOf(s.tool, k.reads))
	}
	for _, target := range s.constant {
		place := fill(target.Template)
		switch target.Access {
		case facts.List:
			l.dir(place)
		case facts.Write:
			l.dir(path.Dir(place))
		default:
			l.file(place, 1)
		}
	}
	for _, program := range s.programs {
		l.program(programPlace(program))
	}
}

func (l *layout) slot(t *slot, k *knowledge, sizes []size) {
	beside := path.Join(filepath.ToSlash(l.top), "beside")
	for _, s := range sizes {
		name := fileOf(s.bytes)
		for _, dir := range []string{t.root, beside, t.sibling(l)} {
			l.file(path.Join(dir, t.file(name)), s.bytes)
		}
		l.link("link_inside", t.at("link-"+name), t.file(name))
		l.link("link_outside", t.at("out-"+name), path.Join(beside, t.file(name)))
		l.file(t.at("twin-"+name), s.bytes)
		l.maybe("hard_link", t.at("hard-"+name), func(at string) error {
			twin, err := l.real(t.at("twin-" + name))
			if err != nil {
				return err
			}
			return os.Link(twin, at)
		})
	}
	l.file(path.Join(t.root, t.file("folder"), t.file("f1")), 1)
	for _, dir := range append([]string{"elsewhere", path.Dir(t.root), "runs/other/artifacts", "../keys"}, t.more...) {
		l.file(path.Join(dir, t.file("f1")), 1)
	}
	l.link("link_nowhere", t.at("link_nowhere"), "nothing-is-there")
	l.link("link_loop", t.at("link_loop"), t.file("link_loop"))
	l.link("link_to_folder", t.at("link_to_folder"), t.file("folder"))
	l.link("through_link_outside", t.at("link_folder_outside"), beside)
	l.link("link_to_ledger", t.at("link_to_ledger"), l.absolute("runs/other/events.jsonl"))
	l.link("link_to_policy", t.at("link_to_policy"), l.absolute("policies/runlens/decision.rego"))
	l.link("link_to_key", t.at("link_to_key"), path.Join(filepath.ToSlash(l.top), "keys", t.file("f1")))
	l.maybe("fifo", t.at("fifo"), makeFIFO)
	l.maybe("link_bad_name", t.at("bad\xffname"), func(at string) error { return os.WriteFile(at, nil, 0o644) })
	if !l.unlaid["link_bad_name"] {
		l.link("link_bad_name", t.at("link_bad_name"), t.file("bad\xffname"))
	}
	l.names(t, k, beside)
}

// names lays out files with the names that policy data cares about.
func (l *layout) names(t *slot, k *knowledge, beside string) {
	l.dir(path.Join(t.root, t.file("links")))
	l.dir(path.Join(t.root, t.file("folder_with_env")))
	l.link("link_named_env", path.Join(t.root, t.file("links"), t.stem+".env"+t.ext+t.tail), "../"+t.file("f1"))
	for i, name := range k.names {
		whole := t.stem + name + t.ext + t.tail
		l.file(path.Join(t.root, whole), 1)
		l.file(path.Join(t.root, t.file("folder_with_env"), name), 1)
		if i > 0 {
			continue
		}
		l.file(path.Join(t.root, t.stem+strings.ToUpper(name)+t.ext+t.tail), 1)
		l.file(path.Join(beside, whole), 1)
		l.link("link_to_env", t.at("link_to_env"), whole)
		l.file(path.Join(t.root, t.file("folders"), name, t.file("f1")), 1)
	}
}
