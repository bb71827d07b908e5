package engine

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// schemaURL is where a schema seems to stand while it is compiled; nothing is there.
// Without it the compiler would make a URL of the working directory, whose name may
// be anything.
const schemaURL = "policies:///"

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
	if err := c.AddResource(schemaURL+"data.json", bytes.NewReader(raw)); err != nil {
		p.add(shown, 0, "", "is not JSON: %v", err)
		return
	}
	schema, err := c.Compile(schemaURL + "data.json")
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
		fix := cmp.Or(meant(leaf, keys[len(keys)-1], n, raw), "schemas/data.json describes it")
		p.add(n.file, n.line, fix, "data%s: %s", strings.ReplaceAll(leaf.InstanceLocation, "/", "."), leaf.Message)
	}
}

// meant is the word of a schema's list that is near to one that is not in it, as
// a fix. The word is a key or the value of n.
func meant(leaf *jsonschema.ValidationError, key string, n *node, schema []byte) string {
	_, pointer, _ := strings.Cut(leaf.AbsoluteKeywordLocation, "#")
	if !strings.HasSuffix(pointer, "/enum") {
		return ""
	}
	word := key
	if !strings.HasSuffix(pointer, "/propertyNames/enum") {
		word, _ = n.leaf.(string)
	}
	list := parseData(file{raw: schema}, &problems{}).at(strings.Split(pointer, "/")[1:]...)
	if list == nil {
		return ""
	}
	var words []string
	for _, w := range list.arr {
		if s, ok := w.leaf.(string); ok {
			words = append(words, s)
		}
	}
	return didYouMean(word, words)
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
		if i, err := strconv.Atoi(k); err == nil && i >= 0 && i < len(n.arr) {
			next = n.arr[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}
