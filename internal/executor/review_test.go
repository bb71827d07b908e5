package executor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// TestRelativeProject: what is protected does not depend on how the project
// directory is spelt.
func TestRelativeProject(t *testing.T) {
	top := canonical(t)
	write(t, top, "f/runs/victim/events.jsonl", "")
	write(t, top, "f/data/a.txt", "a")
	link(t, "f", filepath.Join(top, "l"))
	t.Chdir(top)
	for _, project := range []string{"f", "./f", "../" + filepath.Base(top) + "/f", "l", filepath.Join(top, "f"), filepath.Join(top, "l")} {
		x := open(t, project, func(c *executor.Config) { c.Tools = tools(t, everywhere) })
		for _, call := range [][]byte{
			callOf("read_file", map[string]any{"path": "runs/victim/events.jsonl"}),
			writeTo("runs/victim/events.jsonl"),
			deleteAt("runs/victim/events.jsonl"),
			writeTo("runs/new/events.jsonl"),
			writeTo("policies/runlens/x.rego"),
		} {
			out, err := x.Check(context.Background(), call, "")
			if err != nil || out.Verdict.Reasons[0].Code != "protected_file" {
				t.Errorf("--project %s: %s: %v %+v", project, call, err, out.Verdict.Reasons)
			}
		}
	}
}

// TestSecretsInTheLedger: wherever a call carries a secret that is no content,
// no event but the proposal's own text holds it; with `record: facts` none does.
func TestSecretsInTheLedger(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	const manifest = `{"schema_version":1,"record":%q,"tools":{
		"read_file":{"operation":"read","roots":["data"]},
		"read_feedback_csv":{"operation":"read","roots":["data"]},
		"two":{"operation":"read","handler":"read_file","roots":["data"],
			"input_schema":{"type":"object","properties":{"dir":{"type":"string"},"path":{"type":"string"}},"required":["dir","path"],"additionalProperties":false},
			"targets":[{"param":"path","access":"read","template":"data/{dir}/{path}"}]},
		"note":{"operation":"write","handler":"write_file","roots":["data"]}}}`
	for _, record := range []string{"proposal", "facts"} {
		project := canonical(t)
		write(t, project, "data/s.csv", secret+","+secret+"\n1,2\n")
		x := open(t, project, func(c *executor.Config) { c.Tools = tools(t, fmt.Sprintf(manifest, record)) })
		for i, call := range []string{
			`{"tool":"read_file","path":"data/SECRET"}`,
			`{"tool":"two","dir":"SECRET","path":"a"}`,
			`{"tool":"two","dir":"a","path":"SECRET"}`,
			`{"tool":"read_file","path":"a","SECRET":1}`,
			`{"tool":"read_file","path":"a","x":{"SECRET":1,"SECRET":2}}`,
			`{"tool":"SECRET","path":"a"}`,
			`{"name":"read_file","arguments":{"path":"a"},"call_id":"SECRET"}`,
			`{"name":"read_file","arguments":{"path":"a"},"SECRET":1}`,
			`{"jsonrpc":"2.0","id":"SECRET","method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`,
			`{"tool":"note","path":"data/x","content":{"SECRET":1}}`,
			`{"tool":"read_feedback_csv","path":"data/s.csv"}`,
			`{"tool":"read_file","path":"a"} SECRET`,
		} {
			run := fmt.Sprintf("s%d", i)
			r := x.Exec(context.Background(), []byte(strings.ReplaceAll(call, "SECRET", secret)), run)
			if r.Status == executor.StatusSuccess || r.Seq == 0 {
				t.Errorf("%s: %+v", call, r)
			}
			for _, ev := range events(t, project, run) {
				if (ev.Type != ledger.ModelProposed || record == "facts") && strings.Contains(string(ev.Payload), secret) {
					t.Errorf("record %s: %s:\n%s holds the secret: %s", record, call, ev.Type, ev.Payload)
				}
			}
		}
	}
}

// TestEveryParameterIsRead: an oddity counts in whichever parameter of a
// template it stands.
func TestEveryParameterIsRead(t *testing.T) {
	project := canonical(t)
	const manifest = `{"schema_version":1,"tools":{"two":{"operation":"read","handler":"read_file","roots":["data"],
		"input_schema":{"type":"object","properties":{"dir":{"type":"string"},"path":{"type":"string"}},"required":["dir","path"],"additionalProperties":false},
		"targets":[{"param":"path","access":"read","template":"data/{dir}/{path}"}]}}}`
	for _, name := range []string{`a\b`, "c\x01d", "C:", "x%2f", "e ", "d\u200bz"} {
		write(t, project, filepath.Join("data", name, "f"), "x")
	}
	write(t, project, "data/ok/f", "x")
	x := open(t, project, func(c *executor.Config) { c.Tools = tools(t, manifest) })
	for dir, want := range map[string]string{
		"ok": "allowed", `a\b`: "invalid_path", "c\x01d": "invalid_path", "C:": "invalid_path",
		"x%2f": "invalid_path", "e ": "invalid_path", "d\u200bz": "invalid_path",
	} {
		out, err := x.Check(context.Background(), callOf("two", map[string]any{"dir": dir, "path": "f"}), "")
		if err != nil || out.Verdict.Reasons[0].Code != want {
			t.Errorf("dir %q: %v %+v; want %s", dir, err, out.Verdict.Reasons, want)
		}
	}
}

