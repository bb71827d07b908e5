package executor_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/facts"
)

// verdicts checks calls, without a run, on a machine that is said to have a sandbox.
func verdicts(t *testing.T, project string, declared map[string]string) func(call []byte, code string) {
	t.Helper()
	return func(call []byte, code string) {
		t.Helper()
		x := served(t, project, "", declared, func(c *executor.Config) { c.Sandbox = facts.Sandbox{Level: sandbox.Full} })
		out, err := x.Check(context.Background(), call, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Verdict.Reasons[0]; got.Code != code {
			t.Errorf("%s: %s (%s), want %s", call, got.Code, got.Message, code)
		}
	}
}

// elsewhere is a directory outside of the project, with a file in it.
func elsewhere(t *testing.T) string {
	t.Helper()
	dir := canonical(t)
	write(t, dir, "id", "KEY")
	return dir
}

// A program that puts a link in the place of a root gets nothing behind it, and nor
// does any other tool.
func TestPlantedRootRuns(t *testing.T) {
	isolated(t)
	project, host := canonical(t), elsewhere(t)
	write(t, project, "ws/a", "")
	x := served(t, project, "full", map[string]string{
		"go": `{"operation":"execute","commands":[["sh","-c","ln -s ` + host + ` ws/cache && echo planted; cat ws/cache/id; echo evil >ws/cache/evil"]],
			"roots":[{"path":"ws","access":["read","write"]},{"path":"ws/cache","access":["write"]}]}`,
		"read_file": `{"operation":"read","roots":["ws/cache"]}`,
	}, nil)
	r := x.Exec(context.Background(), toolCall("go"), "r")
	if out, _ := r.Output["stdout"].(string); out != "planted\n" && out != "planted" {
		t.Fatalf("%s %s: %q %q", r.Reason, r.ErrorMessage, out, r.Output["stderr"])
	}
	r = x.Exec(context.Background(), toolCall("go"), "r")
	if r.Reason != "protected_root" || !strings.Contains(r.ErrorMessage, "a link that a tool could have made") {
		t.Errorf("behind the link: %s %s %v", r.Reason, r.ErrorMessage, r.Output)
	}
	r = x.Exec(context.Background(), callOf("read_file", map[string]any{"path": "ws/cache/id"}), "r")
	if r.Reason != "outside_roots" {
		t.Errorf("a read behind the link: %s %s %v", r.Reason, r.ErrorMessage, r.Output)
	}
	if _, err := os.Stat(host + "/evil"); err == nil {
		t.Error("it wrote outside of the project")
	}
}

// A root does not count behind a link that lies where a program may write; a directory
// in that place does. RunLens' own handlers make no links, and programs that serve
// tools are given files.
func TestPlantedRoot(t *testing.T) {
	read := callOf("read_file", map[string]any{"path": "ws/sub/cache/id"})
	for name, writer := range map[string]string{
		"a program":                       `{"operation":"execute","commands":[["true"]],"roots":[{"path":"ws","access":["write"]}]}`,
		"a program of the folder":         `{"operation":"execute","commands":[["true"]],"roots":[{"path":"ws/sub","access":["write"]}]}`,
		"a program that deletes":          `{"operation":"execute","commands":[["true"]],"roots":[{"path":"ws","access":["delete"]}]}`,
		"a program without a sandbox":     `{"operation":"execute","sandbox":"none","commands":[["true"]],"roots":[{"path":"ws","access":["write"]}]}`,
		"a program by an operator's link": `{"operation":"execute","commands":[["true"]],"roots":["to-ws"]}`,
		"a program of some runs":          `{"operation":"execute","commands":[["true"]],"roots":["ws/su{run_id}"]}`,
		"no tool":                         `{"operation":"execute","commands":[["true"]],"roots":["ws2"]}`,
		"a reading program":               `{"operation":"execute","commands":[["true"]],"roots":[{"path":"ws","access":["read"]}]}`,
		"a program of other runs":         `{"operation":"execute","commands":[["true"]],"roots":["ws/so{run_id}","su{run_id}"]}`,
		"a write tool":                    `{"operation":"write","handler":"write_file","roots":["."]}`,
		"a tool that deletes":             `{"operation":"delete","handler":"delete_file","roots":[{"path":"ws","access":["delete"]}]}`,
		"a tool that is a program":        `{"operation":"write","handler":"exec:true","roots":["ws"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			project, host := canonical(t), elsewhere(t)
			link(t, "ws", project+"/to-ws")
			check := verdicts(t, project, map[string]string{
				"writer":    writer,
				"read_file": `{"operation":"read","roots":["ws/sub/cache"]}`,
				"look":      `{"operation":"execute","commands":[["true"]],"roots":[{"path":"ws/sub/cache","access":["read"]}]}`,
				"path":      `{"operation":"execute","commands":[["cat",{"arg":"file","root":"ws/sub/cache"}]],"roots":[{"path":".","access":["read"]}]}`,
			})
			write(t, project, "ws/sub/cache/id", "")
			check(read, "allowed")
			check(toolCall("look"), "allowed")
			check(callOf("path", map[string]any{"file": "ws/sub/cache/id"}), "allowed")

			must(t, os.RemoveAll(project+"/ws/sub/cache"))
			link(t, host, project+"/ws/sub/cache")
			outside, refused := "outside_roots", "protected_root"
			if makesNone := []string{"no tool", "a reading program", "a program of other runs", "a write tool", "a tool that deletes", "a tool that is a program"}; slices.Contains(makesNone, name) {
				outside, refused = "allowed", "allowed"
			}
			check(read, outside)
			check(toolCall("look"), refused)

			must(t, os.Remove(project+"/ws/sub/cache"))
			write(t, project, "ws/other/id", "")
			link(t, "../other", project+"/ws/sub/cache") // a path argument must lie in a root of the tool, anyway
			check(callOf("path", map[string]any{"file": "ws/sub/cache/id"}), outside)

			must(t, os.RemoveAll(project+"/ws/sub"))
			write(t, host, "sub/cache/id", "KEY")
			link(t, host+"/sub", project+"/ws/sub")
			if name != "a program of the folder" && name != "a program of some runs" { // nobody may write where that link lies
				check(read, outside)
			}
		})
	}
}

// Links of the operator lead where they did: to roots, in roots and to what tools write.
func TestPlantedOperatorsLinks(t *testing.T) {
	project, host := canonical(t), elsewhere(t)
	write(t, host, "ws/a/id", "")
	write(t, host, "programs/p", "#!/bin/sh\necho '{}'\n")
	must(t, os.Chmod(host+"/programs/p", 0o755))
	link(t, host, project+"/host")
	link(t, "host/ws", project+"/ws")
	link(t, host+"/programs", project+"/tools")
	link(t, host+"/runs", project+"/runs")
	must(t, os.Mkdir(host+"/runs", 0o755))
	check := verdicts(t, project, map[string]string{
		"write_file": `{"operation":"write","roots":["ws/a","runs/{run_id}/artifacts"]}`,
		"read_file":  `{"operation":"read","roots":["host/ws","ws/a/in"]}`,
		"go":         `{"operation":"execute","commands":[["true"]],"roots":["ws/a"]}`,
		"p":          `{"operation":"compute","handler":"exec:tools/p"}`,
	})
	check(writeTo("ws/a/new"), "allowed")
	check(writeTo("runs/check/artifacts/new"), "allowed")
	check(callOf("read_file", map[string]any{"path": "ws/a/id"}), "allowed")
	check(toolCall("go"), "allowed")
	check(toolCall("p"), "allowed")

	// Where the write root really is, a tool may have made a link.
	link(t, elsewhere(t), host+"/ws/a/in")
	check(callOf("read_file", map[string]any{"path": "ws/a/in/id"}), "outside_roots")
	check(callOf("read_file", map[string]any{"path": "ws/a/id"}), "allowed")
}

// Of two roots that lead through each other neither counts, in whatever order they are
// looked at.
func TestPlantedMutual(t *testing.T) {
	for range 10 {
		project := canonical(t)
		must(t, os.MkdirAll(project+"/e1", 0o755))
		must(t, os.MkdirAll(project+"/e2", 0o755))
		link(t, "../e2", project+"/e1/l2")
		link(t, "../e1", project+"/e2/l1")
		check := verdicts(t, project, map[string]string{
			"a": `{"operation":"execute","commands":[["true"]],"roots":["e1/l2"]}`,
			"b": `{"operation":"execute","commands":[["true"]],"roots":["e2/l1"]}`,
		})
		check(toolCall("a"), "protected_root")
		check(toolCall("b"), "protected_root")
	}
}

// A link that leads in a circle, or nowhere, opens nothing.
func TestPlantedCircle(t *testing.T) {
	project := canonical(t)
	link(t, "loop", project+"/ws/loop")
	link(t, "../ws/none", project+"/ws/gone")
	check := verdicts(t, project, map[string]string{
		"read_file":  `{"operation":"read","roots":["ws/loop","ws/gone"]}`,
		"write_file": `{"operation":"write","roots":["ws"]}`,
	})
	check(callOf("read_file", map[string]any{"path": "ws/loop/a"}), "outside_roots")
	check(callOf("read_file", map[string]any{"path": "ws/gone"}), "not_found")
}

// Nor does such a link lead to a working directory, to a program, or to the runs.
func TestPlantedElsewhere(t *testing.T) {
	project, host := canonical(t), elsewhere(t)
	write(t, project, "src/a", "")
	program(t, host, "p", `echo '{}'`)
	link(t, "../src", project+"/ws/dir")
	link(t, host+"/p", project+"/ws/p")
	open := `{"operation":"execute","sandbox":"none","commands":[["true"]],"roots":["ws"]}`
	declared := map[string]string{
		"dir":    `{"operation":"execute","commands":[["true"]],"dir":"ws/dir","roots":[{"path":"src","access":["read"]}]}`,
		"p":      `{"operation":"compute","handler":"exec:ws/p"}`,
		"plain":  `{"operation":"execute","commands":[["ws/p"]],"roots":[{"path":"src","access":["read"]}]}`,
		"writer": open,
	}
	check := verdicts(t, project, declared)
	check(toolCall("dir"), "no_working_directory")
	check(toolCall("p"), "executable_untrusted")
	check(toolCall("plain"), "executable_untrusted")
	delete(declared, "writer")
	check(toolCall("dir"), "allowed")
	check(toolCall("p"), "allowed")
	check(toolCall("plain"), "allowed")

	link(t, host, project+"/ws/runs")
	runs := func(writer string) error {
		x, err := newExecutor(t, project, func(c *executor.Config) {
			c.Runs = project + "/ws/runs"
			c.Tools = tools(t, `{"schema_version":1,"tools":{"w":`+writer+`}}`)
		})
		if err == nil {
			err = x.Close()
		}
		return err
	}
	if err := runs(open); err == nil || !strings.Contains(err.Error(), "open runs: the directory is reached through a link") {
		t.Errorf("runs behind a link of a tool's: %v", err)
	}
	must(t, runs(strings.ReplaceAll(open, `"ws"`, `"src"`)))
}

// A run is not opened, looked at or begun in runs that a tool has put there since.
func TestPlantedRuns(t *testing.T) {
	project := canonical(t)
	must(t, os.MkdirAll(project+"/ws/real", 0o755))
	link(t, "real", project+"/ws/runs")
	x := served(t, project, "", map[string]string{
		"w": `{"operation":"execute","sandbox":"none","commands":[["true"]],"roots":["ws/in"]}`,
	}, func(c *executor.Config) { c.Runs = filepath.Join(project, "ws/runs") })
	if r := x.Exec(context.Background(), toolCall("w"), "r"); r.Status != executor.StatusSuccess {
		t.Fatalf("behind the operator's link: %s %s", r.Reason, r.ErrorMessage)
	}
	must(t, os.MkdirAll(project+"/ws/in/forged", 0o755))
	must(t, os.Remove(project+"/ws/runs"))
	link(t, "in/more", project+"/ws/runs")
	link(t, "forged", project+"/ws/in/more")
	if r := x.Exec(context.Background(), toolCall("w"), "other"); r.Status == executor.StatusSuccess || !strings.Contains(r.ErrorMessage, "link that a tool could have made") {
		t.Errorf("exec: %s %s %s", r.Status, r.Reason, r.ErrorMessage)
	}
	if _, err := x.Check(context.Background(), toolCall("w"), "other"); err == nil || !strings.Contains(err.Error(), "link that a tool could have made") {
		t.Errorf("check: %v", err)
	}
}

// BenchmarkCheckRoots is a check with roots that no link leads to, and with one that a
// link of the operator's leads to.
func BenchmarkCheckRoots(b *testing.B) {
	for _, name := range []string{"plain", "linked"} {
		b.Run(name, func(b *testing.B) {
			project := canonical(b)
			write(b, project, "data/a", "a")
			link(b, "data", project+"/linked")
			x := open(b, project, func(c *executor.Config) {
				c.Tools = tools(b, `{"schema_version":1,"tools":{"read_file":{"operation":"read","roots":["`+strings.Replace(name, "plain", "data", 1)+`"]},
					"write_file":{"operation":"write","roots":["out","other"]}}}`)
			})
			call := callOf("read_file", map[string]any{"path": "data/a"})
			for b.Loop() {
				out, err := x.Check(context.Background(), call, "")
				if err != nil || out.Verdict.Effect.String() != "allow" {
					b.Fatalf("%v %+v", err, out)
				}
			}
		})
	}
}
