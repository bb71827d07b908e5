package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// seed is the manifest of the first users, word for word.
const seed = `{"schema_version":1,"tools":{
  "read_file":{"operation":"read","roots":["workspace/src","workspace/tests"],"max_bytes":65536},
  "run_tests":{"operation":"execute","commands":[["python","-m","unittest"]]}}}`

// events reads a run's ledger back.
func events(t testing.TB, project, run string) []*ledger.Event {
	t.Helper()
	var list []*ledger.Event
	for ev, err := range ledger.Read(filepath.Join(project, "runs", run)) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ev)
	}
	return list
}

func types(list []*ledger.Event) []string {
	names := make([]string, len(list))
	for i, ev := range list {
		names[i] = ev.Type
	}
	return names
}

// recorded is what tests read back from a verdict event.
type recorded struct {
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason"`
	Path     string `json:"path"`
	MaxBytes int64  `json:"max_bytes"`
	Proposal int64  `json:"proposal"`
	Reasons  []struct {
		Code string `json:"code"`
		File string `json:"file"`
	} `json:"reasons"`
	Input json.RawMessage `json:"input"`
}

func lastVerdict(t testing.TB, list []*ledger.Event) (typ string, v recorded) {
	t.Helper()
	for _, ev := range slices.Backward(list) {
		if ev.Type == ledger.ToolAllowed || ev.Type == ledger.ToolDenied || ev.Type == ledger.ToolBlocked {
			if err := json.Unmarshal(ev.Payload, &v); err != nil {
				t.Fatal(err)
			}
			return ev.Type, v
		}
	}
	t.Fatal("no verdict in the ledger")
	return "", v
}

// canonical is a project directory without links in its name.
func canonical(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func link(t testing.TB, target, at string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, at); err != nil {
		t.Fatal(err)
	}
}

// TestSeedExample proposes the first users' calls to their own manifest and
// reads codes and canonical paths back from the ledger.
func TestSeedExample(t *testing.T) {
	top := canonical(t)
	project := filepath.Join(top, "project")
	write(t, project, "workspace/src/app.py", "print(1)\n")
	write(t, project, "workspace/src/.env", "TOKEN=1\n")
	write(t, project, "workspace/src-copy/x", "x\n")
	write(t, top, ".ssh/id_rsa", "key\n")
	link(t, "../../../.ssh/id_rsa", filepath.Join(project, "workspace/src/key"))
	x := open(t, project, func(c *executor.Config) { c.Tools = tools(t, seed) })

	read := func(path string) string { return fmt.Sprintf(`{"tool":"read_file","path":%q}`, path) }
	for i, c := range []struct {
		call, typ, reason, path string
	}{
		{read("workspace/src/app.py"), ledger.ToolAllowed, "allowed", project + "/workspace/src/app.py"},
		{read("../../.ssh/id_rsa"), ledger.ToolDenied, "outside_roots", filepath.Dir(top)},
		{read("../.ssh/id_rsa"), ledger.ToolDenied, "outside_roots", top + "/.ssh/id_rsa"},
		{read("/etc/passwd"), ledger.ToolDenied, "invalid_path", ""},
		{read("workspace/src-copy/x"), ledger.ToolDenied, "outside_roots", project + "/workspace/src-copy/x"},
		{read("workspace/src/key"), ledger.ToolDenied, "outside_roots", top + "/.ssh/id_rsa"},
		{read("workspace/src/.env"), ledger.ToolDenied, "forbidden_path", project + "/workspace/src/.env"},
		{read(`workspace\src\.env`), ledger.ToolDenied, "forbidden_path", project},
		{`{"tool":"launch","path":"x"}`, ledger.ToolDenied, "unknown_tool", ""},
		{`{"tool":"read_file"}`, ledger.ToolDenied, "input_validation_failed", ""},
		{read("workspace/src/gone.py"), ledger.ToolDenied, "not_found", project + "/workspace/src"},
	} {
		run := fmt.Sprintf("seed-%d", i)
		if _, err := x.Propose(context.Background(), []byte(c.call), run); err != nil {
			t.Fatalf("%s: %v", c.call, err)
		}
		out, err := x.Authorize(context.Background(), run)
		if err != nil {
			t.Fatalf("%s: %v", c.call, err)
		}
		list := events(t, project, run)
		typ, v := lastVerdict(t, list)
		if typ != c.typ || v.Reason != c.reason || v.Path != c.path {
			t.Errorf("%s:\n got %s %s %q\nwant %s %s %q", c.call, typ, v.Reason, v.Path, c.typ, c.reason, c.path)
		}
		if got := out.Verdict.Reasons[0].Code; got != v.Reason {
			t.Errorf("%s: answered %s, recorded %s", c.call, got, v.Reason)
		}
		if want := []string{ledger.RunStarted, ledger.ModelProposed, c.typ}; !slices.Equal(types(list), want) {
			t.Errorf("%s: events %v, want %v", c.call, types(list), want)
		}
	}
}

