package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

func TestProgressLines(t *testing.T) {
	pointing := func(targets ...string) *executor.Outcome {
		in := &facts.Input{}
		for _, path := range targets {
			in.Targets = append(in.Targets, facts.Target{Requested: path})
		}
		return &executor.Outcome{Input: in}
	}
	command := pointing()
	command.Input.Command = facts.Command{Present: true, Argv: []string{"go", "test", "./a b", "-run", "Something"}}
	calls := func(p *progressLines) {
		p.line(&executor.ToolResult{
			ToolName: "read_file", Status: executor.StatusSuccess, Outcome: pointing("data/n.txt", "data/o.txt"),
			Plan: &executor.Standing{Step: "two", Completed: []string{"one"}},
		}, 12*time.Millisecond, false)
		p.line(&executor.ToolResult{
			ToolName: "write_json_file", Status: executor.StatusDenied, Reason: "outside_roots", RunID: "r1",
			Outcome: pointing("runs/r1/artifacts/" + strings.Repeat("deep/", 9) + "a.json"), Plan: &executor.Standing{Step: "write_the_summary"},
		}, 1500*time.Millisecond, false)
		p.line(&executor.ToolResult{Status: executor.StatusFailed, Reason: "malformed_call"}, 0, true)
		p.line(&executor.ToolResult{ToolName: "\x1b[2J" + strings.Repeat("x", 100), Status: executor.StatusSuccess, Outcome: command}, 0, false)
	}
	var out bytes.Buffer
	calls(&progressLines{w: &world{stderr: &out, stderrTerminal: true}})
	want := `   1  one           read_file             data/n.txt                      12ms  allowed
   2  write_the_s…  write_json_file       …eep/deep/deep/deep/a.json      1.5s  denied outside_roots
   3  -             ?                     -                                  -  failed malformed_call, answered before
   4  -             \x1b[2Jxxxxxxxxxxxx…  go test "./a b" -run Some…        0s  allowed
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
	want := `run r1 failed: 9 calls, 4 allowed, 2 denied, 1 blocked, 2 asked; token limit
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

// TestOpenAsks: a person is told of the calls that still wait, and of no other.
func TestOpenAsks(t *testing.T) {
	propose := func(tool, digest string) written {
		return written{0, ledger.ModelProposed, `{"call_id":"c","tool":"` + tool + `","digest":"` + digest + `"}`}
	}
	verdict := func(typ, verdict, proposal string) written {
		return written{0, typ, `{"verdict":"` + verdict + `","reason":"x","proposal":` + proposal + `}`}
	}
	ask := func(proposal string) written { return verdict(ledger.ToolBlocked, "ask", proposal) }
	dir := recordRun(t, []written{
		{0, ledger.RunStarted, `{}`},
		propose("approved", "a"), ask("2"),
		propose("refused", "b"), ask("4"),
		propose("waits", "c"), ask("6"),
		propose("asked\\u001b twice", "d"), ask("8"),
		propose("went another way", "e"), ask("10"),
		{0, ledger.ApprovalGranted, `{"kind":"call","call":2,"by":"eve"}`}, // 12
		{0, ledger.ApprovalRefused, `{"call":4,"by":"eve"}`},
		{0, ledger.ApprovalGranted, `{"kind":"budget","by":"eve"}`},
		propose("asked\\u001b twice", "d"), ask("15"),
		propose("went another way", "e"), verdict(ledger.ToolDenied, "deny", "17"),
		propose("approved", "a"), verdict(ledger.ToolAllowed, "allow", "19"),
	})
	asks, err := openAsks(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	askHint(&out, "r1", asks)
	want := "runlens: hint: \"waits\" waits for a person: `runlens approve r1 6 --by NAME --ttl 10m`, then `runlens run --resume r1`\n" +
		"runlens: hint: \"asked\\x1b twice\" waits for a person: `runlens approve r1 15 --by NAME --ttl 10m`, then `runlens run --resume r1`\n"
	if out.String() != want {
		t.Errorf("told:\n%swant:\n%s", out.String(), want)
	}
	out.Reset()
	askHint(&out, "r1", make([]openAsk, 8))
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); len(got) != 6 || got[5] != "runlens: hint: … and 3 more: `runlens ledger show r1`" {
		t.Errorf("told of many:\n%s", out.String())
	}
}

// TestLastWords: what a model said when it stopped is shown, as far as a person
// reads on, and never as what a terminal would obey.
func TestLastWords(t *testing.T) {
	for _, c := range []struct{ conversation, want string }{
		{`[]`, ""},
		{`[{"role":"assistant","content":"All done.\n"}]`, "model: All done.\n"},
		{`[{"role":"assistant","content":[{"type":"text","text":"a\r\n"},{"type":"text","text":"\u001b[2J"}]}]`, "model: a\nmodel: \\x1b[2J\n"},
		{`[{"role":"assistant","content":null}]`, ""},
		{`[{"role":"assistant","content":null,"refusal":"No."}]`, "model: No.\n"},
		{`[{"role":"assistant","content":"a"},{"role":"tool","content":"b"}]`, ""},
		{`[{"role":"assistant","content":"` + strings.Repeat("x", 300) + `"}]`, "model: " + strings.Repeat("x", 199) + "…\n"},
		{`[{"role":"assistant","content":"` + strings.Repeat(`x\n`, 20) + `"}]`, strings.Repeat("model: x\n", 12) + "model: … and 8 lines more, in messages.jsonl\n"},
	} {
		var conversation []json.RawMessage
		if err := json.Unmarshal([]byte(c.conversation), &conversation); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if lastWords(&out, conversation); out.String() != c.want {
			t.Errorf("%s: told\n%swant\n%s", c.conversation, out.String(), c.want)
		}
	}
}
