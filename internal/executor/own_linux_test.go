package executor_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/facts"
)

// A directory in which programs are looked up is no tool's to write in, in the project
// or outside, there or not, through a link or not; it may be read.
func TestProgramDirectories(t *testing.T) {
	project, host := canonical(t), canonical(t)
	program(t, host, "bin/deploy", "echo genuine")
	program(t, host, "real/other", "echo genuine")
	program(t, project, "bin/own", `echo '{}'`)
	link(t, "real", host+"/linked")
	path := `"path":["` + strings.Join([]string{host + "/bin", host + "/linked", host + "/later/bin", project + "/bin", "/usr/bin", "/bin"}, `","`) + `"],`
	config := func(declared string) func(*executor.Config) {
		return func(c *executor.Config) {
			c.Sandbox = facts.Sandbox{Level: sandbox.Full}
			c.Tools = tools(t, `{"schema_version":1,`+path+`"tools":{`+declared+`}}`)
		}
	}
	root := func(tool, at string) string {
		return strings.NewReplacer("ROOT", at).Replace(map[string]string{
			"write":   `"t":{"operation":"write","handler":"write_file","absolute":true,"create_parents":true,"roots":["ROOT"]}`,
			"program": `"t":{"operation":"execute","absolute":true,"commands":[["true"]],"roots":[{"path":"ROOT","access":["read","write"]}]}`,
			"reads":   `"t":{"operation":"execute","absolute":true,"commands":[["true"]],"roots":[{"path":"ROOT","access":["read"]}]}`,
		}[tool])
	}
	for _, at := range []string{host + "/bin", host + "/bin/in", host + "/linked", host + "/real", host + "/later/bin", project + "/bin", "/usr/bin"} {
		for _, tool := range []string{"write", "program"} {
			x, err := newExecutor(t, project, config(root(tool, at)))
			if !errors.Is(err, executor.ErrPolicyWritable) || !strings.Contains(err.Error(), "class handler") {
				t.Errorf("%s in %s: %v", tool, at, err)
			}
			if err == nil {
				_ = x.Close()
			}
		}
		x := open(t, project, config(root("reads", at)))
		if out, err := x.Check(context.Background(), toolCall("t"), ""); err != nil || out.Verdict.Reasons[0].Code != "allowed" {
			t.Errorf("reads %s: %v %+v", at, err, out.Verdict.Reasons)
		}
	}
	for _, at := range []string{host, host + "/later"} {
		x := open(t, project, config(root("program", at)))
		if out, err := x.Check(context.Background(), toolCall("t"), ""); err != nil || out.Verdict.Reasons[0].Code != "protected_root" {
			t.Errorf("a program writes in %s: %v %+v", at, err, out.Verdict.Reasons)
		}
	}
	x := open(t, project, config(root("write", host)))
	for name, code := range map[string]string{
		"bin/deploy": "protected_file", "bin/new": "protected_file", "BIN/new": "protected_file", "later/bin/x": "protected_file", "later": "protected_file",
		"linked/new": "protected_file", "real/other": "protected_file", "later/x": "allowed", "free": "allowed", "binary": "allowed",
	} {
		out, err := x.Check(context.Background(), callOf("t", map[string]any{"path": host + "/" + name, "content": "x"}), "")
		if err != nil || out.Verdict.Reasons[0].Code != code {
			t.Errorf("writes %s: %v %+v, want %s", name, err, out.Verdict.Reasons, code)
		}
	}
	x = open(t, project, config(`"deploy":{"operation":"execute","commands":[["deploy"]]},"other":{"operation":"execute","commands":[["other"]]},
		"own":{"operation":"execute","commands":[["own"]]},"bound":{"operation":"compute","handler":"exec:own"}`))
	for tool, code := range map[string]string{"deploy": "allowed", "other": "allowed", "own": "executable_untrusted", "bound": "allowed"} {
		out, err := x.Check(context.Background(), toolCall(tool), "")
		if err != nil || out.Verdict.Reasons[0].Code != code {
			t.Errorf("%s: %v %+v, want %s", tool, err, out.Verdict.Reasons, code)
		}
	}
}

