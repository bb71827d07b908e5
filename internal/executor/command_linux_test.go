package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// showTools declares tools that run "show", which prints what reached it: its
// working directory, its arguments, and two variables.
const showTools = `{"schema_version":1,"path":["$BIN"],"tools":{
  "one":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["ws"],"env":{"MODE":"fast","A":"1 2"},
    "commands":[["show","-m",{"arg":"path","root":"ws/tests"}]]},
  "sub":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["ws"],"dir":"here",
    "commands":[["show",{"arg":"path","root":"ws/tests"}]]},
  "tests":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["ws"],"dir":"ws/tests",
    "commands":[["show",{"arg":"path","root":"ws/tests"}]]},
  "many":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["ws"],
    "commands":[
      ["show","ws/up/a.py"],
      ["show",{"arg":"word","values":["ws/up/b.py"]}],
      ["show",{"arg":"path","root":"ws/tests"}],
      ["show",{"arg":"n","pattern":"[0-9]+"},{"arg":"mode","values":["x y"]},{"arg":"out","root":"ws/out","access":"write"}]]},
  "own":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["runs/{run_id}/artifacts"],
    "commands":[["show",{"arg":"out","root":"runs/{run_id}/artifacts","access":"write"}]]},
  "wide":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["runs"],
    "commands":[["show",{"arg":"out","root":"runs/{run_id}/artifacts","access":"write"}]]}}}`

// showProject lays out a project, and the program beside it.
func showProject(t testing.TB) (project string, change func(*executor.Config)) {
	t.Helper()
	top := canonical(t)
	project = filepath.Join(top, "project")
	for _, name := range []string{"ws/tests/a.py", "ws/tests/b.py", "ws/tests/-x", "ws/tests/@all", "ws/src/app.py", "ws/out/old"} {
		write(t, project, name, "text\n")
	}
	link(t, "tests", filepath.Join(project, "ws/up"))
	link(t, "tests/a.py", filepath.Join(project, "ws/in.py"))
	link(t, "ws", filepath.Join(project, "here"))
	write(t, top, "bin/show", "#!/bin/sh\npwd\nfor a; do echo \"[$a]\"; done\necho \"$MODE$A\"\n")
	if err := os.Chmod(filepath.Join(top, "bin/show"), 0o755); err != nil {
		t.Fatal(err)
	}
	set := tools(t, strings.ReplaceAll(showTools, "$BIN", filepath.Join(top, "bin")))
	return project, func(c *executor.Config) { c.Tools = set }
}

// TestArgumentsReachTheProgram: what the program gets is where the objects are
// that were opened, however the call spelt it.
func TestArgumentsReachTheProgram(t *testing.T) {
	project, change := showProject(t)
	x := open(t, project, change)
	for _, c := range []struct{ tool, arguments, dir, printed, env string }{
		{"one", `"path":"ws/tests/a.py"`, "", "[-m][ws/tests/a.py]", "fast1 2"},
		{"one", `"argv":["show","-m","ws/tests/a.py"]`, "", "[-m][ws/tests/a.py]", "fast1 2"},
		{"one", `"path":"ws/in.py"`, "", "[-m][ws/tests/a.py]", "fast1 2"},
		{"one", `"path":"./ws//up/../tests/b.py"`, "", "[-m][ws/tests/b.py]", "fast1 2"},
		{"one", `"path":"ws/tests/"`, "", "[-m][ws/tests]", "fast1 2"},
		{"one", `"path":"ws/tests/-x"`, "", "[-m][ws/tests/-x]", "fast1 2"},
		{"sub", `"path":"tests/a.py"`, "/ws", "[tests/a.py]", ""},
		{"sub", `"path":"in.py"`, "/ws", "[tests/a.py]", ""},
		{"tests", `"path":"-x"`, "/ws/tests", "[./-x]", ""},
		{"tests", `"path":"@all"`, "/ws/tests", "[./@all]", ""},
		{"tests", `"path":"."`, "/ws/tests", "[.]", ""},
		{"tests", `"path":"../in.py"`, "/ws/tests", "[a.py]", ""},
		{"many", `"argv":["show","ws/up/a.py"]`, "", "[ws/up/a.py]", ""}, // word by word, as declared
		{"many", `"argv":["show","ws/up/b.py"]`, "", "[ws/up/b.py]", ""}, // the first pattern that it fits
		{"many", `"argv":["show","ws/up/-x"]`, "", "[ws/tests/-x]", ""},
		{"many", `"argv":["show","12","x y","ws/out/../out/new"]`, "", "[12][x y][ws/out/new]", ""},
	} {
		r := x.Exec(context.Background(), []byte(fmt.Sprintf(`{"name":%q,"arguments":{%s}}`, c.tool, c.arguments)), "r")
		want := project + c.dir + "\n" + strings.ReplaceAll(c.printed, "][", "]\n[") + "\n" + c.env + "\n"
		if r.Status != executor.StatusSuccess || r.Output["stdout"] != want {
			t.Errorf("%s %s: %s %s, printed %q and %q, want %q", c.tool, c.arguments, r.Status, r.ErrorMessage, r.Output["stdout"], r.Output["stderr"], want)
		}
	}
}

