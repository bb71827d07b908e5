package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Load reads manifest files, in any order, and merges them into one Set. handlers are those
// that tools may name, beside External. The error is a *LoadError with all that
// is wrong; the Set is nil then.
func Load(src []Source, handlers []Handler) (*Set, error) {
	l := &loader{
		set:      &Set{Tools: make(map[string]*Tool), Skills: make(map[string]*Skill)},
		handlers: make(map[string]*knownHandler),
		once:     make(map[string]Location),
		where:    make(map[string]Location),
		drafts:   make(map[string]*draft),
		schemas:  make(map[string]*Schema),
		files:    make(map[string]Location),
		plans:    make(map[string]*planDraft),
	}
	l.addHandlers(handlers)
	order := l.read(src)
	if len(l.problems.list) > 0 {
		// Within a file in the order of its lines, whatever found them.
		slices.SortStableFunc(l.problems.list, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(slices.Index(order, a.File), slices.Index(order, b.File)), cmp.Compare(a.Line, b.Line))
		})
		return nil, &LoadError{Problems: l.problems.list}
	}
	l.set.Source = strings.Join(order, ", ")
	return l.finish()
}

// read reads the files: tools, then the plans that use them, then the skills
// that use both. It returns the names in that order, each once.
func (l *loader) read(src []Source) (order []string) {
	if len(src) == 0 {
		l.at("").add(0, "", "there is no manifest file")
	}
	each := func(kind SourceKind, read func(Source)) {
		for _, s := range src {
			if s.Kind != kind {
				continue
			}
			read(s)
			if !slices.Contains(order, s.Name) {
				order = append(order, s.Name)
			}
		}
	}
	each(ToolFile, l.file)
	if len(order) == 0 && len(src) > 0 {
		l.unread = true
		l.at("").add(0, "add tools.json, tools.yaml or tools.yml beside skills/ and plans/: they name tools that stand there",
			"no file declares tools")
	}
	each(PlanFile, l.planFile)
	each(SkillFile, l.skillFile)
	return order
}

// loader is one Load.
type loader struct {
	problems problems
	set      *Set
	handlers map[string]*knownHandler
	names    []string            // of handlers, External last
	once     map[string]Location // top-level keys that only one file may have
	where    map[string]Location // tools by name, also those that did not load
	drafts   map[string]*draft   // of the tools that loaded
	schemas  map[string]*Schema  // compiled so far, by text
	unread   bool                // tools may be declared that nobody could read
	files    map[string]Location // those of skills and plans: "skill feedback"
	plans    map[string]*planDraft
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

var topKeys = []string{"schema_version", "tools", "path", "record", "approvers"}

func (l *loader) file(src Source) {
	at := l.at(src.Name)
	root := parse(src, at)
	if root == nil || !at.want(root, "a manifest", objectKind) {
		l.unread = true
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
			at.version(f.value)
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
		case "approvers":
			if l.first(f, at) {
				l.set.Approvers = at.approvers(f.value)
			}
		default:
			at.add(f.line, meant(f.name, topKeys), "unknown key %s", quoted(f.name))
		}
	}
}

func (p place) version(n *node) {
	if !n.bad && (n.kind != numberKind || n.text != fmt.Sprint(Version)) {
		p.add(n.line, fmt.Sprintf("this version reads %d", Version), "unknown schema_version")
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
		l.unread = true
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
	for name := range s.Skills {
		s.SkillNames = append(s.SkillNames, name)
	}
	slices.Sort(s.SkillNames)
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
	l.planNotes()
	var err error
	s.Revision, err = s.revision()
	return s, err
}
