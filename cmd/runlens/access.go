package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// access is who may change a place.
type access struct {
	others, group []string // names that everybody, or the group, may write
	owners        []int    // uids, sorted
}

// accessOf looks at everything in a place, and at the folders above it: whoever
// can write there can put another place under the same name.
func accessOf(root string) (access, error) {
	var a access
	seen := 0
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > maxFiles {
			return errors.New("too many files to look at")
		}
		return a.look(name, false)
	})
	if err != nil {
		return a, err
	}
	err = a.above(root)
	slices.Sort(a.owners)
	return a, err
}

// above looks at the folders above a name.
func (a *access) above(name string) error {
	abs, err := filepath.Abs(name)
	for dir := filepath.Dir(abs); err == nil; dir = filepath.Dir(dir) {
		err = a.look(dir, true)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return err
}

// look takes in who may write one name. In a sticky folder above, others can
// put nothing in the place of what is not theirs.
func (a *access) look(name string, above bool) error {
	st, err := os.Stat(name)
	if err != nil {
		return err
	}
	mode, shown := st.Mode(), fmt.Sprintf("%s (%04o)", name, st.Mode().Perm())
	switch {
	case above && mode&fs.ModeSticky != 0:
	case mode.Perm()&0o002 != 0 && !slices.Contains(a.others, shown):
		a.others = append(a.others, shown)
	case mode.Perm()&0o022 == 0o020 && !slices.Contains(a.group, shown):
		a.group = append(a.group, shown)
	}
	if uid := owner(st); uid >= 0 && !above && !slices.Contains(a.owners, uid) {
		a.owners = append(a.owners, uid)
	}
	return nil
}

// searchPath tells where somebody could put a program in the place of one that
// the manifest's commands name: a tool that may write there, or anybody.
func (x *examination) searchPath(p *project, tools *manifest.Set) {
	sound := true
	for _, dir := range tools.Path {
		if name, root := writerOf(p, tools, dir); name != "" {
			x.say(noteworthy, "path", "%s lies in a write root of tool %s, %s: what it writes there may be run as a command", dir, name, root)
			sound = false
		}
		if open := openToOthers(dir); open != "" {
			x.say(noteworthy, "path", "%s: everybody may write %s, and so choose what commands run", dir, open)
			sound = false
		}
	}
	if sound {
		x.say(fine, "path", "executables come from %s", strings.Join(tools.Path, ", "))
	}
}

// writerOf is a tool that may write in dir, and the root that lets it.
func writerOf(p *project, tools *manifest.Set, dir string) (tool, root string) {
	at := segmentsOf(dir)
	for _, name := range tools.Names {
		declared := tools.Tools[name]
		writes := func(access string) bool {
			return (access == facts.Write || access == facts.Delete) &&
				slices.ContainsFunc(declared.Targets, func(t manifest.Target) bool { return t.Access == access })
		}
		for _, r := range declared.Roots {
			if !slices.ContainsFunc(r.Access, writes) {
				continue
			}
			path := filepath.FromSlash(r.Path)
			if !filepath.IsAbs(path) {
				path = p.in(path)
			}
			if holds(segmentsOf(path), at) {
				return name, r.Path
			}
		}
	}
	return "", ""
}

// holds tells whether a root is dir or a folder above it. The root of a run
// stands for that of every run.
func holds(root, dir []string) bool {
	if len(root) > len(dir) {
		return false
	}
	for i, segment := range root {
		if segment != dir[i] && !strings.Contains(segment, "{run_id}") {
			return false
		}
	}
	return true
}

// segmentsOf are the names in a path, links followed as far as there is
// something.
func segmentsOf(name string) []string {
	there, rest := deepest(name)
	if real, err := filepath.EvalSymlinks(there); err == nil {
		there = real
	}
	return strings.FieldsFunc(filepath.Join(there, rest), func(r rune) bool { return r == filepath.Separator })
}

// deepest splits a path behind the last folder that is there.
func deepest(name string) (there, rest string) {
	there, err := filepath.Abs(name)
	if err != nil {
		return name, ""
	}
	for !exists(there) && there != filepath.Dir(there) {
		there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest)
	}
	return there, rest
}

// openToOthers is the folder that everybody may write and that decides about
// dir: itself, one above it, or the one in which it could be made; "" for none.
func openToOthers(dir string) string {
	var a access
	there, rest := deepest(dir)
	// A sticky folder keeps its entries apart, not their names free.
	err := a.look(there, false)
	if real, linkErr := filepath.EvalSymlinks(there); err == nil && linkErr == nil {
		err = errors.Join(a.above(there), a.above(real))
	}
	if rest == "" && err == nil || len(a.others) > 0 {
		return strings.Join(a.others, ", ")
	}
	return ""
}
