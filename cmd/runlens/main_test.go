package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/engine/regotest"
	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/loop/openai"
	"github.com/runlens/runlens/internal/resolve"
	"github.com/runlens/runlens/schemas"
)

var update = flag.Bool("update", false, "write the golden sections of the scripts, and the generated pages")

func TestMain(m *testing.M) {
	sandbox.Init(resolve.Fold)
	testscript.Main(m, map[string]func(){
		"runlens": main,
		// Beside it, as it is installed.
		openaiProgram: func() {
			os.Exit(openai.Main(os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
		},
		sandboxProgram: func() {}, // TestMain is all of it
	})
}

// TestScripts runs the stories in testdata. Beside testscript's own commands
// they have:
//
//	exits CODE ARGS...         runlens ends with exactly this code
//	events DIR FILE            writes a ledger's events to FILE, one a line
//	opatest DIR...             runs the Rego tests of the trees laid over each other
//	canon FILE...              writes FILE.canon without what differs from run to run
//	flip FILE TEXT OTHER       replaces TEXT by OTHER in FILE, which must hold it
//	forge FILE TEXT OTHER      replaces TEXT in the first payload of a ledger that holds it, and links the chain anew
//	cutlast FILE               cuts the last line off
//	await FILE TEXT            waits until FILE holds TEXT
//	torn FILE                  cuts the last line in two
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireUniqueNames:  true,
		RequireExplicitExec: false,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("ESC", "\x1b")
			repo, err := filepath.Abs("../..")
			env.Setenv("REPO", repo)
			return err
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "race":
				return everyNth > 1, nil
			case "sandbox":
				return sandbox.Open("").Probe(t.Context()).Level == sandbox.Full, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "events": events, "opatest": opatest, "canon": canon,
			"flip": flip, "forge": forge, "cutlast": cutLast, "torn": torn, "await": await,
		},
	})
}

// exits holds runlens to an exit code, and to the duty that comes with 2: an
// error line on stderr. What it prints is there for stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec("runlens", args[1:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("runlens %s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
	if says := strings.Contains(ts.ReadFile("stderr"), "runlens: error: "); says != (got == exitBroken) {
		ts.Fatalf("runlens %s: exit code %d, and an error line: %t", strings.Join(args[1:], " "), got, says)
	}
	if strings.Contains(ts.ReadFile("stderr"), "goroutine ") {
		ts.Fatalf("runlens %s: panics", strings.Join(args[1:], " "))
	}
}

// events writes "type reason path" of each event, paths from the working
// directory, after checking that the chain holds.
func events(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: events DIR FILE")
	}
	work, err := filepath.EvalSymlinks(ts.Getenv("WORK"))
	ts.Check(err)
	var b strings.Builder
	for ev, err := range ledger.Read(ts.MkAbs(args[0])) {
		ts.Check(err)
		var p struct {
			Reason, Path, Note string
			Error              string `json:"error_code"`
		}
		ts.Check(json.Unmarshal(ev.Payload, &p))
		words := []string{ev.Type}
		path := strings.TrimPrefix(p.Path, work+"/")
		if path == filepath.Dir(work) {
			path = "ABOVE" // where a path that leads nowhere stops
		}
		for _, w := range []string{p.Reason, path, p.Error, p.Note} {
			if w != "" {
				words = append(words, w)
			}
		}
		fmt.Fprintln(&b, strings.Join(words, " "))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o666))
}

// opatest is `opa test DIR...` without another program, and `opa fmt`.
func opatest(ts *testscript.TestScript, neg bool, args []string) {
	all, err := os.MkdirTemp("", "opatest")
	ts.Check(err)
	defer os.RemoveAll(all)
	for _, dir := range args {
		ts.Check(os.CopyFS(all, os.DirFS(ts.MkAbs(dir))))
	}
	report, err := regotest.Run(context.Background(), engine.Source{FS: os.DirFS(all), Schemas: schemas.FS}, regotest.Options{})
	ts.Check(err)
	failed := report.Failed()
	for _, r := range failed {
		ts.Logf("%s: %s %s", r.Place, r.Name, r.Error)
	}
	unformatted, err := regotest.Unformatted(os.DirFS(all))
	ts.Check(err)
	for _, p := range unformatted {
		ts.Logf("%s: not formatted", p)
	}
	if ok := len(report.Results) > 0 && len(failed)+len(unformatted) == 0; ok == neg {
		ts.Fatalf("opatest: %d tests, %d failed, %d files not formatted", len(report.Results), len(failed), len(unformatted))
	}
}

// differing is what changes with the machine or with every edit of a policy
// file, and what canon puts in its place. That a line is the right one is shown
// where the script wrote the file itself.
var differing = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "DIGEST"},
	{regexp.MustCompile(`\.rego:[0-9]+`), ".rego:LINE"},
	{regexp.MustCompile(`"line": ?[1-9][0-9]*`), `"line":LINE`},
}

// canon writes FILE.canon: the working directory is WORK, digests and lines of
// policy files are words.
func canon(ts *testscript.TestScript, neg bool, args []string) {
	work, err := filepath.EvalSymlinks(ts.Getenv("WORK"))
	ts.Check(err)
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), work, "WORK")
		for _, d := range differing {
			text = d.re.ReplaceAllString(text, d.with)
		}
		ts.Check(os.WriteFile(ts.MkAbs(name+".canon"), []byte(text), 0o666))
	}
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: flip FILE TEXT OTHER")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("flip: %s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o666))
}

// forge writes the ledger that a program with other ideas would have written: what
// it holds is another thing, and the chain holds.
func forge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: forge FILE TEXT OTHER")
	}
	var lines []byte
	prev, forged := ledger.Genesis, false
	for ev, err := range ledger.Read(filepath.Dir(ts.MkAbs(args[0]))) {
		ts.Check(err)
		next := *ev
		if text := string(ev.Payload); !forged && strings.Contains(text, args[1]) {
			next.Payload, forged = []byte(strings.Replace(text, args[1], args[2], 1)), true
		}
		next.Prev = prev
		line := next.AppendLine(nil)
		prev = fmt.Sprintf("%x", sha256.Sum256(line))
		lines = append(append(lines, line...), '\n')
	}
	if !forged {
		ts.Fatalf("forge: no payload in %s holds %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), lines, 0o666))
}

func cutLast(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.TrimSuffix(ts.ReadFile(args[0]), "\n")
	i := strings.LastIndexByte(text, '\n')
	if i < 0 {
		ts.Fatalf("cutlast: %s has one line", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text[:i+1]), 0o666))
}

func torn(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text[:len(text)-20]), 0o666))
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	for range 600 {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(text), args[1]) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("await: %s never holds %q", args[0], args[1])
}
