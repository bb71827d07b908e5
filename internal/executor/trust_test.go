package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
)

// everywhere is a manifest whose tools may write, delete and rename in the
// whole project.
const everywhere = `{"schema_version":1,"tools":{
  "read_file":  {"operation":"read","roots":["."]},
  "write_file": {"operation":"write","roots":["."],"create_parents":true},
  "delete_file":{"operation":"delete","roots":["."]},
  "rename_file":{"operation":"rename","roots":["."]}}}`

func callOf(tool string, args map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		panic(err)
	}
	return text
}

func writeTo(path string) []byte {
	return callOf("write_file", map[string]any{"path": path, "content": "x"})
}
func deleteAt(path string) []byte { return callOf("delete_file", map[string]any{"path": path}) }
func rename(from, to string) []byte {
	return callOf("rename_file", map[string]any{"from": from, "to": to})
}

// trustProject is a project with policies, manifests and a run of its own.
func trustProject(t *testing.T) string {
	t.Helper()
	project := canonical(t)
	for name, text := range map[string]string{
		"policies/runlens/rules/site/site.rego": "package runlens.rules.site\n",
		"policies/README.md":                    "ours\n",
		"manifests/tools.json":                  `{"schema_version":1,"tools":{}}`,
		"tools.json":                            `{"schema_version":1,"tools":{}}`,
		"runs/old/events.jsonl":                 "",
		"runs/old/contract.json":                "{}",
		"runs/old/artifacts/a.txt":              "a\n",
		"runs/exp1/metrics.json":                "{}",
		"src/a.txt":                             "a\n",
		"src/folder/b.txt":                      "b\n",
	} {
		write(t, project, name, text)
	}
	return project
}

// TestProtected: a tool that may write the whole project cannot create or
// change what it is judged by, under no name.
func TestProtected(t *testing.T) {
	project := trustProject(t)
	link(t, "../policies", filepath.Join(project, "src/p"))
	link(t, "../runs/old", filepath.Join(project, "src/run"))
	link(t, "old", filepath.Join(project, "runs/alias"))
	if err := os.Link(filepath.Join(project, "runs/old/contract.json"), filepath.Join(project, "src/hard.json")); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, project)
	x := open(t, project, func(c *executor.Config) { c.Tools = tools(t, everywhere) })
	for i, call := range [][]byte{
		writeTo("policies/runlens/decision.rego"),
		writeTo("policies/runlens/rules/site/site.rego"),
		writeTo("policies/runlens/rules/new/new.rego"),
		writeTo("policies/other.rego"),
		writeTo("policies/README.md"),
		writeTo("./policies//runlens/../runlens/x.rego"),
		writeTo("src/../policies/runlens/x.rego"),
		writeTo("src/p/runlens/x.rego"),
		writeTo("Policies/RunLens/x.rego"),
		writeTo("manifests/tools.json"),
		writeTo("manifests/tools.yaml"),
		writeTo("manifests/skills/s.yaml"),
		writeTo("manifests/anything"),
		writeTo("tools.json"),
		writeTo("runs/old/events.jsonl"),
		writeTo("runs/old/contract.json"),
		writeTo("runs/old/fold"),
		writeTo("runs/old/new.txt"),
		writeTo("runs/new/events.jsonl"),
		writeTo("runs/exp1/events.jsonl"),
		writeTo("src/run/contract.json"),
		writeTo("runs/alias/contract.json"),
		deleteAt("policies/runlens/rules/site/site.rego"),
		deleteAt("policies/runlens"),
		deleteAt("policies"),
		deleteAt("manifests"),
		deleteAt("manifests/tools.json"),
		deleteAt("tools.json"),
		deleteAt("runs/old/events.jsonl"),
		deleteAt("runs/old"),
		deleteAt("runs"),
		rename("policies", "src/q"),
		rename("policies/runlens", "src/q"),
		rename("manifests", "src/m"),
		rename("runs", "src/r"),
		rename("runs/old", "runs/older"),
		rename("src/a.txt", "policies/runlens/a.rego"),
		rename("src/a.txt", "tools.json"),
		rename("src/folder", "policies/runlens"),
		rename("src/folder", "manifests/skills"),
		rename("runs/old/events.jsonl", "src/e.jsonl"),
		rename("runs/old/contract.json", "src/c.json"),
	} {
		r := x.Exec(context.Background(), call, fmt.Sprintf("t%d", i))
		if r.Reason != "protected_file" && !hasCode(r, "protected_file") {
			t.Errorf("%s:\n %s %s: %s", call, r.Status, r.Reason, r.ErrorMessage)
		}
	}
	for _, path := range []string{"runs/old/events.jsonl", "runs/old/contract.json", "src/run/contract.json", "src/hard.json"} {
		r := x.Exec(context.Background(), callOf("read_file", map[string]any{"path": path}), "reads")
		if r.Status == executor.StatusSuccess || !hasCode(r, "protected_file") {
			t.Errorf("read %s: %s %s", path, r.Status, r.Reason)
		}
	}
	if after := snapshot(t, project); after != before {
		t.Errorf("the project changed:\n%s\nwas\n%s", after, before)
	}
}

