package manifest

import (
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

var toolKeys = []string{
	"description", "operation", "handler", "input_schema", "output_schema", "targets", "roots", "payload",
	"max_bytes", "timeout_ms", "commands", "absolute", "create_parents",
	"dir", "env", "network", "limits", "sandbox",
}

// draft is one tool while it is read: what the file says, and the Tool so far.
type draft struct {
	*Tool
	at      place
	decl    *node
	handler *knownHandler
	known   map[string]*Schema // compiled before in this Load, by text

	patternLines []int // of Patterns
}

// line is that of a declared key, or of the tool itself where the file is silent.
func (d *draft) line(key string) int {
	for _, f := range d.decl.fields {
		if f.name == key {
			return f.line
		}
	}
	return d.Where.Line
}

func (d *draft) said(key string) bool { return d.decl.get(key) != nil }

// tool reads one tool. It returns nil when the tool has problems.
func (l *loader) tool(f field, at place) *Tool {
	before := len(at.problems.list)
	checkName(f, at)
	if !at.want(f.value, "the declaration", objectKind) {
		return nil
	}
	d := &draft{
		Tool: &Tool{Name: f.name, Where: Location{at.file, f.line}},
		at:   at, decl: f.value, known: l.schemas,
	}
	at.unknownKeys(f.value, toolKeys, "")
	d.scalars()
	if d.Operation == "" {
		if !d.said("operation") {
			at.add(f.line, "one of "+strings.Join(Operations(), ", "), "operation is missing")
		}
		return nil
	}
	if !l.chooseHandler(d) {
		return nil
	}
	d.deadline()
	d.confinement()
	d.commands()
	d.targets()
	d.payload()
	d.roots()
	if d.namesFit() {
		d.schemas()
	}
	if len(at.problems.list) > before {
		return nil
	}
	d.contradictions()
	if len(at.problems.list) > before {
		return nil
	}
	l.drafts[f.name] = d
	return d.Tool
}

// isToolName tells names of the form ^[A-Za-z_][A-Za-z0-9_.-]{0,63}$.
func isToolName(s string) bool {
	for i, c := range s {
		switch {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c == '.' || c == '-' || c >= '0' && c <= '9'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func checkName(f field, at place) {
	if !isToolName(f.name) {
		at.add(f.line, "a letter or _, then letters, digits, _ . -, at most 64 in all", "bad tool name")
	} else if strings.HasPrefix(strings.ToLower(f.name), "runlens") {
		at.add(f.line, "choose another name", `names that begin with "runlens" are reserved`)
	}
}

// scalars reads the keys that stand for themselves.
func (d *draft) scalars() {
	for _, f := range d.decl.fields {
		switch f.name {
		case "description":
			d.Description = d.at.text(f.value, f.name)
		case "operation":
			d.Operation = d.at.oneOf(f.value, f.name, Operations())
		case "max_bytes":
			d.MaxBytes = d.at.positive(f.value, f.name, "leave it out for the policy's own limit")
		case "timeout_ms":
			d.TimeoutMS = d.at.deadline(f.value, f.name, "leave it out for the policy's own limit")
		case "absolute":
			d.Absolute = d.at.boolean(f.value, f.name)
		case "create_parents":
			d.CreateParents = d.at.boolean(f.value, f.name)
		case "sandbox":
			d.Sandbox = d.at.oneOf(f.value, f.name, []string{"full", "none"})
		}
	}
}

// byOperation are the handlers of tools that name none and share their name
// with none. Operations that are missing here need a named handler.
var byOperation = map[string]string{
	facts.Read: "read_file", facts.List: "list_files", facts.Write: "write_file",
	facts.Delete: "delete_file", facts.Rename: "rename_file", facts.Execute: "run_tests",
}

// chooseHandler finds the tool's handler: the named one; else one with the
// tool's own name that serves the operation; else the operation's default.
func (l *loader) chooseHandler(d *draft) bool {
	if n := d.decl.get("handler"); n != nil {
		if !d.at.want(n, "handler", stringKind) {
			return false
		}
		if strings.HasPrefix(n.text, programPrefix) {
			return l.program(d, n)
		}
		d.handler = l.handlers[n.text]
		if d.handler == nil {
			fix := meant(n.text, l.names)
			if fix == "" {
				fix = "known: " + strings.Join(l.names, ", ")
			}
			d.at.add(n.line, fix, "unknown handler %s", quoted(n.text))
			return false
		}
		if !d.handler.serves(d.Operation) {
			d.at.add(n.line, "it serves "+strings.Join(d.handler.Operations, ", "),
				"handler %s does not serve operation %s", quoted(n.text), quoted(d.Operation))
			return false
		}
	} else if own := l.handlers[d.Name]; own != nil && own.serves(d.Operation) {
		d.handler = own
	} else if d.handler = l.handlers[byOperation[d.Operation]]; d.handler == nil || !d.handler.serves(d.Operation) {
		d.at.add(d.line("operation"), `name one, or "external" where another program runs it`,
			"operation %s has no handler of its own", quoted(d.Operation))
		return false
	}
	d.Handler = d.handler.Name
	return true
}

// deadline fills in the handler's own.
func (d *draft) deadline() {
	if d.TimeoutMS == 0 && !d.said("timeout_ms") {
		d.TimeoutMS = d.handler.TimeoutMS
	}
	if d.said("commands") && d.Operation != facts.Execute && d.Program == "" {
		d.at.add(d.line("commands"), "leave it out", "commands is for operation %s, not %s", quoted(facts.Execute), quoted(d.Operation))
	}
}

func (d *draft) payload() {
	if n := d.decl.get("payload"); n != nil {
		d.Payload = d.at.texts(n, "payload")
		return
	}
	d.Payload = append([]string{}, d.handler.Payload...)
}
