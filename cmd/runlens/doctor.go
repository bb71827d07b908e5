package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
	"github.com/runlens/runlens/policies"
)

func (w *world) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "what this machine and this project can and can't do",
		Description: `One line a finding: "ok" is as it should be, "note" is worth knowing, "bad" should be
mended. Looks at where policies and tools come from and who may change them, how the
project's policy tree differs from the shipped one, how paths are resolved, how long
the disk takes to make a line durable, where the keys are, and whether this machine can
isolate the programs that tools run.

Exit codes: 0 nothing is bad, 1 something is, 2 policies or manifests do not load.`,
		Action: w.doctor,
	}
}

func (w *world) doctor(c *cli.Context) error {
	if err := countFiles(c, 0, 0); err != nil {
		return err
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	x := &examination{}
	tools, loads := x.loading(p)
	x.writable("policies", p.policies)
	x.writable("manifests", p.tools)
	if tools != nil {
		x.searchPath(p, tools)
	}
	x.difference(p)
	x.resolver(p)
	x.disk(p)
	x.keys(w)
	x.sandbox(c.Context, tools)
	if err := w.print(x.text.String()); err != nil {
		return err
	}
	if loads != nil {
		return loads
	}
	if x.bad {
		return end(exitDenied)
	}
	return nil
}

type severity string

const (
	fine       severity = "ok"
	noteworthy severity = "note"
	bad        severity = "bad"
)

// examination gathers findings.
type examination struct {
	text strings.Builder
	bad  bool
}

func (x *examination) say(s severity, about, format string, args ...any) {
	x.bad = x.bad || s == bad
	fmt.Fprintf(&x.text, "%-4s  %-10s %s\n", s, about, printable(fmt.Sprintf(format, args...)))
}

// loading loads policies and manifests, and the two together. The tools are nil
// when they do not load.
func (x *examination) loading(p *project) (*manifest.Set, error) {
	policy, policyErr := p.loadPolicies()
	if policyErr == nil {
		x.say(fine, "policies", "%s, %d rules, revision %s", p.policies, len(policy.Rules()), short(policy.Revision()))
	} else {
		x.say(bad, "policies", "%s: do not load", p.policies)
	}
	tools, toolsErr := p.loadTools()
	if toolsErr == nil {
		x.say(fine, "manifests", "%s, %d tools, revision %s", p.tools, len(tools.Names), short(tools.Revision))
	} else {
		x.say(bad, "manifests", "%s: do not load", p.tools)
	}
	if err := together(policyErr, toolsErr); err != nil {
		return tools, err
	}
	opened, _, err := p.open(false)
	if err != nil {
		x.say(bad, "project", "does not open: the message is on stderr")
		return tools, err
	}
	return tools, opened.Close()
}

// writable tells who else may change what calls are judged by.
func (x *examination) writable(about string, p place) {
	if p.kind == embedded {
		x.say(fine, about, "embedded: nobody can change them without changing this program")
		return
	}
	a, err := accessOf(p.real)
	if err == nil && p.real != p.path {
		err = a.above(p.path) // whoever can change a link on the way changes the place
	}
	if err != nil {
		x.say(bad, about, "%s: who may write can't be told: %v", p.path, cause(err))
		return
	}
	if len(a.others) > 0 {
		x.say(bad, about, "everybody may write: %s", list(a.others, 5))
	}
	if len(a.group) > 0 {
		x.say(noteworthy, about, "their group may write: %s", list(a.group, 5))
	}
	if slices.Contains(a.owners, os.Geteuid()) && os.Geteuid() > 0 {
		x.say(noteworthy, about, "%s belongs to the user that runs tools (uid %d): only the gate keeps them from changing it", p.path, os.Geteuid())
		return
	}
	x.say(fine, about, "%s belongs to uid %s", p.path, strings.Trim(fmt.Sprint(a.owners), "[]"))
}

// list names the first few of many.
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// difference tells how a tree that stands alone differs from the shipped one.
func (x *examination) difference(p *project) {
	if p.policies.kind != ownTree {
		return
	}
	own, ownErr := treeFiles(plainDir(p.policies.real))
	shipped, shippedErr := treeFiles(policies.FS)
	if err := errors.Join(ownErr, shippedErr); err != nil {
		x.say(bad, "tree", "can't be compared with the shipped one: %v", cause(err))
		return
	}
	var missing, added, changed []string
	for name, data := range shipped {
		switch mine, have := own[name]; {
		case !have:
			missing = append(missing, name)
		case !bytes.Equal(mine, data):
			changed = append(changed, name)
		}
	}
	for name := range own {
		if _, have := shipped[name]; !have {
			added = append(added, name)
		}
	}
	if len(missing)+len(added)+len(changed) == 0 {
		x.say(fine, "tree", "the same as the shipped one")
		return
	}
	for _, d := range []struct {
		word  string
		names []string
	}{{"lacks", missing}, {"changes", changed}, {"adds", added}} {
		if slices.Sort(d.names); len(d.names) > 0 {
			x.say(noteworthy, "tree", "%s %s", d.word, list(d.names, 8))
		}
	}
}

// treeFiles reads the files of a policy tree that decide; tests do not.
func treeFiles(fsys fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, "runlens", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.rego") {
			return err
		}
		files[name], err = fs.ReadFile(fsys, name)
		return err
	})
	return files, err
}

