package manifest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// testHandlers are handlers as the executor declares them, without the doing.
func testHandlers() []Handler {
	const artifacts = "runs/{run_id}/artifacts"
	out := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"size":{"type":"integer"},"rows":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}}},"required":["path"],"additionalProperties":false}`)
	path := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"the file"}},"required":["path"],"additionalProperties":false}`)
	artifact := func(name, suffix, content string) Handler {
		return Handler{
			Name: name, Operations: []string{"write"}, Output: out, Payload: []string{"content"}, Suffixes: []string{suffix},
			Targets: []Target{{Param: "artifact_name", Access: "write", Template: artifacts + "/{artifact_name}"}},
			Input:   json.RawMessage(`{"type":"object","properties":{"artifact_name":{"type":"string"},"content":` + content + `},"required":["artifact_name","content"],"additionalProperties":false}`),
		}
	}
	return []Handler{
		{Name: "read_file", Operations: []string{"read"}, Input: path, Output: out, Targets: []Target{{Param: "path", Access: "read"}}},
		{Name: "read_feedback_csv", Operations: []string{"read"}, Input: path, Output: out, Targets: []Target{{Param: "path", Access: "read"}}},
		{Name: "extract_evidence", Operations: []string{"read"}, Input: path, Output: out, Targets: []Target{{Param: "path", Access: "read"}}},
		{Name: "count_categories", Operations: []string{"read"}, Input: path, Output: out, Targets: []Target{{Param: "path", Access: "read"}}},
		{
			Name: "list_files", Operations: []string{"list"}, Output: out,
			Input:   json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"recursive":{"type":"boolean"}},"additionalProperties":false}`),
			Targets: []Target{{Param: "path", Access: "list", Default: "."}},
		},
		{
			Name: "list_run_files", Operations: []string{"list"}, Output: out,
			Input:   json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
			Targets: []Target{{Access: "list", Template: artifacts}},
		},
		{
			Name: "write_file", Operations: []string{"write"}, Output: out, Payload: []string{"content"},
			Targets: []Target{{Param: "path", Access: "write"}},
		},
		artifact("write_json_file", ".json", `{}`),
		artifact("write_markdown_file", ".md", `{"type":"string"}`),
		{Name: "delete_file", Operations: []string{"delete"}, Input: path, Targets: []Target{{Param: "path", Access: "delete"}}},
		{
			Name: "rename_file", Operations: []string{"rename"},
			Targets: []Target{{Param: "from", Access: "read"}, {Param: "from", Access: "delete"}, {Param: "to", Access: "write"}},
		},
		{
			Name: "run_tests", Operations: []string{"execute"}, TimeoutMS: 60000,
			Input: json.RawMessage(`{"type":"object","properties":{"argv":{"type":"array","items":{"type":"string"},"minItems":1}},"additionalProperties":false}`),
		},
	}
}

// load loads one file that must load.
func load(t testing.TB, name, data string) *Set {
	t.Helper()
	set, err := Load([]Source{{Name: name, Data: []byte(data)}}, testHandlers())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return set
}

// refusals loads files that must refuse, and returns the error's lines.
func refusals(t testing.TB, src ...Source) []string {
	t.Helper()
	set, err := Load(src, testHandlers())
	var problems *LoadError
	if !errors.As(err, &problems) || set != nil {
		t.Fatalf("Load gave %v, %v; want a *LoadError and no set", set, err)
	}
	return strings.Split(err.Error(), "\n")
}
