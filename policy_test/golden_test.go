// Package policy_test proves the shipped policy tree on golden cases: real
// files laid out, a real call, the verdict, its exact codes and where each
// target was found. The same cases run from the directory, from the embedded
// copy and from a bundle that stock `opa build` made.
//
// A case is policy_test/<family>/<case>.txtar. The text before the first
// section tells the story. Sections:
//
//	-- call.json --        the call; in a table, "$PATH" stands for the row's path
//	-- tools.json --       the manifest; without it the shipped one
//	-- <path> --           a file of the project, or with ../ beside it
//	-- layout --           other things to make, one a line: see lay
//	-- door --             cli (default), hook or mcp
//	-- want --             verdict and codes, then "param = path" for each target
//	-- table --            one row a line: JSON string, verdict, codes[, path]
//
// Codes stand in order, the primary one first; one that goes to the ledger
// alone has a "(ledger)" behind it. Paths count from the project directory.
// `go test ./policy_test -update` writes the want sections.
package policy_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/manifests"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

var update = flag.Bool("update", false, "write the want sections of the golden cases")

// engines are the three ways to load the shipped tree.
func engines(t *testing.T) map[string]*engine.Engine {
	t.Helper()
	bundle := filepath.Join(t.TempDir(), "bundle.tar.gz")
	build := exec.Command("go", "tool", "opa", "build", "-b", "policies", "-o", bundle)
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("opa build: %v\n%s", err, out)
	}
	bytes, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]engine.Source{
		"directory": {FS: os.DirFS("../policies"), Schemas: schemas.FS},
		"embedded":  {FS: policies.FS, Schemas: schemas.FS},
		"bundle":    {Bundle: bytes, Schemas: schemas.FS},
	}
	loaded := map[string]*engine.Engine{}
	for name, src := range sources {
		if loaded[name], err = engine.Load(src); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, e := range loaded {
		if e.Revision() != loaded["embedded"].Revision() {
			t.Errorf("%s has revision %s, embedded %s", name, e.Revision(), loaded["embedded"].Revision())
		}
	}
	return loaded
}

func TestGolden(t *testing.T) {
	loaded := engines(t)
	files, err := filepath.Glob("*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	emitted := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := parse(t, archive)
			if c.needsRoot && os.Geteuid() != 0 {
				t.Skip("the layout needs root")
			}
			for _, from := range []string{"directory", "embedded", "bundle"} {
				got := c.judge(t, loaded[from], emitted)
				if *update && from == "directory" {
					c.write(t, file, archive, got)
				}
				if want := c.want(); got != want {
					t.Errorf("from the %s:\n got\n%s\n want\n%s", from, got, want)
				}
			}
		})
	}
	if !*update {
		uncovered(t, loaded["directory"], emitted)
	}
}

// elsewhere are codes of the tree that a call cannot reach from outside the
// process yet, with the place that tests them.
var elsewhere = map[string]string{
	"policy_unannotated":      "policies/runlens/lib: a tree with such a rule does not load",
	"policy_incomplete":       "policies/runlens: a family that should have objected is missing",
	"step_tool_not_allowed":   "policies/runlens/rules/plan: needs a plan",
	"plan_complete":           "policies/runlens/rules/plan: needs a plan",
	"plan_failed":             "policies/runlens/rules/plan: needs a plan",
	"tool_not_allowed":        "policies/runlens/rules/registry: needs a skill",
	"read_only_run":           "policies/runlens/rules/run: needs a read-only run",
	"contract_drift":          "internal/executor",
	"denial_budget_exhausted": "internal/executor",
	"approval_required":       "policies/runlens/rules/approvals: data names the tools",
	"object_busy":             "policies/runlens/rules/resolution: needs a race",
	"unresolved":              "policies/runlens/rules/resolution: needs a race",
	"no_access":               "internal/resolve, as an ordinary user",
}

// uncovered fails for every code of a rule that no case shows.
func uncovered(t *testing.T, e *engine.Engine, emitted map[string]bool) {
	t.Helper()
	for _, c := range e.Codes() {
		if c.File != "" && !emitted[c.Code] && elsewhere[c.Code] == "" {
			t.Errorf("%s:%d: no golden case shows code %s", c.File, c.Line, c.Code)
		}
	}
}

