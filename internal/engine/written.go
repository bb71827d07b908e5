package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Written is a policy tree as people wrote it: nothing is compiled, and nothing
// of what Load does to speed it up is done to it. Rego tests run on it.
type Written struct {
	Modules []WrittenModule // policies and tests, those of the overlay last
	Data    ast.Object      // of all data files
}

// WrittenModule is one parsed Rego file.
type WrittenModule struct {
	File   string // as shown to people
	Test   bool   // *_test.rego
	Over   bool   // of the overlay
	Parsed *ast.Module
}

// ReadWritten reads the trees of src, with their tests. When a file cannot be
// read or parsed the error is a *LoadError with all of it. What else Load
// refuses, it does not look for; a bundle carries no tests and is refused.
func ReadWritten(src Source) (*Written, error) {
	if src.FS == nil {
		return nil, errors.New("read policy tests: a directory of policies must be given")
	}
	src.Name = cmp.Or(src.Name, "policies")
	src.OverName = cmp.Or(src.OverName, src.Name)
	p := &problems{}
	t := tree{withTests: true}
	t.read(src.FS, src.Name, p)
	data := mergeData(t, src.Name, p)
	w := &Written{Modules: parseWritten(t, false, p)}
	if src.Overlay != nil {
		over := tree{withTests: true}
		over.read(src.Overlay, src.OverName, p)
		w.Modules = append(w.Modules, parseWritten(over, true, p)...)
		mergeOverlay(&t, over, data, src, p)
	}
	files := map[string]bool{}
	for _, m := range w.Modules {
		if files[m.File] {
			p.add(m.File, 0, "", "is both in the tree and in its overlay")
		}
		files[m.File] = true
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	documents, ok := data.term().Value.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("read policy tests: data is no object")
	}
	w.Data = documents
	return w, nil
}

// parseWritten parses without the limits of a decision: tests may use any
// built-in function, as with stock opa.
func parseWritten(t tree, over bool, p *problems) (list []WrittenModule) {
	files := slices.Concat(t.modules, t.tests)
	parsed := make([]*ast.Module, len(files))
	errs := make([]error, len(files))
	parallel(len(files), func(i int) {
		parsed[i], errs[i] = ast.ParseModuleWithOpts(files[i].shown, string(files[i].raw),
			ast.ParserOptions{ProcessAnnotation: true, RegoVersion: ast.RegoV1})
	})
	for i, f := range files {
		switch {
		case errs[i] != nil:
			addOPA(p, f.shown, errs[i])
		case parsed[i] == nil:
			p.add(f.shown, 0, "delete it or write a package", "is empty")
		default:
			list = append(list, WrittenModule{File: f.shown, Test: i >= len(t.modules), Over: over, Parsed: parsed[i]})
		}
	}
	return list
}

// Misread turns OPA's errors of parsing and compiling into a *LoadError; any
// other error stays as it is.
func Misread(err error) error {
	list, ok := errors.AsType[ast.Errors](err)
	if !ok {
		return err
	}
	p := &problems{}
	addOPA(p, "policies", list)
	return p.err()
}