// TestExecReads takes a read through: bytes, status and the five events.
func TestExecReads(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "works well\n")
	x := open(t, project, nil)
	r := x.Exec(context.Background(), readCall, "r")
	if r.Status != executor.StatusSuccess || r.Output["content"] != "works well\n" || r.Seq != 5 || r.CallID != "c2" || r.Reason != "allowed" {
		t.Errorf("result %+v", r)
	}
	want := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolAllowed, ledger.ToolStarted, ledger.ToolSucceeded}
	list := events(t, project, "r")
	if !slices.Equal(types(list), want) {
		t.Fatalf("events %v, want %v", types(list), want)
	}
	if text := string(list[4].Payload); strings.Contains(text, "works well") {
		t.Errorf("the result's text was recorded: %s", text)
	}
	_, v := lastVerdict(t, list)
	if v.Path != project+"/data/feedback.txt" || v.MaxBytes != 262144 || len(v.Input) == 0 {
		t.Errorf("verdict %+v", v)
	}
}

// TestWriteWithoutContent is refused by the schema and changes nothing.
func TestWriteWithoutContent(t *testing.T) {
	project := canonical(t)
	x := open(t, project, nil)
	r := x.Exec(context.Background(), []byte(`{"name":"write_json_file","arguments":{"artifact_name":"a.json"}}`), "r")
	if r.Status != executor.StatusFailed || r.ErrorCode != "input_validation_failed" || !r.Retryable ||
		r.ErrorMessage != "arguments.content: field is required" {
		t.Errorf("result %+v", r)
	}
	left, err := os.ReadDir(filepath.Join(project, "runs/r/artifacts"))
	if err != nil || len(left) != 0 {
		t.Errorf("artifacts %v, %v", left, err)
	}
	if typ, v := lastVerdict(t, events(t, project, "r")); typ != ledger.ToolDenied || v.Reason != "input_validation_failed" || string(v.Input) != "null" {
		t.Errorf("recorded %s %+v", typ, v)
	}
}

// TestWriteJSON writes sorted keys and numbers as they were spelt, and returns
// path and artifact_name alone.
func TestWriteJSON(t *testing.T) {
	project := canonical(t)
	x := open(t, project, nil)
	call := `{"name":"write_json_file","arguments":{"artifact_name":"a.json","content":{"b":1.50,"a":9007199254740993,"c":"<é>"}}}`
	r := x.Exec(context.Background(), []byte(call), "r")
	want := map[string]any{"path": "runs/r/artifacts/a.json", "artifact_name": "a.json"}
	if r.Status != executor.StatusSuccess || fmt.Sprint(r.Output) != fmt.Sprint(want) {
		t.Fatalf("result %+v", r)
	}
	got, err := os.ReadFile(filepath.Join(project, "runs/r/artifacts/a.json"))
	if text := "{\n  \"a\": 9007199254740993,\n  \"b\": 1.50,\n  \"c\": \"<é>\"\n}\n"; err != nil || string(got) != text {
		t.Errorf("file %q, %v; want %q", got, err, text)
	}
}

