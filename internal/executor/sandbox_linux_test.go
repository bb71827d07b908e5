package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// isolated skips a test, with the reason, on a machine that has no full sandbox.
func isolated(t testing.TB) {
	t.Helper()
	if s := sandbox.Open("").Probe(t.Context()); s.Level != sandbox.Full {
		t.Skip("no sandbox here: " + strings.Join(s.Missing, "; "))
	}
}

// python is the name of the interpreter, which stands in a directory of the
// manifest's default path.
func python(t testing.TB) string {
	t.Helper()
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		if _, err := os.Stat(dir + "/python3"); err == nil {
			return "python3"
		}
	}
	t.Skip("python3 is not installed")
	return ""
}

// stage is the small program that begins sandboxes: the one beside a test binary that
// was compiled before, else it is built. Where neither can be had the test binary
// begins them, and says so.
var stage = sync.OnceValue(func() string {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "runlens-sandbox")
		if _, err := os.Stat(beside); err == nil {
			return beside
		}
	}
	dir, err := os.MkdirTemp("", "runlens-stage")
	if err != nil {
		return ""
	}
	built = dir
	path := filepath.Join(dir, "runlens-sandbox")
	if text, err := exec.Command("go", "build", "-o", path, "../../cmd/runlens-sandbox").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "runlens-sandbox can't be built here, so this test binary begins the sandboxes: %v\n%.400s\n", err, text)
		return ""
	}
	return path
})

// sandboxTools declares one tool a command, in the sandbox, with these roots.
func sandboxTools(roots string, commands map[string][]string) string {
	var list []string
	for name, argv := range commands {
		text, _ := json.Marshal(argv)
		list = append(list, fmt.Sprintf(`%q:{"operation":"execute","handler":"run_tests","timeout_ms":60000,"roots":%s,"commands":[%s]}`, name, roots, text))
	}
	slices.Sort(list)
	return `{"schema_version":1,"tools":{` + strings.Join(list, ",") + `}}`
}

// sh runs shell scripts in the sandbox, each a tool.
func sh(t testing.TB, project, roots string, scripts map[string]string) *executor.Executor {
	t.Helper()
	commands := map[string][]string{}
	for name, script := range scripts {
		commands[name] = []string{"sh", "-c", script}
	}
	return open(t, project, func(c *executor.Config) {
		c.Tools, c.Stage = tools(t, sandboxTools(roots, commands)), stage()
	})
}

func toolCall(name string) []byte { return []byte(fmt.Sprintf(`{"name":%q,"arguments":{}}`, name)) }

// prints runs a tool and holds it to what it prints.
func prints(t *testing.T, x *executor.Executor, run, tool, stdout string) {
	t.Helper()
	r := x.Exec(context.Background(), toolCall(tool), run)
	if r.Status != executor.StatusSuccess || r.Output["stdout"] != stdout {
		t.Errorf("%s: %s %s %s, printed %q and %q, want %q", tool, r.Status, r.ErrorCode, r.ErrorMessage, r.Output["stdout"], r.Output["stderr"], stdout)
	}
}

const suite = `import os, socket, unittest
class Suite(unittest.TestCase):
    def test_app(self):
        from app import double
        self.assertEqual(double(2), WANT)
    def test_secret(self):
        with self.assertRaises(PermissionError):
            open(".env").close()
    def test_network(self):
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", PORT), 2).close()
    def test_temp(self):
        import tempfile
        with tempfile.TemporaryFile() as f:
            f.write(b"x")
`

