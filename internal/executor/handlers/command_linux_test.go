package handlers

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/facts"
)

func TestMain(m *testing.M) {
	sandbox.Init(nil)
	if os.Args[0] == probeName {
		probe(os.Args[2:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// command is a grant to run this test program as a probe.
type command struct {
	*Grant
	t   testing.TB
	tag string // stands in the command line of every process of the command
}

func (p *project) command(mode ...string) command {
	p.t.Helper()
	self, err := os.Executable()
	p.must(err)
	return p.commandOf(self, append([]string{probeName, newTag(p.t)}, mode...)...)
}

func newTag(t testing.TB) string {
	marker, err := newMarker()
	if err != nil {
		t.Fatal(err)
	}
	return "tag-" + marker[len(marker)-32:]
}

// commandOf is a grant to run a program with an argv whose second part is a tag.
func (p *project) commandOf(program string, argv ...string) command {
	p.t.Helper()
	found, o := p.r.Executable(program, []string{"/usr/local/bin", "/usr/bin", "/bin"})
	p.t.Cleanup(func() { o.Close() })
	if found.Resolution != facts.OK {
		p.t.Skipf("no %s here: %s", program, found.Resolution)
	}
	c := command{t: p.t, tag: argv[1], Grant: &Grant{
		Argv: argv, Executable: o, Dir: p.object(facts.List, "."), Env: []string{"A=1"}, Sandbox: unconfined,
	}}
	p.t.Cleanup(c.nothingLeft)
	return c
}

// alive are the processes whose command line has the tag, and who they are.
func (c command) alive() (found []string) {
	for pid := range processes() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(line, []byte(c.tag)) {
			found = append(found, fmt.Sprintf("%d %q", pid, line))
		}
	}
	return found
}

// nothingLeft holds that the command left no process and this one no zombie.
func (c command) nothingLeft() {
	c.t.Helper()
	for _, process := range c.alive() {
		c.t.Errorf("left running: %s", process)
	}
	for _, p := range processes() {
		if p.parent == os.Getpid() && p.zombie {
			c.t.Errorf("left as a zombie: %+v", p)
		}
	}
}

// until runs the command and cancels it when it has printed so many lines.
func (c command) until(s *supervisor, lines int) (ending, string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w := &counting{lines: lines, then: cancel}
	end, err := s.run(ctx, c.Grant, w, w)
	if err != nil {
		c.t.Fatal(err)
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		c.t.Fatalf("it never printed %d lines: %q", lines, w.String())
	}
	return end, w.String()
}

// counting calls then when so many lines were written.
type counting struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	lines int
	then  func()
}

func (c *counting) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf.Write(p[:min(len(p), 1<<16)])
	if c.lines -= bytes.Count(p, []byte("\n")); c.lines <= 0 {
		c.then()
	}
	return len(p), nil
}

func (c *counting) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

func TestCommand(t *testing.T) {
	p := newProject(t, nil)
	for _, c := range []struct {
		mode []string
		want string
	}{
		{[]string{"print", "out", "err", "0"}, `{"exit_code":0,"signal":"","stdout":"out","stderr":"err","stdout_bytes":3,"stderr_bytes":3,"truncated":false}`},
		{[]string{"print", "", "FAILED (failures=1)", "1"}, `{"exit_code":1,"signal":"","stderr":"FAILED (failures=1)"}`},
		{[]string{"print", "", "", "255"}, `{"exit_code":255}`},
		{[]string{"signal"}, `{"exit_code":-1,"signal":"SIGKILL"}`},
		{[]string{"hex", "ff611b5b33316dc3a90d0a"}, `{"stdout":"\\xffa\\x1b[31mé\n","stdout_bytes":11}`},
	} {
		res := run(t, "run_tests", p.command(c.mode...).Grant)
		want(t, res.Output, c.want)
	}
}

func TestCommandOutputIsCapped(t *testing.T) {
	p := newProject(t, nil)
	c := p.command("print", strings.Repeat("a", 5000)+"END", "", "0")
	c.Output = 100
	res := run(t, "run_tests", c.Grant)
	text := strings.Repeat("a", 50) + "\n[… 4903 of 5003 bytes cut here …]\n" + strings.Repeat("a", 47) + "END"
	if res.Output["stdout"] != text || res.Output["truncated"] != true || !res.Truncated {
		t.Errorf("stdout %q, truncated %v", res.Output["stdout"], res.Truncated)
	}
}

// The child has what the grant says and nothing else.
func TestCommandSurroundings(t *testing.T) {
	t.Setenv("RUNLENS_TEST_SECRET", "secret")
	inherited, err := syscall.Dup(1) // a descriptor without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	p := newProject(t, map[string]string{"sub/": ""})
	c := p.command("surroundings")
	c.Dir = p.object(facts.List, "sub")
	stdout := run(t, "run_tests", c.Grant).Output["stdout"].(string)
	got := map[string]string{}
	for line := range strings.Lines(stdout) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		got[name] = value
	}
	env, marker, _ := strings.Cut(got["env"], " RUNLENS_COMMAND=")
	if env != "A=1" || len(marker) != 32 {
		t.Errorf("environment %q", got["env"])
	}
	for name, want := range map[string]string{
		"directory": filepath.Join(p.dir, "sub"), "stdin": "0 bytes", "argv0": probeName,
		"descriptors": "0 1 2", "session": "own", "group": "own",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// The program and the directory are the judged ones, whatever stands at their
// names by now. A script is run by its handle too.
func TestCommandByHandle(t *testing.T) {
	p := newProject(t, map[string]string{"dir/": "", "script": "#!/bin/sh\necho judged; pwd -P; echo \"$@\"\n", "other": "#!/bin/sh\necho other\n"})
	for _, name := range []string{"script", "other"} {
		p.must(os.Chmod(filepath.Join(p.dir, name), 0o755))
	}
	c := p.commandOf("./script", "script", newTag(t))
	c.Dir = p.object(facts.List, "dir")
	p.must(os.Rename(filepath.Join(p.dir, "other"), filepath.Join(p.dir, "script")))
	p.must(os.Rename(filepath.Join(p.dir, "dir"), filepath.Join(p.dir, "moved")))
	p.put("dir/", "")
	want(t, run(t, "run_tests", c.Grant).Output,
		`{"exit_code":0,"stderr":"","stdout":"judged\n`+p.dir+`/moved\n`+c.tag+`\n"}`)
}

func TestCommandDoesNotStart(t *testing.T) {
	p := newProject(t, map[string]string{"bad": "no program", "script": "#!/no/such/interpreter\n"})
	for _, name := range []string{"bad", "script"} {
		p.must(os.Chmod(filepath.Join(p.dir, name), 0o755))
		_, err := Run(context.Background(), builtin(t, "run_tests"), p.commandOf("./"+name, name, newTag(t)).Grant)
		e, code := code(t, err)
		if code != CodeFailed || !strings.HasPrefix(e.Message, "run command: start it: ") || strings.Contains(e.Message, p.dir) || e.Output != nil {
			t.Errorf("%s: code %q, message %q", name, code, e.Message)
		}
	}
}

// A grant that names no level, or one without what it needs, runs nothing.
func TestCommandNeedsItsSandbox(t *testing.T) {
	p := newProject(t, nil)
	for _, c := range []struct {
		level string
		of    *Confinement
		code  string
	}{
		{"", nil, CodeFailed},
		{"partial", nil, CodeFailed},
		{"full", nil, CodeFailed},
		{"full", &Confinement{Refuse: &Error{Code: CodeSandbox, Message: "no"}}, CodeSandbox},
		{"full", &Confinement{Begin: sandbox.Open("/nonexistent")}, CodeSandbox},
	} {
		command := p.command("print", "ran", "", "0")
		command.Sandbox, command.Confinement = c.level, c.of
		_, err := Run(context.Background(), builtin(t, "run_tests"), command.Grant)
		if e, code := code(t, err); code != c.code || e.Output != nil {
			t.Errorf("%q: code %q, message %q, output %v; want %s", c.level, code, e.Message, e.Output, c.code)
		}
	}
}

func TestCommandDeadline(t *testing.T) {
	p := newProject(t, nil)
	c := p.command("hang")
	c.Timeout = 2 * time.Second // an input: long enough to print a line
	h := builtin(t, "run_tests")
	_, err := Run(context.Background(), h, c.Grant)
	e, code := code(t, err)
	if code != CodeTimeout {
		t.Fatalf("code %q, message %q", code, e.Message)
	}
	checkOutput(t, h, e.Output)
	want(t, e.Output, `{"exit_code":-1,"signal":"SIGTERM","stdout":"ready\n"}`)
	c.nothingLeft()
}

func TestCommandCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, builtin(t, "run_tests"), newProject(t, nil).command("hang").Grant)
	if _, code := code(t, err); code != CodeCancel {
		t.Errorf("code %q", code)
	}
}

