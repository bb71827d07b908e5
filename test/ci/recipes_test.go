//go:build !race

// Package ci_test runs the recipes of examples/ci as they are written: the
// workflow's commands, the hook and the make target, in a repository of their
// own, on changes that may be merged and on changes that may not.
//
// They are other processes, so there is nothing here for the race detector.
package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// edit puts new in the place of old, once, in a file of the repository.
type edit struct{ file, old, new string }

// Changes that more than one recipe is tried on.
var (
	wrongCase   = edit{"policy_test/files/notes.txtar", "allow allowed", "deny outside_roots"}
	badCall     = edit{"calls/read-notes.json", "data/notes.txt", "secrets/key.txt"}
	moreRoots   = edit{"manifests/tools.json", `"max_bytes": 65536`, `"max_bytes": 65536, "roots": ["data", "secrets"]`}
	brokenTree  = edit{"policies/runlens/data.json", `"withheld_bytes"`, `"witheld_bytes"`}
	looserNames = edit{"policies/runlens/data.json", `".example", `, `".example", ".staging", `}
	asks        = edit{"policies/runlens/data.json", `"approvals": {"tools": {}`, `"approvals": {"tools": {"read_file": true}`}
	newWords    = edit{"policies/runlens/codes/data.json", "leave environment files alone", "don't touch environment files"}
)

// TestRecipes runs every command of the workflow, the installation among them,
// and then the recipes for one's own machine.
func TestRecipes(t *testing.T) {
	needsShell(t)
	steps := readWorkflow(t)
	w := newRepository(t)
	w.install(steps[0])
	w.start()
	t.Run("workflow", func(t *testing.T) { w.workflow(t, steps[1], steps[2], steps[3]) })
	t.Run("hook", func(t *testing.T) { w.hook(t) })
	t.Run("make", func(t *testing.T) { w.makes(t) })
	t.Run("pre-commit", func(t *testing.T) { w.preCommit(t) })
}

// workflow runs the three steps that judge, on one pull request after the other.
func (w *repository) workflow(t *testing.T, tests, calls, records step) {
	type ends struct {
		code int
		says []string // what its output and the files it wrote hold
	}
	for _, c := range []struct {
		name                  string
		edit                  edit
		run                   string // commands of the change, when it is no edit
		tests, calls, records ends
	}{
		{
			name: "a remedy is worded anew", edit: newWords,
			tests:   ends{0, []string{`<testsuites name="runlens test"`, `failures="0" errors="0"`}},
			calls:   ends{0, []string{`"version": "2.1.0"`, `"results": []`}},
			records: ends{0, []string{"4 inputs: 4 judged, 4 the same, 0 flips, 0 loosened", "4 as recorded"}},
		},
		{
			name: "the names of templates take in a file of secrets", edit: looserNames,
			tests:   ends{0, nil},
			records: ends{1, []string{"deny forbidden_path → allow", "1 flip, 1 loosened", "::error file=runs/monday/events.jsonl,line="}},
		},
		{
			name: "a root is added", edit: moreRoots,
			records: ends{1, []string{"deny outside_roots → allow", "1 loosened"}},
		},
		{
			name: "a golden case wants what is not so", edit: wrongCase,
			tests: ends{1, []string{`failures="1"`, "::error file=policy_test/files/notes.txtar,line="}},
		},
		{
			name: "a call leaves the roots", edit: badCall,
			calls: ends{1, []string{`"ruleId": "outside_roots"`, `"uri": "calls/read-notes.json"`, "::error file=calls/read-notes.json,line="}},
		},
		{
			name: "a person is to be asked", edit: asks,
			tests: ends{1, nil},
			calls: ends{3, []string{`"level": "warning"`, "::warning file=calls/read-notes.json,line="}},
			// Stricter than before is no reason to stop a merge.
			records: ends{0, []string{"allow → ask", "4 flips, 0 loosened"}},
		},
		{
			name: "the policies do not load", edit: brokenTree,
			tests:   ends{2, []string{"witheld_bytes"}},
			calls:   ends{2, []string{"witheld_bytes"}},
			records: ends{2, []string{"witheld_bytes"}},
		},
		{
			name: "nothing is left to judge", run: "git rm -qr policy_test runs calls && mkdir calls runs && touch calls/.keep runs/.keep && git add .",
			tests: ends{4, nil}, calls: ends{4, nil}, records: ends{4, nil},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.change(t, c.edit, c.run)
			for _, s := range []struct {
				step
				ends
			}{{tests, c.tests}, {calls, c.calls}, {records, c.records}} {
				code, out := w.step(t, s.step)
				if code != s.code {
					t.Errorf("%s: exit code %d, want %d\n%s", s.Name, code, s.code, out)
				}
				for _, text := range s.says {
					if !strings.Contains(out, text) {
						t.Errorf("%s does not say %q:\n%s", s.Name, text, out)
					}
				}
			}
		})
	}
}

