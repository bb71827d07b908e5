package manifest

import (
	"encoding/json"
	"fmt"

	"github.com/runlens/runlens/internal/call"
)

// maxArtifact is the size of the largest artifact that CheckArtifact reads.
const maxArtifact = call.MaxBytes

// CheckArtifact holds the content of an artifact to a JSON schema and returns
// all that is wrong, as CheckInput does; nil when it fits, and for a nil schema
// whatever data is. Its issues repeat nothing of the content, no key either, unless
// the schema names it. The content is read as strictly as a call: one JSON value,
// no key twice, valid UTF-8. A schema that does not compile is an issue, so that
// what nobody can check never counts as checked.
func CheckArtifact(schema json.RawMessage, data []byte) []Issue {
	if schema == nil {
		return nil
	}
	const name = "content"
	var wrong problems
	at := place{problems: &wrong}
	var compiled *Schema
	if n := parse(Source{Name: "schema.json", Data: schema}, at); n != nil {
		compiled = compileSchema(n, "schema", at, map[string]*Schema{})
	}
	if compiled == nil || len(wrong.list) > 0 {
		return []Issue{{Pointer: name, Message: "cannot be checked: its schema does not compile"}}
	}
	at.foreign = true
	root := parseLimited(Source{Name: "content.json", Data: data}, at, maxArtifact)
	if root == nil || len(wrong.list) > 0 {
		var issues []Issue
		for _, p := range wrong.list {
			issues = append(issues, Issue{Pointer: name, Message: p.within()})
		}
		return issues
	}
	return compiled.check(&findings{name: name, value: root.value(), foreign: true})
}

// within is the problem without the file that it is in.
func (p Problem) within() string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Message)
}
