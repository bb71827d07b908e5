//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/ledger"
)

// waiting is a project whose one tool runs a script; the script says in the file
// started that it runs.
func waiting(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text, err := json.Marshal(map[string]any{"schema_version": 1, "tools": map[string]any{
		"wait": map[string]any{"operation": "execute", "commands": [][]string{{"sh", "-c", script}}, "sandbox": "none"},
	}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tools.json"), text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "call.json"), []byte(`{"name": "wait", "arguments": {}}`), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// begin starts a program in dir and waits until the file started has a line.
func begin(t *testing.T, dir string, words ...string) (running *exec.Cmd, stderr *bytes.Buffer, started string) {
	t.Helper()
	stderr = &bytes.Buffer{}
	running = exec.Command(words[0], words[1:]...)
	running.Dir, running.Stderr = dir, stderr
	running.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=")
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		text, err := os.ReadFile(filepath.Join(dir, "started"))
		if err == nil && bytes.HasSuffix(text, []byte("\n")) {
			return running, stderr, strings.TrimSpace(string(text))
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = running.Process.Kill()
	_ = running.Wait()
	t.Fatalf("the tool does not start: %s", stderr)
	return nil, nil, ""
}

func recorded(t *testing.T, dir string) (types []string) {
	t.Helper()
	for ev, err := range ledger.Read(filepath.Join(dir, "runs", "r1")) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, ev.Type)
	}
	return types
}

// Each signal that asks for the end ends what the tool started as well, and the
// end is recorded.
func TestSignalsEndTheTool(t *testing.T) {
	needSh(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("whoever runs the tests has this signal ignored (nohup), and runlens leaves it so")
			}
			dir := waiting(t, `sleep 60 & echo $$ $! > started; wait`)
			running, stderr, started := begin(t, dir, "runlens", "exec", "--run", "r1", "call.json")
			if err := running.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = running.Wait()
			if code := running.ProcessState.ExitCode(); code != exitDenied {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			if types := recorded(t, dir); types[len(types)-1] != ledger.ToolFailed {
				t.Errorf("recorded: %v", types)
			}
			var pids [2]int
			if _, err := fmt.Sscan(started, &pids[0], &pids[1]); err != nil {
				t.Fatal(err)
			}
			for _, pid := range pids {
				if lives(pid) {
					t.Errorf("process %d lives on", pid)
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		})
	}
}

// A run under nohup does not end with the terminal.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	needSh(t)
	dir := waiting(t, `echo runs > started; until test -e go; do sleep 0.05; done`)
	running, stderr, _ := begin(t, dir, "sh", "-c", `trap "" HUP; exec runlens exec --run r1 call.json`)
	if err := running.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
	if types := recorded(t, dir); !slices.Contains(types, ledger.ToolSucceeded) {
		t.Errorf("recorded: %v", types)
	}
}

func needSh(t *testing.T) {
	for _, name := range []string{"sh", "sleep"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs " + name)
		}
	}
}

// lives tells whether a process runs; one that only waits to be reaped does not.
func lives(pid int) bool {
	for range 100 {
		if syscall.Kill(pid, 0) != nil {
			return false
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && bytes.Contains(stat, []byte(") Z ")) {
			return false
		}
		time.Sleep(50 * time.Millisecond)
	}
	return true
}
