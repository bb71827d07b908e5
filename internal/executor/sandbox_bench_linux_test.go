package executor_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/runlens/runlens/internal/executor"
)

// BenchmarkExecSandboxed is a whole exec of /bin/true in the sandbox, begun by the
// small program.
func BenchmarkExecSandboxed(b *testing.B) {
	isolated(b)
	if stage() == "" {
		b.Skip("the small program that begins sandboxes can't be built here")
	}
	x := open(b, canonical(b), func(c *executor.Config) {
		c.Tools, c.Stage = tools(b, sandboxTools(`["out"]`, map[string][]string{"run": {"true"}})), stage()
	})
	x.Exec(context.Background(), toolCall("run"), "r") // asks the machine
	for b.Loop() {
		succeed(b, x.Exec(context.Background(), toolCall("run"), "r"))
	}
}

// BenchmarkSpawn is the same program as any other starts it.
func BenchmarkSpawn(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
