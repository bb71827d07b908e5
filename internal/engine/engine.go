// Package engine judges: it loads a tree of Rego policies and data, and answers
// an input with a verdict. It is the only package that knows OPA.
//
// It promises that Load refuses every tree in which a rule could be lost in
// silence, and says where; that Decide always answers, whatever policy does,
// and that every trouble with policy is a denial with its own code; that the
// same tree has the same revision as a directory, an embedded copy and a bundle.
//
// It never opens what is judged, never runs anything, reads no file of the
// project and no environment variable, and keeps nothing between two inputs
// but parts of the input that stay the same.
//
// Read Load first, then Decide, then Problem for what does not load.
package engine

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// Source says where policies come from. Exactly one of FS and Bundle is set.
type Source struct {
	FS       fs.FS            // its root holds runlens/
	Bundle   []byte           // an OPA bundle, gzipped tar
	Key      *VerificationKey // when set, the bundle's signature must verify with it
	Name     string           // shown in front of file names; "" is "policies"
	Overlay  fs.FS            // more families, data keys and codes on top of FS; nil: none
	OverName string           // shown in front of the overlay's file names; "" is Name
	Schemas  fs.FS            // holds input.json and data.json
	Log      func(string)     // hears of a panic inside OPA, with its stack; nil: nobody does

	asWritten bool // tests: compile the rules as they are written
}

// Engine is a loaded policy tree. It is immutable and safe for concurrent use.
type Engine struct {
	compiler *ast.Compiler
	query    ast.Body
	queries  ast.QueryCompiler
	data     ast.Object // what store holds
	store    storage.Store
	txn      storage.Transaction
	encoder  *encoder
	settings Settings
	byCode   map[string]*Code
	order    []gate
	rules    []Rule
	revision string
	log      func(string)
	plain    bool // without rule index and early exit: tests compare the two

	unchecked bool // a bundle with a signature that no key was given for
}

// Load reads, checks and compiles a policy tree. When anything is wrong the
// error is a *LoadError with all of it.
func Load(src Source) (*Engine, error) {
	src, err := src.filled()
	if err != nil {
		return nil, err
	}
	p := &problems{}
	t, data, signed, err := gatherTree(src, p)
	if err != nil {
		return nil, err
	}
	e, err := compileTree(src, t, data, p)
	if err != nil {
		return nil, err
	}
	e.unchecked = signed && src.Key == nil
	return e, nil
}

// filled is src with the names that are left out, or what is wrong with it.
func (src Source) filled() (Source, error) {
	switch {
	case (src.FS == nil) == (src.Bundle == nil):
		return src, fmt.Errorf("load policies: one of directory and bundle must be given")
	case src.Overlay != nil && src.FS == nil:
		return src, fmt.Errorf("load policies: an overlay needs a tree below it")
	case src.Key != nil && src.Bundle == nil:
		return src, fmt.Errorf("load policies: a verification key needs a bundle")
	}
	return src.named(), nil
}

// named fills the names in.
func (src Source) named() Source {
	src.Name = cmp.Or(src.Name, "policies")
	src.OverName = cmp.Or(src.OverName, src.Name)
	return src
}

// gatherTree reads the files of a tree, an overlay merged into it, and whether
// it came with a signature.
func gatherTree(src Source, p *problems) (t tree, data *node, signed bool, err error) {
	if src.FS != nil {
		t = readTree(src.FS, src.Name, p)
	} else {
		t, signed = readBundle(src.Bundle, src.Key, src.Name, p)
	}
	if len(t.modules) == 0 && len(p.list) > 0 {
		return t, nil, signed, p.err()
	}
	data = mergeData(t, src.Name, p)
	if src.Overlay != nil {
		addOverlay(&t, data, src, p)
	}
	// The first of two rules with the same code names it: whatever order the
	// files came in, it is the same one.
	slices.SortFunc(t.modules, func(a, b file) int { return cmp.Compare(a.rel, b.rel) })
	return t, data, signed, nil
}

