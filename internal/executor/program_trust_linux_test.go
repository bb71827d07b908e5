package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
)

// A program in the project can't be planted or changed by a tool, by whatever name.
func TestProgramIsProtected(t *testing.T) {
	project := canonical(t)
	program(t, project, "tools/p.sh", `echo '{}'`)
	program(t, project, "tools/real.sh", `echo '{}'`)
	link(t, "real.sh", project+"/tools/linked.sh")
	if err := os.Link(project+"/tools/p.sh", project+"/tools/other.sh"); err != nil {
		t.Fatal(err)
	}
	x := served(t, project, "none", map[string]string{
		"p": computes, "linked": strings.Replace(computes, "tools/p.sh", "tools/linked.sh", 1),
		"absent":      strings.Replace(computes, "tools/p.sh", "./later/p.sh", 1),
		"write_file":  `{"operation":"write","roots":["."],"create_parents":true}`,
		"delete_file": `{"operation":"delete","roots":["."]}`,
		"rename_file": `{"operation":"rename","roots":["."]}`,
		"read_file":   `{"operation":"read","roots":["."]}`,
	}, nil)
	denied := func(call []byte, code string) {
		t.Helper()
		out, err := x.Check(context.Background(), call, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Verdict.Reasons[0].Code; got != code {
			t.Errorf("%s: %s, want %s", call, got, code)
		}
	}
	write(t, project, "tools/free", "")
	for _, name := range []string{"tools/p.sh", "tools/P.SH", "tools/other.sh", "tools/linked.sh", "tools/real.sh", "later/p.sh", "tools/../tools/p.sh"} {
		denied(writeTo(name), "protected_file")
		if name != "later/p.sh" { // a rename makes no directories
			denied(rename("tools/free", name), "protected_file")
		}
	}
	for _, name := range []string{"tools/p.sh", "tools/other.sh", "tools/real.sh"} {
		denied(deleteAt(name), "protected_file")
	}
	denied(writeTo("later"), "protected_file") // a folder may land there
	denied(writeTo("tools/new.sh"), "allowed")
	denied(writeTo("later/other"), "allowed")
	denied(callOf("read_file", map[string]any{"path": "tools/p.sh"}), "allowed")
	denied(toolCall("p"), "allowed")
	denied(toolCall("linked"), "allowed")
	denied(toolCall("absent"), "executable_not_found")

	if err := os.Chmod(project+"/tools/p.sh", 0o757); err != nil {
		t.Fatal(err)
	}
	denied(toolCall("p"), "executable_untrusted")
	if err := os.Chmod(project+"/tools/p.sh", 0o644); err != nil {
		t.Fatal(err)
	}
	if r := x.Exec(context.Background(), toolCall("p"), "r"); r.Status != executor.StatusDenied {
		t.Errorf("a file that is not executable: %s %s", r.Status, r.ErrorCode)
	}
}

// A program that is only at the end of a link outside of what is declared, and a
// sandbox root to write in that holds a program, are refused.
func TestProgramRoots(t *testing.T) {
	project := canonical(t)
	program(t, project, "tools/p.sh", `echo '{}'`)
	x := served(t, project, "full", map[string]string{
		"p":     computes,
		"shell": `{"operation":"execute","handler":"run_tests","commands":[["sh","-c","echo >tools/p.sh"]],"roots":["tools"]}`,
		"look":  `{"operation":"execute","handler":"run_tests","commands":[["sh","-c","cat tools/p.sh"]],"roots":[{"path":"tools","access":["read"]}]}`,
		"plain": `{"operation":"execute","handler":"run_tests","commands":[["tools/p.sh"]],"roots":["data"]}`,
	}, nil)
	for tool, code := range map[string]string{"p": "", "shell": "protected_root", "look": "", "plain": "executable_untrusted"} {
		if r := x.Exec(context.Background(), toolCall(tool), "r"); r.ErrorCode != code && r.Reason != code {
			t.Errorf("%s: %s %s %s", tool, r.Status, r.ErrorCode, r.ErrorMessage)
		} else if tool == "look" && r.Output["stdout"] != "#!/bin/sh\necho '{}'" {
			t.Errorf("a read root shows of the program: %q", r.Output["stdout"])
		}
	}
	if text, _ := os.ReadFile(project + "/tools/p.sh"); string(text) != "#!/bin/sh\necho '{}'" {
		t.Errorf("the program is %q", text)
	}
}

// A tool that may write in the very place of a program keeps RunLens from starting.
func TestProgramPlaceIsNoWriteRoot(t *testing.T) {
	_, err := newExecutor(t, canonical(t), func(c *executor.Config) {
		c.Tools = tools(t, `{"schema_version":1,"tools":{
			"p":{"operation":"compute","handler":"exec:later/p.sh"},
			"write_file":{"operation":"write","roots":["later/p.sh"]}}}`)
	})
	if !errors.Is(err, executor.ErrPolicyWritable) || !strings.Contains(err.Error(), "class handler") {
		t.Errorf("it started: %v", err)
	}
}

// A program that lies where runs are kept, by its name, by a link or by where a link
// leads, keeps RunLens from starting: a program could write it, as an artifact.
func TestProgramInRuns(t *testing.T) {
	for program, refused := range map[string]bool{
		"runs/r/artifacts/p.sh": true, "./runs/p.sh": true, "RUNS/p.sh": true, "tools/out.sh": true, "tools/in.sh": true, "runs/away": true, "kept/x/p.sh": true,
		"tools/p.sh": false, "runs2/p.sh": false, "later/runs/p.sh": false,
	} {
		project := canonical(t)
		write(t, project, "tools/p.sh", "")
		must(t, os.MkdirAll(project+"/kept/r/artifacts", 0o755))
		must(t, os.Mkdir(project+"/later", 0o755))
		link(t, "kept", project+"/runs")
		link(t, "../kept/r/artifacts/gone.sh", project+"/tools/out.sh")
		link(t, "../runs/r/artifacts", project+"/tools/in")
		link(t, "in/p.sh", project+"/tools/in.sh")
		link(t, "../tools/p.sh", project+"/kept/away")
		x, err := newExecutor(t, project, func(c *executor.Config) {
			c.Tools = tools(t, `{"schema_version":1,"tools":{"p":{"operation":"compute","handler":"exec:`+program+`"}}}`)
		})
		if err == nil {
			must(t, x.Close())
		}
		if errors.Is(err, executor.ErrPolicyWritable) != refused || refused && (!strings.Contains(err.Error(), `tool "p" is served by "`) || !strings.Contains(err.Error(), "move it to another directory")) {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// A directory that the call names shows nothing of what calls are judged by and of
// the run; one that is such a place is refused.
func TestProgramSeesNoPlace(t *testing.T) {
	project := canonical(t)
	write(t, project, "policies/runlens/rules/x/x.rego", "package x\n")
	write(t, project, "manifests/tools.json", "{}")
	write(t, project, "a.txt", "a")
	program(t, project, "tools/p.sh", `cd `+project+` && printf '{"seen":"%s"}' "$(cat a.txt policies/runlens/rules/x/x.rego manifests/tools.json runs/r/events.jsonl 2>/dev/null)"`)
	x := served(t, project, "full", map[string]string{"p": `{"operation":"list","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["."]}`}, nil)
	if r := x.Exec(context.Background(), callOf("p", map[string]any{"path": "."}), "r"); r.Output["seen"] != "a" {
		t.Errorf("it saw %q: %s %s", r.Output["seen"], r.ErrorCode, r.ErrorMessage)
	}
	for path, code := range map[string]string{
		"policies/runlens": "protected_root", "manifests": "protected_root", "runs": "protected_root", "runs/r": "protected_root",
		"runs/r/artifacts": "allowed", "tools": "allowed", ".": "allowed",
	} {
		call := callOf("p", map[string]any{"path": path})
		out, err := x.Check(context.Background(), call, "r")
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Verdict.Reasons[0].Code; got != code {
			t.Errorf("%s is checked: %s, want %s", path, got, code)
		}
		r := x.Exec(context.Background(), call, "r")
		if allowed := code == "allowed"; allowed != (r.Status == executor.StatusSuccess) || !allowed && r.Reason != code {
			t.Errorf("%s: %s %s %s, want %s", path, r.Status, r.Reason, r.ErrorMessage, code)
		}
	}
}

// A program that is exchanged after it was judged does not run in its place.
func TestProgramExchanged(t *testing.T) {
	for _, level := range levels {
		project := canonical(t)
		program(t, project, "tools/p.sh", `echo '{"which":"judged"}'`)
		program(t, project, "other.sh", `echo '{"which":"other"}'`)
		clock := &between{}
		x := served(t, project, level, map[string]string{"p": computes}, func(c *executor.Config) { c.Now = clock.now })
		clock.next = func() { move(t, project+"/other.sh", project+"/tools/p.sh") }
		r := x.Exec(context.Background(), toolCall("p"), "r")
		if r.Output["which"] != "judged" && r.ErrorCode != "object_changed" {
			t.Errorf("%s: %s %s %v", level, r.ErrorCode, r.ErrorMessage, r.Output)
		}
		clock.next = func() { program(t, project, "tools/p.sh", `echo '{"which":"rewritten"}'`) }
		if r := x.Exec(context.Background(), toolCall("p"), "r"); r.ErrorCode != "object_changed" {
			t.Errorf("%s, rewritten: %s %s %v", level, r.ErrorCode, r.ErrorMessage, r.Output)
		}
	}
}

// Between authorize and exec the program must stay what it was.
func TestProgramAuthorized(t *testing.T) {
	for _, change := range []bool{false, true} {
		project := canonical(t)
		program(t, project, "tools/p.sh", `echo '{"which":"first"}'`)
		x := served(t, project, "none", map[string]string{"p": computes}, nil)
		if _, err := x.Propose(context.Background(), toolCall("p"), "r"); err != nil {
			t.Fatal(err)
		}
		if out, err := x.Authorize(context.Background(), "r"); err != nil || out.Verdict.Effect != engine.Allow {
			t.Fatalf("%v %+v", err, out)
		}
		if change {
			program(t, project, "tools/p.sh", `echo '{"which":"other"}'`)
		}
		r, err := x.ExecAuthorized(context.Background(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if change && r.Reason != "object_changed" || !change && r.Output["which"] != "first" {
			t.Errorf("changed %t: %s %s %v", change, r.Status, r.Reason, r.Output)
		}
	}
}

// The shipped handlers are not asked for a tool that a program serves, and a
// program found in the manifest's path needs no protection.
func TestProgramOfThePath(t *testing.T) {
	project := canonical(t)
	ran := 0
	x := served(t, project, "none", map[string]string{
		"say": `{"operation":"execute","handler":"exec:printf","sandbox":"LEVEL"}`,
	}, func(c *executor.Config) { c.Handlers = watched(&ran, nil) })
	r := x.Exec(context.Background(), toolCall("say"), "r")
	if ran != 0 || r.ErrorCode != handlers.CodeFailed || !strings.Contains(r.ErrorMessage, "exit code") {
		t.Errorf("%d runs, %s %s", ran, r.ErrorCode, r.ErrorMessage)
	}
}

// Under a skill a tool keeps its program, with the roots and limits that the skill
// leaves it.
func TestProgramUnderSkill(t *testing.T) {
	isolated(t)
	project := canonical(t)
	write(t, project, "data/a.txt", "a\n")
	write(t, project, "data/in/a.txt", "a\n")
	program(t, project, "tools/p.sh", `printf '{"asked":%s}' "$(cat)"`)
	x := open(t, project, func(c *executor.Config) {
		c.Stage = stage()
		c.Tools = skillTools(t, `
schema_version: 1
name: sums
description: Count.
instructions: Count.
tools: [count]
narrow:
  count: {roots: [data/in], timeout_ms: 9000, max_bytes: 50}
`, func(string) string {
			return `{"schema_version":1,"tools":{"count":{"operation":"read","handler":"exec:tools/p.sh","roots":["data"]}}}`
		})
	})
	started(t, x, executor.StartSpec{RunID: "r", Skill: "sums", Goal: "count"})
	if r := x.Exec(context.Background(), callOf("count", map[string]any{"path": "data/a.txt"}), "r"); r.Reason != "outside_roots" {
		t.Errorf("outside of what the skill leaves: %s %s", r.Status, r.Reason)
	}
	r := x.Exec(context.Background(), callOf("count", map[string]any{"path": "data/in/a.txt"}), "r")
	asked, _ := r.Output["asked"].(map[string]any)
	if r.Status != executor.StatusSuccess || asked["timeout_ms"] != json.Number("9000") || asked["max_bytes"] != json.Number("50") {
		t.Errorf("%s %s: asked %v", r.ErrorCode, r.ErrorMessage, asked)
	}
}
