package loop

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/executor"
)

// Causes of an end, as executor.Stop records them.
const (
	CauseInputEnded   = "input_ended"   // there are no more calls
	CauseInterrupted  = "interrupted"   // the context ended
	CauseInputFailed  = "input_failed"  // reading calls failed
	CauseOutputFailed = "output_failed" // a result could not be given out
	CauseNotKept      = "not_kept"      // a result could not be kept, and so not be told
)

// Lines answers calls that come as JSON lines, in any call shape, one a line,
// until in ends. Blank lines are passed over. A line that is no call, or too long
// for one, is proposed as it is and answered with what is wrong with it. Each
// result goes to out before the next line is read, so that whoever makes a call
// from the last answer gets it; an error of out ends the run.
//
// When ctx ends, the call that runs is ended and answered, and no other begins.
// A read of in that is under way then is left behind; it takes one line at most.
func (r *Run) Lines(ctx context.Context, in io.Reader, out func(*executor.ToolResult) error) (cause string, err error) {
	next, stop := fetch(newLines(in))
	defer stop()
	for ctx.Err() == nil {
		var got fetched
		select {
		case <-ctx.Done():
			continue
		case got = <-next():
		}
		switch {
		case errors.Is(got.err, io.EOF):
			return CauseInputEnded, nil
		case got.err != nil:
			return CauseInputFailed, fmt.Errorf("read calls: %w", got.err)
		}
		res, _, err := r.Call(ctx, got.line)
		if err != nil {
			return CauseNotKept, err
		}
		if err := out(res); err != nil {
			return CauseOutputFailed, err
		}
	}
	return CauseInterrupted, nil
}

// fetched is a line, or why there is none.
type fetched struct {
	line []byte
	err  error
}

// fetch reads lines in the background, each one only when it is asked for.
func fetch(l *lines) (next func() <-chan fetched, stop func()) {
	want, got := make(chan struct{}, 1), make(chan fetched, 1)
	go func() {
		for range want {
			line, err := l.next()
			got <- fetched{line, err}
		}
	}()
	return func() <-chan fetched { want <- struct{}{}; return got }, func() { close(want) }
}

// lines cuts a stream into lines. Unlike call.Split it never looks beyond the end
// of the line: the next one may depend on the answer to this one.
type lines struct{ r *bufio.Reader }

func newLines(in io.Reader) *lines { return &lines{bufio.NewReaderSize(in, 64<<10)} }

// next is the next line that is not blank, without its end. Of one that is too
// long for a call it is the head, which is too long for a call as well: what
// follows is read and dropped.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte("\n"))
		if room := call.MaxBytes + 1 - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err // a line that broke off is no call
		}
		if len(line) > call.MaxBytes {
			return line, nil // blanks at its end stay: behind them something was dropped
		}
		if text := bytes.Trim(line, " \t\r\n"); len(text) > 0 {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		line = line[:0]
	}
}
