package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrUnable is wrapped when this process or system can't make what a case lays
// out. Such a case is skipped: nothing is wrong with it.
var ErrUnable = errors.New("this process can't make it")

// Project is a project directory that was made for a case. Whatever names and
// links were laid out, nothing was written outside of it and the directory above,
// which was made for it, too.
type Project struct {
	Dir  string // canonical
	root *os.Root
}

// Beside is the directory above the project's.
func (p *Project) Beside() string { return filepath.Dir(p.Dir) }

// Close removes the project and what lies beside it.
func (p *Project) Close() error {
	err := p.root.Close()
	top := p.Beside()
	if os.RemoveAll(top) == nil {
		return err
	}
	// Folders that their owner may not look into are opened first.
	opened := filepath.WalkDir(top, func(name string, d fs.DirEntry, _ error) error {
		if d == nil || !d.IsDir() {
			return nil
		}
		return os.Chmod(name, 0o700)
	})
	return errors.Join(err, opened, os.RemoveAll(top))
}

// Make lays out a project in a new directory below tempDir; "" is the system's.
// Each thing is a line of a layout section. The caller closes the project.
func Make(tempDir string, things ...string) (*Project, error) {
	c := &Case{File: "layout"}
	for i, text := range things {
		c.layout = append(c.layout, line{text, i + 1})
	}
	return c.layOut(tempDir)
}

