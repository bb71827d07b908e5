package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
)

// chatServer answers the k-th request with the k-th of a list of bodies, and the
// last for ever; a body that is no object comes with status 500.
func chatServer(t *testing.T, bodies ...string) (base string, requests *[]*http.Request) {
	t.Helper()
	requests = &[]*http.Request{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // one at a time
		body := bodies[min(len(*requests), len(bodies)-1)]
		*requests = append(*requests, r)
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasPrefix(body, "{") {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", requests
}

// wants is an answer that calls a tool.
func wants(id, name, args string) string {
	quoted, _ := json.Marshal(args)
	return `{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"` + id +
		`","type":"function","function":{"name":"` + name + `","arguments":` + string(quoted) + `}}]}}],"usage":{"total_tokens":1}}`
}

const saysDone = `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}],"usage":{"total_tokens":1}}`

// withModel is `runlens run` with a model behind base, by the runlens of the tests,
// beside which runlens-openai is. The key is in the environment.
func withModel(t *testing.T, project, base string, words ...string) *exec.Cmd {
	t.Helper()
	args := []string{"run", "--project", project, "--provider", "openai", "--base-url", base, "--model", "scripted"}
	cmd := exec.Command("runlens", append(args, words...)...)
	cmd.Env = append(os.Environ(), "HOME="+project+"-home", "XDG_STATE_HOME=", "OPENAI_API_KEY="+apiKeyOfTest)
	return cmd
}

// runWithModel runs it to its end, and holds it to telling nobody the key.
func runWithModel(t *testing.T, project, base string, words ...string) (code int, stdout, stderr string) {
	t.Helper()
	return finished(t, project, withModel(t, project, base, words...))
}

func finished(t *testing.T, project string, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = failed.ExitCode()
	}
	keepsKey(t, project, out.String()+errs.String())
	return code, out.String(), errs.String()
}

const apiKeyOfTest = "sk-cmd-0123456789abcdefGHIJKLMNOP"

// keepsKey fails the test when the key is in the project or in what was printed.
func keepsKey(t *testing.T, project, printed string) {
	t.Helper()
	if strings.Contains(printed, apiKeyOfTest) {
		t.Errorf("the key was printed:\n%s", printed)
	}
	err := filepath.WalkDir(project, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte(apiKeyOfTest)) {
			t.Errorf("the key is in %s", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A model drives a run from the command line: it reads, is refused, and writes.
// The results are on stdout, and the run's own account is whole.
func TestRunProvider(t *testing.T) {
	project := t.TempDir()
	if err := os.MkdirAll(filepath.Join(project, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "data", "notes.txt"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	base, requests := chatServer(t,
		wants("a", "read_file", `{"path":"data/notes.txt"}`),
		wants("b", "read_file", `{"path":"../secret"}`),
		wants("c", "write_markdown_file", `{"artifact_name":"report.md","content":"# hello"}`),
		saysDone)
	code, stdout, stderr := runWithModel(t, project, base, "--run", "r1", "--goal", "say hello")
	if code != exitAllowed {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
	var got []string
	for line := range strings.Lines(stdout) {
		var r executor.ToolResult
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, r.CallID+" "+r.Status+" "+r.Reason)
	}
	if want := "a success allowed, b denied outside_roots, c success allowed"; strings.Join(got, ", ") != want {
		t.Errorf("results %q, want %s", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(project, "runs", "r1", "artifacts", "report.md")); err != nil || !bytes.HasPrefix(text, []byte("# hello")) {
		t.Errorf("report: %q, %v", text, err)
	}
	for _, r := range *requests {
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+apiKeyOfTest {
			t.Errorf("request to %s with %q", r.URL, r.Header.Get("Authorization"))
		}
	}
	if len(*requests) != 4 || !strings.Contains(stderr, "run_id=r1\n") || !strings.Contains(stderr, "model stopped") {
		t.Errorf("%d requests, stderr:\n%s", len(*requests), stderr)
	}
	verify := &world{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, now: time.Now, random: zeros{}, getenv: func(string) string { return "" }}
	if code := run([]string{"ledger", "verify", "--project", project, "r1"}, verify); code != exitAllowed {
		t.Errorf("ledger verify: exit code %d", code)
	}
}

// A server that refuses the key, and says it, ends the run with an error that does
// not; --resume goes on with a key that is taken.
func TestRunProviderRefused(t *testing.T) {
	project := t.TempDir()
	base, requests := chatServer(t, "bad key "+apiKeyOfTest)
	code, _, stderr := runWithModel(t, project, base, "--run", "r1", "--goal", "list what there is")
	if code != exitBroken || !strings.Contains(stderr, `runlens: error: ask model: the server answered 401 Unauthorized: "bad key [key]"`) || len(*requests) != 1 {
		t.Errorf("exit code %d after %d requests, stderr:\n%s", code, len(*requests), stderr)
	}
	base, requests = chatServer(t, wants("a", "list_run_files", `{}`), saysDone)
	code, stdout, stderr := runWithModel(t, project, base, "--resume", "r1")
	if code != exitAllowed || len(*requests) != 2 || strings.Count(stdout, "\n") != 1 {
		t.Errorf("exit code %d after %d requests, stdout:\n%s\nstderr:\n%s", code, len(*requests), stdout, stderr)
	}
}

// A run that a limit ends is not complete, and stderr says which limit.
func TestRunProviderLimit(t *testing.T) {
	project := t.TempDir()
	base, requests := chatServer(t, wants("", "read_file", `{"path":"data/none.txt"}`))
	code, _, stderr := runWithModel(t, project, base, "--run", "r1", "--goal", "read", "--max-repeats", "2")
	if code != exitDenied || len(*requests) != 2 || !strings.Contains(stderr, "repeat limit") {
		t.Errorf("exit code %d after %d requests, stderr:\n%s", code, len(*requests), stderr)
	}
}
