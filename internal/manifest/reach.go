package manifest

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/plan"
)

// artifactDir is where the artifacts of a run are.
const artifactDir = "runs/{" + runIDName + "}/artifacts"

// ownArtifacts reads the artifacts that must be there when a run stops.
func (d *skillDraft) ownArtifacts() []artifact {
	n := d.decl.get("artifacts")
	if n == nil {
		d.Artifacts = []plan.Artifact{}
		return nil
	}
	list := d.l.artifacts(n, d.at)
	d.Artifacts = withoutLines(list)
	return list
}

func withoutLines(list []artifact) []plan.Artifact {
	out := make([]plan.Artifact, len(list))
	for i, a := range list {
		out[i] = a.Artifact
	}
	return out
}

// artifacts reads a list of artifacts, each once.
func (l *loader) artifacts(n *node, at place) (out []artifact) {
	if !at.want(n, "artifacts", listKind) {
		return nil
	}
	if len(n.items) == 0 {
		at.add(n.line, "leave it out", "artifacts is empty")
	}
	for _, item := range n.items {
		if !at.want(item, "an artifact", objectKind) {
			continue
		}
		at.unknownKeys(item, []string{"path", "schema"}, "artifact: ")
		p := item.get("path")
		if p == nil {
			at.add(item.line, "", "an artifact's path is missing")
			continue
		}
		if !at.want(p, "an artifact's path", stringKind) {
			continue
		}
		here := at
		here.subject += "artifact " + quoted(p.text) + ": "
		if cause, fix := pathTrouble(p.text, "the run's artifacts/"); cause != "" {
			here.add(p.line, fix, "the path %s", cause)
			continue
		}
		if slices.ContainsFunc(out, func(o artifact) bool { return o.Path == p.text }) {
			here.add(p.line, "", "is listed twice")
		}
		a := artifact{plan.Artifact{Path: p.text}, p.line}
		if s := item.get("schema"); s != nil && !s.bad {
			a.Schema = compileSchema(s, "schema", here, l.schemas).JSON()
		}
		out = append(out, a)
	}
	return out
}

// pathTrouble says why p is no plain path of a file that is counted from from,
// and what to do.
func pathTrouble(p, from string) (cause, fix string) {
	segments := strings.Split(p, "/")
	switch {
	case p == "":
		return "is empty", ""
	case strings.ContainsFunc(p, isControl):
		return "holds NUL or a control character", ""
	case strings.ContainsRune(p, '\\'):
		return "holds a backslash", "use /"
	case isAbsolute(p):
		return "is absolute", "count it from " + from
	case hasDotDot(p):
		return `holds ".."`, ""
	case strings.HasPrefix(p, "~"):
		return "begins with ~, which nobody expands", ""
	case strings.ContainsAny(p, "*?"):
		return "is a pattern", "name one file"
	case segments[len(segments)-1] == "":
		return "names a directory", "name one file"
	case slices.Contains(segments, "") || slices.Contains(segments, "."):
		return "is not plain", "write " + quoted(path.Clean(p))
	}
	return "", ""
}

// makeable refuses artifacts that none of these tools can make, since a step or
// run that waits for one would never end. It goes by what is declared, and gives
// a tool the benefit of the doubt.
func (d *skillDraft) makeable(list []artifact, called []named, at place, of string) {
	if d.unsure {
		return
	}
	among := map[string]string{"step": "this or an earlier step", "plan": "the plan's steps", "skill": "the skill"}[of]
	for _, a := range list {
		if why := d.obstacle(a.Path, called); why != "" {
			fix := "name it otherwise, or add a tool that can"
			if strings.HasPrefix(a.Path, "artifacts/") || strings.HasPrefix(a.Path, "runs/") {
				fix = "its path counts from the run's artifacts/"
			}
			at.add(a.line, fix, "artifact %s: no tool of %s can make it: %s", quoted(a.Path), among, why)
		}
	}
}

// obstacle says what keeps each of these tools from making an artifact; "" when
// one can.
func (d *skillDraft) obstacle(artifact string, called []named) string {
	var why []string
	folders := false
	seen := make(map[string]bool)
	for _, t := range called {
		tool := d.Tools[t.name]
		if tool == nil || seen[t.name] {
			continue // reported as none of the skill's
		}
		seen[t.name] = true
		cause, writes := d.l.writing(tool, artifact)
		if writes && cause == "" && tool.runsCommand() {
			return ""
		}
		folders = folders || writes && tool.CreateParents
		if writes {
			why = append(why, cause)
		}
	}
	switch {
	case len(why) == 0:
		return "none writes"
	case !slices.Contains(why, ""):
		return strings.Join(why, ", ")
	case strings.Contains(artifact, "/") && !folders:
		return "its folder is not there, and none makes folders (create_parents)"
	}
	return ""
}

// writing tells whether a tool writes at all, and what keeps it from making an
// artifact; "" when it can.
func (l *loader) writing(t *Tool, artifact string) (cause string, writes bool) {
	full := artifactDir + "/" + artifact
	if t.runsCommand() {
		// What a program writes is its own affair; only roots limit it.
		return "", t.mayWrite(full)
	}
	for _, target := range t.Targets {
		if target.Access != facts.Write {
			continue
		}
		writes = true
		if cause = l.targetObstacle(t, target, artifact, full); cause == "" {
			return "", true
		}
	}
	return cause, writes
}