// hook commits through the hook, which judges what is staged and nothing else.
func (w *repository) hook(t *testing.T) {
	w.change(t, badCall, "")
	w.copyIn("pre-commit", ".git/hooks/pre-commit")
	defer os.Remove(filepath.Join(w.dir, ".git/hooks/pre-commit"))
	mended := edit{badCall.file, badCall.new, badCall.old}
	commit := func(why string, code int, says string) {
		t.Helper()
		got, out := w.shell(t, "git commit -m x")
		if got != code || !strings.Contains(out, says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", why, got, code, says, out)
		}
	}
	// The call that leaves the roots was committed without the hook.
	w.write(t, "note.txt", "a change\n")
	w.git("add", "note.txt")
	commit("a bad call", 1, "outside_roots")
	w.replace(t, mended)
	commit("a bad call whose mending is not staged", 1, "outside_roots")
	w.git("add", "calls")
	w.replace(t, wrongCase)
	w.git("add", "policy_test")
	commit("a wrong case", 1, "want  deny outside_roots")
	w.git("reset", "--quiet", "policy_test")
	w.replace(t, badCall)
	w.write(t, "policies/runlens/data.json", "no JSON")
	commit("what is staged is good, whatever lies beside it", 0, "")
	if left, err := filepath.Glob(filepath.Join(w.temp, "tmp.*")); err != nil || len(left) > 0 {
		t.Errorf("the hook leaves %q behind (%v)", left, err)
	}
}

// makes runs the make target: each of its lines ends it.
func (w *repository) makes(t *testing.T) {
	for _, c := range []struct {
		name string
		edit edit
		last string // line that make runs
		code int    // with which it ends; make says so and ends with 2
	}{
		{"nothing", newWords, "replay runs/", 0},
		{"a wrong case", wrongCase, "runlens test --coverage", 1},
		{"broken policies", brokenTree, "runlens test --coverage", 2},
		{"a bad call", badCall, "runlens check calls/", 1},
		{"a root more", moreRoots, "replay runs/", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.change(t, c.edit, "")
			w.copyIn("policy.mk", "policy.mk")
			w.write(t, "Makefile", "include policy.mk\n")
			code, out := w.shell(t, "make policy")
			last := ""
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "runlens ") && !strings.HasPrefix(line, "runlens: ") {
					last = strings.TrimSpace(line)
				}
			}
			failed := regexp.MustCompile(`(?m)^make: \*\*\* .* Error ([0-9]+)$`).FindStringSubmatch(out)
			switch {
			case !strings.Contains(last, c.last):
				t.Errorf("ends at %q, want %q\n%s", last, c.last, out)
			case c.code == 0 && code != 0:
				t.Errorf("exit code %d\n%s", code, out)
			case c.code > 0 && (code != 2 || failed == nil || failed[1] != string(rune('0'+c.code))):
				t.Errorf("exit code %d, %q, want error %d\n%s", code, failed, c.code, out)
			}
		})
	}
}

// preCommit runs the hooks that pre-commit installs, by their entries, on the
// files for which it would.
func (w *repository) preCommit(t *testing.T) {
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Language, Entry, Files string
		PassFilenames              *bool `yaml:"pass_filenames"`
	}
	if err := yaml.Unmarshal(text, &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks) != 2 {
		t.Fatalf("%d hooks", len(hooks))
	}
	for _, c := range []struct {
		edit  edit
		codes []int // of the hooks; -1 where one does not run
	}{
		{newWords, []int{0, -1}},
		{wrongCase, []int{1, -1}},
		{moreRoots, []int{0, -1}},
		{badCall, []int{-1, 1}},
		{edit{badCall.file, `{"name"`, `{ "name"`}, []int{-1, 0}},
		{edit{"data/notes.txt", "What", "All that"}, []int{-1, -1}},
	} {
		w.change(t, c.edit, "")
		for i, h := range hooks {
			if h.Language != "golang" || h.ID == "" {
				t.Errorf("hook %+v: want an id, and a language that installs the program", h)
			}
			code, out, line := -1, "", h.Entry
			if regexp.MustCompile(h.Files).MatchString(c.edit.file) {
				if h.PassFilenames == nil {
					line += " " + c.edit.file
				}
				code, out = w.shell(t, line)
			}
			if code != c.codes[i] {
				t.Errorf("%s after a change of %s: exit code %d, want %d\n%s", line, c.edit.file, code, c.codes[i], out)
			}
		}
	}
}

// step is a step of the workflow that runs commands.
type step struct {
	Name string `yaml:"name"`
	If   string `yaml:"if"`
	Run  string `yaml:"run"`
}

// readWorkflow returns the steps that run commands: one that installs and three
// that judge, each of which runs whatever became of the one before.
func readWorkflow(t *testing.T) []step {
	t.Helper()
	text, err := os.ReadFile("../../examples/ci/github-actions.yml")
	if err != nil {
		t.Fatal(err)
	}
	var flow struct {
		Jobs map[string]struct {
			Env   map[string]string `yaml:"env"`
			Steps []step            `yaml:"steps"`
		} `yaml:"jobs"`
	}
	if err := yaml.Unmarshal(text, &flow); err != nil {
		t.Fatal(err)
	}
	job := flow.Jobs["policy"]
	if job.Env["BASE"] != "${{ github.event.pull_request.base.sha }}" {
		t.Fatalf("BASE is %q, which the tests set to the commit that the change starts from", job.Env["BASE"])
	}
	var steps []step
	for _, s := range job.Steps {
		if s.Run == "" {
			continue
		}
		if s.Name == "" || strings.Contains(s.Run, "${{") {
			t.Fatalf("step %+v: want a name, and no expression in its commands", s)
		}
		if len(steps) > 1 && s.If != "${{ !cancelled() }}" {
			t.Fatalf("step %q runs only when those before it pass", s.Name)
		}
		steps = append(steps, s)
	}
	if len(steps) != 4 {
		t.Fatalf("%d steps that run commands: %+v", len(steps), steps)
	}
	return steps
}

// needsShell skips where the recipes' shell is not there.
func needsShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the recipes are shell scripts")
	}
	for _, program := range []string{"bash", "git", "make"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("the recipes need %s: %v", program, err)
		}
	}
}
