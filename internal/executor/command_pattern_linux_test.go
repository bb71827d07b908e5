package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
)

// Only the first pattern that takes a command by its text makes targets; withheld
// text is not looked for.
func TestArgumentTargets(t *testing.T) {
	project, _ := showProject(t)
	bin := filepath.Join(filepath.Dir(project), "bin")
	x := open(t, project, func(c *executor.Config) {
		c.Tools = tools(t, fmt.Sprintf(`{"schema_version":1,"path":[%q],"tools":{
		  "t":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["ws"],"commands":[
		    ["show","ws/out","x"],
		    ["show",{"arg":"a","root":"ws/tests"},{"arg":"how","values":["x","y"]}],
		    ["show",{"arg":"b","root":"ws/src"},{"arg":"how","values":["y","z"]}],
		    ["show",{"arg":"word","pattern":"[a-z]+"},{"arg":"c","root":"ws/out","access":"write"}]]}}}`, bin))
	})
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	for _, c := range []struct {
		argument, how string
		pattern       int64
		targets       string
	}{
		{"ws/src/app.py", "x", 1, "a2readok"},
		{"ws/src/app.py", "y", 1, "a2readok"},
		{"ws/src/app.py", "z", 2, "b2readok"},
		{"ws/src/app.py", "none", 0, ""},
		{"ws/out", "x", 0, ""},
		{"ws", "x", 1, "a2readok"},
		{"ws", "ws/out/old", 3, "c3writeok"},
		{secret, "x", 1, "a2readinvalid"},
	} {
		r := x.Exec(context.Background(), []byte(fmt.Sprintf(`{"name":"t","arguments":{"argv":["show",%q,%q]}}`, c.argument, c.how)), "r")
		if r.Seq == 0 {
			t.Fatalf("%+v", r)
		}
		in := judgedCommand(t, project, "r")
		got := ""
		for _, f := range in.Targets {
			got += fmt.Sprint(f.Param, f.Position, f.Access, f.Resolution)
		}
		if got != c.targets || in.Command.Pattern != c.pattern {
			t.Errorf("%s %s: targets %q of pattern %d, want %q of %d", c.argument, c.how, got, in.Command.Pattern, c.targets, c.pattern)
		}
		if text, err := json.Marshal(in); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("the secret is recorded: %v", err)
		}
	}
}

// TestOneCommandCounts: what one pattern takes for text is never made a path of
// another, and nothing is run that mixes two of them.
func TestOneCommandCounts(t *testing.T) {
	project, _ := showProject(t)
	bin := filepath.Join(filepath.Dir(project), "bin")
	write(t, project, "ws/--exec", "text\n")
	link(t, "/etc/hostname", filepath.Join(project, "ws/release"))
	x := open(t, project, func(c *executor.Config) {
		c.Tools = tools(t, fmt.Sprintf(`{"schema_version":1,"path":[%q],"tools":{
		  "mixed":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["ws"],"dir":"ws","commands":[
		    ["show",{"arg":"p","root":"ws/tests"},{"arg":"t","pattern":"--[a-z]+"}],
		    ["show",{"arg":"s","pattern":"[a-z.]+"},{"arg":"q","root":"ws"}]]},
		  "publish":{"operation":"execute","handler":"run_tests","sandbox":"none","roots":["ws"],"dir":"ws","commands":[
		    ["show",{"arg":"tag","pattern":"[a-z]+"},{"arg":"how","values":["x","y"]}],
		    ["show",{"arg":"file","root":"ws/tests"},{"arg":"how","values":["y","z"]}]]}}}`, bin))
	})
	write(t, project, "ws/tests/\xff", "text\n")
	link(t, "\xff", filepath.Join(project, "ws/tests/odd"))
	link(t, "/etc/hostname", filepath.Join(project, "ws/tests/\ufffd"))
	for _, c := range []struct{ tool, argv, reason, printed string }{
		{"mixed", `"src","--exec"`, "outside_roots", ""},
		{"mixed", `"up","--exec"`, "allowed", "[tests][--exec]"},
		{"mixed", `"up","./--exec"`, "allowed", "[up][./--exec]"},
		{"mixed", `"up","in.py"`, "allowed", "[up][tests/a.py]"},
		{"mixed", `"up","release"`, "outside_roots", ""},
		{"mixed", `"up/odd","--exec"`, "invalid_path", ""}, // as text, its path is that of another file
		{"publish", `"release","x"`, "allowed", "[release][x]"},
		{"publish", `"release","y"`, "allowed", "[release][y]"},
		{"publish", `"release","z"`, "outside_roots", ""},
		{"publish", `"up","y"`, "allowed", "[up][y]"},
		{"publish", `"up","z"`, "allowed", "[tests][z]"},
	} {
		r := x.Exec(context.Background(), []byte(fmt.Sprintf(`{"name":%q,"arguments":{"argv":["show",%s]}}`, c.tool, c.argv)), "r")
		want := project + "/ws\n" + strings.ReplaceAll(c.printed, "][", "]\n[") + "\n\n"
		if r.Reason != c.reason || c.reason == "allowed" && r.Output["stdout"] != want {
			t.Errorf("%s %s: %s %s %s, printed %q, want %q", c.tool, c.argv, r.Status, r.Reason, r.ErrorMessage, r.Output["stdout"], want)
		}
	}
}
