package executor_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
)

// FuzzCheck takes any bytes through the pipeline as far as the verdict: it
// never panics, every verdict has a reason, an allow has none but `allowed`,
// and what is allowed lies below the roots.
func FuzzCheck(f *testing.F) {
	project, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	write(f, project, "data/a.txt", "a\n")
	write(f, project, "data/.env", "x\n")
	write(f, project, "secret.txt", "s\n")
	if err := os.Symlink("../secret.txt", filepath.Join(project, "data/link")); err != nil {
		f.Fatal(err)
	}
	x := open(f, project, func(c *executor.Config) {
		c.Tools = tools(f, `{"schema_version":1,"tools":{
			"read_file":{"operation":"read","roots":["data"]},
			"write_file":{"operation":"write","roots":["data"]},
			"delete_file":{"operation":"delete","roots":["data"]},
			"rename_file":{"operation":"rename","roots":["data"]},
			"run_tests":{"operation":"execute","commands":[["true"]],"sandbox":"none"}}}`)
	})
	for _, seed := range [][]byte{
		readCall, writeTo("data/b.txt"), deleteAt("data/link"), rename("data/a.txt", "data/c.txt"),
		[]byte(`{"tool":"read_file","path":"data/link"}`), []byte(`{"tool":"run_tests"}`), []byte(`{"tool":"read_file","path":"data/.env"}`),
		[]byte(`{"type":"function","function":{"name":"read_file","arguments":"{\"path\":\"data/a.txt\"}"}}`),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := x.Check(context.Background(), raw, "")
		if err != nil {
			t.Fatal(err)
		}
		v := out.Verdict
		if len(v.Reasons) == 0 || v.Reasons[0].Code == "" || v.Reasons[0].Code == "internal_error" {
			t.Fatalf("%q: %+v", raw, v)
		}
		if v.Effect != engine.Allow {
			return
		}
		if len(v.Reasons) != 1 || v.Reasons[0].Code != "allowed" || out.ErrorCode != "" {
			t.Fatalf("%q: an allow beside a denial: %+v", raw, v)
		}
		for _, target := range out.Input.Targets {
			if rel, err := filepath.Rel(project+"/data", target.Path); err != nil || rel == ".." || len(rel) > 2 && rel[:3] == "../" {
				t.Fatalf("%q: allowed outside: %s", raw, target.Path)
			}
		}
	})
}