// An argument that lies outside the working directory is named whole.
func TestArgumentOutsideTheDirectory(t *testing.T) {
	project, change := showProject(t)
	x := open(t, project, func(c *executor.Config) {
		change(c)
		set := *c.Tools
		c.Tools = tools(t, `{"schema_version":1,"path":[`+fmt.Sprintf("%q", set.Path[0])+`],"tools":{
		  "src":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["ws"],"dir":"ws/src","commands":[["show",{"arg":"path","root":"ws/tests"}]]}}}`)
	})
	r := x.Exec(context.Background(), []byte(`{"name":"src","arguments":{"path":"../up/a.py"}}`), "r")
	if want := project + "/ws/src\n[" + project + "/ws/tests/a.py]\n\n"; r.Output["stdout"] != want {
		t.Errorf("%s %s printed %q, want %q", r.Status, r.ErrorMessage, r.Output["stdout"], want)
	}
}

// judgedCommand is what the last verdict of a run was judged on.
func judgedCommand(t *testing.T, project, run string) (in facts.Input) {
	t.Helper()
	_, v := lastVerdict(t, events(t, project, run))
	if err := json.Unmarshal(v.Input, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestArgumentsAreRecorded reads back from the ledger what was judged of a command.
func TestArgumentsAreRecorded(t *testing.T) {
	project, change := showProject(t)
	x := open(t, project, change)
	if r := x.Exec(context.Background(), []byte(`{"name":"sub","arguments":{"path":"up/a.py"}}`), "r"); r.Status != executor.StatusSuccess {
		t.Fatalf("%+v", r)
	}
	in := judgedCommand(t, project, "r")
	c := in.Command
	if !slices.Equal(c.Argv, []string{"show", "up/a.py"}) || !slices.Equal(c.Run, []string{"show", "tests/a.py"}) || c.Dir != project+"/ws" {
		t.Errorf("recorded %+v", c)
	}
	if len(in.Targets) != 1 {
		t.Fatalf("targets %+v", in.Targets)
	}
	if got := in.Targets[0]; got.Param != "path" || got.Position != 2 || got.Access != facts.Read || got.Raw != "up/a.py" ||
		got.Path != project+"/ws/tests/a.py" || got.Kind != facts.File || !got.ViaSymlink || got.Recursive {
		t.Errorf("recorded %+v", got)
	}
	roots := in.Tool.Roots
	if len(roots) != 2 || roots[0].Param != "" || roots[1].Declared != "ws/tests" || roots[1].Param != "path" || !slices.Equal(roots[1].Access, []string{facts.Read}) {
		t.Errorf("recorded roots %+v", roots)
	}
	var v struct {
		Objects []struct{ Param, Access string }
	}
	for _, ev := range events(t, project, "r") {
		if ev.Type == ledger.ToolAllowed {
			if err := json.Unmarshal(ev.Payload, &v); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []struct{ Param, Access string }{{"path", "read"}, {"", "execute"}, {".", "execute"}}
	if !slices.Equal(v.Objects, want) {
		t.Errorf("recorded objects %v, want %v", v.Objects, want)
	}
}

// TestLinkSwappedAfterJudgement: the program is told of what was judged, not of
// what its argument leads to by the time it starts. So it is with its directory.
func TestLinkSwappedAfterJudgement(t *testing.T) {
	project, change := showProject(t)
	write(t, project, "elsewhere/tests/a.py", "other\n")
	swap := &between{}
	swapped := 0
	x := open(t, project, func(c *executor.Config) {
		change(c)
		c.Now = swap.now // read when the call has been resolved and is to be judged
	})
	for name, to := range map[string]string{"ws/in.py": "src/app.py", "here": "elsewhere"} {
		swap.next = func() {
			swapped++
			at := filepath.Join(project, name)
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			link(t, to, at)
		}
		r := x.Exec(context.Background(), []byte(`{"name":"sub","arguments":{"path":"`+map[string]string{"ws/in.py": "in.py", "here": "tests/a.py"}[name]+`"}}`), "r")
		if want := project + "/ws\n[tests/a.py]\n\n"; r.Status != executor.StatusSuccess || r.Output["stdout"] != want {
			t.Errorf("%s: %s %s printed %q, want %q", name, r.Status, r.ErrorMessage, r.Output["stdout"], want)
		}
		if name == "here" {
			if err := os.Remove(filepath.Join(project, "here")); err != nil {
				t.Fatal(err)
			}
			link(t, "ws", filepath.Join(project, "here"))
		}
	}
	if swapped != 2 {
		t.Errorf("swapped %d links, want 2", swapped)
	}
}

// TestAuthorizedCommandThenChanged: what an argument leads to, and the working
// directory, must be what was authorized.
func TestAuthorizedCommandThenChanged(t *testing.T) {
	move := func(t *testing.T, project, from, to string) {
		if err := os.Rename(filepath.Join(project, from), filepath.Join(project, to)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, project string)
		code      string
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"another file in its place": {func(t *testing.T, project string) {
			move(t, project, "ws/tests/b.py", "ws/tests/a.py")
		}, "object_changed"},
		"written to": {func(t *testing.T, project string) { write(t, project, "ws/tests/a.py", "longer text\n") }, "object_changed"},
		"link to another file": {func(t *testing.T, project string) {
			move(t, project, "ws/tests/b.py", "ws/tests/c.py")
			move(t, project, "ws/in.py", "ws/old")
			link(t, "tests/c.py", filepath.Join(project, "ws/in.py"))
		}, "object_changed"},
		"another directory": {func(t *testing.T, project string) {
			move(t, project, "ws", "old")
			if err := os.Mkdir(filepath.Join(project, "ws"), 0o755); err != nil {
				t.Fatal(err)
			}
			move(t, project, "old/tests", "ws/tests")
			move(t, project, "old/in.py", "ws/in.py")
		}, "object_changed"},
		"directory gone": {func(t *testing.T, project string) { move(t, project, "here", "there") }, "no_working_directory"},
	} {
		t.Run(name, func(t *testing.T) {
			project, change := showProject(t)
			x := open(t, project, change)
			if _, err := x.Propose(context.Background(), []byte(`{"name":"sub","arguments":{"path":"in.py"}}`), "r"); err != nil {
				t.Fatal(err)
			}
			out, err := x.Authorize(context.Background(), "r")
			if err != nil || out.Verdict.Effect != engine.Allow {
				t.Fatalf("authorize: %v %+v", err, out)
			}
			c.meanwhile(t, project)
			r, err := x.ExecAuthorized(context.Background(), "r")
			if err != nil || r.ErrorCode == "" != (c.code == "") || r.Reason != c.code && c.code != "" {
				t.Errorf("%v %+v, want %q", err, r, c.code)
			}
		})
	}
}

// A run's artifacts may be an argument's root, in the virtual run of a check, too.
func TestArgumentInArtifacts(t *testing.T) {
	project, change := showProject(t)
	x := open(t, project, change)
	out, err := x.Check(context.Background(), []byte(`{"name":"own","arguments":{"out":"runs/check/artifacts/new"}}`), "")
	if err != nil || out.Verdict.Effect != engine.Allow {
		t.Fatalf("%v %+v", err, out.Verdict)
	}
	if run := out.Input.Command.Run; !slices.Equal(run, []string{"show", "runs/check/artifacts/new"}) {
		t.Errorf("would run %q", run)
	}
	r := x.Exec(context.Background(), []byte(`{"name":"own","arguments":{"out":"runs/r/artifacts/new"}}`), "r")
	if want := project + "\n[runs/r/artifacts/new]\n\n"; r.Status != executor.StatusSuccess || r.Output["stdout"] != want {
		t.Errorf("%+v", r)
	}
	if r := x.Exec(context.Background(), []byte(`{"name":"own","arguments":{"out":"runs/s/artifacts/new"}}`), "r"); r.Reason != "outside_roots" {
		t.Errorf("another run's artifacts: %+v", r)
	}

	call := []byte(`{"name":"wide","arguments":{"out":"runs/r/artifacts/new"}}`)
	if r := x.Exec(context.Background(), call, "r"); r.Status != executor.StatusSuccess {
		t.Errorf("%+v", r)
	}
	artifacts := filepath.Join(project, "runs/r/artifacts")
	if err := os.Remove(artifacts); err != nil {
		t.Fatal(err)
	}
	link(t, "../../ws/out", artifacts)
	if r := x.Exec(context.Background(), call, "r"); r.Reason != "outside_roots" {
		t.Errorf("artifacts that lead elsewhere: %+v", r)
	}
}

// The root of an argument counts only while it lies in a root of the tool.
func TestArgumentRootThatLeadsOut(t *testing.T) {
	project, change := showProject(t)
	x := open(t, project, change)
	call := []byte(`{"name":"one","arguments":{"path":"ws/tests/a.py"}}`)
	if err := os.Rename(filepath.Join(project, "ws/tests"), filepath.Join(project, "moved")); err != nil {
		t.Fatal(err)
	}
	link(t, "../moved", filepath.Join(project, "ws/tests"))
	r := x.Exec(context.Background(), call, "r")
	if r.Reason != "outside_roots" {
		t.Errorf("got %+v", r)
	}
	if in := judgedCommand(t, project, "r"); len(in.Tool.Roots) != 1 || in.Targets[0].Path != project+"/moved/a.py" {
		t.Errorf("judged on %+v %+v", in.Tool.Roots, in.Targets)
	}
}

// TestSandboxArgument: in the sandbox the program finds its argument, in its
// directory, and nothing that its roots don't hold.
func TestSandboxArgument(t *testing.T) {
	isolated(t)
	project := canonical(t)
	write(t, project, "ws/tests/a.txt", "found\n")
	write(t, project, "ws/tests/.env", "SECRET=1\n")
	write(t, project, "ws/src/b.txt", "other\n")
	link(t, "../tests/a.txt", filepath.Join(project, "ws/src/in.txt"))
	x := open(t, project, func(c *executor.Config) {
		c.Stage = stage()
		c.Tools = tools(t, `{"schema_version":1,"tools":{
		  "cat":{"operation":"execute","handler":"run_tests","roots":[{"path":"ws","access":["read"]}],"dir":"ws/src","env":{"MODE":"fast"},
		    "commands":[["sh","-c","pwd; echo $MODE; echo \"$1\"; cat \"$1\"; cat ../tests/.env","sh",{"arg":"path","root":"ws/tests"}]]}}}`)
	})
	r := x.Exec(context.Background(), []byte(`{"name":"cat","arguments":{"path":"in.txt"}}`), "r")
	want := project + "/ws/src\nfast\n" + project + "/ws/tests/a.txt\nfound\n"
	if r.Status != executor.StatusSuccess || r.Output["stdout"] != want || r.Output["exit_code"] == 0 {
		t.Errorf("%s %s, exit code %v, printed %q and %q, want %q", r.Status, r.ErrorMessage, r.Output["exit_code"], r.Output["stdout"], r.Output["stderr"], want)
	}
}

// The root of an argument that is only read takes nothing from a root that holds
// it and may be written.
func TestSandboxArgumentRootIsNoRootOfItsOwn(t *testing.T) {
	isolated(t)
	project := canonical(t)
	write(t, project, "ws/tests/a.txt", "found\n")
	if os.Geteuid() == 0 { // the sandbox keeps the owners that it finds
		if err := os.Chmod(filepath.Join(project, "ws/tests"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	x := open(t, project, func(c *executor.Config) {
		c.Stage = stage()
		c.Tools = tools(t, `{"schema_version":1,"tools":{
		  "make":{"operation":"execute","handler":"run_tests","roots":["ws"],
		    "commands":[["sh","-c","echo new > ws/tests/new && cat \"$1\"","sh",{"arg":"path","root":"ws/tests"}]]}}}`)
	})
	r := x.Exec(context.Background(), []byte(`{"name":"make","arguments":{"path":"ws/tests/a.txt"}}`), "r")
	if r.Status != executor.StatusSuccess || r.Output["stdout"] != "found\n" {
		t.Errorf("%s %s, printed %q and %q", r.Status, r.ErrorMessage, r.Output["stdout"], r.Output["stderr"])
	}
}
