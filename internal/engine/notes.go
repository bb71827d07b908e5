package engine

import (
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// notesKey is where the loader keeps annotations: data.runlens[notesKey]. No
// file can define it: no folder's name holds a NUL.
const notesKey = "\x00annotations"

// notes are the annotations of the rules that ask for their own with
// rego.metadata.rule(). OPA writes the annotation out in each such rule, as a
// literal that every later pass of its compiler walks through. A reference to a
// document says the same, and is looked up only when the rule has fired; that
// takes a third off the time that a large site policy needs to load.
type notes struct{ list []*ast.Term }

// place puts a reference to a wherever rule asks for its annotation.
func (n *notes) place(rule *ast.Rule, a *ast.Annotations) {
	var ref ast.Ref
	ast.WalkTerms(rule, func(t *ast.Term) bool {
		call, ok := t.Value.(ast.Call)
		if !ok || len(call) != 1 || !call[0].Value.(ast.Ref).Equal(ast.Interned.Refs.RegoMetadataRule) {
			return false
		}
		if ref == nil {
			if ref = n.add(a); ref == nil {
				return true
			}
		}
		t.Value = ref.Copy()
		return false
	})
}

// add keeps an annotation and returns the reference to it; nil leaves it to OPA.
func (n *notes) add(a *ast.Annotations) ast.Ref {
	value := document(a)
	if value == nil {
		return nil
	}
	n.list = append(n.list, value)
	return ast.Ref{
		ast.DefaultRootDocument, ast.StringTerm(folder), ast.StringTerm(notesKey),
		ast.StringTerm(strconv.Itoa(len(n.list) - 1)),
	}
}

// document is an annotation as rego.metadata.rule() gives it; nil when it holds
// what no rule of ours looks at.
func document(a *ast.Annotations) *ast.Term {
	if len(a.Organizations)+len(a.RelatedResources)+len(a.Authors)+len(a.Schemas)+len(a.Labels) > 0 {
		return nil
	}
	custom, err := ast.InterfaceToValue(a.Custom)
	if err != nil {
		return nil
	}
	o := ast.NewObject([2]*ast.Term{ast.InternedTerm("scope"), ast.StringTerm(a.Scope)})
	o.Insert(ast.InternedTerm("custom"), ast.NewTerm(custom))
	if a.Title != "" {
		o.Insert(ast.InternedTerm("title"), ast.StringTerm(a.Title))
	}
	if a.Description != "" {
		o.Insert(ast.InternedTerm("description"), ast.StringTerm(a.Description))
	}
	if a.Entrypoint {
		o.Insert(ast.InternedTerm("entrypoint"), ast.InternedTerm(true))
	}
	return ast.NewTerm(o)
}

// keep adds the annotations to the documents that policy reads.
func (n *notes) keep(documents ast.Object) {
	own := documents.Get(ast.StringTerm(folder))
	if own == nil {
		return
	}
	if at, ok := own.Value.(ast.Object); ok {
		list := ast.NewObject()
		for i, t := range n.list {
			list.Insert(ast.StringTerm(strconv.Itoa(i)), t)
		}
		at.Insert(ast.StringTerm(notesKey), ast.NewTerm(list))
	}
}

// isNote tells whether a reference is one of the loader's own.
func isNote(ref ast.Ref) bool {
	return len(ref) > 2 && ref[2].Equal(ast.StringTerm(notesKey))
}
