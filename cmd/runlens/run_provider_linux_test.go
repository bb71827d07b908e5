package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// While a model thinks, the memory and the environment of the process that holds
// its key belong to root in /proc: no tool of the same user reads them.
func TestRunProviderPrivate(t *testing.T) {
	needSh(t)
	project := t.TempDir()
	runlens := installed(t, `echo $$ > "$HERE/pid"; exec "$REAL" "$@"`)
	owner := uint32(1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pid, err := os.ReadFile(filepath.Join(filepath.Dir(runlens), "pid"))
		if err != nil {
			t.Error(err)
		}
		st, err := os.Stat(filepath.Join("/proc", strings.TrimSpace(string(pid)), "environ"))
		if err != nil {
			t.Error(err)
		} else {
			owner = st.Sys().(*syscall.Stat_t).Uid
		}
		_, _ = w.Write([]byte(saysDone))
	}))
	defer s.Close()
	cmd := withModel(t, project, s.URL+"/v1", "--goal", "g")
	cmd.Path = runlens
	if os.Geteuid() == 0 { // whose processes are root's in any case
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		open(t, project)
		open(t, filepath.Dir(runlens))
		for up := filepath.Dir(mustLook(t, openaiProgram)); up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
			if err := os.Chmod(up, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code, _, stderr := finished(t, project, cmd); code != exitAllowed || owner != 0 {
		t.Errorf("exit code %d, /proc of the program belongs to %d, stderr:\n%s", code, owner, stderr)
	}
}

func mustLook(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
