package executor_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
)

// What a call is judged by, the record of its run and a tool's program can't be reached
// by a program under another name, which somebody gave them in a root.
func TestSandboxOtherNames(t *testing.T) {
	isolated(t)
	project := canonical(t)
	files := map[string]string{
		"policies/runlens/rules/x/x.rego": "p", "manifests/tools.json": "m", "tools/echo.sh": "e", "work/own": "o", "seen/own": "o",
	}
	for name, text := range files {
		write(t, project, name, text)
	}
	const script = `for f in work/* seen/*; do
	[ -d "$f" ] && continue
	cat "$f" 2>/dev/null || printf -; (echo x >>"$f") 2>/dev/null && printf w
done; true`
	x := open(t, project, func(c *executor.Config) {
		c.Stage = stage()
		c.Tools = tools(t, `{"schema_version":1,"tools":{
			"e":{"operation":"compute","handler":"exec:tools/echo.sh"},
			"sh":{"operation":"execute","handler":"run_tests","commands":[["sh","-c",`+strconv.Quote(script)+`]],
				"roots":[{"path":"work","access":["read","write"]},{"path":"seen","access":["read"]}]}}}`)
	})
	prints(t, x, "r", "sh", "owo")
	files["work/own"] = "ox\n"
	for name, link := range map[string]string{
		"policies/runlens/rules/x/x.rego": "p", "manifests/tools.json": "m", "tools/echo.sh": "e", "runs/r/events.jsonl": "r",
	} {
		must(t, os.Link(project+"/"+name, project+"/work/"+link))
		must(t, os.Link(project+"/"+name, project+"/seen/"+link))
	}
	// Of each four names in work/, and own; in seen/ the program may be read.
	prints(t, x, "r", "sh", "--ox\nw--e-o--")
	for name, want := range map[string]string{"policies/runlens/rules/x/x.rego": "p", "manifests/tools.json": "m", "tools/echo.sh": "e"} {
		if got, _ := os.ReadFile(project + "/" + name); string(got) != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if text, _ := os.ReadFile(project + "/runs/r/events.jsonl"); strings.HasSuffix(string(text), "x\n") {
		t.Error("the record was written")
	}
}

// The directories that a call names for the program of a tool show none of them either.
func TestProgramOtherNames(t *testing.T) {
	project := canonical(t)
	write(t, project, "manifests/tools.json", "m")
	write(t, project, "data/a", "a")
	must(t, os.Link(project+"/manifests/tools.json", project+"/data/m"))
	program(t, project, "tools/p.sh", `printf '{"seen":"%s"}' "$(cat `+project+`/data/* 2>/dev/null)"`)
	x := served(t, project, "full", map[string]string{"p": `{"operation":"list","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"]}`}, nil)
	if r := x.Exec(context.Background(), callOf("p", map[string]any{"path": "data"}), "r"); r.Output["seen"] != "a" {
		t.Errorf("it saw %q: %s %s", r.Output["seen"], r.ErrorCode, r.ErrorMessage)
	}
}

// Places that are too large to be looked through for such files are none that a program
// may run beside.
func TestSandboxTooManyProtected(t *testing.T) {
	isolated(t)
	project := canonical(t)
	write(t, project, "out/a", "")
	write(t, project, "policies/runlens/a.rego", "package a\n")
	for i := range 20_001 {
		must(t, os.WriteFile(project+"/policies/runlens/"+strconv.Itoa(i), nil, 0o644))
	}
	x := sh(t, project, `["out"]`, map[string]string{"say": "echo ran"})
	r := x.Exec(context.Background(), toolCall("say"), "r")
	if r.ErrorCode != "sandbox_unavailable" || !strings.Contains(r.ErrorMessage, "more than 20000 entries") {
		t.Errorf("%s %s", r.ErrorCode, r.ErrorMessage)
	}
}
