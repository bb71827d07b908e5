package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
)

// kinds are the partial sets that a family may expose.
var kinds = []string{"deny", "block", "ask"}

// Rule is one public rule of a family.
type Rule struct {
	Family string // folder below rules/
	Kind   string // "deny", "block" or "ask"
	Code   string
	Title  string
	File   string
	Line   int
}

// module is a parsed policy file.
type module struct {
	file   file
	parsed *ast.Module
	family string // "" outside rules/
}

// emitter is a place that emits a code.
type emitter struct {
	code, title, file string
	line              int
}

// parseModules parses every policy file and checks its place and its shape.
func parseModules(files []file, caps *ast.Capabilities, p *problems) []module {
	opts := ast.ParserOptions{Capabilities: caps, ProcessAnnotation: true, RegoVersion: ast.RegoV1}
	parsed := make([]*ast.Module, len(files))
	errs := make([]error, len(files))
	parallel(len(files), func(i int) {
		parsed[i], errs[i] = ast.ParseModuleWithOpts(files[i].shown, string(files[i].raw), opts)
	})
	var modules []module
	for i, f := range files {
		if errs[i] != nil {
			addOPA(p, f.shown, errs[i])
			continue
		}
		if parsed[i] == nil {
			p.add(f.shown, 0, "delete it or write a package", "is empty")
			continue
		}
		m := module{file: f, parsed: parsed[i]}
		m.place(p)
		modules = append(modules, m)
	}
	return modules
}

// parallel calls do for every index below n on as many threads as run Go code.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// addOPA turns OPA's parse and compile errors into problems.
func addOPA(p *problems, shown string, err error) {
	list, ok := errors.AsType[ast.Errors](err)
	if !ok {
		if one, is := errors.AsType[*ast.Error](err); is {
			list = ast.Errors{one}
		} else {
			p.add(shown, 0, "", "%v", err)
			return
		}
	}
	for _, e := range list {
		name, line := shown, 0
		if e.Location != nil {
			line = e.Location.Row
			if e.Location.File != "" {
				name = e.Location.File
			}
		}
		message, fix := strings.ReplaceAll(e.Message, "\n", " "), fixFor(e)
		if d, ok := e.Details.(*ast.RefErrInvalidDetail); ok && d.Pos < len(d.Ref) {
			message = "undefined ref: " + d.Ref[:d.Pos+1].String()
			var known []string
			for _, v := range d.OneOf {
				known = append(known, strings.Trim(v.String(), `"`))
			}
			fix = cmp.Or(didYouMean(strings.Trim(d.Ref[d.Pos].String(), `"`), known), fix)
		}
		p.add(name, line, fix, "%s", message)
	}
}

// fixFor adds to OPA's messages what they mean here.
func fixFor(e *ast.Error) string {
	switch {
	case strings.HasPrefix(e.Message, "undefined ref: input"):
		return "schemas/input.json describes every field of input"
	case strings.Contains(e.Message, "undefined function"), strings.Contains(e.Message, "unsafe built-in"):
		return "network, clock, random and runtime built-ins are not available, schemas/capabilities.json lists what is"
	}
	return ""
}

// place checks that the package is the one its folder names.
func (m *module) place(p *problems) {
	dir := path.Dir(m.file.rel)
	pkg := m.parsed.Package
	got := strings.TrimPrefix(pkg.Path.String(), "data.")
	line := pkg.Loc().Row
	want := strings.ReplaceAll(dir, "/", ".")
	switch {
	case dir == folder, dir == libFolder, strings.HasPrefix(dir, libFolder+"/"):
	case strings.HasPrefix(dir, rulesFolder) && !strings.Contains(strings.TrimPrefix(dir, rulesFolder), "/"):
		m.family = strings.TrimPrefix(dir, rulesFolder)
	default:
		p.add(m.file.shown, line, "rules go to runlens/rules/<family>/, helpers to runlens/lib/",
			"policy in folder %s would never run", cut(dir))
		return
	}
	if got != want {
		p.add(m.file.shown, line, "the folder names the package", "package %s must be %s", cut(got), want)
	}
}

