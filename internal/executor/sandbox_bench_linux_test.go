package executor_test

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
)

// BenchmarkExecSandboxed is a whole exec of /bin/true in the sandbox, begun by the
// small program, and the same program as anybody would start it, in turns. It
// reports how many times the median of the one is that of the other, and what the
// first exec took, which starts the launcher and asks the machine.
func BenchmarkExecSandboxed(b *testing.B) {
	isolated(b)
	if stage() == "" {
		b.Skip("the small program that begins sandboxes can't be built here")
	}
	x := open(b, canonical(b), func(c *executor.Config) {
		c.Tools, c.Stage = tools(b, sandboxTools(`["out"]`, map[string][]string{"run": {"true"}})), stage()
	})
	begin := time.Now()
	succeed(b, x.Exec(context.Background(), toolCall("run"), "r"))
	first := time.Since(begin)
	var sandboxed, plain []time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		succeed(b, x.Exec(context.Background(), toolCall("run"), "r"))
		sandboxed, plain = append(sandboxed, time.Since(between)), append(plain, between.Sub(begin))
	}
	slices.Sort(sandboxed)
	slices.Sort(plain)
	of, over := sandboxed[len(sandboxed)/2], plain[len(plain)/2]
	b.ReportMetric(float64(over.Microseconds()), "plain-µs")
	b.ReportMetric(float64(of.Microseconds()), "sandbox-µs")
	b.ReportMetric(float64(first.Microseconds()), "first-µs")
	b.ReportMetric(float64(of)/float64(over), "times")
}
