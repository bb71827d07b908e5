package executor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
)

func TestObserve(t *testing.T) {
	outside := engine.Reason{
		Code: "outside_roots", Message: "path: ../x is outside", Remedy: "stay below one of the allowed roots",
		Detail: map[string]any{"roots": []any{"data/", "runs/r1/artifacts/"}},
	}
	long := strings.Repeat("0123456789", 30)
	for _, test := range []struct {
		name  string
		r     ToolResult
		limit int
		want  string
		cut   bool
	}{
		{
			"output",
			ToolResult{Status: StatusSuccess, Output: map[string]any{"b": json.Number("1.50"), "a": "<é>"}},
			1000, `{"a":"<é>","b":1.50}`, false,
		},
		{
			"the tool's own text",
			ToolResult{Status: StatusSuccess, Output: map[string]any{"a": 1}, Observation: "two\nlines\n"},
			1000, "two\nlines\n", false,
		},
		{"nothing", ToolResult{Status: StatusSuccess}, 1000, "(done; the tool returned nothing)", false},
		{"an empty output", ToolResult{Status: StatusSuccess, Output: map[string]any{}}, 1000, "{}", false},
		{
			"no escapes",
			ToolResult{Status: StatusSuccess, Observation: "a\x1b[31mb\u202ec\x00"},
			1000, `a\x1b[31mb\u{202e}c\x00`, false,
		},
		{
			"cut",
			ToolResult{Status: StatusSuccess, Observation: long, Plan: &Standing{Step: "read", Tools: []string{"read_file"}}},
			30, long[:20] + "\n[… 270 of 300 bytes cut here …]\n" + long[290:] + "\n\nnow: read (tools: read_file)", true,
		},
		{
			"a refusal longer than the limit",
			ToolResult{Status: StatusFailed, Reason: "malformed_call", ErrorMessage: long},
			30, "failed (malformed_call): " + long, false,
		},
		{
			"a refusal longer than any",
			ToolResult{Status: StatusFailed, Reason: "x", ErrorMessage: strings.Repeat("a", 4096)},
			30, "failed (x): " + strings.Repeat("a", 2719) + "\n[… 12 of 4108 bytes cut here …]\n" + strings.Repeat("a", 1365), true,
		},
		{
			"denied",
			ToolResult{
				Status: StatusDenied, ErrorCode: "permission_denied", Reason: "forbidden_path", ErrorMessage: "path: .env is an environment file",
				Reasons: []engine.Reason{{Code: "forbidden_path", Message: "path: .env is an environment file", Remedy: "leave it alone"}, outside},
			},
			1000,
			"denied (forbidden_path): path: .env is an environment file\n" +
				"remedy: leave it alone\n" +
				"also (outside_roots): path: ../x is outside\n" +
				"allowed roots: data/, runs/r1/artifacts/\n" +
				"remedy: stay below one of the allowed roots",
			false,
		},
		{
			"roots that the message names are not said twice",
			ToolResult{
				Status: StatusDenied, Reason: "outside_roots", ErrorMessage: "path: ../x is outside data/",
				Reasons: []engine.Reason{{Code: "outside_roots", Detail: map[string]any{"roots": []any{"data/"}}}},
			},
			1000, "denied (outside_roots): path: ../x is outside data/", false,
		},
		{
			"what is for the ledger only",
			ToolResult{
				Status: StatusDenied, Reason: "outside_roots", ErrorMessage: "path: ../x is outside",
				Reasons: []engine.Reason{{Code: "outside_roots"}, {Code: "hard_link", Message: "secret", Remedy: "secret", LedgerOnly: true}},
			},
			1000, "denied (outside_roots): path: ../x is outside", false,
		},
		{
			"blocked in a plan",
			ToolResult{
				Status: StatusBlocked, ErrorCode: "pre_hook_blocked", Reason: "step_tool_not_allowed", ErrorMessage: "tool b is not allowed for current plan step one",
				Plan: &Standing{Status: "active", Step: "one", Title: "One", Tools: []string{"a", "c"}, Open: []string{"a succeeds once more"}},
			},
			1000,
			"blocked (step_tool_not_allowed): tool b is not allowed for current plan step one\n\n" +
				"now: one (tools: a, c); open: a succeeds once more",
			false,
		},
		{
			"asked",
			ToolResult{
				Status: StatusBlocked, ErrorCode: "approval_required", Reason: "approval_required", ErrorMessage: "tool a needs the approval of a person", RunID: "r1",
				Outcome: &Outcome{Proposal: 7, Verdict: engine.Verdict{Effect: engine.Ask}},
			},
			1000,
			"blocked (approval_required): tool a needs the approval of a person\n" +
				"to approve it, a person runs: runlens approve r1 7",
			false,
		},
		{
			"asked, and the message says how to approve it",
			ToolResult{
				Status: StatusBlocked, Reason: "approval_required", ErrorMessage: "no; a person can approve it: runlens approve r1 7", RunID: "r1",
				Outcome: &Outcome{Proposal: 7, Verdict: engine.Verdict{Effect: engine.Ask}},
			},
			1000, "blocked (approval_required): no; a person can approve it: runlens approve r1 7", false,
		},
		{
			"failed with what was printed",
			ToolResult{
				Status: StatusFailed, ErrorCode: "handler_timeout", Reason: "handler_timeout", ErrorMessage: "run command: the deadline came first",
				Output: map[string]any{"stdout": "x"}, Reasons: []engine.Reason{{Code: "handler_timeout", Remedy: "ask for less"}},
			},
			1000,
			"failed (handler_timeout): run command: the deadline came first\nremedy: ask for less\n" +
				"what the tool gave before that:\n{\"stdout\":\"x\"}",
			false,
		},
		{"the zero result", ToolResult{ErrorCode: "x"}, 1000, "failed (x): ", false},
		{
			"a step completed",
			ToolResult{Status: StatusSuccess, Observation: "ok\n", Plan: &Standing{
				Status: "active", Completed: []string{"read"}, Step: "extract", Tools: []string{"extract_evidence"}, Open: []string{"extract_evidence succeeds once"},
			}},
			1000, "ok\n\nstep read complete; now: extract (tools: extract_evidence)", false,
		},
		{
			"the plan completed",
			ToolResult{Status: StatusSuccess, Observation: "ok", Plan: &Standing{Status: "complete", Completed: []string{"a", "b"}}},
			1000, "ok\n\nsteps a, b complete; the plan is complete", false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, err := test.r.Line()
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the same each time
				got, cut := Observe(&test.r, test.limit)
				if got != test.want || cut != test.cut {
					t.Errorf("cut %t, want %t:\n%q\nwant:\n%q", cut, test.cut, got, test.want)
				}
			}
			if after, _ := test.r.Line(); string(after) != string(before) {
				t.Errorf("the result changed: %s", after)
			}
		})
	}
}

