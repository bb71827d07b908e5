package manifest

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/runlens/runlens/internal/facts"
)

// schemas compiles the tool's own schemas, or the handler's, or one built from
// what the tool declares.
func (d *draft) schemas() {
	if n := d.decl.get("input_schema"); n != nil {
		d.Input = compileSchema(n, "input_schema", d.at, d.known)
	} else {
		d.Input = compileSchema(d.derivedInput(), "input_schema", d.at, d.known)
	}
	if n := d.decl.get("output_schema"); n != nil {
		d.Output = compileSchema(n, "output_schema", d.at, d.known)
	} else if n := d.handler.output; n != nil {
		d.Output = compileSchema(n, "output_schema", d.at, d.known)
		if d.Output != nil && d.Program == "" && d.Output.doc["additionalProperties"] != false {
			d.at.add(d.Where.Line, "", "output_schema of handler %s is not closed", quoted(d.Handler))
		}
	}
	if d.Output != nil && d.Handler != External && !allowsObject(d.Output.compiled, map[*jsonschema.Schema]bool{}) {
		d.at.add(d.line("output_schema"), `its schema must say "type": "object"`, "output_schema takes no object, and what a tool returns is one")
	}
	if d.Input == nil {
		return
	}
	if d.Input.doc["type"] != "object" {
		d.at.add(d.line("input_schema"), `add "type": "object"`, "input_schema must describe an object")
	}
	if d.Description == "" && !d.said("description") {
		d.Description, _ = d.Input.doc["description"].(string)
	}
}

// parameters are the names that targets and payload take from arguments.
func (d *draft) parameters() []string {
	var out []string
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, t := range d.Targets {
		add(t.Param)
		for _, part := range splitTemplate(t.Template) {
			if part.placeholder && part.text != runIDName {
				add(part.text)
			}
		}
	}
	for _, p := range d.Payload {
		add(p)
	}
	return out
}

// derivedInput is the handler's default schema when it knows every parameter
// that the tool's targets and payload name, else a closed schema of just these.
func (d *draft) derivedInput() *node {
	n := d.handler.input
	if n != nil {
		properties := n.get("properties")
		for _, p := range d.parameters() {
			if properties == nil || properties.get(p) == nil {
				n = nil
				break
			}
		}
	}
	if n == nil {
		n = d.builtInput()
	}
	return d.withCommand(n)
}

func (d *draft) builtInput() *node {
	properties := &node{kind: objectKind}
	add := func(name string, schema *node) {
		if properties.get(name) == nil {
			properties.fields = append(properties.fields, field{name: name, value: schema})
		}
	}
	for _, p := range d.Payload {
		add(p, &node{kind: objectKind})
	}
	required := []string{}
	for _, p := range d.parameters() {
		add(p, object("type", textNode("string")))
		optional := slices.ContainsFunc(d.Targets, func(t Target) bool { return t.Param == p && t.Default != "" })
		if !optional {
			required = append(required, p)
		}
	}
	if d.takesCommand() {
		add(argvName, object("type", textNode("array"), "items", object("type", textNode("string"))))
	}
	return object(
		"type", textNode("object"),
		"properties", properties,
		"required", textList(required),
		"additionalProperties", &node{kind: boolKind, text: "false"},
	)
}

// takesCommand tells whether a call says which command the tool runs.
func (d *draft) takesCommand() bool {
	return d.Operation == facts.Execute && d.Program == "" && (d.Handler != External || len(d.patternLines) > 0)
}

// withCommand makes argv required unless the tool has exactly one command, which
// a call need not repeat; the arguments that a call fills in stand beside it.
func (d *draft) withCommand(n *node) *node {
	properties := n.get("properties")
	if !d.takesCommand() || properties == nil || properties.get(argvName) == nil {
		return n
	}
	required := []string{}
	if list := n.get("required"); list != nil {
		for _, item := range list.items {
			if item.text != argvName {
				required = append(required, item.text)
			}
		}
	}
	if len(d.Commands)+len(d.Patterns) != 1 {
		required = append(required, argvName)
	}
	for _, p := range d.onlyPattern() {
		if p.Kind != facts.Word {
			properties = properties.with(p.Arg, argumentSchema(p))
		}
	}
	if d.onlyPattern() != nil {
		properties = properties.with(argvName, properties.get(argvName).with("description", textNode("the whole command, in place of its arguments by name")))
	}
	return n.with("properties", properties).with("required", textList(required))
}

// argumentSchema describes an argument to a model, which never learns of roots.
func argumentSchema(p facts.Part) *node {
	n := object("type", textNode("string"))
	switch p.Kind {
	case facts.Choice:
		return n.with("enum", textList(p.Values))
	case facts.Text:
		return n.with("pattern", textNode(p.Pattern))
	}
	return n.with("description", textNode("a path, counted from the working directory"))
}

// object makes an object node from names and values.
func object(pairs ...any) *node {
	n := &node{kind: objectKind}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		value, _ := pairs[i+1].(*node)
		n.fields = append(n.fields, field{name: name, value: value})
	}
	return n
}

// contradictions refuses a tool whose parts do not fit together, so that what
// loads can be judged.
func (d *draft) contradictions() {
	d.accessesFit()
	if d.Operation == facts.Rename {
		d.renameFits()
	}
	for i, t := range d.Targets {
		line := d.targetLine(i)
		if slices.ContainsFunc(d.Targets[:i], func(o Target) bool { return o.Param == t.Param && o.Access == t.Access && o.Template == t.Template }) {
			d.at.add(line, "", "a target is declared twice")
		}
		d.targetFits(t, line)
	}
	for _, p := range d.Payload {
		if property(d.Input.compiled, p) == nil {
			d.at.add(d.line("payload"), meant(p, d.properties()), "payload names %s, which is no parameter of input_schema", quoted(p))
		}
		if d.isTargetParameter(p) {
			d.at.add(d.line("payload"), "", "payload names %s, which is a target", quoted(p))
		}
	}
	if d.CreateParents && !d.touches(facts.Write) {
		d.at.add(d.line("create_parents"), "leave it out", "create_parents is set, and no target is written")
	}
	d.commandsFit()
}

