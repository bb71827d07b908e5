package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/plan"
)

// canonicalSet is the content of a Set that Revision stands for: everything
// that can change a verdict, a spec or an execution, and nothing about files.
type canonicalSet struct {
	V      int             `json:"v"`
	Path   []string        `json:"path"`
	Record string          `json:"record"`
	Tools  []canonicalTool `json:"tools"`

	// Left out when there are none, so that a set of tools alone has the revision
	// that it had before there were skills.
	Approvers []string         `json:"approvers,omitempty"` // keys, which hold the names
	Skills    []canonicalSkill `json:"skills,omitempty"`    // each with its plan
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

	// Left out when they are the defaults, so that a tool that says nothing of them
	// has the revision that it had before they could be said. A handler that is a
	// program stands in Handler.
	Patterns [][]facts.Part `json:"patterns,omitempty"`
	Dir      string         `json:"dir,omitempty"`
	Env      []string       `json:"env,omitempty"`
	Network  string         `json:"network,omitempty"`
	Limits   Limits         `json:"limits,omitzero"`
}

// canonicalSkill is the content of a Skill that its Digest stands for.
type canonicalSkill struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	Goal         string          `json:"goal"`
	Instructions string          `json:"instructions"`
	Inputs       []SkillInput    `json:"inputs"` // by name: the keys of an object have no order
	Tools        []canonicalTool `json:"tools"`  // as narrowed
	Limits       RunLimits       `json:"limits"`
	ReadOnly     bool            `json:"read_only"`
	Artifacts    []plan.Artifact `json:"artifacts"`
	Plan         *plan.Plan      `json:"plan"`
}

func (t *Tool) canonical() canonicalTool {
	network := t.Network
	if network == "none" {
		network = ""
	}
	return canonicalTool{
		t.Name, t.Description, t.Operation, t.Handler, t.Targets, t.Roots, t.Payload,
		t.MaxBytes, t.TimeoutMS, t.Commands, t.Absolute, t.CreateParents, t.Sandbox,
		t.Input.JSON(), t.Output.JSON(),
		t.Patterns, t.Dir, t.Env, network, t.Limits,
	}
}

func (s *Skill) canonical() canonicalSkill {
	inputs := slices.Clone(s.Inputs)
	slices.SortFunc(inputs, func(a, b SkillInput) int { return strings.Compare(a.Name, b.Name) })
	doc := canonicalSkill{
		s.Name, s.Title, s.Description, s.Goal, s.Instructions, inputs,
		[]canonicalTool{},
		s.Limits, s.ReadOnly, s.Artifacts, s.Plan,
	}
	for _, t := range s.sorted() {
		doc.Tools = append(doc.Tools, t.canonical())
	}
	return doc
}

// revision returns sha256:<hex> over the canonical JSON of s.
func (s *Set) revision() (string, error) {
	doc := canonicalSet{V: Version, Path: s.Path, Record: s.Record, Tools: []canonicalTool{}}
	for _, t := range s.sorted() {
		doc.Tools = append(doc.Tools, t.canonical())
	}
	for _, a := range s.Approvers {
		doc.Approvers = append(doc.Approvers, a.Key)
	}
	for _, name := range s.SkillNames {
		doc.Skills = append(doc.Skills, s.Skills[name].canonical())
	}
	return digest(doc)
}

func digest(doc any) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return "", fmt.Errorf("encode manifest: %w", err)
	}
	sum := sha256.Sum256(buf.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
