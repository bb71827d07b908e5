package executor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
)

// everyLevel runs a test of programs in the sandbox and without one.
func everyLevel(t *testing.T, fn func(t *testing.T, level string)) {
	for _, level := range []string{"full", "none"} {
		t.Run(level, func(t *testing.T) {
			if level == "full" {
				isolated(t)
			}
			fn(t, level)
		})
	}
}

// script is a manifest with one tool that runs a shell script.
func script(level, text string, timeoutMS int) string {
	return fmt.Sprintf(`{"schema_version":1,"tools":{"sh":{"operation":"execute","handler":"run_tests","timeout_ms":%d,"sandbox":%q,"roots":["out"],"commands":[["sh","-c",%q]]}}}`, timeoutMS, level, text)
}

// A model sees what a program printed as it came, each line with its stream.
func TestOutputInOrder(t *testing.T) {
	everyLevel(t, func(t *testing.T, level string) {
		const text = `echo one; sleep 0.2; echo two >&2; sleep 0.2; printf 'thr'; sleep 0.2; echo 'out| four' >&2; sleep 0.2; printf 'ee\n\033[2J'; exit 3`
		x := open(t, canonical(t), func(c *executor.Config) { c.Tools, c.Stage = tools(t, script(level, text, 60000)), stage() })
		r := x.ExecTold(context.Background(), toolCall("sh"), "r", 0, nil)
		_, printed, _ := strings.Cut(r.Observation, "\n")
		if want := "out| one\nerr| two\nout| thr\nerr| out| four\nout+ ee\nout| \\x1b[2J\n"; r.Status != executor.StatusSuccess || printed != want || !strings.HasPrefix(r.Observation, "exit code 3 ") {
			t.Errorf("%s %s: told %q, want %q", r.Status, r.ErrorMessage, r.Observation, want)
		}
		if r.Output["stdout"] != "one\nthree\n\\x1b[2J" || r.Output["stderr"] != "two\nout| four\n" || r.Output["exit_code"] != 3 {
			t.Errorf("output %v", r.Output)
		}
	})
}

// What was printed comes with a program that is ended, though processes that are in
// sessions of their own hold its pipes open and go on printing; none of them is left.
func TestOutputOfTheEnded(t *testing.T) {
	everyLevel(t, func(t *testing.T, level string) {
		for _, end := range []string{"handler_timeout", "handler_cancelled"} {
			tag := fmt.Sprintf("%d.5", 3_000_000+os.Getpid())
			text := `echo out; echo err >&2; for i in 1 2 3; do setsid sh -c 'trap "" TERM; sleep ` + tag + `' & done
				setsid sh -c 'exec 1>&-; sleep ` + tag + `' & sleep 0.3; echo >out/begun; sleep ` + tag
			timeout := map[string]int{"handler_timeout": 2000, "handler_cancelled": 60000}[end]
			project := canonical(t)
			write(t, project, "out/there", "")
			x := open(t, project, func(c *executor.Config) { c.Tools, c.Stage = tools(t, script(level, text, timeout)), stage() })
			ctx, cancel := context.WithCancel(context.Background())
			if end == "handler_cancelled" {
				go func() {
					for ctx.Err() == nil {
						if _, err := os.Stat(filepath.Join(project, "out/begun")); err == nil {
							cancel()
						}
						time.Sleep(10 * time.Millisecond)
					}
				}()
			}
			r := x.ExecTold(ctx, toolCall("sh"), "r", 0, nil)
			cancel()
			if r.ErrorCode != end || r.Output["stdout"] != "out\n" || r.Output["stderr"] != "err\n" || r.Output["exit_code"] != -1 {
				t.Errorf("%s: %s %q, output %v", end, r.ErrorCode, r.ErrorMessage, r.Output)
			}
			if !strings.HasSuffix(r.Observation, "\nwhat the tool gave before that:\nout| out\nerr| err\n") {
				t.Errorf("%s: told %q", end, r.Observation)
			}
			if left := running(t, tag); len(left) > 0 {
				t.Errorf("%s: left running: %v", end, left)
			}
		}
	})
}

// How a program ended by itself is an answer and no failure.
func TestOutputOfTheKilled(t *testing.T) {
	everyLevel(t, func(t *testing.T, level string) {
		x := open(t, canonical(t), func(c *executor.Config) {
			c.Tools, c.Stage = tools(t, script(level, `echo last words; kill -SEGV $$`, 60000)), stage()
		})
		r := x.ExecTold(context.Background(), toolCall("sh"), "r", 0, nil)
		if r.Status != executor.StatusSuccess || r.Output["exit_code"] != -1 || r.Output["signal"] != "SIGSEGV" || r.Output["stdout"] != "last words\n" {
			t.Errorf("%s %s %q, output %v", r.Status, r.ErrorCode, r.ErrorMessage, r.Output)
		}
		if !strings.HasPrefix(r.Observation, "ended by SIGSEGV after ") || !strings.HasSuffix(r.Observation, "\nout| last words\n") {
			t.Errorf("told %q", r.Observation)
		}
	})
}