// golden is a parsed case.
type golden struct {
	call, tools, door string
	layout            []string
	files             map[string][]byte
	single            string // the want section
	rows              []row
	needsRoot         bool
}

type row struct{ path, want string }

var known = []string{"call.json", "tools.json", "layout", "door", "want", "table"}

func parse(t *testing.T, a *txtar.Archive) *golden {
	t.Helper()
	c := &golden{files: map[string][]byte{}, door: "cli"}
	if len(strings.TrimSpace(string(a.Comment))) == 0 {
		t.Fatal("no story before the first section")
	}
	for _, f := range a.Files {
		text := string(f.Data)
		switch f.Name {
		case "call.json":
			c.call = text
		case "tools.json":
			c.tools = text
		case "door":
			c.door = strings.TrimSpace(text)
		case "want":
			c.single = text
		case "layout":
			c.layout = strings.Split(strings.TrimSpace(text), "\n")
			c.needsRoot = slices.ContainsFunc(c.layout, func(l string) bool { return strings.HasPrefix(l, "device ") })
		case "table":
			for line := range strings.Lines(text) {
				c.addRow(t, strings.TrimSpace(line))
			}
		default:
			if !strings.Contains(f.Name, "/") {
				t.Fatalf("unknown section %q: want one of %v, or a file in a folder", f.Name, known)
			}
			c.files[f.Name] = f.Data
		}
	}
	if c.call == "" || (c.single == "") == (len(c.rows) == 0) && !*update {
		t.Fatal("a case needs call.json and one of want and table")
	}
	return c
}

func (c *golden) addRow(t *testing.T, line string) {
	t.Helper()
	if line == "" || line[0] == '#' {
		return
	}
	quoted, err := strconv.QuotedPrefix(line)
	var path string
	if err == nil {
		err = json.Unmarshal([]byte(quoted), &path)
	}
	if err != nil {
		t.Fatalf("table row %q: %v", line, err)
	}
	c.rows = append(c.rows, row{quoted, strings.Join(strings.Fields(line[len(quoted):]), " ")})
}

// want is what the case expects, in the form of judge.
func (c *golden) want() string {
	if len(c.rows) == 0 {
		return strings.TrimSpace(c.single)
	}
	lines := make([]string, 0, len(c.rows))
	for _, r := range c.rows {
		lines = append(lines, r.path+" "+r.want)
	}
	return strings.Join(lines, "\n")
}

