package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// canonicalSet is the content of a Set that Revision stands for: everything
// that can change a verdict, a spec or an execution, and nothing about files.
type canonicalSet struct {
	V      int             `json:"v"`
	Path   []string        `json:"path"`
	Record string          `json:"record"`
	Tools  []canonicalTool `json:"tools"`
}

type canonicalTool struct {
	Name          string          `json:"name"`
	Description   string          `json:"description"`
	Operation     string          `json:"operation"`
	Handler       string          `json:"handler"`
	Targets       []Target        `json:"targets"`
	Roots         []Root          `json:"roots"`
	Payload       []string        `json:"payload"`
	MaxBytes      int64           `json:"max_bytes"`
	TimeoutMS     int64           `json:"timeout_ms"`
	Commands      [][]string      `json:"commands"`
	Absolute      bool            `json:"absolute"`
	CreateParents bool            `json:"create_parents"`
	Sandbox       string          `json:"sandbox"`
	Input         json.RawMessage `json:"input"`
	Output        json.RawMessage `json:"output"`
}

// revision returns sha256:<hex> over the canonical JSON of s.
func (s *Set) revision() (string, error) {
	doc := canonicalSet{V: Version, Path: s.Path, Record: s.Record, Tools: []canonicalTool{}}
	for _, t := range s.sorted() {
		doc.Tools = append(doc.Tools, canonicalTool{
			t.Name, t.Description, t.Operation, t.Handler, t.Targets, t.Roots, t.Payload,
			t.MaxBytes, t.TimeoutMS, t.Commands, t.Absolute, t.CreateParents, t.Sandbox,
			t.Input.JSON(), t.Output.JSON(),
		})
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return "", fmt.Errorf("encode manifest: %w", err)
	}
	sum := sha256.Sum256(buf.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
