//go:build !race

package ci_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const modulePath = "github.com/runlens/runlens"

// repository is a project under git, with RunLens installed as the workflow
// installs it.
type repository struct {
	t    *testing.T
	dir  string
	temp string // for temporary files of what runs
	env  []string
}

// newRepository makes the places, and a module proxy that serves this checkout.
func newRepository(t *testing.T) *repository {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &repository{t: t, dir: filepath.Join(top, "shop"), temp: filepath.Join(top, "tmp")}
	bin, home := filepath.Join(top, "bin"), filepath.Join(top, "home")
	for _, dir := range []string{w.temp, bin, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append(os.Environ(),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+home, "XDG_STATE_HOME="+home, "TMPDIR="+w.temp,
		"GOBIN="+bin, "GOCACHE="+goEnv(t, "GOCACHE"), "GOPATH="+goEnv(t, "GOPATH"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"),
		"GOFLAGS=-modcacherw", "GOSUMDB=off", "GONOPROXY=none", "GOWORK=off",
		"GOPROXY="+serve(t, filepath.Join(top, "proxy")),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@example.org",
		"GITHUB_ACTIONS=true", "CI=true", "MAKEFLAGS=", "MAKELEVEL=",
	)
	return w
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// install runs the workflow's step that installs RunLens. Who may not write into
// the module cache installs the checkout as it lies there.
func (w *repository) install(s step) {
	w.t.Helper()
	probe, err := os.MkdirTemp(filepath.Join(goEnv(w.t, "GOMODCACHE"), "cache/download"), "runlens-test-")
	line, dir := s.Run, w.temp
	if err != nil {
		w.t.Logf("%q is not tried: %v", strings.TrimSpace(s.Run), err)
		line, dir = "go install -buildvcs=false ./cmd/...", "../.."
	} else if err := os.Remove(probe); err != nil {
		w.t.Fatal(err)
	}
	if code, out := w.shellIn(w.t, dir, line); code != 0 {
		w.t.Fatalf("%s: exit code %d\n%s", line, code, out)
	}
}

// serve lays out this checkout as the newest version of the module in dir, and
// returns a GOPROXY that has it, and all it needs from the module cache.
func serve(t *testing.T, dir string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, filepath.FromSlash(modulePath), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	version := fmt.Sprintf("v0.0.%d", time.Now().UnixNano())
	var packed bytes.Buffer
	if err := zip.Create(&packed, module.Version{Path: modulePath, Version: version}, checkout(t, root)); err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod, version + ".zip": packed.Bytes()} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cache := goEnv(t, "GOMODCACHE")
	t.Cleanup(func() {
		// What the installation has put among the modules of this machine.
		for _, left := range []string{modulePath + "@" + version, "cache/download/" + modulePath + "/@v/" + version + ".*"} {
			found, err := filepath.Glob(filepath.Join(cache, left))
			if err != nil {
				t.Error(err)
			}
			for _, name := range found {
				if err := os.RemoveAll(name); err != nil {
					t.Error(err)
				}
			}
		}
	})
	return "file://" + filepath.ToSlash(dir) + ",file://" + filepath.ToSlash(filepath.Join(cache, "cache/download"))
}

// checkout is the files of this module as they are now, without tests and what
// is made by building and running.
func checkout(t *testing.T, root string) []zip.File {
	t.Helper()
	var files []zip.File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root:
			switch base := d.Name(); {
			case base[0] == '.', base == "bin", base == "runs", base == "node_modules", base == "testdata":
				return fs.SkipDir
			}
		case d.Type().IsRegular() && name != filepath.Join(root, "runlens") && !strings.HasSuffix(name, "_test.go"):
			rel, err := filepath.Rel(root, name)
			files = append(files, plain{root, filepath.ToSlash(rel)})
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// plain is one file of the checkout.
type plain struct{ root, name string }

func (p plain) Path() string                 { return p.name }
func (p plain) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(p.root, p.name)) }
func (p plain) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(p.root, p.name)) }