// TestListRunFiles lists what the run has written, and nothing that could not be
// read.
func TestListRunFiles(t *testing.T) {
	project := canonical(t)
	write(t, project, "runs/r/artifacts/a.json", "{}")
	write(t, project, "runs/r/artifacts/.env", "x")
	link(t, "../../../data/secret", filepath.Join(project, "runs/r/artifacts/out"))
	x := open(t, project, nil)
	r := x.Exec(context.Background(), []byte(`{"name":"list_run_files","arguments":{}}`), "r")
	text, err := json.Marshal(r.Output)
	if err != nil || r.Status != executor.StatusSuccess {
		t.Fatalf("%v %+v", err, r)
	}
	if got := string(text); !strings.Contains(got, `"a.json"`) || strings.Contains(got, ".env") || strings.Contains(got, "out") ||
		!strings.Contains(got, `"withheld_entries":2`) {
		t.Errorf("output %s", got)
	}
}

// TestWhereItEnds denies by the object, not by the spelling.
func TestWhereItEnds(t *testing.T) {
	project := canonical(t)
	x := open(t, project, func(c *executor.Config) {
		c.Tools = tools(t, `{"schema_version":1,"tools":{"read_file":{"operation":"read","roots":["runs/current/artifacts"]}}}`)
	})
	write(t, project, "runs/other-run/secret.json", "{}")
	write(t, project, "runs/current/artifacts/mine.json", "{}")
	for path, want := range map[string]string{
		"runs/current/artifacts/../../other-run/secret.json":       "outside_roots",
		"runs/current/artifacts/../../current/artifacts/mine.json": "allowed",
		"runs/other-run/../current/artifacts/mine.json":            "allowed",
	} {
		out, err := x.Check(context.Background(), fmt.Appendf(nil, `{"tool":"read_file","path":%q}`, path), "")
		if err != nil || out.Verdict.Reasons[0].Code != want {
			t.Errorf("%s: %v, %+v; want %s", path, err, out.Verdict, want)
		}
	}
}