// judge lays the case out anew and judges its calls.
func (c *golden) judge(t *testing.T, e *engine.Engine, emitted map[string]bool) string {
	t.Helper()
	project := c.layOut(t)
	tools := []manifest.Source{{Name: "manifests/tools.json", Data: shippedManifest(t)}}
	if c.tools != "" {
		tools = []manifest.Source{{Name: "tools.json", Data: []byte(c.tools)}}
	}
	builtin := handlers.Builtin()
	declared := make([]manifest.Handler, 0, len(builtin))
	for _, h := range builtin {
		declared = append(declared, h.Handler)
	}
	set, err := manifest.Load(tools, declared)
	if err != nil {
		t.Fatal(err)
	}
	x, err := executor.New(executor.Config{
		Project: project, Engine: e, Tools: set, Handlers: builtin, Door: c.door,
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		NewID: func() string { return "golden" },
		Log:   t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if len(c.rows) == 0 {
		return verdict(t, x, project, c.call, emitted, "\n")
	}
	lines := make([]string, 0, len(c.rows))
	for _, r := range c.rows {
		call := strings.ReplaceAll(c.call, `"$PATH"`, r.path)
		lines = append(lines, r.path+" "+verdict(t, x, project, call, emitted, " "))
	}
	return strings.Join(lines, "\n")
}

// verdict judges one call and tells the outcome in the form of the want
// section.
func verdict(t *testing.T, x *executor.Executor, project, call string, emitted map[string]bool, sep string) string {
	t.Helper()
	out, err := x.Check(context.Background(), []byte(call), "")
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{out.Verdict.Effect.String()}
	for _, r := range out.Verdict.Reasons {
		emitted[r.Code] = true
		code := r.Code
		if r.LedgerOnly {
			code += "(ledger)"
		}
		if !slices.Contains(parts, code) {
			parts = append(parts, code)
		}
	}
	text := []string{strings.Join(parts, " ")}
	params := make([]string, 0, len(out.Normalized))
	for p := range out.Normalized {
		params = append(params, p)
	}
	sort.Strings(params)
	for _, p := range params {
		where := out.Normalized[p]
		if rel, err := filepath.Rel(project, where); err == nil && filepath.IsAbs(where) && !strings.HasPrefix(rel, "../") {
			where = rel
		}
		if sep == " " {
			text = append(text, strconv.Quote(where))
		} else {
			text = append(text, fmt.Sprintf("%s = %s", p, strconv.Quote(where)))
		}
	}
	return strings.Join(text, sep)
}

// layOut makes the case's project and returns its canonical path.
func (c *golden) layOut(t *testing.T) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(top, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(c.files))
	for name := range c.files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		at := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, c.files[name], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range c.layout {
		lay(t, project, line)
	}
	return project
}

// lay makes one thing of a layout section:
//
//	link NAME -> TARGET      hard NAME -> FILE      dir NAME
//	fifo NAME                socket NAME            device NAME
//	size NAME BYTES          "$PROJECT" in a TARGET is the project directory
func lay(t *testing.T, project, line string) {
	t.Helper()
	word := strings.Fields(strings.ReplaceAll(line, "$PROJECT", project))
	if len(word) < 2 {
		t.Fatalf("layout %q: want a kind and a name", line)
	}
	at := filepath.Join(project, word[1])
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	switch {
	case err != nil:
	case word[0] == "link" && len(word) == 4:
		err = os.Symlink(word[3], at)
	case word[0] == "hard" && len(word) == 4:
		err = os.Link(filepath.Join(project, word[3]), at)
	case word[0] == "dir":
		err = os.MkdirAll(at, 0o755)
	case word[0] == "fifo":
		err = syscall.Mkfifo(at, 0o644)
	case word[0] == "socket":
		var fd int
		if fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err == nil {
			err = bindUnix(fd, at)
			_ = syscall.Close(fd)
		}
	case word[0] == "device":
		err = syscall.Mknod(at, syscall.S_IFCHR|0o666, 1<<8|3)
	case word[0] == "size" && len(word) == 3:
		var n int64
		if n, err = strconv.ParseInt(word[2], 10, 64); err == nil {
			if err = os.WriteFile(at, nil, 0o644); err == nil {
				err = os.Truncate(at, n)
			}
		}
	default:
		t.Fatalf("layout %q: unknown", line)
	}
	if err != nil {
		t.Fatalf("layout %q: %v", line, err)
	}
}

// bindUnix binds through the directory, since a socket's path must be short.
func bindUnix(fd int, at string) error {
	dir, err := os.Open(filepath.Dir(at))
	if err != nil {
		return err
	}
	defer dir.Close()
	short := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(at))
	return syscall.Bind(fd, &syscall.SockaddrUnix{Name: short})
}

// write puts what was judged into the case's want section or table.
func (c *golden) write(t *testing.T, file string, a *txtar.Archive, got string) {
	t.Helper()
	name := "want"
	if len(c.rows) > 0 {
		name = "table"
		// Comments of the table are kept: each row is replaced where it stands.
		got = c.updatedTable(a, got)
		c.rows = nil
		for line := range strings.Lines(got) {
			c.addRow(t, strings.TrimSpace(line))
		}
	} else {
		c.single = got
	}
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		a.Files = append(a.Files, txtar.File{Name: name})
		i = len(a.Files) - 1
	}
	a.Files[i].Data = []byte(strings.TrimSpace(got) + "\n")
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *golden) updatedTable(a *txtar.Archive, got string) string {
	judged := strings.Split(got, "\n")
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "table" })
	var lines []string
	for line := range strings.Lines(string(a.Files[i].Data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, judged[0])
		judged = judged[1:]
	}
	return strings.Join(lines, "\n")
}

func shippedManifest(t testing.TB) []byte {
	t.Helper()
	data, err := manifests.FS.ReadFile("tools.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}
