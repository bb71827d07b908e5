package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
)

func TestProgressLines(t *testing.T) {
	calls := func(p *progressLines) {
		p.line(&executor.ToolResult{ToolName: "read_file", Status: executor.StatusSuccess, Plan: &executor.Standing{Step: "two", Completed: []string{"one"}}}, 12*time.Millisecond, false)
		p.line(&executor.ToolResult{ToolName: "write_file", Status: executor.StatusDenied, Reason: "outside_roots", Plan: &executor.Standing{Step: "two"}}, 1500*time.Millisecond, false)
		p.line(&executor.ToolResult{Status: executor.StatusFailed, Reason: "malformed_call"}, 0, true)
		p.line(&executor.ToolResult{ToolName: "\x1b[2J" + strings.Repeat("x", 100), Status: executor.StatusSuccess}, 0, false)
	}
	var out bytes.Buffer
	calls(&progressLines{w: &world{stderr: &out, stderrTerminal: true}})
	want := `   1  one         read_file               allowed                           12ms
   2  two         write_file              denied outside_roots              1.5s
   3  -           ?                       failed malformed_call             answered before
   4  -           \x1b[2J` + strings.Repeat("x", 36) + `…  allowed                           0s
`
	if out.String() != want {
		t.Errorf("shown:\n%swant:\n%s", out.String(), want)
	}
	out.Reset()
	calls(&progressLines{w: &world{stderr: &out}})
	if out.Len() > 0 {
		t.Errorf("shown where nobody looks: %s", out.String())
	}
}

func TestSummary(t *testing.T) {
	var out bytes.Buffer
	summary(&out, "r1", &executor.Summary{
		Status: executor.RunFailed, Cause: "token_limit", Calls: 9, Verdicts: map[string]int64{"allow": 4, "deny": 2, "block": 1, "ask": 2},
		Codes: map[string]int64{"outside_roots": 2, "approval_required": 2}, Failures: map[string]int64{"handler_timeout": 1},
		Truncated: 2, Unknown: 1, Steps: []string{"one", "two"},
		Reasons: []executor.StopReason{{Code: "artifact_missing", Message: "artifact a\x1b: is not there"}},
	})
	want := `run r1 failed: 9 calls, 4 allowed, 2 denied, 1 blocked, 2 waiting for a person; token limit
refused: approval_required 2, outside_roots 2
tools that failed: handler_timeout 1
cut: 2 results
unknown: 1 call began and nobody knows how it ended
steps: one, two
failed: artifact_missing: artifact a\x1b: is not there
`
	if out.String() != want {
		t.Errorf("told:\n%swant:\n%s", out.String(), want)
	}
}

// A run of many files does not flood the terminal.
func TestSummaryOfManyFiles(t *testing.T) {
	var s executor.Summary
	files := strings.TrimSuffix(strings.Repeat(`{"path":"a","bytes":1},`, 22), ",")
	if err := json.Unmarshal([]byte(`{"status":"completed","cause":"input_ended","artifacts":[`+files+`]}`), &s); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	summary(&out, "r1", &s)
	want := "run r1 completed: 0 calls; input ended\n" + strings.Repeat("artifact: a (1 byte)\n", 20) + "artifact: … and 2 more\n"
	if out.String() != want {
		t.Errorf("told:\n%swant:\n%s", out.String(), want)
	}
}