// suiteIn lays out a small project and its test suite, and makes an executor that
// runs it.
func suiteIn(t *testing.T, level, want string, port int) (project string, x *executor.Executor) {
	t.Helper()
	project = canonical(t)
	for name, text := range map[string]string{
		"workspace/app/__init__.py":   "from .numbers import double\n",
		"workspace/app/numbers.py":    "def double(n):\n    return 2 * n\n",
		"workspace/.env":              "TOKEN=1\n",
		"workspace/tests/__init__.py": "",
		"workspace/tests/test_app.py": strings.NewReplacer("WANT", want, "PORT", fmt.Sprint(port),
			`".env"`, `os.path.dirname(__file__) + "/../.env"`).Replace(suite),
	} {
		write(t, project, name, text)
	}
	text := sandboxTools(`["workspace"]`, map[string][]string{"run_tests": {python(t), "-m", "unittest", "discover", "-v", "-s", "workspace/tests", "-t", "workspace"}})
	text = strings.Replace(text, `"roots"`, fmt.Sprintf(`"sandbox":%q,"roots"`, level), 1)
	return project, open(t, project, func(cfg *executor.Config) { cfg.Stage, cfg.Tools = stage(), tools(t, text) })
}

// Without a sandbox the same suite reads the secret and reaches the server: its tests
// of that can fail.
func TestUnittestWithoutSandbox(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, x := suiteIn(t, "none", "4", server.Addr().(*net.TCPAddr).Port)
	r := x.Exec(context.Background(), toolCall("run_tests"), "r")
	stderr, _ := r.Output["stderr"].(string)
	if r.Status != executor.StatusSuccess || r.Output["exit_code"] != 1 || !strings.Contains(stderr, "FAILED (failures=2)") ||
		ended(stderr, "test_secret") != "FAIL" || ended(stderr, "test_network") != "FAIL" || ended(stderr, "test_app") != "ok" {
		t.Errorf("%s %s: exit code %v\n%s", r.Status, r.ErrorCode, r.Output["exit_code"], stderr)
	}
}

// ended is the word that unittest has for how a test ended.
func ended(stderr, test string) string {
	for line := range strings.Lines(stderr) {
		if name, end, found := strings.Cut(strings.TrimSpace(line), " ... "); found && strings.HasPrefix(name, test+" ") {
			return end
		}
	}
	return ""
}

// A Python test suite runs in the sandbox. One that fails is a success of the tool.
func TestSandboxUnittest(t *testing.T) {
	isolated(t)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		if c, err := server.Accept(); err == nil {
			c.Close()
			t.Error("the sandbox reached a server on loopback")
		}
	}()
	for _, c := range []struct {
		want string
		exit int
		says string
	}{{"4", 0, "\nOK\n"}, {"5", 1, "FAILED (failures=1)"}} {
		project, x := suiteIn(t, "full", c.want, server.Addr().(*net.TCPAddr).Port)
		r := x.Exec(context.Background(), toolCall("run_tests"), "r")
		stderr, _ := r.Output["stderr"].(string)
		if r.Status != executor.StatusSuccess || r.Output["exit_code"] != c.exit || !strings.Contains(stderr, "Ran 4 tests") || !strings.Contains(stderr, c.says) {
			t.Errorf("%s %s %s: exit code %v\n%s", r.Status, r.ErrorCode, r.ErrorMessage, r.Output["exit_code"], stderr)
		}
		for _, test := range []string{"secret", "network", "temp"} {
			if ended(stderr, "test_"+test) != "ok" {
				t.Errorf("test_%s did not pass\n%s", test, stderr)
			}
		}
		_, v := lastVerdict(t, events(t, project, "r"))
		var input struct{ Sandbox facts.Sandbox }
		if err := json.Unmarshal(v.Input, &input); err != nil || input.Sandbox != (facts.Sandbox{Level: "full", Filesystem: true, Network: true, Secrets: true, Limits: true}) {
			t.Errorf("recorded %+v, %v", input.Sandbox, err)
		}
	}
}

