package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// runTests runs a declared command and tells how it ended. A command that ends
// by itself is a success of the tool, whatever its exit code: a failing test
// suite is an answer.
func runTests() Handler {
	s := &supervisor{}
	return Handler{
		running: s,
		Handler: manifest.Handler{
			Name:       "run_tests",
			Operations: []string{facts.Execute},
			TimeoutMS:  120_000,
			Input: schema(map[string]any{
				"argv": map[string]any{
					"type": "array", "items": kind("string", ""), "minItems": 1,
					"description": "the command, exactly as declared; may be left out when one is declared",
				},
			}, "argv"),
			Output: schema(map[string]any{
				"exit_code":    kind("integer", "-1 when a signal ended the command"),
				"signal":       kind("string", "the signal that ended the command, or empty"),
				"stdout":       kind("string", "head and tail, with a mark where something was cut"),
				"stderr":       kind("string", "head and tail, with a mark where something was cut"),
				"stdout_bytes": kind("integer", "bytes printed"),
				"stderr_bytes": kind("integer", "bytes printed"),
				"duration_ms":  kind("integer", ""),
				"truncated":    kind("boolean", "something was cut"),
			}),
		},
		Run: func(ctx context.Context, g *Grant) (Result, error) { return runCommand(ctx, g, s) },
	}
}

// ending is how a command ended.
type ending struct {
	exit     int    // -1 when a signal ended it
	signal   string // "SIGKILL"
	byItself bool   // it was not killed for its deadline or its caller
	killed   bool   // something else ended its sandbox
	ended    int    // processes that it left running and that were ended
	left     int    // processes that could not be ended
}

func runCommand(ctx context.Context, g *Grant, s *supervisor) (Result, error) {
	limit := int(g.Output)
	if limit <= 0 {
		limit = DefaultOutput
	}
	out := newPrinted(limit)
	stdout, stderr := out.writers()
	begin := time.Now()
	end, err := runGranted(ctx, g, s, stdout, stderr)
	if err != nil {
		return Result{}, objectError("run command", err) // it never started
	}
	output, truncated := describeCommand(end, out.stdout, out.stderr, time.Since(begin))
	text := out.both.String()
	if err := interrupted(ctx, end, output); err != nil {
		e := typed("run_tests", err)
		e.Observation, e.Truncated = text, truncated
		return Result{}, e
	}
	return Result{Output: output, Truncated: truncated, Observation: commandText(end, output, text)}, nil
}

// runGranted runs the grant's program under the isolation that it asks for, until it
// has ended or ctx has. An error means that it never started.
func runGranted(ctx context.Context, g *Grant, s *supervisor, stdout, stderr io.Writer) (ending, error) {
	switch {
	case len(g.Argv) == 0:
		return ending{}, failed("run command: the grant holds no argv")
	case g.Executable == nil:
		return ending{}, failed("run command: the grant holds no executable")
	case g.Dir == nil:
		return ending{}, failed("run command: the grant holds no working directory")
	}
	switch g.Sandbox {
	case confined:
		return runConfined(ctx, g, stdout, stderr)
	case unconfined:
		return s.run(ctx, g, stdout, stderr)
	}
	return ending{}, failed("run command: the grant holds no sandbox level that is known")
}

func describeCommand(end ending, stdout, stderr *capture, took time.Duration) (map[string]any, bool) {
	out, outBytes, outCut := stdout.text()
	err, errBytes, errCut := stderr.text()
	return map[string]any{
		"exit_code": end.exit, "signal": end.signal,
		"stdout": out, "stderr": err, "stdout_bytes": outBytes, "stderr_bytes": errBytes,
		"duration_ms": took.Milliseconds(), "truncated": outCut || errCut,
	}, outCut || errCut
}

// interrupted is the error of a command that did not end by itself, with what
// it had printed; nil for one that did.
func interrupted(ctx context.Context, end ending, output map[string]any) error {
	note := "; nothing of it is left running"
	if end.left > 0 {
		note = fmt.Sprintf("; %d of its processes could not be killed", end.left)
	}
	switch {
	case end.byItself && end.left == 0:
		return nil
	case end.byItself:
		return &Error{Code: CodeFailed, Output: output, Message: "run command: it ended" + note}
	case end.killed:
		return &Error{Code: CodeFailed, Output: output, Message: "run command: its sandbox was ended from outside" + note}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Error{Code: CodeTimeout, Output: output, Message: "run command: the deadline came first" + note}
	}
	return &Error{Code: CodeFailed, Output: output, Message: "run command: the caller cancelled it" + note}
}

// commandText is how the command ended, and what it printed.
func commandText(end ending, output map[string]any, printed string) string {
	var b strings.Builder
	if end.signal != "" {
		fmt.Fprintf(&b, "ended by %s after %d ms\n", end.signal, output["duration_ms"])
	} else {
		fmt.Fprintf(&b, "exit code %d after %d ms\n", end.exit, output["duration_ms"])
	}
	if end.ended > 0 {
		fmt.Fprintf(&b, "(processes left running were ended: %d)\n", end.ended)
	}
	b.WriteString(printed)
	return b.String()
}