func hasCode(r *executor.ToolResult, code string) bool {
	for _, reason := range r.Reasons {
		if reason.Code == code {
			return true
		}
	}
	return false
}

// snapshot lists the project's files with their text, the test's own runs left
// out.
func snapshot(t *testing.T, project string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(project, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(project, path)
		if err != nil || strings.HasPrefix(rel, "runs/t") || strings.HasPrefix(rel, "runs/reads") {
			return err
		}
		text := []byte(nil)
		if d.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintf(&list, "%s %s %q\n", d.Type(), rel, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

// TestUnrelatedNames: folders that merely share a name with a protected place
// stay usable.
func TestUnrelatedNames(t *testing.T) {
	project := canonical(t)
	write(t, project, "policies/cookies.md", "x\n")
	write(t, project, "manifests/deploy.yaml", "x\n")
	write(t, project, "runs/exp1/metrics.json", "{}")
	write(t, project, "src/a.txt", "a\n")
	x := open(t, project, func(c *executor.Config) { c.Tools = tools(t, everywhere) })
	for i, call := range [][]byte{
		writeTo("policies/cookies.md"),
		writeTo("policies/privacy.md"),
		writeTo("manifests/deploy.yaml"),
		writeTo("manifests/service.yaml"),
		writeTo("runs/exp1/metrics.json"),
		writeTo("runs/exp2/metrics.json"),
		rename("src/a.txt", "policies/a.txt"),
		deleteAt("policies/a.txt"),
		deleteAt("runs/exp1/metrics.json"),
	} {
		if r := x.Exec(context.Background(), call, fmt.Sprintf("u%d", i)); r.Status != executor.StatusSuccess {
			t.Errorf("%s:\n %s %s: %s", call, r.Status, r.Reason, r.ErrorMessage)
		}
	}
	for i, call := range [][]byte{
		writeTo("policies/runlens/decision.rego"),
		writeTo("policies/runlens"),
		writeTo("manifests/tools.yml"),
		writeTo("manifests/plans/p.yaml"),
		writeTo("tools.json"),
		writeTo("runs/exp1/events.jsonl"),
	} {
		if r := x.Exec(context.Background(), call, fmt.Sprintf("v%d", i)); !hasCode(r, "protected_file") {
			t.Errorf("%s:\n %s %s: %s", call, r.Status, r.Reason, r.ErrorMessage)
		}
	}
}

// TestPolicyWritable: RunLens does not start when a write root is a place it
// is judged by.
func TestPolicyWritable(t *testing.T) {
	for _, root := range []string{"policies", "policies/runlens", "policies/runlens/rules", "manifests", "manifests/skills"} {
		project := trustProject(t)
		_, err := newExecutor(t, project, func(c *executor.Config) {
			c.Tools = tools(t, fmt.Sprintf(`{"schema_version":1,"tools":{"write_file":{"operation":"write","roots":[%q]}}}`, root))
		})
		if !errors.Is(err, executor.ErrPolicyWritable) || !strings.Contains(err.Error(), root) {
			t.Errorf("%s: %v", root, err)
		}
	}
	for _, tool := range []string{
		`"operation":"execute","commands":[["true"]],"roots":[{"path":"manifests","access":["read","write"]}]`,
		`"operation":"execute","commands":[["true",{"arg":"a","root":"manifests/skills","access":"write"}]],"roots":["manifests"]`,
	} {
		_, err := newExecutor(t, trustProject(t), func(c *executor.Config) {
			c.Tools = tools(t, `{"schema_version":1,"tools":{"run":{`+tool+`}}}`)
		})
		if !errors.Is(err, executor.ErrPolicyWritable) || !strings.Contains(err.Error(), `tool "run" may write in "manifests"`) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if _, err := newExecutor(t, trustProject(t), nil); err != nil {
		t.Errorf("the shipped manifest: %v", err)
	}
}