// TestCallIDsNeverMeet: a name that a call was given by its number is taken,
// and a name that a caller took is not given to another.
func TestCallIDsNeverMeet(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	x := open(t, project, nil)
	call := func(id, path string) *executor.ToolResult {
		text := fmt.Sprintf(`{"name":"read_file","arguments":{"path":%q}}`, path)
		if id != "" {
			text = fmt.Sprintf(`{"name":"read_file","arguments":{"path":%q},"call_id":%q}`, path, id)
		}
		return x.Exec(context.Background(), []byte(text), "r")
	}
	first := call("", "data/feedback.txt")
	if first.CallID != "c2" {
		t.Fatalf("%+v", first)
	}
	if r := call("c2", "data/other.txt"); r.ErrorCode != "malformed_call" {
		t.Errorf("c2 again: %+v", r)
	}
	if r := call("c2", "data/feedback.txt"); r.Status != executor.StatusSuccess {
		t.Errorf("the same call as c2: %+v", r)
	}
	next := call("c16", "data/feedback.txt") // the number of the proposal after this one
	if next.Seq != 15 {
		t.Fatalf("%+v", next)
	}
	if r := call("", "data/feedback.txt"); r.CallID != "c16." {
		t.Errorf("a number that is taken: %+v", r)
	}
}

// TestListOnlyRoot: a root for listing alone shows its files.
func TestListOnlyRoot(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/a.txt", "a")
	write(t, project, "data/.env", "x")
	write(t, project, "data/d/b.txt", "b")
	x := open(t, project, func(c *executor.Config) {
		c.Tools = tools(t, `{"schema_version":1,"tools":{"list_files":{"operation":"list","roots":[{"path":"data","access":["list"]}]}}}`)
	})
	r := x.Exec(context.Background(), callOf("list_files", map[string]any{"path": "data"}), "r")
	text := fmt.Sprint(r.Output)
	if r.Status != executor.StatusSuccess || !strings.Contains(text, "a.txt") || !strings.Contains(text, "name:d") || strings.Contains(text, ".env") {
		t.Errorf("%+v", r)
	}
}

// TestCheckIsExec: a check without a run says what exec says in a fresh one.
func TestCheckIsExec(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/a.txt", "a")
	write(t, project, "runs/old/artifacts/x", "x")
	link(t, "../runs", filepath.Join(project, "data/rl"))
	link(t, "..", filepath.Join(project, "data/up"))
	link(t, t.TempDir(), filepath.Join(project, "data/out"))
	const manifest = `{"schema_version":1,"tools":{"write_file":{"operation":"write"},"read_file":{"operation":"read"},"list_files":{"operation":"list"}}}`
	x := open(t, project, func(c *executor.Config) {
		c.Tools = tools(t, manifest)
		c.NewID = func() string { return "fresh" }
	})
	for _, path := range []string{
		"runs/ID/artifacts/n", "runs/ID/artifacts/", "runs/ID/artifacts", "runs/ID/artifacts/../artifacts/n",
		"runs/ID/artifacts/../../ID/artifacts/n", "runs/ID/artifacts/../../old/artifacts/x", "runs/ID/artifacts/../../../data/a.txt",
		"data/rl/ID/artifacts/n", "data/up/runs/ID/artifacts/n", "data/out/../runs/ID/artifacts/n", "data/out/runs/ID/artifacts/n",
		"runs/ID/artifacts/no/../n", "runs/ID/artifacts/no/n", "runs/ID/artifacts/n/", "runs/ID", "runs/ID/events.jsonl", "runs/ID/../ID/artifacts/n",
		"data/a.txt", "data/../runs/ID/artifacts/n", "./runs//ID/./artifacts/n", "runs/old/artifacts/x",
	} {
		for _, tool := range []string{"write_file", "read_file", "list_files"} {
			args := func(id string) map[string]any {
				a := map[string]any{"path": strings.ReplaceAll(path, "ID", id)}
				if tool == "write_file" {
					a["content"] = "x"
				}
				return a
			}
			out, err := x.Check(context.Background(), callOf(tool, args("check")), "")
			if err != nil {
				t.Fatal(err)
			}
			r := x.Exec(context.Background(), callOf(tool, args("fresh")), "")
			judged := r.Outcome.Verdict
			var got, want []string
			for _, reason := range out.Verdict.Reasons {
				got = append(got, reason.Code)
			}
			for _, reason := range judged.Reasons {
				want = append(want, reason.Code)
			}
			if out.Verdict.Effect != judged.Effect || got[0] != want[0] {
				t.Errorf("%s %s: check says %v, exec %v", tool, path, got, want)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(project, "runs/fresh")); err != nil {
				t.Fatal(err)
			}
			x = open(t, project, func(c *executor.Config) {
				c.Tools = tools(t, manifest)
				c.NewID = func() string { return "fresh" }
			})
		}
	}
}
