package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// parseYAML reads the part of YAML that means the same to every reader: one
// document, plain JSON types, no anchors, merges or tags, and no word that one
// YAML version reads as a boolean or number and another as text.
func parseYAML(data []byte, at place) (root *node, err error) {
	defer func() {
		// yaml.v3 has panicked on broken input before; a manifest must not.
		if recover() != nil {
			root, err = nil, &syntaxError{cause: "not valid YAML"}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &syntaxError{line: 1, cause: emptyFile, fix: "write schema_version: 1 and tools: {} to allow nothing"}
		}
		return nil, yamlSyntax(err)
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		return nil, &syntaxError{line: second.Line, cause: "the file holds more than one YAML document", fix: "one file, one document"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlSyntax(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, &syntaxError{line: 1, cause: "not valid YAML"}
	}
	r := &yamlReader{at: at}
	return r.value(doc.Content[0], 1)
}

func yamlSyntax(err error) error {
	text := err.Error()
	e := &syntaxError{}
	if after, ok := strings.CutPrefix(text, "yaml: line "); ok {
		if number, rest, ok := strings.Cut(after, ": "); ok {
			e.line, _ = strconv.Atoi(number)
			text = rest
		}
	}
	e.cause = "not valid YAML: " + printable(strings.TrimPrefix(text, "yaml: "))
	if strings.Contains(text, "cannot start any token") {
		e.fix = "indent with spaces, not tabs"
	}
	return e
}

type yamlReader struct{ at place }

func (r *yamlReader) value(y *yaml.Node, depth int) (*node, error) {
	n := &node{line: y.Line}
	if depth > maxDepth {
		return nil, &syntaxError{line: y.Line, cause: fmt.Sprintf("more than %d levels deep", maxDepth)}
	}
	if y.Anchor != "" {
		r.at.add(y.Line, "write the value out", "YAML anchors are not read")
	}
	if y.Style&yaml.TaggedStyle != 0 {
		r.at.add(y.Line, "leave the tag out", "YAML tags are not read")
	}
	switch y.Kind {
	case yaml.AliasNode:
		n.bad = true
		r.at.add(y.Line, "write the value out", "YAML aliases are not read")
	case yaml.ScalarNode:
		r.scalar(n, y)
	case yaml.SequenceNode:
		n.kind = listKind
		for _, item := range y.Content {
			v, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, v)
		}
	case yaml.MappingNode:
		n.kind = objectKind
		for i := 0; i+1 < len(y.Content); i += 2 {
			v, err := r.value(y.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			if key, ok := r.key(y.Content[i]); ok {
				n.set(field{name: key, line: y.Content[i].Line, value: v}, r.at)
			}
		}
	}
	return n, nil
}

// key reads the name of a field, which must be text by every reading of YAML.
func (r *yamlReader) key(y *yaml.Node) (string, bool) {
	if y.Kind == yaml.ScalarNode && y.Value == "<<" && y.Style == 0 {
		r.at.add(y.Line, "write the keys out", "YAML merge keys are not read")
		return "", false
	}
	if y.Kind != yaml.ScalarNode {
		r.at.add(y.Line, "", "a key is not a string")
		return "", false
	}
	before := len(r.at.problems.list)
	n, err := r.value(y, 1)
	if err != nil || len(r.at.problems.list) > before {
		return "", false
	}
	if n.kind != stringKind {
		r.at.add(y.Line, "quote it", "key %s is %s, not a string", quoted(y.Value), n.kind)
		return "", false
	}
	return n.text, true
}

// scalar decides what a plain word is. Only JSON's spellings are numbers,
// booleans and null (also "~" and nothing); what else some YAML version reads
// as one of these must be quoted.
func (r *yamlReader) scalar(n *node, y *yaml.Node) {
	n.text = y.Value
	if y.Style&^yaml.TaggedStyle != 0 { // quoted or a block
		n.kind = stringKind
		return
	}
	switch {
	case y.Value == "" || y.Value == "~" || y.Value == "null":
		n.kind, n.text = nullKind, ""
	case y.Value == "true" || y.Value == "false":
		n.kind = boolKind
	case isJSONNumber(y.Value):
		n.kind = numberKind
		checkNumber(n, r.at)
	case ambiguousWord(y.Value):
		n.kind, n.bad = stringKind, true
		r.at.add(y.Line, "write true, false or null, or quote it", "the word %s means different things to different YAML readers", quoted(y.Value))
	case y.ShortTag() != "!!str":
		n.kind, n.bad = stringKind, true
		r.at.add(y.Line, "write a plain decimal number, or quote it", "the word %s is not text to every YAML reader", quoted(y.Value))
	default:
		n.kind = stringKind
	}
}

func isJSONNumber(s string) bool {
	_, ok := jsonNumber(s)
	return ok
}

func ambiguousWord(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}