// layOut makes the case's project.
func (c *Case) layOut(tempDir string) (*Project, error) {
	top, err := os.MkdirTemp(tempDir, "golden-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for golden cases: %w", err)
	}
	p, err := openProject(top)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(top))
	}
	if err := c.fill(p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func openProject(top string) (*Project, error) {
	// An executor trusts no program in a folder that others may write to, and a
	// project is like one that a person made.
	real, err := filepath.EvalSymlinks(top)
	if err == nil {
		err = os.Chmod(real, 0o755)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(real, "project"), 0o755)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &Project{filepath.Join(real, "project"), root}, nil
}

// file is a section that is a file.
type file struct{ name, text string }

func (c *Case) fill(p *Project) error {
	files := slices.Clone(c.files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		if err := p.write(f.name, f.text, 0o644); err != nil {
			return c.unmade(c.sections[f.name].line, "file "+f.name, err)
		}
	}
	for _, l := range c.layout {
		t, err := c.thing(l)
		if err != nil {
			return err
		}
		if err := t.make(p); err != nil {
			return c.unmade(l.n, l.text, err)
		}
	}
	return nil
}

// unmade is the problem of a thing that could not be made; a full disk or a missing
// right to make devices is none of the case's.
func (c *Case) unmade(n int, what string, err error) error {
	if errors.Is(err, ErrUnable) {
		return fmt.Errorf("%s:%d: lay out %s: %w", c.File, n, cut(what), err)
	}
	return c.problem(n, "", "lay out %s: %v", cut(what), cause(err))
}

// at is a name of the project as the root above it knows it.
func at(name string) string { return "project/" + name }

// inside says why a name would lead out of what is made for a case.
func inside(name string) error {
	clean := path.Clean(at(name))
	switch {
	case name == "":
		return errors.New("a name is empty")
	case strings.HasPrefix(name, "/") || filepath.IsAbs(name):
		return errors.New("names count from the project: leave the \"/\" out")
	case clean == "." || clean == ".." || strings.HasPrefix(clean, "../"):
		return errors.New("only the project and the folder above it are the case's: no further \"..\"")
	case strings.ContainsRune(name, 0):
		return errors.New("a name holds NUL")
	}
	return nil
}

func (p *Project) write(name, text string, mode fs.FileMode) error {
	if err := p.parent(name); err != nil {
		return err
	}
	return p.root.WriteFile(at(name), []byte(text), mode)
}

func (p *Project) parent(name string) error {
	return p.root.MkdirAll(path.Dir(at(strings.TrimRight(name, "/"))), 0o755)
}

// thing is a line of a layout, read. A name is a word, or a Go string ("\xff" is a
// byte) when it holds spaces or worse; "$PROJECT" in it is the project directory.
//
//	file NAME...             dir NAME...            size NAME BYTES
//	link NAME -> TARGET      hard NAME -> FILE      chain NAME N -> TARGET
//	fifo NAME                socket NAME            device NAME
//	mode NAME BITS           program NAME...
//
// `file` puts a line of text into each name, `program` makes scripts that do
// nothing, `chain` makes links NAME1 to NAMEN, each leading to the one before and
// the first to TARGET.
type thing struct {
	kind   string
	names  []string
	number int64  // N, BYTES or BITS
	target string // behind the arrow
}

func kinds() []string {
	return []string{"file", "dir", "size", "link", "hard", "chain", "fifo", "socket", "device", "mode", "program"}
}

// thing reads a line of a layout.
func (c *Case) thing(l line) (*thing, error) {
	kind, args, err := words(l.text)
	if err != nil {
		return nil, c.problem(l.n, "", "layout: %v", err)
	}
	t := &thing{kind: kind, names: args}
	bad := func(want string) error { return c.problem(l.n, "", "layout: want %s", want) }
	switch kind {
	case "file", "dir", "program":
		if len(args) == 0 {
			return nil, bad(kind + " NAME...")
		}
	case "fifo", "socket", "device":
		if len(args) != 1 {
			return nil, bad(kind + " NAME")
		}
	case "link", "hard":
		if len(args) != 3 || args[1] != "->" {
			return nil, bad(kind + " NAME -> TARGET")
		}
		t.names, t.target = args[:1], args[2]
	case "chain":
		if len(args) != 4 || args[2] != "->" || t.count(args[1], 10, 1000) != nil {
			return nil, bad("chain NAME N -> TARGET, N at most 1000")
		}
		t.names, t.target = args[:1], args[3]
	case "size":
		if len(args) != 2 || t.count(args[1], 10, 1<<50) != nil {
			return nil, bad("size NAME BYTES")
		}
		t.names = args[:1]
	case "mode":
		if len(args) != 2 || t.count(args[1], 8, 0o777) != nil {
			return nil, bad("mode NAME BITS, from 000 to 777")
		}
		t.names = args[:1]
	default:
		return nil, c.problem(l.n, didYouMean(kind, kinds()), "layout: unknown kind %s", cut(kind))
	}
	checked := t.names
	if kind == "hard" {
		checked = []string{t.names[0], t.target}
	}
	for _, name := range checked {
		if err := inside(name); err != nil {
			return nil, c.problem(l.n, "", "layout: %s: %v", cut(name), err)
		}
	}
	return t, nil
}

func (t *thing) count(text string, base int, most int64) (err error) {
	t.number, err = strconv.ParseInt(text, base, 64)
	if err == nil && (t.number < 0 || t.number > most) {
		err = strconv.ErrRange
	}
	return err
}

// make makes the thing.
func (t *thing) make(p *Project) error {
	put := func(text string) string { return p.place(text) }
	for _, name := range t.names {
		name = put(name)
		if err := p.parent(name); err != nil {
			return err
		}
		if err := t.one(p, name, put(t.target)); err != nil {
			return err
		}
	}
	return nil
}

func (t *thing) one(p *Project, name, target string) error {
	switch t.kind {
	case "file":
		return p.write(name, "text\n", 0o644)
	case "program":
		return p.write(name, standIn, 0o755)
	case "dir":
		return p.root.MkdirAll(at(name), 0o755)
	case "link":
		return p.root.Symlink(target, at(name))
	case "hard":
		return p.root.Link(at(target), at(name))
	case "chain":
		for i := range t.number {
			link := name + strconv.FormatInt(i+1, 10)
			if err := p.root.Symlink(target, at(link)); err != nil {
				return err
			}
			target = path.Base(link)
		}
		return nil
	case "size":
		f, err := p.root.Create(at(name))
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(t.number), f.Close())
	case "mode":
		return p.root.Chmod(at(name), fs.FileMode(t.number))
	}
	dir, err := p.root.Open(path.Dir(at(name)))
	if err != nil {
		return err
	}
	defer dir.Close()
	return special(t.kind, dir, path.Base(name))
}

// standIn is a program that does nothing.
const standIn = "#!/bin/sh\nexit 0\n"

// words splits a line of a layout.
func words(text string) (kind string, args []string, err error) {
	kind, rest, _ := strings.Cut(text, " ")
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		if rest[0] != '"' {
			var word string
			word, rest, _ = strings.Cut(rest, " ")
			args = append(args, word)
			continue
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", nil, fmt.Errorf("%s is no Go string", cut(rest))
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return "", nil, fmt.Errorf("%s is no Go string", cut(quoted))
		}
		args, rest = append(args, word), rest[len(quoted):]
	}
	return kind, args, nil
}