// compileTree makes an engine of a tree, or says all that is wrong with it.
func compileTree(src Source, t tree, data *node, p *problems) (*Engine, error) {
	caps := capabilities()
	// Data is checked while modules are parsed: neither needs the other.
	aside, schema := &problems{}, any(nil)
	var checked sync.WaitGroup
	checked.Go(func() {
		checkData(src.Schemas, data, aside)
		schema = readSchema(src.Schemas, "input.json", aside)
	})
	modules := parseModules(t.modules, caps, p)
	var public []Rule
	var emits []emitter
	kept := &notes{}
	if src.asWritten {
		kept = nil
	}
	for i := range modules {
		r, e := modules[i].rules(kept, p)
		public, emits = append(public, r...), append(emits, e...)
	}
	checkComplete(t, modules, public, data, src.Name, p)
	codes := catalogue(data, public, emits, src.Name, p)
	order := readOrder(data, codes, p)
	settings := readSettings(data, codes, src.Name, p)
	checked.Wait()
	p.list = append(p.list, aside.list...)
	if len(p.list) == 0 { // else what is wrong may be the reason
		for _, family := range t.empty {
			p.add(family, 0, "a family is a folder with a policy of its own, <family>.rego", "holds no policy")
		}
	}
	if len(modules) < len(t.modules) || schema == nil {
		return nil, p.err() // what does not parse leaves holes that would read as more mistakes
	}
	documents, ok := data.term().Value.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("load policies: data is no object")
	}
	var short shortcuts
	if !src.asWritten && len(p.list) == 0 { // a broken tree is reported as it is written
		kept.keep(documents)
		unroll(modules, public)
		short = shortcuts{gathered: requiredFamilies(data), documents: documents}
	}
	compiler, carried := compileModules(modules, data, schema, caps, short, p)
	if err := p.err(); err != nil {
		return nil, err
	}
	e := &Engine{
		compiler: compiler,
		data:     documents,
		store:    inmem.NewFromASTObject(documents),
		encoder:  newEncoder(),
		settings: settings,
		byCode:   codes,
		order:    order,
		rules:    public,
		revision: revision(modules, data),
		log:      src.Log,
	}
	if carried {
		e.encoder.carry(documents)
	}
	return e, e.prepare()
}

// checkComplete refuses a tree that lacks its decision or a required family.
func checkComplete(t tree, modules []module, public []Rule, data *node, name string, p *problems) {
	if len(t.modules) == 0 {
		p.add(name, 0, "", "holds no policies")
		return
	}
	decides := slices.ContainsFunc(modules, func(m module) bool {
		return m.file.rel == decisionFile && slices.ContainsFunc(m.parsed.Rules, func(r *ast.Rule) bool {
			return r.Head.Ref().String() == "decision"
		})
	})
	if !decides {
		p.add(name+"/"+decisionFile, 0, "a policy tree stands on data.runlens.decision", "no rule decision")
	}
	has := map[string]bool{}
	for _, r := range public {
		has[r.Family] = true
	}
	for _, m := range modules {
		if m.family != "" && !has[m.family] {
			has[m.family] = true
			p.add(m.file.shown, 0, "", "family %s has no deny, block or ask rule", cut(m.family))
		}
	}
	required := data.at(folder, "required")
	if required == nil || required.kind != '[' || len(required.arr) == 0 {
		p.add(name, 0, "list every family that must exist", "data.runlens.required is missing or empty")
		return
	}
	for _, n := range required.arr {
		family, _ := n.leaf.(string)
		if !has[family] {
			p.add(n.file, n.line, didYouMean(family, slices.Sorted(maps.Keys(has))), "required family %s does not exist", cut(family))
		}
	}
	if families := data.at(folder, "rules"); families != nil {
		for _, f := range families.keys() {
			if !has[f] {
				p.add(families.obj[f].file, families.obj[f].line, "", "data for family %s, which does not exist", cut(f))
			}
		}
	}
}

// Revision is sha256:<hex> over policy and data.
func (e *Engine) Revision() string { return e.revision }

// Unchecked tells whether the tree came in a bundle with a signature, and no key
// to check it with.
func (e *Engine) Unchecked() bool { return e.unchecked }

// Settings returns the policy data that Go acts on.
func (e *Engine) Settings() Settings { return e.settings.clone() }

// Rules lists the public rules of all families, by file and line.
func (e *Engine) Rules() []Rule {
	list := slices.Clone(e.rules)
	slices.SortStableFunc(list, func(a, b Rule) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return list
}

// Codes is the catalogue: every code that a verdict can carry, sorted.
func (e *Engine) Codes() []Code {
	list := make([]Code, 0, len(e.byCode))
	for _, code := range slices.Sorted(maps.Keys(e.byCode)) {
		c := *e.byCode[code]
		c.Effects = slices.Clone(c.Effects)
		list = append(list, c)
	}
	return list
}
