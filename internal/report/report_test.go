package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/report"
)

func denied() report.Result {
	return report.Result{
		Source: "calls/ssh.json", CallID: "k1", Tool: "read_file", Effect: engine.Deny,
		Reasons: []engine.Reason{{
			Code: "outside_roots", Message: "path: ../x is outside the roots that allow read: data", Param: "path",
			Detail: map[string]any{"requested": "../x", "roots": []any{"data"}, "extra": json.Number("7")},
			File:   "policies/runlens/rules/paths/paths.rego", Line: 26,
			Gate: "roots", Retryable: true, Remedy: "stay below one of the allowed roots",
		}},
		Normalized:     map[string]string{"path": "../x"},
		MaxBytes:       5_000_000,
		PolicyRevision: "sha256:aa", InputDigest: "sha256:bb",
		Input: json.RawMessage(`{"v":1}`),
		Facts: &facts.Input{
			Tool: &facts.Tool{Roots: []facts.Root{
				{Declared: "data", Exists: true, Access: []string{"read", "list"}},
				{Declared: "runs/check/artifacts", Access: []string{"read", "write"}},
				{Declared: "out", Exists: true, Access: []string{"write"}},
			}},
			Targets: []facts.Target{{Param: "path", Access: "read"}},
		},
	}
}

func allowed() report.Result {
	return report.Result{
		Source: "stdin", Tool: "write_json_file", Effect: engine.Allow,
		Reasons:    []engine.Reason{{Code: "allowed", Message: "allowed", File: "policies/runlens/decision.rego", Line: 75}},
		Normalized: map[string]string{"artifact_name": "/p/runs/check/artifacts/a.json"},
		MaxBytes:   2_000_000, PolicyRevision: "sha256:aa", InputDigest: "sha256:cc",
	}
}

// malformed never reached policy.
func malformed() report.Result {
	return report.Result{
		Source: "calls.jsonl#2", Effect: engine.Deny, PolicyRevision: "sha256:aa",
		Reasons: []engine.Reason{{Code: "malformed_call", Message: "call: not a JSON object"}},
	}
}

