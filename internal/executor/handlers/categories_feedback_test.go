package handlers

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

// recorded are the arguments of the calls in the feedback example, by call id.
func recorded(t *testing.T) map[string]map[string]any {
	t.Helper()
	data, err := os.ReadFile("../../../examples/feedback/calls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]map[string]any{}
	for line := range bytes.Lines(data) {
		c := decode(t, line).(map[string]any)
		id, _ := c["call_id"].(string)
		args := c
		switch c["type"] {
		case "function":
			id = c["id"].(string)
			args = decode(t, []byte(c["function"].(map[string]any)["arguments"].(string))).(map[string]any)
		case "tool_use":
			id, args = c["id"].(string), c["input"].(map[string]any)
		default:
			if given, ok := c["arguments"].(map[string]any); ok {
				args = given
			}
		}
		calls[id] = args
	}
	return calls
}

// What the recorded run of the example writes is what the tools find in its
// file: counts and shares in the order of the rules, and quotes that stand where
// they say.
func TestFeedbackExampleIsTrue(t *testing.T) {
	data, err := os.ReadFile("../../../examples/feedback/data/feedback.csv")
	if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, map[string]string{"data/feedback.csv": string(data)})
	calls := recorded(t)
	ask := func(tool, id string) map[string]any {
		args, err := json.Marshal(calls[id])
		if err != nil {
			t.Fatal(err)
		}
		g := withArgs(t, p.grant("path", facts.Read, "data/feedback.csv"), tool, string(args))
		output, err := json.Marshal(run(t, tool, g).Output)
		if err != nil {
			t.Fatal(err)
		}
		return decode(t, output).(map[string]any)
	}
	extracted, counted := ask("extract_evidence", "call_2"), ask("count_categories", "call_4")

	quotes := map[string]bool{} // category and evidence, as JSON
	for _, item := range extracted["evidence"].([]any) {
		e := item.(map[string]any)
		key, _ := json.Marshal([]any{e["category"], e["row"], e["line"], e["column"], e["id"], e["quote"]})
		quotes[string(key)] = true
	}
	summary := calls["call_6"]["content"].(map[string]any)
	var found []any
	for _, item := range summary["categories"].([]any) {
		c := item.(map[string]any)
		if len(c["evidence"].([]any)) == 0 {
			t.Errorf("no evidence of %s", c["category"])
		}
		for _, item := range c["evidence"].([]any) {
			e := item.(map[string]any)
			key, _ := json.Marshal([]any{c["category"], e["row"], e["line"], e["column"], e["id"], e["quote"]})
			if !quotes[string(key)] {
				t.Errorf("no such evidence: %s", key)
			}
		}
		found = append(found, map[string]any{"category": c["category"], "count": c["count"], "share": c["share"]})
	}
	same(t, "counts", found, counted["counts"])
	same(t, "uncategorised", summary["uncategorised"], counted["uncategorised"])
	same(t, "source", summary["source"], map[string]any{
		"path": counted["path"], "rows": counted["row_count"], "left_out": counted["problem_count"],
	})

	report := calls["call_7"]["content"].(string)
	for _, item := range counted["counts"].([]any) {
		c := item.(map[string]any)
		if row := "| " + c["category"].(string) + " | " + c["count"].(json.Number).String() + " |"; !strings.Contains(report, row) {
			t.Errorf("the report does not hold %q", row)
		}
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Errorf("%s:\n got %s\nwant %s", what, a, b)
	}
}