// TestCallID: one id is one call; the same call again is a new attempt.
func TestCallID(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	x := open(t, project, nil)
	call := func(id, path string) []byte {
		return fmt.Appendf(nil, `{"name":"read_file","arguments":{"path":%q},"call_id":%q}`, path, id)
	}
	for _, c := range []struct{ id, path, code string }{
		{"a", "data/feedback.txt", ""},
		{"a", "data/feedback.txt", ""},
		{"a", "data/other.txt", "malformed_call"},
		{"a", "data/feedback.txt", ""}, // the id still belongs to the first call
		{"b", "data/feedback.txt", ""},
	} {
		if r := x.Exec(context.Background(), call(c.id, c.path), "r"); r.ErrorCode != c.code || r.CallID != c.id {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// TestCheckRun judges against what the run has recorded, also when another
// Executor has recorded more since, and records nothing.
func TestCheckRun(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	writer, reader := open(t, project, nil), open(t, project, nil)
	bad := []byte(`{"name":"read_file","arguments":{"path":"../x"}}`)
	for range 5 {
		writer.Exec(context.Background(), bad, "r")
		before := types(events(t, project, "r"))
		out, err := reader.Check(context.Background(), readCall, "r")
		if err != nil {
			t.Fatal(err)
		}
		var want int64
		for _, typ := range before {
			if typ == ledger.ToolDenied {
				want++
			}
		}
		if got := out.Input.Run.Denials.InRow; got != want {
			t.Errorf("judged on %d denials, recorded are %d", got, want)
		}
		if after := types(events(t, project, "r")); !slices.Equal(after, before) {
			t.Errorf("check recorded: %v", after)
		}
	}
	out, err := reader.Check(context.Background(), readCall, "r")
	if err != nil || out.Verdict.Reasons[0].Code != "denial_budget_exhausted" {
		t.Errorf("%v %+v", err, out.Verdict)
	}
	if out, err = writer.Check(context.Background(), readCall, "r"); err != nil || out.Verdict.Reasons[0].Code != "denial_budget_exhausted" {
		t.Errorf("%v %+v", err, out.Verdict)
	}
}

// TestCallIDTaken: a call that was judged before its id turned out to be taken
// is recorded as malformed, without an input.
func TestCallIDTaken(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	x := open(t, project, nil)
	x.Exec(context.Background(), []byte(`{"name":"read_file","arguments":{"path":"data/feedback.txt"},"call_id":"a"}`), "r")
	r := x.Exec(context.Background(), []byte(`{"name":"read_file","arguments":{"path":"data/b.txt"},"call_id":"a"}`), "r")
	if r.Status != executor.StatusFailed || r.ErrorCode != "malformed_call" {
		t.Errorf("%+v", r)
	}
	list := events(t, project, "r")
	if _, v := lastVerdict(t, list); v.Reason != "malformed_call" || string(v.Input) != "null" {
		t.Errorf("recorded %+v", v)
	}
	if text := string(list[len(list)-1].Payload); !strings.Contains(text, `"input_digest":""`) {
		t.Errorf("recorded %s", text)
	}
}

// TestBudget: five denials in a row exhaust it, an allow between starts anew,
// and calls that were on their way together count as one.
func TestBudget(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	x := open(t, project, nil)
	bad := []byte(`{"name":"read_file","arguments":{"path":"../x"}}`)
	exec := func(run string, call []byte) string { return x.Exec(context.Background(), call, run).Reason }
	for range 4 {
		if got := exec("row", bad); got != "outside_roots" {
			t.Fatal(got)
		}
	}
	if got := exec("row", readCall); got != "allowed" {
		t.Fatal(got)
	}
	for range 5 {
		if got := exec("row", bad); got != "outside_roots" {
			t.Fatal(got)
		}
	}
	if got := exec("row", readCall); got != "denial_budget_exhausted" {
		t.Errorf("after five in a row: %s", got)
	}
	// Six proposals before the first answer are one in the row.
	for range 6 {
		if _, err := x.Propose(context.Background(), bad, "batch"); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Authorize(context.Background(), "batch"); err != nil {
			t.Fatal(err)
		}
	}
	if got := exec("batch", readCall); got != "denial_budget_exhausted" {
		t.Errorf("one after the other: %s", got)
	}
}

// TestMalformed is recorded by size and digest alone.
func TestMalformed(t *testing.T) {
	project := canonical(t)
	x := open(t, project, nil)
	r := x.Exec(context.Background(), []byte(`{"name":"read_file","arguments":{"path":"secret-a","path":"b"}}`), "r")
	if r.Status != executor.StatusFailed || r.ErrorCode != "malformed_call" || !r.Retryable || r.Seq != 3 {
		t.Errorf("result %+v", r)
	}
	list := events(t, project, "r")
	if !slices.Equal(types(list), []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolDenied}) {
		t.Fatal(types(list))
	}
	for _, ev := range list {
		if strings.Contains(string(ev.Payload), "secret-a") {
			t.Errorf("malformed bytes were recorded: %s", ev.Payload)
		}
	}
}

// TestWithheld: a secret in an argument is nowhere in the verdict, and denied.
func TestWithheld(t *testing.T) {
	project := canonical(t)
	x := open(t, project, nil)
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	for _, c := range []struct{ arg, pointer string }{
		{secret, "/path"},
		{"data/" + strings.Repeat("x", 9000), "/path"},
	} {
		call := fmt.Appendf(nil, `{"name":"read_file","arguments":{"path":%q}}`, c.arg)
		out, err := x.Check(context.Background(), call, "")
		if err != nil || out.Verdict.Reasons[0].Code != "argument_withheld" {
			t.Fatalf("%v %+v", err, out.Verdict)
		}
		if line := string(out.InputJSON()); strings.Contains(line, c.arg) || !strings.Contains(line, `"pointer":"/path"`) {
			t.Errorf("input %s", line)
		}
		if r := x.Exec(context.Background(), call, "r"); r.Reason != "argument_withheld" || strings.Contains(r.ErrorMessage, c.arg) {
			t.Errorf("result %+v", r)
		}
	}
	for _, ev := range events(t, project, "r") {
		if ev.Type != ledger.ModelProposed && strings.Contains(string(ev.Payload), secret) {
			t.Errorf("%s holds the secret", ev.Type)
		}
	}
}