// What a program sees of the project: its roots, without secrets, and never what
// it is judged by or another run.
func TestSandboxSees(t *testing.T) {
	isolated(t)
	project := canonical(t)
	for name, text := range map[string]string{
		"a.txt": "a\n", "src/b.txt": "b\n", "src/.env": "TOKEN=1\n", "src/.env.example": "TOKEN=\n",
		"policies/runlens/rules/x/x.rego": "package x\n", "manifests/tools.json": "{}", "tools.json": "{}",
		"runs/other/events.jsonl": "{}\n", "runs/other/artifacts/o.txt": "o\n", "runs/other/contract.json": "{}",
	} {
		write(t, project, name, text)
	}
	read := `[{"path":".","access":["read"]}]`
	x := sh(t, project, read, map[string]string{
		"pwd":    "pwd; echo $HOME $TMPDIR",
		"reads":  "cat a.txt src/b.txt src/.env.example",
		"secret": "cat src/.env 2>/dev/null; cp -r src /tmp/c 2>/dev/null; cat /tmp/c/.env; mv src/.env src/e; true",
		"hidden": "cat policies/runlens/rules/x/x.rego manifests/tools.json tools.json runs/other/events.jsonl runs/other/artifacts/o.txt runs/r/events.jsonl; ls policies manifests runs/other; true",
		"runs":   "ls runs runs/r",
		"own":    "echo made >runs/r/artifacts/m.txt && cat runs/r/artifacts/m.txt",
		"writes": "for f in a.txt src/new runs/new runs/r/new runs/r/events.jsonl policies/new manifests/new tools.json .new; do echo x >$f && echo wrote $f; done; true",
		"moves":  "mv runs gone; rmdir runs/r; mv policies gone; rm -r runs/other; mv runs/r/artifacts runs/r/gone; true",
	})
	for _, c := range []struct{ tool, stdout string }{
		{"pwd", project + "\n" + sandbox.Home + " " + sandbox.Temp + "\n"},
		{"reads", "a\nb\nTOKEN=\n"},
		{"secret", ""},
		{"hidden", ""},
		{"runs", "runs:\nr\n\nruns/r:\nartifacts\n"},
		{"own", "made\n"},
		{"writes", ""},
		{"moves", ""},
	} {
		prints(t, x, "r", c.tool, c.stdout)
	}
	if data, err := os.ReadFile(project + "/runs/r/artifacts/m.txt"); err != nil || string(data) != "made\n" {
		t.Errorf("the artifact holds %q, %v", data, err)
	}
	if report, err := ledger.Verify(project+"/runs/r", nil, nil); err != nil {
		t.Errorf("the ledger: %+v, %v", report, err)
	}
}

// A working directory that no root holds shows the roots and nothing else.
func TestSandboxRoots(t *testing.T) {
	isolated(t)
	project := canonical(t)
	for _, name := range []string{"a.txt", "in/a.txt", "out/a.txt", "data/a.txt", "beside/a.txt"} {
		write(t, project, name, name+"\n")
	}
	roots := `[{"path":"in","access":["read"]},{"path":"out","access":["write"]},{"path":"gone","access":["read"]}]`
	x := sh(t, project, roots, map[string]string{
		"list":  "ls; ls in out; cat in/a.txt out/a.txt a.txt beside/a.txt data/a.txt; true",
		"write": "echo 1 >in/new; echo 2 >out/new; echo 3 >new; echo 4 >runs/r/artifacts/new; echo 5 >runs/r/new; ls in out; true",
	})
	prints(t, x, "r", "list", "in\nout\nruns\nin:\na.txt\n\nout:\na.txt\nin/a.txt\nout/a.txt\n")
	prints(t, x, "r", "write", "in:\na.txt\n\nout:\na.txt\nnew\n")
	for name, want := range map[string]bool{"in/new": false, "out/new": true, "new": false, "runs/r/artifacts/new": true, "runs/r/new": false} {
		if _, err := os.Stat(filepath.Join(project, name)); (err == nil) != want {
			t.Errorf("%s: there %t, want %t", name, err == nil, want)
		}
	}
}