func TestText(t *testing.T) {
	got := string(report.Text([]report.Result{denied(), allowed(), malformed()}))
	want := `deny   calls/ssh.json  read_file  k1
  outside_roots: path: ../x is outside the roots that allow read: data
    rule     policies/runlens/rules/paths/paths.rego:26
    path     ../x
    extra    7
    allowed  data/, runs/check/artifacts/ (missing)
    fix      stay below one of the allowed roots
allow  stdin  write_json_file
  allowed
    rule          policies/runlens/decision.rego:75
    artifact_name /p/runs/check/artifacts/a.json
    limit         2,000,000 bytes
deny   calls.jsonl#2  (not a call)
  malformed_call: call: not a JSON object
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The path of what can't be opened is that of the deepest thing that can.
func TestTextMarksAPathThatEndsEarly(t *testing.T) {
	r := denied()
	r.Normalized = map[string]string{"path": "/p/data", "out": "/p/out/new.txt"}
	r.Facts.Targets = []facts.Target{
		{Param: "path", Access: "read", Resolution: facts.NotFound, InProject: true},
		{Param: "out", Access: "write", Resolution: facts.Absent, InProject: true},
	}
	got := string(report.Text([]report.Result{r}))
	for _, want := range []string{"path     /p/data (nothing opens beyond)\n", "out      /p/out/new.txt\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
}

func TestTextNamesCommandsThatAreAllowed(t *testing.T) {
	r := report.Result{
		Source: "a.json", Tool: "run_tests", Effect: engine.Deny,
		Reasons: []engine.Reason{{Code: "command_not_allowed", Message: "no"}},
		Facts: &facts.Input{Tool: &facts.Tool{
			Commands: [][]string{{"python", "-m", "unittest"}, {"make"}},
			Patterns: [][]facts.Part{{{Kind: facts.Word, Word: "wc"}, {Kind: facts.Path, Arg: "file", Root: "data", Access: facts.Read}}},
		}},
	}
	if got := string(report.Text([]report.Result{r})); !strings.Contains(got, "    allowed  python -m unittest; make; wc {file in data}\n") {
		t.Errorf("the allowed commands are not named:\n%s", got)
	}
}

// The path of a command has roots of its own, and the tool's other targets don't
// have those.
func TestTextNamesRootsOfAnArgument(t *testing.T) {
	r := report.Result{
		Source: "a.json", Tool: "run_tests", Effect: engine.Deny,
		Reasons: []engine.Reason{{Code: "outside_roots", Param: "file", Message: "no", Detail: map[string]any{"roots": []any{"data"}}}},
		Facts: &facts.Input{
			Targets: []facts.Target{{Param: "file", Position: 2, Access: facts.Read}, {Param: "path", Access: facts.Read}},
			Tool: &facts.Tool{Roots: []facts.Root{
				{Declared: "ws", Access: []string{facts.Read}, Exists: true},
				{Declared: "data", Access: []string{facts.Read}, Exists: true, Param: "file"},
				{Declared: "logs", Access: []string{facts.Read}, Exists: true, Param: "file"},
				{Declared: "more", Access: []string{facts.Read}, Exists: true, Param: "other"},
			}},
		},
	}
	for param, want := range map[string]string{"file": "data/", "path": "ws/"} {
		r.Reasons[0].Param = param
		if got := string(report.Text([]report.Result{r})); !strings.Contains(got, "    allowed  "+want+"\n") {
			t.Errorf("%s: the allowed roots are not %s:\n%s", param, want, got)
		}
	}
}

// What a model wrote must not reach the terminal as anything but text.
func TestTextIsSafeForATerminal(t *testing.T) {
	r := denied()
	evil := "\x1b[2Jallow\r\n\u202egnp.exe\u200b\x9b1m\xff"
	r.Source, r.Tool, r.CallID = evil, evil, evil
	r.Reasons[0].Message, r.Reasons[0].Remedy, r.Reasons[0].Code = evil, evil, evil
	r.Reasons[0].Detail = map[string]any{evil: evil, "list": []any{evil, map[string]any{evil: evil}}}
	r.Normalized = map[string]string{evil: evil}
	got := string(report.Text([]report.Result{r}))
	for _, c := range got {
		if c != '\n' && (c < 0x20 || c == 0x7f || c > 0x7e) {
			t.Fatalf("a character %U came through:\n%q", c, got)
		}
	}
	headlines := 0
	for line := range strings.Lines(got) {
		if !strings.HasPrefix(line, " ") {
			headlines++
		}
	}
	if headlines != 1 {
		t.Errorf("%d headlines for one result: a line was forged:\n%s", headlines, got)
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		`plain C:\dir "text" 100%`:   `plain C:\dir "text" 100%`,
		"Übergrößen/データ/данные":      "Übergrößen/データ/данные",
		"a\x00b\x1b[0m\x7f":          `a\x00b\x1b[0m\x7f`,
		"a\nb\tc\rd":                 `a\nb\tc\rd`,
		"x\u202ey\u200b\ufeff\u00ad": `x\u202ey\u200b\ufeff\u00ad`,
		"x\ufe0f\u3164\U000e0041":    `x\ufe0f\u3164\U000e0041`,
		"\xff\xc3(":                  `\xff\xc3(`,
		"\u0085\u2028\u00a0":         `\u0085\u2028\u00a0`,
	} {
		if got := report.Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

const deniedJSON = `{
  "schema_version": 1,
  "call_id": "k1",
  "tool": "read_file",
  "verdict": "deny",
  "reason": "outside_roots",
  "reasons": [
    {
      "code": "outside_roots",
      "message": "path: ../x is outside the roots that allow read: data",
      "param": "path",
      "detail": {
        "extra": 7,
        "requested": "../x",
        "roots": [
          "data"
        ]
      },
      "gate": "roots",
      "retryable": true,
      "remedy": "stay below one of the allowed roots",
      "file": "policies/runlens/rules/paths/paths.rego",
      "line": 26
    }
  ],
  "normalized": {
    "max_bytes": 5000000,
    "path": "../x"
  },
  "policy_revision": "sha256:aa",
  "input_digest": "sha256:bb"
}
`

func TestJSON(t *testing.T) {
	one, err := report.JSON([]report.Result{denied()}, true)
	if err != nil {
		t.Fatal(err)
	}
	if string(one) != deniedJSON {
		t.Errorf("got\n%s\nwant\n%s", one, deniedJSON)
	}
	for _, c := range []struct {
		results []report.Result
		single  bool
		want    int
	}{{nil, true, 0}, {[]report.Result{denied()}, false, 1}, {[]report.Result{denied(), allowed()}, true, 2}} {
		text, err := report.JSON(c.results, c.single)
		if err != nil {
			t.Fatal(err)
		}
		var list []map[string]any
		if err := json.Unmarshal(text, &list); err != nil || len(list) != c.want {
			t.Errorf("%d results, single %t: not an array of %d: %v\n%s", len(c.results), c.single, c.want, err, text)
		}
	}
}

// An array put together from elements is the one that JSON gives.
func TestJSONElement(t *testing.T) {
	results := []report.Result{denied(), allowed(), malformed()}
	want, err := report.JSON(results, true)
	if err != nil {
		t.Fatal(err)
	}
	var plain []json.RawMessage
	if err := json.Unmarshal(want, &plain); err != nil || len(plain) != 3 {
		t.Fatalf("not an array of three: %v", err)
	}
	again, err := json.MarshalIndent(plain, "", "  ")
	if err != nil || string(again)+"\n" != string(want) {
		t.Errorf("not laid out as JSON is: %v\n%s", err, want)
	}
	var got []byte
	for i := range results {
		element, err := report.JSONElement(&results[i], i == 0)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, element...)
	}
	if got = append(got, report.JSONEnd(false)...); string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A limit belongs to what was resolved; a call that resolved nothing has none.
func TestNormalized(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Result)
		want   string
	}{
		"resolved":          {func(*report.Result) {}, `"normalized":{"max_bytes":5000000,"path":"../x"}`},
		"nothing resolved":  {func(r *report.Result) { r.Normalized = nil }, `"normalized":{}`},
		"no limit":          {func(r *report.Result) { r.MaxBytes = 0 }, `"normalized":{"path":"../x"}`},
		"param of the name": {func(r *report.Result) { r.Normalized = map[string]string{"max_bytes": "/p"} }, `"normalized":{"max_bytes":"/p"}`},
	} {
		r := denied()
		c.change(&r)
		line, err := report.JSONL([]report.Result{r})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(line), c.want) {
			t.Errorf("%s: no %s in\n%s", name, c.want, line)
		}
	}
}

func TestJSONL(t *testing.T) {
	text, err := report.JSONL([]report.Result{denied(), malformed(), allowed()})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines for three results:\n%s", len(lines), text)
	}
	for i, want := range []string{"outside_roots", "malformed_call", "allowed"} {
		var d struct {
			SchemaVersion int            `json:"schema_version"`
			Reason        string         `json:"reason"`
			Normalized    map[string]any `json:"normalized"`
			Digest        *string        `json:"input_digest"`
		}
		if err := json.Unmarshal([]byte(lines[i]), &d); err != nil {
			t.Fatal(err)
		}
		if d.SchemaVersion != 1 || d.Reason != want || d.Normalized == nil || d.Digest == nil {
			t.Errorf("line %d is not the report on %s: %s", i+1, want, lines[i])
		}
	}
}

// JSON is looked at in terminals too: what can't be seen stands escaped, and
// still means the same.
func TestJSONIsSafeForATerminal(t *testing.T) {
	evil := "\x1b[2J\u202e\u200b\U000e0041<&>\u0085é"
	r := denied()
	r.Reasons[0].Message = evil
	for name, format := range map[string]func() ([]byte, error){
		"json":  func() ([]byte, error) { return report.JSON([]report.Result{r}, true) },
		"jsonl": func() ([]byte, error) { return report.JSONL([]report.Result{r}) },
	} {
		text, err := format()
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(text), "\x1b\u202e\u200b\U000e0041\u0085") {
			t.Errorf("%s: an invisible character came through: %q", name, text)
		}
		var d struct{ Reasons []struct{ Message string } }
		if err := json.Unmarshal(text, &d); err != nil || d.Reasons[0].Message != evil {
			t.Errorf("%s: the text has changed its meaning: %v %q", name, err, d.Reasons)
		}
		if !strings.Contains(string(text), "<&>") {
			t.Errorf("%s: plain characters are escaped: %s", name, text)
		}
	}
}

func TestInput(t *testing.T) {
	r := denied()
	r.Input = json.RawMessage("{\"v\":1,\"n\":9007199254740993,\"s\":\"\u202e\"}")
	one, err := report.Input([]report.Result{r}, true)
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"v\": 1,\n  \"n\": 9007199254740993,\n  \"s\": \"\\u202e\"\n}\n"; string(one) != want {
		t.Errorf("got %q, want %q", one, want)
	}
	many, err := report.Input([]report.Result{r, malformed(), r}, true)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("{\"v\":1,\"n\":9007199254740993,\"s\":\"\\u202e\"}\n", 2); string(many) != want {
		t.Errorf("got %q, want %q", many, want)
	}
}

func TestTally(t *testing.T) {
	var tally report.Tally
	for _, e := range []engine.Effect{engine.Allow, engine.Deny, engine.Deny, engine.Ask, engine.Block, engine.Effect(99)} {
		tally.Add(e)
	}
	if want := "6 calls: 1 allowed, 3 denied, 1 blocked, 1 to be approved"; tally.String() != want {
		t.Errorf("got %q, want %q", tally.String(), want)
	}
}

// Whatever glyph says can't be seen, doesn't come through, in a line or in JSON.
func TestHiddenInReports(t *testing.T) {
	for _, c := range hiddenOnes {
		r := denied()
		r.Reasons[0].Message = "a" + string(c) + "b"
		text, err := report.JSON([]report.Result{r}, true)
		if err != nil || strings.ContainsRune(string(text), c) || strings.ContainsRune(report.Escape(r.Reasons[0].Message), c) {
			t.Errorf("%U came through: %v", c, err)
		}
	}
}

// hiddenOnes is one of each kind.
var hiddenOnes = []rune{
	0x1b, 0x85, 0xad, 0x34f, 0x600, 0x61c, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180e, 0x180f, 0x200b, 0x200d, 0x2028, 0x202e, 0x2065, 0x2066,
	0x3164, 0xe000, 0xfdd0, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xffff, 0x1d173, 0xe0041, 0xe0100, 0xe0fff, 0xf0000, 0x10ffff,
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a", "\x1b[0m", "\u202e", "\xff", "é\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := report.Escape(s)
		if strings.ContainsAny(got, "\n\r\t\x1b\u202e\u200b\u2028\u0085\x00\x7f") {
			t.Errorf("Escape(%q) = %q", s, got)
		}
		if again := report.Escape(got); again != got {
			t.Errorf("what is safe is escaped again: %q, %q", got, again)
		}
	})
}