// The program that begins sandboxes is as protected, there or not.
func TestProgramStage(t *testing.T) {
	project, host := canonical(t), canonical(t)
	program(t, host, "real/stage", "")
	link(t, "real", host+"/to")
	config := func(root string) func(*executor.Config) {
		return func(c *executor.Config) {
			c.Sandbox, c.Stage = facts.Sandbox{Level: sandbox.Full}, host+"/to/stage"
			c.Tools = tools(t, `{"schema_version":1,"tools":{
				"write_file":{"operation":"write","absolute":true,"roots":["`+root+`"]},
				"go":{"operation":"execute","absolute":true,"commands":[["true"]],"roots":[{"path":"`+root+`","access":["read","write"]}]}}}`)
		}
	}
	if _, err := newExecutor(t, project, config(host+"/real/stage")); !errors.Is(err, executor.ErrPolicyWritable) {
		t.Errorf("a root that is the stage: %v", err)
	}
	for _, root := range []string{host, host + "/real"} {
		x := open(t, project, config(root))
		for _, call := range [][]byte{toolCall("go"), writeTo(host + "/real/stage")} {
			out, err := x.Check(context.Background(), call, "")
			if err != nil || !strings.HasPrefix(out.Verdict.Reasons[0].Code, "protected_") {
				t.Errorf("%s %s: %v %+v", root, call, err, out.Verdict.Reasons)
			}
		}
	}
}

// A program is not trusted where a tool could have put it, or a link on the way to it.
func TestProgramThatAToolCouldHaveMade(t *testing.T) {
	project, host := canonical(t), canonical(t)
	program(t, host, "opt/tool", "echo genuine")
	program(t, host, "far/tool", "echo genuine")
	link(t, host+"/opt/tool", host+"/bin/direct")
	link(t, host+"/opt/link", host+"/bin/linked")
	link(t, host+"/far/tool", host+"/opt/link")
	link(t, host+"/far/tool", host+"/bin/fine")
	for root, want := range map[string][3]string{
		host + "/opt":  {"executable_untrusted", "executable_untrusted", "allowed"},
		host + "/data": {"allowed", "allowed", "allowed"},
	} {
		must(t, os.MkdirAll(root, 0o755))
		x := open(t, project, func(c *executor.Config) {
			c.Sandbox = facts.Sandbox{Level: sandbox.Full}
			c.Tools = tools(t, `{"schema_version":1,"path":["`+host+`/bin"],"tools":{
				"make":{"operation":"execute","absolute":true,"commands":[["true"]],"roots":["`+root+`"]},
				"direct":{"operation":"execute","commands":[["direct"]]},
				"linked":{"operation":"execute","commands":[["linked"]]},
				"fine":{"operation":"execute","commands":[["fine"]]}}}`)
		})
		for i, tool := range []string{"direct", "linked", "fine"} {
			out, err := x.Check(context.Background(), toolCall(tool), "")
			if err != nil || out.Verdict.Reasons[0].Code != want[i] {
				t.Errorf("%s writable, %s: %v %+v, want %s", root, tool, err, out.Verdict.Reasons, want[i])
			}
		}
	}
}

// BenchmarkCheckProgram is the check of a call of a program in the default path.
func BenchmarkCheckProgram(b *testing.B) {
	x := open(b, canonical(b), func(c *executor.Config) {
		c.Sandbox = facts.Sandbox{Level: sandbox.Full}
		c.Tools = tools(b, `{"schema_version":1,"tools":{"go":{"operation":"execute","commands":[["sh"]],"roots":["ws"]}}}`)
	})
	for b.Loop() {
		if out, err := x.Check(context.Background(), toolCall("go"), ""); err != nil || out.Verdict.Effect.String() != "allow" {
			b.Fatalf("%v %+v", err, out)
		}
	}
}
