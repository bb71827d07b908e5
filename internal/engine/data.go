package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxDataDepth bounds nesting in data files.
const maxDataDepth = 64

// node is a JSON value that remembers where it stands.
type node struct {
	file string
	line int
	obj  map[string]*node // nil unless an object
	arr  []*node          // nil unless an array
	leaf any              // string, bool, json.Number or nil
	kind byte             // '{', '[' or 'v'
}

func (n *node) keys() []string {
	keys := make([]string, 0, len(n.obj))
	for k := range n.obj {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// at walks down by keys; nil when a step is missing.
func (n *node) at(keys ...string) *node {
	for _, k := range keys {
		if n == nil {
			return nil
		}
		n = n.obj[k]
	}
	return n
}

// term converts to what rules see.
func (n *node) term() *ast.Term {
	switch n.kind {
	case '{':
		pairs := make([][2]*ast.Term, 0, len(n.obj))
		for _, k := range n.keys() {
			pairs = append(pairs, [2]*ast.Term{ast.InternedTerm(k), n.obj[k].term()})
		}
		return ast.ObjectTerm(pairs...)
	case '[':
		terms := make([]*ast.Term, len(n.arr))
		for i, e := range n.arr {
			terms[i] = e.term()
		}
		return ast.ArrayTerm(terms...)
	}
	switch v := n.leaf.(type) {
	case string:
		return ast.InternedTerm(v)
	case bool:
		return ast.InternedTerm(v)
	case json.Number:
		return ast.NumberTerm(v)
	default:
		return ast.NullTerm()
	}
}

// native converts to encoding/json's values, numbers as json.Number.
func (n *node) native() any {
	switch n.kind {
	case '{':
		m := make(map[string]any, len(n.obj))
		for k, v := range n.obj {
			m[k] = v.native()
		}
		return m
	case '[':
		s := make([]any, len(n.arr))
		for i, e := range n.arr {
			s[i] = e.native()
		}
		return s
	default:
		return n.leaf
	}
}

// canonical appends the one spelling of the value: sorted keys, no spaces,
// numbers as they were spelt. A bundle built by stock opa keeps all of it.
func (n *node) canonical(dst []byte) []byte {
	switch n.kind {
	case '{':
		dst = append(dst, '{')
		for i, k := range n.keys() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, k), ':')
			dst = n.obj[k].canonical(dst)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, e := range n.arr {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.canonical(dst)
		}
		return append(dst, ']')
	}
	switch v := n.leaf.(type) {
	case string:
		return appendString(dst, v)
	case bool:
		return fmt.Append(dst, v)
	case json.Number:
		return append(dst, v...)
	default:
		return append(dst, "null"...)
	}
}

func appendString(dst []byte, s string) []byte {
	b, _ := json.Marshal(s) // a string always marshals
	return append(dst, b...)
}

// parseData reads one data file: strict JSON, no key twice, nothing after it.
func parseData(f file, p *problems) *node {
	d := &dataParser{file: f, dec: json.NewDecoder(bytes.NewReader(f.raw)), problems: p, line: 1}
	d.dec.UseNumber()
	n, err := d.value(0)
	if err == nil {
		if _, more := d.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("text after the JSON value")
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("ends too early")
		}
		p.add(f.shown, d.where(), "", "is not JSON: %v", err)
		return nil
	}
	if n.kind != '{' {
		p.add(f.shown, n.line, "", "must hold a JSON object")
		return nil
	}
	return n
}

type dataParser struct {
	file     file
	dec      *json.Decoder
	problems *problems
	line     int // of offset
	offset   int
}

// where is the line of the last token read.
func (d *dataParser) where() int {
	next := min(int(d.dec.InputOffset()), len(d.file.raw))
	d.line += bytes.Count(d.file.raw[d.offset:next], []byte("\n"))
	d.offset = next
	return d.line
}

func (d *dataParser) value(depth int) (*node, error) {
	tok, err := d.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &node{file: d.file.shown, line: d.where(), kind: 'v'}
	switch tok {
	case json.Delim('{'):
		n.kind, n.obj = '{', map[string]*node{}
	case json.Delim('['):
		n.kind, n.arr = '[', []*node{}
	default:
		n.leaf = tok
		return n, nil
	}
	if depth >= maxDataDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDataDepth)
	}
	for d.dec.More() {
		key, line := "", 0
		if n.kind == '{' {
			tok, err := d.dec.Token()
			if err != nil {
				return nil, err
			}
			key, _ = tok.(string)
			line = d.where()
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if n.kind == '[' {
			n.arr = append(n.arr, v)
			continue
		}
		if first, twice := n.obj[key]; twice {
			d.problems.add(d.file.shown, line, "", "key %s is set twice, first in line %d", cut(key), first.line)
		}
		if v.kind == 'v' {
			v.line = line
		}
		n.obj[key] = v
	}
	_, err = d.dec.Token()
	return n, err
}

// mergeData puts every data file at the place its folder names. A key that two
// files set is refused: which one wins would be a matter of chance.
func mergeData(t tree, name string, p *problems) *node {
	root := &node{file: name, kind: '{', obj: map[string]*node{}}
	if t.root != nil {
		if n := parseData(*t.root, p); n != nil {
			graft(root, n, nil, p)
		}
	}
	for _, f := range t.data {
		if n := parseData(f, p); n != nil {
			graft(root, n, strings.Split(path.Dir(f.rel), "/"), p)
		}
	}
	for _, k := range root.keys() {
		if k != folder {
			p.add(root.obj[k].file, root.obj[k].line, "", "top-level data %s is outside runlens", cut(k))
		}
	}
	return root
}

// graft merges n into root below the folders of at.
func graft(root, n *node, at []string, p *problems) {
	for i := len(at) - 1; i >= 0; i-- {
		n = &node{file: n.file, line: 1, kind: '{', obj: map[string]*node{at[i]: n}}
	}
	merge(root, n, nil, func(keys []string, old, add *node) {
		p.add(add.file, add.line, "", "data.%s is already set by %s:%d", strings.Join(keys, "."), old.file, old.line)
	})
}

// merge adds n's keys to root; where both have one and not both are objects,
// clash hears of it and root's stays.
func merge(root, n *node, keys []string, clash func(keys []string, old, add *node)) {
	for _, k := range n.keys() {
		below := append(slices.Clip(keys), k)
		old, add := root.obj[k], n.obj[k]
		switch {
		case old == nil:
			root.obj[k] = add
		case old.kind == '{' && add.kind == '{':
			merge(old, add, below, clash)
		default:
			clash(below, old, add)
		}
	}
}
