package replay

import (
	"path"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// plantedNow says what the tools of now could have put in the place of what was found
// then: a program, or a root that is found by a link. Which links led there is not in
// the record, so it goes by where they may lie.
func (d *declared) plantedNow(in *facts.Input, project string) string {
	if at := in.Command.Executable.Path; at != "" && d.reaches(at, project, false) {
		return "the program lies where a tool of now may write"
	}
	for _, r := range in.Tool.Roots {
		named := from(project, r.Declared)
		if r.Param == "" && r.Exists && named != r.Path && (d.reaches(path.Dir(named), project, true) || d.reaches(path.Dir(r.Path), project, true)) {
			return "the root " + r.Declared + " is found by a link, and a program of the tools of now may write where that may lie"
		}
	}
	return ""
}

// reaches tells whether a tool of now may write at a path; links: by a program, which
// may make links there.
func (d *declared) reaches(at, project string, links bool) bool {
	below := func(r manifest.Root) bool {
		dir, _, runs := strings.Cut(r.Path, "{run_id}")
		if runs { // what is named after a run is taken for all of them
			dir = dir[:strings.LastIndexByte(dir, '/')+1]
		}
		dir = from(project, dir)
		return strings.HasPrefix(at+"/", strings.TrimRight(dir, "/")+"/") && slices.ContainsFunc(r.Access, changes)
	}
	tool := func(t *manifest.Tool) bool {
		program := t.Operation == facts.Execute || t.Program != "" && t.Sandbox != "full"
		return mayChange(t) && (program || !links) && slices.ContainsFunc(t.Roots, below)
	}
	for _, t := range d.set.Tools {
		if tool(t) {
			return true
		}
	}
	for _, s := range d.set.Skills {
		for _, t := range s.Tools {
			if tool(t) {
				return true
			}
		}
	}
	return false
}

func changes(access string) bool {
	return access == facts.Write || access == facts.Delete || access == facts.Rename
}

// mayChange tells whether a call of the tool may change something below its roots.
func mayChange(t *manifest.Tool) bool {
	return t.Operation == facts.Execute ||
		slices.ContainsFunc(t.Targets, func(t manifest.Target) bool { return changes(t.Access) }) ||
		slices.ContainsFunc(slices.Concat(t.Patterns...), func(p facts.Part) bool { return p.Kind == facts.Path && changes(p.Access) })
}