func (d *draft) touches(access string) bool {
	return slices.ContainsFunc(d.Targets, func(t Target) bool { return t.Access == access })
}

func (d *draft) targetLine(i int) int {
	if n := d.decl.get("targets"); n != nil && i < len(n.items) {
		return n.items[i].line
	}
	return d.Where.Line
}

func (d *draft) accessesFit() {
	for _, group := range neededAccess(d.Operation) {
		if !slices.ContainsFunc(group, d.touches) {
			d.at.add(d.line("targets"), `add {"param": …, "access": "`+group[0]+`"} to targets`,
				"operation %s needs a target with access %s", quoted(d.Operation), quoted(strings.Join(group, " or ")))
		}
	}
	for i, t := range d.Targets {
		if d.Program != "" && (t.Access == facts.Delete || t.Access == facts.Execute) {
			d.at.add(d.targetLine(i), "a program is given files to read and write, and directories to see", "a target has access %s, which handler %s does not have", quoted(t.Access), quoted(d.Handler))
		} else if !slices.Contains(possibleAccess(d.Operation), t.Access) {
			d.at.add(d.targetLine(i), "", "a target has access %s, which operation %s does not have", quoted(t.Access), quoted(d.Operation))
		} else if !slices.ContainsFunc(d.Roots, func(r Root) bool { return slices.Contains(r.Access, t.Access) }) {
			d.at.add(d.line("roots"), "", "no root is for access %s, which a target has", quoted(t.Access))
		}
	}
}

// renameFits holds a rename to one source, read and deleted, and one destination.
func (d *draft) renameFits() {
	var source, removed, written []Target
	for _, t := range d.Targets {
		t.Default, t.Recursive = "", false
		switch t.Access {
		case facts.Read:
			source = append(source, t)
		case facts.Delete:
			removed = append(removed, t)
		case facts.Write:
			written = append(written, t)
		}
	}
	same := func(a, b Target) bool { return a.Param == b.Param && a.Template == b.Template }
	if len(source) != 1 || len(removed) != 1 || len(written) != 1 {
		return // accessesFit has said what is missing
	}
	if !same(source[0], removed[0]) {
		d.at.add(d.line("targets"), "", "a rename must read and delete the same target")
	}
	if same(source[0], written[0]) {
		d.at.add(d.line("targets"), "", "a rename must write another target than it reads")
	}
}

func (d *draft) targetFits(t Target, line int) {
	if t.Param != "" {
		d.stringParameter(t.Param, "target", line)
	} else if t.Default != "" {
		d.at.add(line, "", "a target has a default and no param")
	}
	if t.Default != "" {
		if strings.ContainsFunc(t.Default, isControl) || (strings.HasPrefix(t.Default, "/") || isDrive(t.Default)) && !d.Absolute && t.Template == "" {
			d.at.add(line, "", "a target's default is absolute or holds a control character")
		}
	}
	if t.Template != "" {
		d.templateFits(t, line)
	}
}

func (d *draft) templateFits(t Target, line int) {
	uses := false
	for _, part := range splitTemplate(t.Template) {
		switch {
		case !part.placeholder && strings.ContainsAny(part.text, "{}"):
			d.at.add(line, "", "template %s has a brace without its partner", quoted(t.Template))
		case part.placeholder && part.text != runIDName:
			uses = uses || part.text == t.Param
			if part.text != t.Param {
				d.stringParameter(part.text, "template placeholder", line)
			}
		}
	}
	if t.Param != "" && !uses {
		d.at.add(line, "put {"+printable(t.Param)+"} into it", "template %s does not use its param", quoted(t.Template))
	}
	if strings.ContainsFunc(t.Template, isControl) || strings.ContainsRune(t.Template, '\\') || hasDotDot(t.Template) {
		d.at.add(line, "", `template %s holds "..", a backslash or a control character`, quoted(t.Template))
	}
	if (strings.HasPrefix(t.Template, "/") || isDrive(t.Template)) && !d.Absolute {
		d.at.add(line, `add "absolute": true`, "template %s is absolute", quoted(t.Template))
	}
}

// stringParameter refuses a name that is not a string parameter of the input schema.
func (d *draft) stringParameter(name, what string, line int) {
	p := property(d.Input.compiled, name)
	if p == nil {
		d.at.add(line, meant(name, d.properties()), "%s %s names no parameter of input_schema", what, quoted(name))
		return
	}
	if !isString(p) {
		d.at.add(line, `its schema must say "type": "string"`, "%s %s is not declared as a string in input_schema", what, quoted(name))
	}
}

func isString(s *jsonschema.Schema) bool {
	if onlyType(s, "string") {
		return true
	}
	values := s.Enum
	if len(s.Constant) > 0 {
		values = s.Constant
	}
	for _, v := range values {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return len(values) > 0
}

func (d *draft) properties() []string {
	properties, _ := d.Input.doc["properties"].(map[string]any)
	out := make([]string, 0, len(properties))
	for p := range properties {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func (d *draft) isTargetParameter(name string) bool {
	return slices.ContainsFunc(d.Targets, func(t Target) bool {
		return t.Param == name || slices.Contains(splitTemplate(t.Template), templatePart{name, true})
	})
}
