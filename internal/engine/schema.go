package engine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// checkData checks policy data against schemas/data.json.
func checkData(schemas fs.FS, data *node, p *problems) {
	const shown = "schemas/data.json"
	if schemas == nil {
		p.add(shown, 0, "", "is missing")
		return
	}
	raw, err := readFile(schemas, "data.json")
	if err != nil {
		p.add(shown, 0, "", "cannot be read: %v", reason(err))
		return
	}
	c := jsonschema.NewCompiler()
	c.LoadURL = func(string) (io.ReadCloser, error) { return nil, errors.New("leaves the document") }
	if err := c.AddResource("data.json", bytes.NewReader(raw)); err != nil {
		p.add(shown, 0, "", "is not JSON: %v", err)
		return
	}
	schema, err := c.Compile("data.json")
	if err != nil {
		p.add(shown, 0, "", "is not a schema: %v", err)
		return
	}
	err = schema.Validate(data.native())
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return
	}
	for _, leaf := range leaves(invalid) {
		keys := strings.Split(strings.TrimPrefix(leaf.InstanceLocation, "/"), "/")
		n := data.nearest(keys)
		p.add(n.file, n.line, "schemas/data.json describes it", "data%s: %s", strings.ReplaceAll(leaf.InstanceLocation, "/", "."), leaf.Message)
	}
}

// leaves are the errors at the bottom: the ones that say what is wrong.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var list []*jsonschema.ValidationError
	for _, c := range e.Causes {
		list = append(list, leaves(c)...)
	}
	return list
}

// nearest follows a JSON pointer as far as it leads.
func (n *node) nearest(keys []string) *node {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, k := range keys {
		next := n.obj[unescape.Replace(k)]
		if next == nil {
			break
		}
		n = next
	}
	return n
}
