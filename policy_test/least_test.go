package policy_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// TestLeastIsolation: a whole tree of one's own says what isolation every program
// needs; then no manifest takes its program out of it.
func TestLeastIsolation(t *testing.T) {
	const text = `{"schema_version":1,"tools":{
		"read_file":{"operation":"read"},
		"full":{"operation":"execute","handler":"run_tests","commands":[["true"]]},
		"none":{"operation":"execute","handler":"run_tests","commands":[["true"]],"sandbox":"none"}}}`
	e, err := engine.Load(changed(t, "runlens/data.json", `"least": "none"`, `"least": "full"`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool, level, applied, says string }{
		{"full", "full", "full", ""},
		{"full", "none", "none", "the tool asks for sandbox level full, available is none"},
		{"none", "full", "none", "policy asks for sandbox level full of every program, the tool asks for none"},
		{"none", "none", "none", "policy asks for sandbox level full of every program, the tool asks for none"},
	} {
		project := t.TempDir()
		x, err := executor.New(executor.Config{
			Project: project, Engine: e, Tools: toolSet(t, text), Handlers: builtin,
			Now: func() time.Time { return now }, NewID: func() string { return "r" }, Sandbox: facts.Sandbox{Level: c.level},
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := x.Check(context.Background(), []byte(`{"name":"`+c.tool+`","arguments":{}}`), "")
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(out.Verdict.Reasons, func(r engine.Reason) bool { return r.Code == "sandbox_unavailable" })
		if got := out.Input.Sandbox.Level; got != c.applied || (i >= 0) != (c.says != "") || i >= 0 && out.Verdict.Reasons[i].Message != c.says {
			t.Errorf("%s where %s is available: applied %q, %s %+v, want %q", c.tool, c.level, got, out.Verdict.Effect, out.Verdict.Reasons, c.says)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSiteWantsIsolation: what an overlay can't change it can deny.
func TestSiteWantsIsolation(t *testing.T) {
	e := withSite(t, denyIf("none", `input.command.present == true
	input.tool.sandbox == "none"`))
	for tool, code := range map[string]string{"full": "allowed", "none": "site_refused"} {
		x, err := executor.New(executor.Config{
			Project: t.TempDir(), Engine: e, Handlers: builtin, Sandbox: facts.Sandbox{Level: "full"},
			Tools: toolSet(t, `{"schema_version":1,"tools":{
				"full":{"operation":"execute","handler":"run_tests","commands":[["true"]]},
				"none":{"operation":"compute","handler":"exec:true","sandbox":"none"}}}`),
			Now: func() time.Time { return now }, NewID: func() string { return "r" },
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := x.Check(context.Background(), []byte(`{"name":"`+tool+`","arguments":{}}`), "")
		if err != nil || out.Verdict.Reasons[0].Code != code {
			t.Errorf("%s: %+v, %v, want %s", tool, out.Verdict, err, code)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSandboxDataIsTheTrees: an overlay changes neither the least isolation nor a
// limit, and adds none that nobody knows.
func TestSandboxDataIsTheTrees(t *testing.T) {
	for name, text := range map[string]string{
		"runlens/sandbox/data.json":        `{"least": "full"}`,
		"runlens/sandbox/limits/data.json": `{"cpu_seconds": 3600}`,
		"runlens/sandbox/mine/data.json":   `{"wall_seconds": 60}`,
	} {
		_, err := engine.Load(engine.Source{FS: policies.FS, Overlay: fstest.MapFS{name: {Data: []byte(text)}}, Schemas: schemas.FS})
		if err == nil || !strings.Contains(err.Error(), "load policies/"+name) {
			t.Errorf("%s %s as an overlay: %v", name, text, err)
		}
	}
	for _, c := range []struct{ old, new string }{
		{`"least": "none"`, `"least": "partial"`},
		{`"open_files": 1024`, `"open_files": 3`},
		{`"cpu_seconds": 600`, `"cpu_seconds": 10000000000`},
		{`"memory_bytes": 0,`, ``},
	} {
		if _, err := engine.Load(changed(t, "runlens/data.json", c.old, c.new)); err == nil {
			t.Errorf("%s in place of %s loads", c.new, c.old)
		}
	}
	if _, err := engine.Load(changed(t, "runlens/data.json", `"cpu_seconds": 600`, `"cpu_seconds": 60`)); err != nil {
		t.Error(err)
	}
}
