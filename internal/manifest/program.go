package manifest

import (
	"path"
	"strings"
	"unicode"

	"github.com/runlens/runlens/internal/facts"
)

// programPrefix begins the name of a handler that is a program of its own.
const programPrefix = "exec:"

// programTimeout is the deadline of a program whose tool sets none.
const programTimeout = 60_000

// programOperations are those that a program can serve. The others act on
// entries of directories, or on the network, which a program is not given.
func programOperations() []string {
	return []string{facts.Read, facts.List, facts.Search, facts.Write, facts.Execute, facts.Compute}
}

// program binds the tool to a program: it declares nothing of itself, so that
// targets and payload are those of the operation's own handler.
func (l *loader) program(d *draft, n *node) bool {
	name := strings.TrimPrefix(n.text, programPrefix)
	if cause, fix := programTrouble(name); cause != "" {
		d.at.add(n.line, fix, "handler %s %s", quoted(n.text), cause)
		return false
	}
	h := &knownHandler{
		Handler: Handler{Name: n.text, Operations: programOperations(), TimeoutMS: programTimeout},
		output:  object("type", textNode("object")),
	}
	if !h.serves(d.Operation) {
		d.at.add(n.line, "a program serves "+strings.Join(h.Operations, ", "),
			"handler %s does not serve operation %s", quoted(n.text), quoted(d.Operation))
		return false
	}
	switch own := l.handlers[byOperation[d.Operation]]; {
	case d.Operation == facts.Search:
		h.Targets = []Target{{Param: "path", Access: facts.Read, Recursive: true}}
	case own != nil:
		h.Targets, h.Payload = own.Targets, own.Payload
	}
	d.handler, d.Handler, d.Program = h, n.text, name
	return true
}

// programTrouble says why a text names no program, and what to do.
func programTrouble(name string) (cause, fix string) {
	switch {
	case name == "" || name == ".":
		return "names no program", `"exec:NAME" is looked up in path, "exec:./NAME" lies in the project`
	case strings.ContainsFunc(name, isControl):
		return "holds NUL or a control character", ""
	case strings.ContainsFunc(name, unicode.IsSpace):
		return "holds a space", "name the program alone: no shell reads it, and its arguments come on stdin"
	case strings.ContainsRune(name, '\\'):
		return "holds a backslash", "use /"
	case isAbsolute(name):
		return "is absolute", "name it from the project directory, or without / to look it up in path"
	case hasDotDot(name):
		return `holds ".."`, "name it from the project directory"
	case strings.HasSuffix(name, "/"):
		return "names a directory", "name the program in it"
	case strings.HasPrefix(name, "~"):
		return "begins with ~, which nobody expands", "name it from the project directory"
	case strings.ContainsAny(name, "*?{}"):
		return "is a pattern", "name one program"
	}
	// "./NAME" is not "NAME": the one lies in the project, the other in path.
	plain := path.Clean(name)
	if plain == "." || name != plain && name != "./"+plain {
		return "is not plain", "write " + quoted(programPrefix+"./"+plain)
	}
	return "", ""
}
