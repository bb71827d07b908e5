package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// FileNames are the names of tool manifests in a manifest directory.
func FileNames() []string { return []string{"tools.json", "tools.yaml", "tools.yml"} }

// Files reads the tool manifests at the top of fsys, in the order of FileNames.
// dir is what stands before their names in errors; "" for nothing. A directory
// that holds none gives none.
func Files(fsys fs.FS, dir string) ([]Source, error) {
	var out []Source
	for _, name := range FileNames() {
		data, err := fs.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		out = append(out, Source{Name: path.Join(dir, name), Data: data})
	}
	return out, nil
}

// Load reads manifest files and merges them into one Set. handlers are those
// that tools may name, beside External. The error is a *LoadError with all that
// is wrong; the Set is nil then.
func Load(src []Source, handlers []Handler) (*Set, error) {
	l := &loader{
		set:      &Set{Tools: make(map[string]*Tool)},
		handlers: make(map[string]*knownHandler),
		once:     make(map[string]Location),
		where:    make(map[string]Location),
		schemas:  make(map[string]*Schema),
	}
	l.addHandlers(handlers)
	if len(src) == 0 {
		l.at("").add(0, "", "there is no manifest file")
	}
	var names []string
	for i, s := range src {
		first := len(l.problems.list)
		l.file(s)
		// Within a file in the order of its lines, whatever found them.
		slices.SortStableFunc(l.problems.list[first:], func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		if i == 0 || s.Name != names[len(names)-1] {
			names = append(names, s.Name)
		}
	}
	if len(l.problems.list) > 0 {
		return nil, &LoadError{Problems: l.problems.list}
	}
	l.set.Source = strings.Join(names, ", ")
	return l.finish()
}

// loader is one Load.
type loader struct {
	problems problems
	set      *Set
	handlers map[string]*knownHandler
	names    []string            // of handlers, External last
	once     map[string]Location // top-level keys that only one file may have
	where    map[string]Location // tools by name, also those that did not load
	schemas  map[string]*Schema  // compiled so far, by text
}

// knownHandler is a Handler with its default schemas parsed.
type knownHandler struct {
	Handler
	input, output *node
}

func (h *knownHandler) serves(operation string) bool {
	return h.Name == External || slices.Contains(h.Operations, operation)
}

func (l *loader) at(file string) place { return place{problems: &l.problems, file: file} }

func (l *loader) addHandlers(handlers []Handler) {
	for _, h := range handlers {
		at := l.at("")
		at.subject = "handler " + quoted(h.Name) + ": "
		if h.Name == "" || h.Name == External || l.handlers[h.Name] != nil {
			at.add(0, "", "the name is empty, reserved or taken")
			continue
		}
		for _, op := range h.Operations {
			if !slices.Contains(Operations(), op) {
				at.add(0, meant(op, Operations()), "unknown operation %s", quoted(op))
			}
		}
		known := &knownHandler{Handler: h}
		known.input = handlerSchema(h.Input, "input", at)
		known.output = handlerSchema(h.Output, "output", at)
		l.handlers[h.Name] = known
		l.names = append(l.names, h.Name)
	}
	l.handlers[External] = &knownHandler{Handler: Handler{Name: External, Operations: Operations()}}
	l.names = append(l.names, External)
}

func handlerSchema(raw []byte, label string, at place) *node {
	if len(raw) == 0 {
		return nil
	}
	at.subject += label + " schema: "
	return parse(Source{Name: label + ".json", Data: raw}, at).forget()
}

// forget drops line numbers: what a handler declares stands in no file.
func (n *node) forget() *node {
	if n == nil {
		return nil
	}
	n.line = 0
	for i := range n.fields {
		n.fields[i].line = 0
		n.fields[i].value.forget()
	}
	for _, item := range n.items {
		item.forget()
	}
	return n
}

var topKeys = []string{"schema_version", "tools", "path", "record"}

func (l *loader) file(src Source) {
	at := l.at(src.Name)
	root := parse(src, at)
	if root == nil {
		return
	}
	if !at.want(root, "a manifest", objectKind) {
		return
	}
	for _, key := range []string{"schema_version", "tools"} {
		if root.get(key) == nil {
			fix := map[string]string{"schema_version": `add "schema_version": 1`, "tools": `add "tools": {} to allow nothing`}[key]
			at.add(root.line, fix, "%s is missing", key)
		}
	}
	for _, f := range root.fields {
		switch f.name {
		case "schema_version":
			if f.value.bad {
				continue
			}
			if f.value.kind != numberKind || f.value.text != fmt.Sprint(Version) {
				at.add(f.value.line, fmt.Sprintf("this version reads %d", Version), "unknown schema_version")
			}
		case "tools":
			l.tools(f.value, src.Name)
		case "path":
			if l.first(f, at) {
				l.set.Path = at.searchPath(f.value)
			}
		case "record":
			if l.first(f, at) {
				l.set.Record = at.oneOf(f.value, "record", []string{"proposal", "facts", "full"})
			}
		default:
			at.add(f.line, meant(f.name, topKeys), "unknown key %s", quoted(f.name))
		}
	}
}

// first tells whether no file before had this top-level key.
func (l *loader) first(f field, at place) bool {
	if old, twice := l.once[f.name]; twice {
		at.add(f.line, "", "%s is set twice, first in %s:%d", f.name, printable(old.File), old.Line)
		return false
	}
	l.once[f.name] = Location{at.file, f.line}
	return true
}

func (l *loader) tools(n *node, file string) {
	at := l.at(file)
	if !at.want(n, "tools", objectKind) {
		return
	}
	for _, f := range n.fields {
		at.subject = "tool " + quoted(f.name) + ": "
		if old, twice := l.where[f.name]; twice {
			at.add(f.line, "", "declared twice, first in %s:%d", printable(old.File), old.Line)
			continue
		}
		l.where[f.name] = Location{file, f.line}
		if t := l.tool(f, at); t != nil {
			l.set.Tools[f.name] = t
		}
	}
}

// finish fills in what the whole set has.
func (l *loader) finish() (*Set, error) {
	s := l.set
	if s.Path == nil {
		s.Path = []string{"/usr/local/bin", "/usr/bin", "/bin"}
	}
	if s.Record == "" {
		s.Record = "proposal"
	}
	for name := range s.Tools {
		s.Names = append(s.Names, name)
	}
	slices.Sort(s.Names)
	if len(s.Names) == 0 {
		s.Notes = append(s.Notes, "no tool is declared, so every call is an unknown tool")
	}
	var judged []string
	for _, t := range s.sorted() {
		if t.Handler == External {
			judged = append(judged, t.Name)
		}
	}
	if len(judged) > 0 {
		s.Notes = append(s.Notes, "run by another program, so judged here and refused by exec: "+strings.Join(judged, ", "))
	}
	var err error
	s.Revision, err = s.revision()
	return s, err
}