// resolver tells how paths are opened.
func (x *examination) resolver(p *project) {
	r, err := resolve.Open(resolve.Config{Project: p.dir})
	if err != nil {
		x.say(bad, "resolver", "%v", err)
		return
	}
	defer r.Close()
	o := r.Resolve(resolve.Request{Access: "list", Raw: ".", Requested: "."})
	defer o.Close()
	switch name := o.Facts.Resolver; name {
	case "openat2":
		x.say(fine, "resolver", "openat2: the kernel resolves a path in one step")
	default:
		x.say(noteworthy, "resolver", "%s: paths are walked name by name, which is slower", name)
	}
	if o.Facts.PseudoFS != "" {
		x.say(bad, "project", "%s lies on %s, where tools get nothing", r.Project(), o.Facts.PseudoFS)
	}
}

// disk measures how long a line takes to become durable where runs are kept.
func (x *examination) disk(p *project) {
	dir := p.in("runs")
	if !exists(dir) {
		dir = p.dir
	}
	took, err := syncTime(dir)
	switch {
	case err != nil:
		x.say(bad, "ledger", "%s: a line can't be made durable: %v", dir, cause(err))
	case took > slowSync:
		x.say(noteworthy, "ledger", "%s: a line is durable after %s, so a call takes three times that", dir, took)
	default:
		x.say(fine, "ledger", "%s: a line is durable after %s", dir, took)
	}
}

// slowSync is a disk on which every call is felt.
const slowSync = 50 * time.Millisecond

// syncTime is the median time of a few appends with sync to a file in dir that
// is gone afterwards.
func syncTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".runlens-doctor-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	line := bytes.Repeat([]byte("x"), 1023)
	line = append(line, '\n')
	var took []time.Duration
	for range 9 {
		begin := time.Now()
		if _, err := f.Write(line); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)/2].Round(10 * time.Microsecond), nil
}

// keys tells where the keys are and whether others can read them.
func (x *examination) keys(w *world) {
	dir, err := w.stateDir()
	if err != nil {
		x.say(noteworthy, "keys", "%v: run states are not cached, heads can't be signed", err)
		return
	}
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.say(noteworthy, "keys", "%s: none yet, the first command that records makes them", dir)
	case err != nil:
		x.say(bad, "keys", "%s: %v", dir, cause(err))
	case st.Mode().Perm()&0o077 != 0:
		x.say(bad, "keys", "%s has mode %04o, others may read it: chmod 700", dir, st.Mode().Perm())
	default:
		x.say(fine, "keys", "%s", dir)
	}
}
