package executor_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/runlens/runlens/internal/executor"
)

var soak = flag.Int("soak", 100, "how many programs TestSandboxSoak runs")

// Many programs, some at a time, a fifth of them hanging, forking or flooding:
// nothing is left of them.
func TestSandboxSoak(t *testing.T) {
	isolated(t)
	project := canonical(t)
	tag := fmt.Sprintf("%d.25", 2_000_000+os.Getpid())
	text := sandboxTools(`["out"]`, map[string][]string{
		"fine":  {"sh", "-c", "echo fine >$TMPDIR/a; cat $TMPDIR/a; sleep 0.01"},
		"hang":  {"sh", "-c", "echo begun; sleep " + tag},
		"fork":  {"sh", "-c", "for i in 1 2 3 4 5 6 7 8; do setsid sleep " + tag + " & done; echo begun; wait"},
		"flood": {"sh", "-c", "yes " + tag},
	})
	for _, name := range []string{"hang", "fork", "flood"} {
		from := fmt.Sprintf("%q:{\"operation\":\"execute\",\"handler\":\"run_tests\",\"timeout_ms\":60000", name)
		text = string(replaceOnce(t, []byte(text), from, strings.Replace(from, "60000", "500", 1)))
	}
	x := open(t, project, func(c *executor.Config) { c.Tools, c.Stage = tools(t, text), stage() })
	t.Setenv("TMPDIR", canonical(t))
	one := func(i int) {
		tool, code := "fine", ""
		if i%5 == 0 {
			tool, code = []string{"hang", "fork", "flood"}[i/5%3], "handler_timeout"
		}
		r := x.Exec(context.Background(), toolCall(tool), "r")
		if r.ErrorCode != code {
			t.Errorf("%s: %s %s %q, want %q", tool, r.Status, r.ErrorCode, r.ErrorMessage, code)
		}
	}
	for i := range 8 { // what is made once
		one(i)
	}
	before := standingNow(t)
	numbers := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range numbers {
				one(i)
			}
		})
	}
	for i := range *soak {
		numbers <- i
	}
	close(numbers)
	all.Wait()
	if left := running(t, tag); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	if after := standingNow(t); after != before {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// standing is what a program could leave behind in this process and its machine.
type standing struct{ children, mounts, descriptors, temps int }

func standingNow(t testing.TB) (s standing) {
	t.Helper()
	lines := func(name string) int {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return len(strings.Fields(strings.ReplaceAll(string(data), " ", "_")))
	}
	count := func(dir string) int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tasks {
		if data, err := os.ReadFile(name); err == nil {
			s.children += len(strings.Fields(string(data)))
		}
	}
	s.mounts, s.descriptors, s.temps = lines("/proc/self/mountinfo"), count("/proc/self/fd"), count(os.TempDir())
	return s
}
