package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/glyph"
	"github.com/runlens/runlens/internal/ledger"
)

// ending is what the ledger holds of the end of a call.
type ending struct {
	Code      string         `json:"error_code"`
	Message   string         `json:"message"`
	Facts     map[string]any `json:"facts"`
	Truncated bool           `json:"truncated"`
}

func lastEnding(t *testing.T, project, run string) (e ending) {
	t.Helper()
	list := events(t, project, run)
	last := list[len(list)-1]
	if last.Type != ledger.ToolSucceeded && last.Type != ledger.ToolFailed {
		t.Fatalf("the last event is %s", last.Type)
	}
	if err := json.Unmarshal(last.Payload, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// Whatever a program answers, as keys or as values, fitting or not, nothing of it is
// in the ledger, but numbers and truth values under names that the manifest gives.
func TestRecordHoldsNoText(t *testing.T) {
	texts := []string{"Jane", "Roe", "555-1234", "AKIA", "ABCDEFGH"}
	const both = `"Jane Roe 555-1234 owes":1,"AKIAABCDEFGHIJKLMNOP":2,"sub":{"Jane":3},"ok":true`
	for name, c := range map[string]struct {
		schema, answer, code string
		facts                map[string]any
	}{
		"no schema":             {``, `{` + both + `,"n":3}`, "", map[string]any{}},
		"nothing declared":      {`{"type":"object"}`, `{` + both + `,"n":3}`, "", map[string]any{}},
		"some declared":         {`{"type":"object","properties":{"n":{"type":"integer"},"ok":{}}}`, `{` + both + `,"n":3}`, "", map[string]any{"n": 3.0, "ok": true}},
		"declared further down": {`{"type":"object","properties":{"sub":{"type":"object","properties":{"n":{}}}}}`, `{` + both + `,"n":3}`, "", map[string]any{}},
		"a pattern of names":    {`{"type":"object","patternProperties":{"^":{}}}`, `{` + both + `}`, "", map[string]any{}},
		"text under a name":     {`{"type":"object","properties":{"n":{}}}`, `{"n":"Jane Roe"}`, "", map[string]any{}},
		"a key twice":           {``, `{"Jane Roe 555-1234":1,"Jane Roe 555-1234":2}`, "handler_failed", map[string]any{}},
		"a control in a key":    {``, `{"sub":{"Jane Roe\u0001":1}}`, "handler_failed", map[string]any{}},
		"broken inside":         {``, `{"Jane Roe":[{"AKIAABCDEFGHIJKLMNOP":tru}]}`, "handler_failed", map[string]any{}},
		"text alone":            {``, `Jane Roe`, "handler_failed", map[string]any{}},
		"undeclared":            {`{"type":"object","additionalProperties":false}`, `{` + both + `}`, "output_validation_failed", map[string]any{}},
		"another type":          {`{"type":"object","additionalProperties":{"type":"string"}}`, `{` + both + `}`, "output_validation_failed", map[string]any{}},
		"another name":          {`{"type":"object","propertyNames":{"pattern":"^[a-z]$"}}`, `{` + both + `}`, "output_validation_failed", map[string]any{}},
		"another value":         {`{"type":"object","properties":{"sub":{"enum":["a"]},"n":{"const":1},"s":{"pattern":"^x$"}}}`, `{"sub":"Jane","n":"Roe","s":"555-1234"}`, "output_validation_failed", map[string]any{}},
		"in another case":       {`{"type":"object","properties":{"n":{}}}`, `{"Jane Roe":1,"jane Roe":2}`, "output_validation_failed", map[string]any{}},
	} {
		for _, record := range []string{"proposal", "facts"} {
			project := canonical(t)
			program(t, project, "tools/p.sh", "cat <<'END'\n"+c.answer+"\nEND\n")
			schema := ""
			if c.schema != "" {
				schema = `,"output_schema":` + c.schema
			}
			x := open(t, project, func(cfg *executor.Config) {
				cfg.Tools = tools(t, fmt.Sprintf(`{"schema_version":1,"record":%q,"tools":{"p":{"operation":"compute","handler":"exec:tools/p.sh","sandbox":"none"%s}}}`, record, schema))
			})
			r := x.ExecTold(context.Background(), toolCall("p"), "r", 0, nil)
			if r.ErrorCode != c.code {
				t.Errorf("%s: %s %s", name, r.ErrorCode, r.ErrorMessage)
			}
			if _, err := x.Stop(context.Background(), "r", "input_ended"); err != nil {
				t.Error(err)
			}
			text, err := os.ReadFile(project + "/runs/r/events.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range texts {
				if strings.Contains(string(text), word) || strings.Contains(r.ErrorMessage, word) {
					t.Errorf("%s, record %s: %q is recorded or told in %q\n%s", name, record, word, r.ErrorMessage, text)
				}
			}
			list := events(t, project, "r")
			var e ending
			if err := json.Unmarshal(list[len(list)-2].Payload, &e); err != nil || !reflect.DeepEqual(e.Facts, c.facts) || e.Message != r.ErrorMessage {
				t.Errorf("%s: recorded %+v, %v; want facts %v", name, e, err, c.facts)
			}
		}
	}
}

// What a tool says of a file that it has read quotes the file to its caller alone.
func TestRecordQuotesNoFile(t *testing.T) {
	for _, c := range []struct{ tool, file, args, told, recorded string }{
		{"read_feedback_csv", "Jane Roe,x,Jane Roe\n", ``, `line 1: columns 1 and 3 are both named "Jane Roe"`, "read CSV: line 1: columns 1 and 3 have the same name"},
		{"count_categories", "Jane Roe,x\n1,2\n", `,"columns":["y"],"rules":[{"category":"c","terms":["x"]}]`, `it has "Jane Roe", "x"`, "read rules: columns[0]: the file has no such column"},
		{"extract_evidence", "Jane Roe,x\n1,2\n", `,"id_column":"y","rules":[{"category":"c","terms":["x"],"columns":["z"]}]`, `it has "Jane Roe", "x"`, "read rules: rules[0].columns[0]: the file has no such column"},
	} {
		project := canonical(t)
		write(t, project, "data/f.csv", c.file)
		x := open(t, project, func(cfg *executor.Config) {
			cfg.Tools = tools(t, fmt.Sprintf(`{"schema_version":1,"tools":{%q:{"operation":"read","roots":["data"]}}}`, c.tool))
		})
		r := x.Exec(context.Background(), []byte(fmt.Sprintf(`{"name":%q,"arguments":{"path":"data/f.csv"%s}}`, c.tool, c.args)), "r")
		if e := lastEnding(t, project, "r"); !strings.Contains(r.ErrorMessage, c.told) || !strings.Contains(e.Message, c.recorded) || strings.Contains(e.Message, "Jane") {
			t.Errorf("%s: told %q\nrecorded %q", c.tool, r.ErrorMessage, e.Message)
		}
	}
}

// A result of a program that printed more than is kept says so, however it ended.
func TestRecordOfAFlood(t *testing.T) {
	for name, c := range map[string]struct {
		script, code string
		cut          bool
	}{
		"at its deadline": {`yes`, "handler_timeout", true},
		"on stderr":       {`yes >&2`, "handler_timeout", true},
		"by itself":       {`head -c 3000 /dev/zero; exit 3`, "handler_failed", true},
		"little":          {`echo a; sleep 100`, "handler_timeout", false},
		"all":             {`head -c 2000 /dev/zero; exit 3`, "handler_failed", false},
	} {
		for _, tool := range []string{`"operation":"compute","handler":"exec:tools/p.sh"`, `"operation":"execute","handler":"run_tests","roots":["tools"],"commands":[["sh","tools/p.sh"]]`} {
			if c.code == "handler_failed" && strings.Contains(tool, "execute") {
				continue // a command may end as it likes
			}
			project := canonical(t)
			program(t, project, "tools/p.sh", c.script+"\n")
			x := open(t, project, func(cfg *executor.Config) {
				cfg.Tools = tools(t, `{"schema_version":1,"tools":{"p":{`+tool+`,"sandbox":"none","timeout_ms":300,"limits":{"output_bytes":2000}}}}`)
			})
			r := x.Exec(context.Background(), toolCall("p"), "r")
			e := lastEnding(t, project, "r")
			if r.ErrorCode != c.code || r.Truncated != c.cut || e.Truncated != c.cut {
				t.Errorf("%s, %s: %s %s, truncated %v, recorded %v; want %v", name, tool, r.ErrorCode, r.ErrorMessage, r.Truncated, e.Truncated, c.cut)
			}
			s, err := x.Stop(context.Background(), "r", "input_ended")
			if err != nil || s.Truncated != map[bool]int64{true: 1}[c.cut] {
				t.Errorf("%s: %v, the summary counts %d", name, err, s.Truncated)
			}
		}
	}
}

// The result of a call goes to terminals: what can't be seen stands escaped, and
// means the same.
func TestResultIsSafeForATerminal(t *testing.T) {
	project := canonical(t)
	const answer = "{\"t\u202e\":\"\\u001b[2J\u0085\x7f\u200b\ufe0f\U000e0041\u3164é漢\",\"n\":1.50}"
	program(t, project, "tools/p.sh", "cat <<'END'\n"+answer+"\nEND\n")
	x := open(t, project, func(cfg *executor.Config) {
		cfg.Tools = tools(t, `{"schema_version":1,"tools":{"p":{"operation":"compute","handler":"exec:tools/p.sh","sandbox":"none"}}}`)
	})
	r := x.ExecTold(context.Background(), toolCall("p"), "r", 0, nil)
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{"result": string(text), "observation": r.Observation} {
		if strings.ContainsFunc(shown, func(r rune) bool { return r != '\n' && !glyph.Shows(r) }) || !strings.Contains(shown, "é漢") {
			t.Errorf("%s: %q", name, shown)
		}
	}
	var whole struct{ Output map[string]any }
	var told, want map[string]any
	if json.Unmarshal(text, &whole) != nil || json.Unmarshal([]byte(r.Observation), &told) != nil || json.Unmarshal([]byte(answer), &want) != nil {
		t.Fatalf("no JSON: %s %s", text, r.Observation)
	}
	if !reflect.DeepEqual(whole.Output, want) || !reflect.DeepEqual(told, want) {
		t.Errorf("the output %q, told %q, want %q", whole.Output, told, want)
	}
}
