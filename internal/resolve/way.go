package resolve

import (
	"path"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// Lexical is the absolute path that a path from the project is by its text, links
// not followed.
func (r *Resolver) Lexical(p string) string {
	if !strings.HasPrefix(p, "/") {
		p = path.Join(r.project, p)
	}
	return valid(path.Clean(p))
}

// Way gives the canonical name of each link that a path passes, those in what links
// lead to as well, and says whether it leads to that canonical path now. Where the
// path's own text is the canonical path, nothing is looked at.
func (r *Resolver) Way(p, canonical string) (links []string, leads bool) {
	if r.Lexical(p) == canonical {
		return nil, true
	}
	at, st := r.lead(p, func(link string) { links = append(links, valid(link)) })
	return links, st.mode != 0 && valid(at) == canonical
}

// Guarded says whether the name itself is one that no tool may change: it is, or
// leads to, a protected place.
func (r *Resolver) Guarded(name string) bool {
	q := query{path: name, folded: foldEach(nil, segments(name)), access: facts.Write, lands: true}
	return r.refresh().judge(q) != ""
}