func TestMessageForms(t *testing.T) {
	ok := &ToolResult{CallID: "c1", Status: StatusSuccess, Observation: "a<b>\n\"c\""}
	denied := &ToolResult{CallID: "c2", Status: StatusDenied, Reason: "outside_roots", ErrorMessage: "no"}
	for _, test := range []struct {
		name string
		make func() ([]byte, error)
		want string
	}{
		{"openai", ok.OpenAI, `{"role":"tool","tool_call_id":"c1","content":"a<b>\n\"c\""}`},
		{"openai, not told before", denied.OpenAI, `{"role":"tool","tool_call_id":"c2","content":"denied (outside_roots): no"}`},
		{"anthropic", ok.Anthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a<b>\n\"c\""}]}`},
		{"anthropic, an error", denied.Anthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"denied (outside_roots): no","is_error":true}]}`},
		{
			"ours", ok.Line,
			`{"call_id":"c1","tool_name":"","status":"success","output":null,"error_message":"","error_code":"","retryable":false,` +
				`"reason":"","reasons":null,"truncated":false,"run_id":"","seq":0,"observation":"a<b>\n\"c\""}`,
		},
	} {
		got, err := test.make()
		if err != nil || string(got) != test.want+"\n" {
			t.Errorf("%s: %v\n%s\nwant:\n%s", test.name, err, got, test.want)
		}
	}
}

// What is kept of an output is compared with what the ledger has of it.
func TestOutputDigest(t *testing.T) {
	output := map[string]any{"z": "<&>\u2028", "a": []any{json.Number("1.50"), true}, "i": int64(7)}
	recorded, err := json.Marshal(output)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := line(output)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := OutputDigest(kept[:len(kept)-1]), digest(recorded); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, none := range []string{"", "null"} {
		if got := OutputDigest(json.RawMessage(none)); got != "" {
			t.Errorf("digest of %q: %s", none, got)
		}
	}
}