// runsCommand tells whether calls of the tool run a program that sees its roots.
// A handler that is a program sees the targets of the call alone.
func (t *Tool) runsCommand() bool { return t.Operation == facts.Execute && t.Program == "" }

func (l *loader) targetObstacle(t *Tool, target Target, artifact, full string) string {
	if h := l.handlers[t.Handler]; h != nil && len(h.Suffixes) > 0 &&
		!slices.ContainsFunc(h.Suffixes, func(s string) bool { return strings.HasSuffix(artifact, s) }) {
		return t.Name + " writes " + strings.Join(h.Suffixes, ", ")
	}
	if target.Template != "" && !t.fits(target, full) {
		return t.Name + " can't name it as " + printable(target.Template)
	}
	if !t.mayWrite(full) {
		return t.Name + " has no root there"
	}
	return ""
}

// readable refuses a default input that no tool of the skill may read or list: the
// model would be sent to a file that it cannot see. It goes by the names, after
// narrowing; a tool whose reading nobody knows here is given the benefit of the doubt.
func (d *skillDraft) readable() {
	if d.unsure {
		return
	}
	for _, in := range d.Inputs {
		if trouble, _ := pathTrouble(in.Default, "the project"); trouble != "" {
			continue // none, or reported
		}
		if !slices.ContainsFunc(d.Names, func(name string) bool { return d.Tools[name].mayRead(in.Default) }) {
			at := d.at
			at.subject += "input " + quoted(in.Name) + ": "
			at.add(d.decl.get("inputs").get(in.Name).lineOf("default"), d.readingRoots(),
				"no tool of the skill can read the default %s", quoted(in.Default))
		}
	}
}

// readingRoots says where the skill's tools read.
func (d *skillDraft) readingRoots() string {
	var dirs []string
	for _, name := range d.Names {
		for _, r := range d.Tools[name].Roots {
			reads := slices.Contains(r.Access, facts.Read) || slices.Contains(r.Access, facts.List)
			if reads && d.Tools[name].targetsReads() && !slices.Contains(dirs, quoted(r.Path)) {
				dirs = append(dirs, quoted(r.Path))
			}
		}
	}
	if dirs == nil {
		return "list a tool that reads"
	}
	slices.Sort(dirs)
	return "name one below " + strings.Join(dirs, " or ") + ", or give a tool that reads a root there"
}

// targetsReads tells whether a call of the tool names something to read or list.
func (t *Tool) targetsReads() bool {
	return slices.ContainsFunc(t.Targets, func(g Target) bool { return g.Access == facts.Read || g.Access == facts.List })
}

// mayRead tells whether a call of the tool may read or list a path of the project.
func (t *Tool) mayRead(full string) bool {
	if t.runsCommand() || t.Program != "" && t.Sandbox == "none" || t.Handler == External && len(t.Targets) == 0 {
		return true // what another program reads is its own affair
	}
	return slices.ContainsFunc(t.Targets, func(g Target) bool {
		if g.Access != facts.Read && g.Access != facts.List || g.Template != "" && !t.fits(g, full) {
			return false
		}
		return slices.ContainsFunc(t.Roots, func(r Root) bool {
			return slices.Contains(r.Access, g.Access) && (isAbsolute(r.Path) || inside(full, r.Path))
		})
	})
}

// mayWrite tells whether a path of the project may lie in a root for writing.
// Where an absolute root lies nobody knows here.
func (t *Tool) mayWrite(full string) bool {
	return slices.ContainsFunc(t.Roots, func(r Root) bool {
		return slices.Contains(r.Access, facts.Write) && (isAbsolute(r.Path) || inside(full, r.Path))
	})
}

// fits tells whether a target's template can give a path, and, where only one
// value can, whether the input schema takes that.
func (t *Tool) fits(target Target, full string) bool {
	if isAbsolute(target.Template) {
		return true // where it lies nobody knows here
	}
	var expr strings.Builder
	var params []string
	for _, part := range splitTemplate(path.Clean(target.Template)) {
		switch {
		case !part.placeholder:
			expr.WriteString(regexp.QuoteMeta(part.text))
		case part.text == runIDName:
			expr.WriteString(regexp.QuoteMeta("{" + runIDName + "}"))
		default:
			params = append(params, part.text)
			expr.WriteString("(.*)")
		}
	}
	re, err := regexp.Compile("^(?s:" + expr.String() + ")$")
	if err != nil {
		return true
	}
	values := re.FindStringSubmatch(full)
	if values == nil {
		return false
	}
	return len(params) != 1 || takes(property(t.Input.compiled, params[0]), values[1])
}

// takes tells whether a schema takes a string.
func takes(s *jsonschema.Schema, value string) (ok bool) {
	if s == nil {
		return true
	}
	defer func() {
		if recover() != nil { // as Schema.validate
			ok = true
		}
	}()
	var invalid *jsonschema.ValidationError
	return !errors.As(s.Validate(value), &invalid)
}