// rules checks the rules of one module and returns the public ones.
// Before the module is compiled it also writes each rule's place into its
// annotation, so that rego.metadata.rule() carries it into the reason.
func (m *module) rules(kept *notes, p *problems) (public []Rule, emits []emitter) {
	notes := map[*ast.Rule][]*ast.Annotations{}
	for _, a := range m.parsed.Annotations {
		if len(a.Schemas) > 0 {
			p.add(m.file.shown, a.Location.Row, "schemas/input.json holds for every rule", "schemas annotations are not allowed")
		}
		rule := ast.NewAnnotationsRef(a).GetRule()
		if rule == nil || a.Scope != "rule" {
			continue
		}
		notes[rule] = append(notes[rule], a)
		if _, taken := a.Custom["location"]; taken {
			p.add(m.file.shown, a.Location.Row, "", "custom.location is set by the loader")
		}
		emits = append(emits, m.emits(a, rule)...)
	}
	for _, rule := range m.parsed.Rules {
		if m.family != "" {
			if r, ok := m.public(rule, notes[rule], p); ok {
				public = append(public, r)
			}
		}
		for _, a := range notes[rule] {
			if a.Custom == nil {
				a.Custom = map[string]any{}
			}
			a.Custom["location"] = map[string]any{
				"file": m.file.shown,
				"row":  json.Number(ast.Number(ast.IntNumberTerm(rule.Loc().Row).String())),
			}
		}
		if kept != nil && len(notes[rule]) == 1 {
			kept.place(rule, notes[rule][0])
		}
	}
	return public, emits
}

// emits lists the codes that an annotation says its rule emits: custom.code,
// or custom.codes where one rule picks among several.
func (m *module) emits(a *ast.Annotations, rule *ast.Rule) []emitter {
	var list []emitter
	add := func(code any) {
		if s, ok := code.(string); ok {
			list = append(list, emitter{code: s, title: a.Title, file: m.file.shown, line: rule.Loc().Row})
		}
	}
	add(a.Custom["code"])
	if codes, ok := a.Custom["codes"].([]any); ok {
		for _, c := range codes {
			add(c)
		}
	}
	return list
}

// public checks a rule of a family. Names that start with _ are its own matter;
// every other must be one of the partial sets, documented and with a code.
func (m *module) public(rule *ast.Rule, notes []*ast.Annotations, p *problems) (Rule, bool) {
	line := rule.Loc().Row
	ref := rule.Head.Ref()
	name := ref[0].String()
	if strings.HasPrefix(name, "_") {
		return Rule{}, false
	}
	if !slices.Contains(kinds, name) {
		fix := "helpers start with _, rules are deny, block or ask"
		if n := nearest(name, kinds); n != "" {
			fix = "did you mean " + n + "? helpers start with _"
		}
		p.add(m.file.shown, line, fix, "rule %s would never be asked for", cut(name))
		return Rule{}, false
	}
	if rule.Head.RuleKind() != ast.MultiValue || len(ref) != 1 || len(rule.Head.Args) > 0 || rule.Default || rule.Else != nil {
		p.add(m.file.shown, line, "write: "+name+" contains lib.reason(rego.metadata.rule(), {…}) if { … }",
			"%s must be a partial set", name)
		return Rule{}, false
	}
	if at := undefinedDetail(rule); at != nil {
		p.add(m.file.shown, at.Location.Row, "bind it in the body, or give a default with object.get",
			"%s takes %s for its reason: where the argument is missing, the rule would say nothing", name, cut(at.String()))
	}
	r := Rule{Family: m.family, Kind: name, File: m.file.shown, Line: line}
	for _, a := range notes {
		r.Title = a.Title
		r.Code, _ = a.Custom["code"].(string)
	}
	switch {
	case len(notes) > 1:
		p.add(m.file.shown, line, "", "%s has %d METADATA blocks, it can have one", name, len(notes))
	case r.Code == "":
		p.add(m.file.shown, line, "put a METADATA block with title and custom.code right above it", "%s has no code", name)
	case r.Title == "":
		p.add(m.file.shown, line, "", "METADATA of %s has no title", name)
	default:
		return r, true
	}
	return Rule{}, false
}

// undefinedDetail finds in a rule's head an argument of the call, the one part
// of the input that may be missing: a head that is undefined adds nothing.
func undefinedDetail(rule *ast.Rule) (at *ast.Term) {
	prefix := []string{"call", "arguments"}
	ast.WalkTerms(rule.Head.Key, func(t *ast.Term) bool {
		ref, ok := t.Value.(ast.Ref)
		if !ok || len(ref) <= len(prefix)+1 || !(ref[0].Equal(ast.InputRootDocument) || ref[0].Equal(ast.VarTerm("input"))) {
			return at != nil
		}
		for i, key := range prefix {
			if s, is := ref[i+1].Value.(ast.String); !is || string(s) != key {
				return false
			}
		}
		at = t
		return true
	})
	return at
}
