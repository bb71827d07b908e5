package loop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/executor"
)

func TestLines(t *testing.T) {
	over := strings.Repeat("x", call.MaxBytes+1)
	for name, test := range map[string]struct {
		in   string
		want []string
	}{
		"nothing":             {"", nil},
		"blank lines":         {"\n \t\r\n\n", nil},
		"two":                 {"{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}},
		"no last end":         {"{}\n{\"b\":2}", []string{"{}", `{"b":2}`}},
		"of Windows":          {"{}\r\n\r\n[]\r\n", []string{"{}", "[]"}},
		"no calls":            {"hello\n{\"a\": \n1}\n", []string{"hello", `{"a":`, "1}"}},
		"two in a line":       {"{} {}\n", []string{"{} {}"}},
		"too long":            {over + "yy\n{}\n", []string{over, "{}"}},
		"too long, no end":    {over + "yy", []string{over}},
		"blanks, then more":   {"{}" + strings.Repeat(" ", call.MaxBytes) + "{}\n[]\n", []string{"{}" + strings.Repeat(" ", call.MaxBytes-1), "[]"}},
		"just short enough":   {over[1:] + "\n{}", []string{over[1:], "{}"}},
		"a mark at the begin": {"\ufeff{}\n", []string{"\ufeff{}"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gate{}
			var told []string
			cause, err := drive(t, g).Lines(t.Context(), strings.NewReader(test.in), func(r *executor.ToolResult) error {
				told = append(told, r.CallID)
				return nil
			})
			if cause != CauseInputEnded || err != nil {
				t.Errorf("%s: %v", cause, err)
			}
			if len(g.calls) != len(test.want) || len(told) != len(test.want) {
				t.Fatalf("%d calls and %d answers, want %d", len(g.calls), len(told), len(test.want))
			}
			for i, want := range test.want {
				if g.calls[i] != want {
					t.Errorf("call %d: %d bytes, %.40q, want %.40q", i, len(g.calls[i]), g.calls[i], want)
				}
			}
		})
	}
}

// Whoever makes each call from the answer before it gets on, and no line is read
// before the answer to the last one is out.
func TestLinesAtOnce(t *testing.T) {
	in, calls := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan string)
	r := drive(t, &gate{})
	go func() {
		cause, err := r.Lines(context.Background(), in, func(r *executor.ToolResult) error {
			_, err := fmt.Fprintln(out, r.CallID)
			return err
		})
		done <- fmt.Sprint(cause, err)
	}()
	lines := bufio.NewScanner(answers)
	for _, want := range []string{"c1", "c5", "c9"} {
		if _, err := fmt.Fprintln(calls, `{"torn": `); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("answer %q, want %q", lines.Text(), want)
		}
	}
	calls.Close()
	if got := <-done; got != CauseInputEnded+"<nil>" {
		t.Error(got)
	}
}

// An end that comes while a line is awaited ends the run at once; one that comes
// while a call runs lets it be answered first.
func TestLinesInterrupted(t *testing.T) {
	t.Run("while a line is awaited", func(t *testing.T) {
		in, calls := io.Pipe()
		defer calls.Close()
		ctx, end := context.WithCancel(t.Context())
		g := &gate{}
		cause, err := drive(t, g).Lines(ctx, eager{in, end}, nil)
		if cause != CauseInterrupted || err != nil || len(g.calls) != 0 {
			t.Errorf("%s: %v, called %v", cause, err, g.calls)
		}
	})
	t.Run("while a call runs", func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		g := &gate{run: func(context.Context, string, *executor.ToolResult) { end() }}
		told := 0
		cause, err := drive(t, g).Lines(ctx, strings.NewReader("{}\n{}\n"), func(*executor.ToolResult) error { told++; return nil })
		if cause != CauseInterrupted || err != nil || len(g.calls) != 1 || told != 1 {
			t.Errorf("%s: %v, called %v, told %d", cause, err, g.calls, told)
		}
	})
	t.Run("before it begins", func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		end()
		g := &gate{}
		cause, err := drive(t, g).Lines(ctx, strings.NewReader("{}\n"), nil)
		if cause != CauseInterrupted || err != nil || len(g.calls) != 0 {
			t.Errorf("%s: %v, called %v", cause, err, g.calls)
		}
	})
}

// eager ends the run once somebody waits for a line.
type eager struct {
	io.Reader
	end func()
}

func (e eager) Read(p []byte) (int, error) {
	e.end()
	return e.Reader.Read(p)
}

func TestLinesBroken(t *testing.T) {
	broken := errors.New("broken")
	t.Run("input", func(t *testing.T) {
		g := &gate{}
		in := io.MultiReader(strings.NewReader("{}\n{\"half\": "), failing{broken})
		cause, err := drive(t, g).Lines(t.Context(), in, func(*executor.ToolResult) error { return nil })
		if cause != CauseInputFailed || !errors.Is(err, broken) || len(g.calls) != 1 {
			t.Errorf("%s: %v, called %v", cause, err, g.calls)
		}
	})
	t.Run("output", func(t *testing.T) {
		g := &gate{}
		cause, err := drive(t, g).Lines(t.Context(), strings.NewReader("{}\n{}\n"), func(*executor.ToolResult) error { return broken })
		if cause != CauseOutputFailed || !errors.Is(err, broken) || len(g.calls) != 1 {
			t.Errorf("%s: %v, called %v", cause, err, g.calls)
		}
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
