package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What runs as a tool can't read the environment of the process that started it,
// nor its memory. Everything else works as before: the tool's own /proc, files
// opened anew from their handles, the record.
func TestToolsCannotReadThisProcess(t *testing.T) {
	needSh(t)
	dir := waiting(t, strings.Join([]string{
		`p=$PPID`, // runlens, or a helper of it: go up to the one that has the secret
		`echo "self $(tr '\0' '\n' < /proc/self/environ | grep -c .)"`,
		`while test "$p" -gt 1; do`,
		`  for f in environ mem maps fd/0; do { cat /proc/$p/$f | head -c 65536; } 2>/dev/null; done | grep -aq BORROWED_SECRET && echo "$p tells"`,
		`  grep -q "^Name:.runlens" /proc/$p/status && break`,
		`  p=$(sed -n 's/^PPid:.//p' /proc/$p/status)`,
		`done`,
		`echo done`,
	}, "\n"))
	run := func(words ...string) (string, error) {
		cmd := exec.Command("runlens", words...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "SECRET=BORROWED_SECRET")
		if os.Geteuid() == 0 { // root reads everything
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.Output()
		return string(out), err
	}
	if os.Geteuid() == 0 {
		open(t, dir)
		program, err := exec.LookPath("runlens")
		for up := filepath.Dir(program); err == nil && up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
			err = os.Chmod(up, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := run("exec", "--run", "r1", "call.json")
	if err != nil || !strings.Contains(out, `done\n`) || strings.Contains(out, "tells") || !strings.Contains(out, `"status": "success"`) {
		t.Errorf("%v: %s", err, out)
	}
	// Reading goes through the handle that was judged.
	for name, text := range map[string]string{
		"tools.json": `{"schema_version": 1, "tools": {"read_file": {"operation": "read", "roots": ["docs"]}, "write_file": {"operation": "write", "roots": ["docs"]}}}`,
		"read.json":  `{"name": "read_file", "arguments": {"path": "docs/a.txt"}}`,
		"write.json": `{"name": "write_file", "arguments": {"path": "docs/a.txt", "content": "two"}}`,
		"docs/a.txt": "one",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		open(t, dir)
	}
	for _, step := range [][2]string{{"read.json", `"content": "one"`}, {"write.json", `"success"`}, {"read.json", `"content": "two"`}} {
		if out, err := run("exec", "--run", "r2", step[0]); err != nil || !strings.Contains(out, step[1]) {
			t.Errorf("%s: %v: %s", step[0], err, out)
		}
	}
}

// open gives a folder, and the way to it, to everybody.
func open(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "runs" || d.Name() == ".local" {
			return filepath.SkipDir
		}
		return os.Chown(name, 65534, 65534)
	})
	for up := filepath.Dir(dir); err == nil && up != filepath.Dir(up) && up != os.TempDir(); up = filepath.Dir(up) {
		err = os.Chmod(up, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