// Roots in which a program could reach what it is judged by. Policy refuses them;
// where it would not, the sandbox does.
func TestSandboxRefusesRoots(t *testing.T) {
	isolated(t)
	lenient := amended(t, "runlens/rules/sandbox/sandbox.rego", `_asked != "none"`, `_asked != "full"`)
	for roots, says := range map[string]string{
		`["."]`: `root "." may be written and holds a place`,
		`[{"path":"policies","access":["read"]}]`:                `open root "policies": it is part of a place of class policy`,
		`[{"path":"policies/runlens/rules","access":["read"]}]`:  `it is part of a place of class policy`,
		`[{"path":"runs","access":["read"]}]`:                    `root "runs" is or lies in a place`,
		`[{"path":"runs/other/artifacts","access":["read"]}]`:    `root "runs/other/artifacts" is or lies in a place`,
		`["runs/other/artifacts"]`:                               `root "runs/other/artifacts" is or lies in a place`,
		`[{"path":"linked","access":["read"]}]`:                  `it is part of a place of class policy`,
		`[{"path":"runs/{run_id}","access":["read"]}]`:           `root "runs/r" is or lies in a place`,
		`[{"path":"runs/{run_id}/artifacts","access":["read"]}]`: "",
	} {
		for _, policy := range []*engine.Engine{nil, lenient} {
			project := canonical(t)
			write(t, project, "policies/runlens/rules/x/x.rego", "package x\n")
			write(t, project, "runs/other/events.jsonl", "{}\n")
			write(t, project, "runs/other/artifacts/o.txt", "o\n")
			link(t, "policies/runlens", filepath.Join(project, "linked"))
			text := sandboxTools(roots, map[string][]string{"say": {"sh", "-c", "echo ran; echo 1 >runs/r/artifacts/ran"}})
			x := open(t, project, func(c *executor.Config) {
				c.Tools, c.Stage = tools(t, text), stage()
				if policy != nil {
					c.Engine = policy
				}
			})
			r := x.Exec(context.Background(), toolCall("say"), "r")
			switch {
			case says == "":
				if r.Status != executor.StatusSuccess {
					t.Errorf("%s: %s %q", roots, r.ErrorCode, r.ErrorMessage)
				}
				continue
			case policy == nil:
				if r.Status != executor.StatusDenied || r.Reason != "protected_root" || r.Reasons[0].Remedy == "" {
					t.Errorf("%s: %s %s %q", roots, r.Status, r.Reason, r.ErrorMessage)
				}
			case r.Status != executor.StatusFailed || r.ErrorCode != "sandbox_unavailable" || !strings.Contains(r.ErrorMessage, says) || r.Reasons[0].Remedy == "":
				t.Errorf("%s: %s %s %q, want %q", roots, r.Status, r.ErrorCode, r.ErrorMessage, says)
			}
			if _, err := os.Stat(project + "/runs/r/artifacts/ran"); err == nil {
				t.Errorf("%s: it ran", roots)
			}
		}
	}
}

// What the machine was said to do and can't is a failure of the tool, and nothing
// has run.
func TestSandboxPromiseBroken(t *testing.T) {
	isolated(t)
	project := canonical(t)
	x := sh(t, project, `["out"]`, map[string]string{"say": "echo ran"})
	broken := open(t, project, func(c *executor.Config) {
		c.Tools, c.Stage = tools(t, sandboxTools(`["out"]`, map[string][]string{"say": {"sh", "-c", "echo ran"}})), "/bin/true"
		c.Sandbox = facts.Sandbox{Level: "full"}
		c.Runs = filepath.Join(project, "others")
	})
	prints(t, x, "r", "say", "ran\n")
	r := broken.Exec(context.Background(), toolCall("say"), "r")
	if r.Status != executor.StatusFailed || r.ErrorCode != "sandbox_unavailable" || !strings.Contains(r.ErrorMessage, "nothing was run") || r.Output != nil {
		t.Errorf("%s %s %q", r.Status, r.ErrorCode, r.ErrorMessage)
	}
}

