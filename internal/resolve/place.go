package resolve

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// Place is where policies, manifests, configuration, keys or a run's record are
// kept. What lies in it is marked in facts as Protected; policy refuses it.
//
// A place counts once it holds one of Marks; without Marks it counts always,
// present or not. While it counts, it and all below it are of Class, but for
// Except. While it does not, it is an ordinary folder in which only Names are
// of Class, so that no tool can make it count.
type Place struct {
	Path   string   // absolute, or from the project; a last segment "*" stands for each entry of the folder before it
	Class  string   // facts.Protected…
	Marks  []string // names in the place, exact
	Names  []string // names in the place, compared folded; "*" matches within one segment
	Except []string // names in the place, exact, that are never part of it

	// Plain: only what lies in the place is part of it, not what links in it lead to,
	// and nobody looks through it for files with several names: it is a directory of
	// the system, say, with thousands of entries.
	Plain bool
}

// DefaultPlaces are the protected places of every project: its policies, its
// manifests, and each run below runsDir ("" is runs, from the project).
func DefaultPlaces(runsDir string) []Place {
	if runsDir == "" {
		runsDir = "runs"
	}
	return []Place{
		{Path: path.Join(runsDir, "*"), Class: facts.ProtectedRun, Marks: []string{"events.jsonl"}, Names: []string{"events.jsonl"}, Except: []string{"artifacts"}},
		{Path: "policies", Class: facts.ProtectedPolicy, Marks: []string{"runlens"}, Names: []string{"runlens"}},
		{
			Path: "manifests", Class: facts.ProtectedManifest,
			Marks: []string{"tools.json", "tools.yaml", "tools.yml", "skills", "plans"},
			Names: []string{"tools.*", "skills", "plans"},
		},
		{Path: "tools.json", Class: facts.ProtectedManifest},
	}
}

// strength orders the classes: of two that hold, the last is named.
var strength = []string{
	"", facts.ProtectedAncestor, facts.ProtectedConfig, facts.ProtectedManifest,
	facts.ProtectedPolicy, facts.ProtectedHandler, facts.ProtectedRun, facts.ProtectedKey,
}

func stronger(a, b string) string {
	if a == b || b == "" {
		return a
	}
	if slices.Index(strength, b) > slices.Index(strength, a) {
		return b
	}
	return a
}

// isSecret holds for classes that are refused for reading, too.
func isSecret(class string) bool {
	return class == facts.ProtectedRun || class == facts.ProtectedKey
}

func (p Place) check() error {
	if !slices.Contains(strength[2:], p.Class) {
		return fmt.Errorf("protect %q: unknown class %q", cut(p.Path), cut(p.Class))
	}
	if p.folder() == "" || strings.Contains(p.folder(), "*") {
		return fmt.Errorf("protect %q: not a path, or a path and a last segment \"*\"", cut(p.Path))
	}
	return nil
}

func (p Place) each() bool { return strings.HasSuffix(p.Path, "/*") }

// folder is the path to open.
func (p Place) folder() string { return strings.TrimSuffix(p.Path, "/*") }

// protect names the class of protected place that the object is in, by its
// name, given folded from "/", or by what it is.
func (r *Resolver) protect(o *Object, folded []string) string {
	if len(r.places) == 0 {
		return ""
	}
	s := r.placesNow(o.Facts.Access)
	q := query{path: o.path, folded: folded, access: o.Facts.Access}
	q.lands = o.Facts.Kind == facts.None || o.Facts.Kind == facts.Directory
	return stronger(s.judge(q), s.judgeObject(o, q))
}

// secret says that a path is protected for every access; secretBelow that a
// path below it may be.
func (r *Resolver) secret(p string) bool {
	return isSecret(r.snap.Load().judge(query{path: p, folded: foldEach(nil, segments(p)), access: facts.Read}))
}

func (r *Resolver) secretBelow(p string) bool {
	folded := foldEach(nil, segments(p))
	for _, k := range r.snap.Load().known {
		n := samePrefix(folded, k.names)
		if isSecret(k.place.Class) && (n == len(folded) || n == len(k.names)) {
			return true
		}
	}
	return false
}

// query asks for the class of a name.
type query struct {
	path   string   // as the kernel spells it
	folded []string // its segments, from "/"
	access string
	lands  bool // a folder could come to be there
}

// judge compares names, folded.
func (s *snapshot) judge(q query) string {
	class := ""
	for i := range s.known {
		k := &s.known[i]
		switch samePrefix(q.folded, k.names) {
		case len(k.names):
			class = stronger(class, k.inside(q))
		case len(q.folded):
			class = stronger(class, k.above(q))
		}
	}
	return class
}

func samePrefix(a, b []string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// inside judges a name at or below a known place.
func (k *known) inside(q query) string {
	p, at := k.place, len(k.names)
	if k.each() {
		if len(q.folded) == at {
			return k.above(q)
		}
		at++
	}
	rel := q.folded[at:]
	if len(rel) > 0 && len(p.Except) > 0 && slices.Contains(p.Except, segment(q.path, at)) {
		return ""
	}
	counts := p.counts(prefix(q.path, at)) || !k.each() && p.counts(k.path)
	switch {
	case len(rel) == 0 && (p.each() || !counts):
		if q.access == facts.Write && q.lands || q.access == facts.Delete && counts {
			return facts.ProtectedAncestor
		}
		return ""
	case counts:
		return p.Class
	}
	return p.named(rel, q)
}

// above judges a folder that holds a known place, or would.
func (k *known) above(q query) string {
	switch {
	case q.access == facts.Write && q.lands:
		return facts.ProtectedAncestor
	case q.access == facts.Delete && k.counts():
		return facts.ProtectedAncestor
	}
	return ""
}

// named judges a name in a place that does not count yet.
func (p *Place) named(rel []string, q query) string {
	for _, pattern := range p.Names {
		want := strings.Split(pattern, "/")
		n := min(len(want), len(rel))
		ok := true
		for i := range n {
			m, err := path.Match(want[i], rel[i])
			ok = ok && m && err == nil
		}
		if ok && len(rel) >= len(want) {
			return p.Class
		}
		if ok && q.access == facts.Write && q.lands {
			return facts.ProtectedAncestor
		}
	}
	return ""
}

// counts says whether a folder is the place. Doubt says yes.
func (p *Place) counts(folder string) bool {
	for _, mark := range p.Marks {
		_, err := statAt(atCWD, join(folder, mark))
		if res := resolutionOf(err); res != facts.NotFound && res != facts.NotADirectory {
			return true
		}
	}
	return len(p.Marks) == 0
}

func (k *known) counts() bool {
	if !k.each() {
		return k.place.counts(k.path)
	}
	folders, more := k.folders()
	return more || len(folders) > 0
}

// folders lists the entries of a "*" place that count.
func (k *known) folders() (out []string, more bool) {
	fd, err := openFolder(k.path)
	if err != nil {
		res := resolutionOf(err)
		return nil, res != facts.NotFound && res != facts.NotADirectory
	}
	defer closeFD(fd)
	entries, more, err := readNames(fd, maxBelow)
	for _, e := range entries {
		if p := join(k.path, e.Name); k.place.counts(p) {
			out = append(out, p)
		}
	}
	return out, more || err != nil
}