// What was printed before the end is kept, however late it is read.
func TestCommandOutputIsDrained(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &slow{then: cancel}
	if _, err := (&supervisor{}).run(ctx, newProject(t, nil).command("hang").Grant, w, io.Discard); err != nil {
		t.Fatal(err)
	}
	if w.text != "ready\n" {
		t.Errorf("kept %q", w.text)
	}
}

// slow calls then and takes a while before it keeps what it was given.
type slow struct {
	then func()
	text string
}

func (s *slow) Write(p []byte) (int, error) {
	s.then()
	time.Sleep(100 * time.Millisecond)
	s.text += string(p)
	return len(p), nil
}

// However a command tries to outlive its end, nothing of it is left.
func TestCommandKilled(t *testing.T) {
	for _, c := range []struct {
		name   string
		mode   []string
		lines  int // printed before it is stopped
		signal string
	}{
		{"hanging", []string{"hang"}, 1, "SIGTERM"},
		{"ignoring SIGTERM", []string{"stubborn"}, 1, "SIGKILL"},
		{"forking", []string{"fork", "20", "hang"}, 21, "SIGTERM"},
		{"stubborn children", []string{"fork", "5", "stubborn"}, 6, "SIGTERM"},
		{"children in their own session", []string{"fork", "5", "session", "stubborn"}, 6, "SIGTERM"},
		{"children without environment", []string{"fork", "5", "bare", "hang"}, 6, "SIGTERM"},
		{"children of children", []string{"fork", "3", "fork", "3", "session", "hang"}, 13, "SIGTERM"},
		{"flooding", []string{"flood"}, 1, "SIGTERM"},
		{"flooding from a session", []string{"fork", "2", "session", "flood"}, 3, "SIGTERM"},
		{"closed output", []string{"closed"}, 1, "SIGTERM"},
		{"stopped", []string{"stopped"}, 1, "SIGKILL"},
		{"without its first thread", []string{"headless"}, 1, "SIGTERM"},
		{"children without their first thread", []string{"fork", "2", "session", "headless"}, 3, "SIGTERM"},
		{"forking without end", []string{"bomb"}, 50, "SIGTERM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := newProject(t, nil).command(c.mode...)
			end, _ := command.until(&supervisor{}, c.lines)
			if end.signal != c.signal || end.byItself || end.left != 0 {
				t.Errorf("ending %+v", end)
			}
			command.nothingLeft()
		})
	}
}

// What a command leaves running when it ends by itself is ended, and its result
// stands.
func TestCommandLeavesProcesses(t *testing.T) {
	for _, c := range []struct {
		name string
		mode []string
	}{
		{"holding the output open", []string{"leave", "hang"}},
		{"in its own session", []string{"leave", "session", "hang"}},
		{"without environment", []string{"leave", "bare", "hang"}},
		{"in its own session, without environment", []string{"leave", "bare", "session", "hang"}},
		{"twice removed", []string{"leave", "bare", "session", "leave", "bare", "session", "stubborn"}},
		{"output closed", []string{"leave", "bare", "session", "closed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := newProject(t, nil).command(c.mode...)
			res := run(t, "run_tests", command.Grant)
			want(t, res.Output, `{"exit_code":0,"signal":"","stdout":"ready\n"}`)
			if !strings.Contains(res.Observation, "(processes left running were ended: ") {
				t.Errorf("observation %q", res.Observation)
			}
			command.nothingLeft()
		})
	}
}

func hexBytes(s string) []byte {
	data, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return data
}
