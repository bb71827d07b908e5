//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// installed is a runlens in a place of its own, with a script for the program
// that asks the model; none when it is empty. The script finds the real one as
// $REAL.
func installed(t *testing.T, script string) (runlens string) {
	t.Helper()
	dir := t.TempDir()
	program, err := exec.LookPath("runlens")
	if err != nil {
		t.Fatal(err)
	}
	runlens = filepath.Join(dir, "runlens")
	if err := os.Link(program, runlens); err != nil {
		text, err := os.ReadFile(program)
		if err == nil {
			err = os.WriteFile(runlens, text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if script != "" {
		text := fmt.Sprintf("#!/bin/sh\nREAL='%s' HERE='%s'\n%s\n", filepath.Join(filepath.Dir(program), openaiProgram), dir, script)
		if err := os.WriteFile(filepath.Join(dir, openaiProgram), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return runlens
}

// writesPids starts the real program, and leaves its id and that of runlens.
const writesPids = `echo $PPID > "$HERE/runlens.pid"; echo $$ > "$HERE/program.pid"; exec "$REAL" "$@"`

// pidOf is an id that writesPids left. The script has ended when the model is
// asked.
func pidOf(t *testing.T, runlens, who string) int {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(runlens), who+".pid"))
	if err != nil {
		t.Error(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 2 {
		t.Error(pid, err)
		runtime.Goexit() // nobody is signalled
	}
	return pid
}

// A program that is not there, or does not what it should, is an error that says
// so; where it fails before it is ready no run begins. Neither the environment nor
// the current directory can put another in its place.
func TestRunProviderProgram(t *testing.T) {
	needSh(t)
	base, _ := chatServer(t, saysDone)
	const ready = `echo '{"ready":true,"protocol":1}'; `
	for _, c := range []struct {
		name, script string
		begun        bool
		want         string
	}{
		{"missing", "", false, "runlens: error: find runlens-openai: it is not beside runlens, in "},
		{"missing, and where to get it", "", false, "runlens: hint: `go install ./cmd/...` puts runlens-openai beside runlens"},
		{"ends at once", "exit 3", false, "runlens: error: start runlens-openai: it ended before it answered: exit status 3"},
		{"garbage at once", `echo "Welcome!"; cat`, false, "runlens: error: start runlens-openai: what it says is not the protocol of runlens"},
		{"another version", `echo '{"ready":true,"protocol":0}'; cat`, false, "start runlens-openai: it is of another version than runlens"},
		{"garbage", ready + `read x; echo 'gar\033[2Jbage'; cat`, true, "runlens: error: ask model: runlens-openai: what it says is not an answer"},
		{"two answers", ready + `read x; echo '{"seq":1,"message":{"role":"assistant","tool_calls":[{"id":"a"}]},"calls":["eyJpZCI6ImEifQ=="],"call_ids":["a"]}'; echo '{"seq":1,"error":"x"}'; cat`, true, "ask model: runlens-openai: an answer that nobody asked for"},
		{"ends", ready + `read x`, true, "ask model: runlens-openai: it ended before it answered"},
		{"a line that does not end", ready + `read x; printf '{"seq":1,'`, true, "ask model: runlens-openai: a line that does not end"},
		{"complains", `printf 'so\033[2J\n' >&2; exec "$REAL" "$@"`, true, `runlens: note: "so\x1b[2J"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			project := t.TempDir()
			other := filepath.Join(project, openaiProgram)
			if err := os.WriteFile(other, []byte("#!/bin/sh\ntouch ran\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := withModel(t, project, base, "--run", "r1", "--goal", "g")
			cmd.Path, cmd.Dir = installed(t, c.script), project
			cmd.Env = append(cmd.Env, "PATH="+project+":"+os.Getenv("PATH"))
			code, _, stderr := finished(t, project, cmd)
			if want := map[bool]int{true: exitAllowed, false: exitBroken}[c.name == "complains"]; code != want || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, stderr:\n%s\nwant %s", code, stderr, c.want)
			}
			if strings.Contains(stderr, "\x1b") {
				t.Errorf("stderr acts on a terminal: %q", stderr)
			}
			if _, err := os.Stat(filepath.Join(project, "runs", "r1")); (err == nil) != c.begun {
				t.Errorf("the run's directory: %v", err)
			}
			if _, err := os.Stat(filepath.Join(project, "ran")); err == nil {
				t.Error("a program of the project ran")
			}
		})
	}
}

// Behind a link runlens finds the program at the link's end.
func TestRunProviderLinked(t *testing.T) {
	program, err := exec.LookPath("runlens")
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "runlens")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	base, _ := chatServer(t, saysDone)
	project := t.TempDir()
	cmd := withModel(t, project, base, "--goal", "g")
	cmd.Path = link
	if code, _, stderr := finished(t, project, cmd); code != exitAllowed {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}

// The program gets the key's variable and what it needs of the network, and with
// a key file not even that.
func TestRunProviderEnvironment(t *testing.T) {
	needSh(t)
	base, _ := chatServer(t, saysDone)
	project := t.TempDir()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(apiKeyOfTest+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		words []string
		want  string
	}{
		"variable": {nil, "no_proxy=x\nOPENAI_API_KEY=" + apiKeyOfTest + "\n"},
		"file":     {[]string{"--key-file", key}, "no_proxy=x\n"},
	} {
		cmd := withModel(t, project, base, append(c.words, "--goal", "g")...)
		cmd.Path = installed(t, `tr '\0' '\n' < /proc/$$/environ > "$HERE/env"; exec "$REAL" "$@"`)
		for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
			cmd.Env = append(cmd.Env, name+"=") // of this machine
		}
		cmd.Env = append(cmd.Env, "no_proxy=x", "OTHER=secret", "LD_LIBRARY_PATH=/none", "GODEBUG=http2debug=0")
		if _, err := os.Stat("/proc/self/environ"); err != nil {
			t.Skip("no /proc here")
		}
		if code, _, stderr := finished(t, project, cmd); code != exitAllowed {
			t.Errorf("%s: exit code %d, stderr:\n%s", name, code, stderr)
		}
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(cmd.Path), "env")); err != nil || string(text) != c.want {
			t.Errorf("%s: environment %q, %v", name, text, err)
		}
	}
}

// The program is killed while the model thinks: the run ends with an error, and
// goes on later. A run that is killed leaves no program behind.
func TestRunProviderKilled(t *testing.T) {
	needSh(t)
	for _, victim := range []string{"program", "runlens"} {
		t.Run(victim, func(t *testing.T) {
			project := t.TempDir()
			runlens := installed(t, writesPids)
			gone := make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // only then the end of the connection is seen
				if err := syscall.Kill(pidOf(t, runlens, victim), syscall.SIGKILL); err != nil {
					t.Error(err)
				}
				// It has gone when its end of the connection has.
				<-r.Context().Done()
				close(gone)
			}))
			defer s.Close()
			cmd := withModel(t, project, s.URL+"/v1", "--run", "r1", "--goal", "g")
			cmd.Path = runlens
			code, _, stderr := finished(t, project, cmd)
			<-gone
			if victim == "program" && (code != exitBroken || !strings.Contains(stderr, "runlens: error: ask model: runlens-openai: it ended before it answered: signal: killed")) {
				t.Errorf("exit code %d, stderr:\n%s", code, stderr)
			}
			base, _ := chatServer(t, saysDone)
			if code, _, stderr := runWithModel(t, project, base, "--resume", "r1"); code != exitAllowed {
				t.Errorf("resumed: exit code %d, stderr:\n%s", code, stderr)
			}
		})
	}
}

// A signal that a terminal sends to both is an interruption, not a failure of the
// program.
func TestRunProviderInterrupted(t *testing.T) {
	needSh(t)
	project := t.TempDir()
	runlens := installed(t, writesPids)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the end of the connection is seen
		if err := syscall.Kill(-pidOf(t, runlens, "runlens"), syscall.SIGINT); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
	}))
	defer s.Close()
	cmd := withModel(t, project, s.URL+"/v1", "--run", "r1", "--goal", "g")
	cmd.Path = runlens
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	code, _, stderr := finished(t, project, cmd)
	if code != exitDenied || !strings.Contains(stderr, "interrupted") || strings.Contains(stderr, "runlens: error:") {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}
