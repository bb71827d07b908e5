package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// SpecFormats are the formats that Specs knows.
func SpecFormats() []string { return []string{"openai", "anthropic", "mcp", "json"} }

// Specs returns what a model sees of the tools, sorted by name, as indented JSON
// with a final newline: name, description and input schema, never handler, roots
// or limits. Formats: "openai" (the tools array of a chat request), "anthropic"
// (the tools array of a messages request), "mcp" (the result of tools/list) and
// "json" (our own). A tool name that the vendor refuses is an error.
func (s *Set) Specs(format string) ([]byte, error) { return specs(format, s.sorted()) }

// Specs is Set.Specs for the tools of a run under the skill, and no others.
func (s *Skill) Specs(format string) ([]byte, error) { return specs(format, s.sorted()) }

func specs(format string, tools []*Tool) ([]byte, error) {
	var doc any
	switch format {
	case "openai":
		list := make([]openAITool, 0, len(tools))
		for _, t := range tools {
			list = append(list, openAITool{"function", openAIFunction{t.Name, t.Description, t.Input.JSON()}})
		}
		doc = list
	case "anthropic":
		doc = plainSpecs(tools)
	case "mcp":
		list := make([]mcpTool, 0, len(tools))
		for _, t := range tools {
			list = append(list, mcpTool{t.Name, t.Description, t.Input.JSON()})
		}
		doc = map[string]any{"tools": list}
	case "json":
		doc = ownSpecs{Version, plainSpecs(tools)}
	default:
		known := SpecFormats()
		fix := meant(format, known)
		if fix == "" {
			fix = "known: " + strings.Join(known, ", ")
		}
		return nil, fmt.Errorf("write tool specs: unknown format %s (%s)", quoted(format), fix)
	}
	if format == "openai" || format == "anthropic" {
		if err := dotless(format, tools); err != nil {
			return nil, err
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("write tool specs: %w", err)
	}
	return buf.Bytes(), nil
}

type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type plainTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type mcpTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

type ownSpecs struct {
	SchemaVersion int         `json:"schema_version"`
	Tools         []plainTool `json:"tools"`
}

func plainSpecs(tools []*Tool) []plainTool {
	list := make([]plainTool, 0, len(tools))
	for _, t := range tools {
		list = append(list, plainTool{t.Name, t.Description, t.Input.JSON()})
	}
	return list
}

func (s *Set) sorted() []*Tool   { return inNameOrder(s.Names, s.Tools) }
func (s *Skill) sorted() []*Tool { return inNameOrder(s.Names, s.Tools) }

func inNameOrder(names []string, tools map[string]*Tool) []*Tool {
	out := make([]*Tool, len(names))
	for i, name := range names {
		out[i] = tools[name]
	}
	return out
}

// dotless refuses names with a dot, which both vendors' APIs refuse
// (^[a-zA-Z0-9_-]{1,64}$); MCP allows them.
func dotless(format string, tools []*Tool) error {
	var dotted []string
	for _, t := range tools {
		if strings.Contains(t.Name, ".") {
			dotted = append(dotted, quoted(t.Name))
		}
	}
	if len(dotted) > 0 {
		return fmt.Errorf("write tool specs: %s allows no dot in a tool's name: %s", format, strings.Join(dotted, ", "))
	}
	return nil
}