// start makes the project's first commit: a tree of policies of its own, a
// golden case, calls that must pass and a run that was recorded elsewhere.
func (w *repository) start() {
	t := w.t
	t.Helper()
	here := w.dir
	w.dir = filepath.Join(filepath.Dir(here), "desk")
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.must("runlens init . && runlens policy export policies && rm calls/read-outside.json")
	// So that no other tree is the one that gave the recorded verdicts.
	w.replace(t, edit{"policies/runlens/codes/data.json", "nothing to do", "go on"})
	w.write(t, "secrets/key.txt", "not for agents\n")
	w.write(t, "data/.env.staging", "TOKEN=1\n")
	w.write(t, "policy_test/files/notes.txtar", `The notes may be read.

-- data/notes.txt --
text
-- call.json --
{"name":"read_file","arguments":{"path":"data/notes.txt"}}
-- want --
allow allowed
path = "data/notes.txt"
`)
	var calls strings.Builder
	for _, path := range []string{"data/notes.txt", "data/.env.staging", "secrets/key.txt", "data/missing.txt"} {
		fmt.Fprintf(&calls, "{\"name\":\"read_file\",\"arguments\":{\"path\":%q}}\n", path)
	}
	w.write(t, "monday.jsonl", calls.String())
	w.must("runlens --run monday run < monday.jsonl > /dev/null")
	w.must("git init -q -b main && git add -A && git commit -q -m start")
	if err := os.Rename(w.dir, here); err != nil {
		t.Fatal(err)
	}
	w.dir = here
}

// change is a branch of its own, off the first commit, with one change in it.
func (w *repository) change(t *testing.T, e edit, commands string) {
	t.Helper()
	w.git("checkout", "--quiet", "--force", "-B", "change", "main")
	w.git("clean", "-fdqx")
	if e.file != "" {
		w.replace(t, e)
	}
	if commands != "" {
		w.must(commands)
	}
	w.git("commit", "--quiet", "--no-verify", "-a", "-m", "change")
	if err := os.RemoveAll(filepath.Join(filepath.Dir(w.dir), "base")); err != nil {
		t.Fatal(err)
	}
	w.git("worktree", "prune")
}

func (w *repository) replace(t *testing.T, e edit) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, e.file))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(e.old)) {
		t.Fatalf("%s does not hold %q", e.file, e.old)
	}
	w.write(t, e.file, strings.Replace(string(text), e.old, e.new, 1))
}

func (w *repository) write(t *testing.T, name, text string) {
	t.Helper()
	at := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyIn puts a recipe where it says that it belongs.
func (w *repository) copyIn(recipe, name string) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples/ci", recipe))
	if err == nil {
		err = os.WriteFile(filepath.Join(w.dir, name), text, 0o755)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *repository) git(words ...string) {
	w.t.Helper()
	cmd := exec.Command("git", words...)
	cmd.Dir, cmd.Env = w.dir, w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", words, err, out)
	}
}

func (w *repository) must(line string) {
	w.t.Helper()
	if code, out := w.shell(w.t, line); code != 0 {
		w.t.Fatalf("%s: exit code %d\n%s", line, code, out)
	}
}

// step runs a step's commands as the runner does, and returns all they wrote,
// into files too.
func (w *repository) step(t *testing.T, s step) (code int, out string) {
	t.Helper()
	reports := func() []string {
		found, err := filepath.Glob(filepath.Join(w.dir, "policy-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, name := range reports() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	code, out = w.shell(t, s.Run)
	for _, name := range reports() {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out += string(text)
	}
	return code, out
}

// shell runs commands in the repository with `bash -e`, the runner's shell.
func (w *repository) shell(t *testing.T, commands string) (code int, out string) {
	t.Helper()
	return w.shellIn(t, w.dir, commands)
}

func (w *repository) shellIn(t *testing.T, dir, commands string) (code int, out string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "step.sh")
	if err := os.WriteFile(script, []byte(commands+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	base, _ := exec.Command("git", "-C", w.dir, "rev-parse", "main").Output() // none before the first commit
	cmd := exec.Command("bash", "-e", script)
	cmd.Dir, cmd.Env = dir, append(w.env, "BASE="+strings.TrimSpace(string(base)))
	text, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(text)
	}
	if err != nil {
		t.Fatalf("%s: %v", commands, err)
	}
	return 0, string(text)
}