// A machine that can't do it is asked once, by the first call that wants to know,
// and the call is denied.
func TestSandboxUnavailable(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "works well\n")
	x := open(t, project, func(c *executor.Config) {
		c.Tools = tools(t, `{"schema_version":1,"tools":{
			"read_file":{"operation":"read"},
			"bare":{"operation":"execute","handler":"run_tests","commands":[["true"]],"sandbox":"none"},
			"run_tests":{"operation":"execute","commands":[["true"]]}}}`)
		c.Stage = "/nonexistent"
	})
	for _, c := range []struct{ tool, level, reason string }{
		{"bare", "none", "allowed"}, {"run_tests", "", "sandbox_unavailable"}, {"run_tests", "", "sandbox_unavailable"},
	} {
		out, err := x.Check(context.Background(), toolCall(c.tool), "")
		if err != nil {
			t.Fatal(err)
		}
		level := out.Input.Sandbox.Level
		if out.Verdict.Reasons[0].Code != c.reason || level == "full" || c.level != "" && level != c.level {
			t.Errorf("%s: %+v, level %q", c.tool, out.Verdict.Reasons[0], level)
		}
	}
	out, err := x.Check(context.Background(), readCall, "")
	if err != nil || out.Input.Sandbox != (facts.Sandbox{Level: "none"}) {
		t.Errorf("a read: %+v, %v", out.Input.Sandbox, err)
	}
}

// The deadline ends what the program started, whatever it did to get away, and
// tells what was printed.
func TestSandboxDeadline(t *testing.T) {
	isolated(t)
	project := canonical(t)
	tag := fmt.Sprintf("%d.5", 1_000_000+os.Getpid()) // seconds, and a name to find it by
	text := sandboxTools(`["out"]`, map[string][]string{"hang": {"sh", "-c", "echo begun; setsid sleep " + tag + " & setsid setsid sleep " + tag + " >/dev/null 2>&1 & sleep " + tag}})
	x := open(t, project, func(c *executor.Config) {
		c.Tools, c.Stage = tools(t, strings.Replace(text, `"timeout_ms":60000`, `"timeout_ms":1000`, 1)), stage()
	})
	r := x.Exec(context.Background(), toolCall("hang"), "r")
	if r.Status != executor.StatusFailed || r.ErrorCode != "handler_timeout" || r.Output["stdout"] != "begun\n" || r.Output["signal"] != "SIGKILL" {
		t.Errorf("%s %s %q: %v", r.Status, r.ErrorCode, r.ErrorMessage, r.Output)
	}
	if left := running(t, tag); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

// Tools with and without a sandbox run at once, and neither ends the other's
// processes.
func TestSandboxBesideSupervisor(t *testing.T) {
	isolated(t)
	project := canonical(t)
	script := "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'sleep 0.1; echo .' &); sleep 0.05; done; sleep 0.3; echo end"
	text := sandboxTools(`["out"]`, map[string][]string{"in": {"sh", "-c", script}, "out": {"sh", "-c", script}})
	text = strings.Replace(text, `"out":{"operation":"execute",`, `"out":{"operation":"execute","sandbox":"none",`, 1)
	x := open(t, project, func(c *executor.Config) { c.Tools, c.Stage = tools(t, text), stage() })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			tool := []string{"in", "out"}[i%2]
			r := x.Exec(context.Background(), toolCall(tool), "r")
			if r.Status != executor.StatusSuccess || r.Output["stdout"] != strings.Repeat(".\n", 8)+"end\n" {
				t.Errorf("%s: %s %s, printed %q", tool, r.Status, r.ErrorMessage, r.Output["stdout"])
			}
		})
	}
	all.Wait()
}

// running are the processes of the machine whose command line has the tag.
func running(t testing.TB, tag string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.Contains(string(line), tag) {
			found = append(found, e.Name())
		}
	}
	return found
}
