package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/glyph"
)

// Program is a program that answers for a model.
type Program struct {
	Path string   // of the executable; nothing is searched for
	Args []string // none of them is a secret: others see them
	Env  []string // all of its environment

	// Note is told of each line that the program writes to stderr, made safe to
	// print, from within Start, Next and Close. nil: nobody is.
	Note func(line string)

	Starting time.Duration // that it may take to be ready; 0: 10 seconds
	Asking   time.Duration // that it may take to answer; 0: half an hour
	Ending   time.Duration // that it may take to end by itself; 0: two seconds
}

// Refusal is what a program says that can't answer.
type Refusal struct {
	Message string // one problem a line
	Hint    string // what to do, one thing a line; may be empty
}

func (r *Refusal) Error() string { return r.Message }

// Child is a Program that runs. It is not safe for concurrent use.
type Child struct {
	program Program
	name    string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  io.ReadCloser
	stderr  *noted

	lines chan []byte   // of stdout; closed when no more can come, for the reason in lost
	notes chan string   // lines of stderr
	quit  chan struct{} // closed when no line is wanted any more
	over  chan struct{} // closed when the process is gone, with its state in ended
	lost  error
	ended error

	seq    int
	broken error // why nothing more is asked
}

// Start starts the program and waits until it is ready. The error is a *Refusal
// when the program says why it is not; then it is gone, as after any error.
func Start(ctx context.Context, p Program) (*Child, error) {
	c := &Child{
		program: p, name: filepath.Base(p.Path),
		lines: make(chan []byte), notes: make(chan string, 16),
		quit: make(chan struct{}), over: make(chan struct{}),
	}
	c.cmd = exec.Command(p.Path, p.Args...)
	c.cmd.Env = append([]string{}, p.Env...) // nil would be ours
	c.stderr = &noted{to: c.notes}
	c.cmd.Stderr = c.stderr
	c.cmd.WaitDelay = orElse(p.Ending, 2*time.Second) // for a process of its own that holds stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err == nil {
		c.stdout, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	go c.read()
	if err := c.greeted(ctx); err != nil {
		c.finish()
		return nil, err
	}
	return c, nil
}

// greeted waits until the program is ready.
func (c *Child) greeted(ctx context.Context) error {
	line, err := c.await(ctx, orElse(c.program.Starting, 10*time.Second), nil)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	var g greeting
	switch err := decode(line, &g); {
	case err != nil:
		return fmt.Errorf("start %s: what it says is not the protocol of runlens", c.name)
	case g.Error != "":
		return &Refusal{Message: safeLines(g.Error), Hint: safeLines(g.Hint)}
	case !g.Ready || g.Protocol != protocol:
		return fmt.Errorf("start %s: it is of another version than runlens", c.name)
	}
	return nil
}

// Next implements Model. After an error of the program, and when ctx is over, the
// program is ended and every further question is answered with an error.
func (c *Child) Next(ctx context.Context, messages []json.RawMessage, tools json.RawMessage) (Reply, error) {
	if c.broken != nil {
		return Reply{}, c.broken
	}
	c.seq++
	text, err := encode(question{Seq: c.seq, Messages: messages, Tools: tools})
	if err != nil {
		return Reply{}, fmt.Errorf("ask model: write question: %w", err)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := c.stdin.Write(text)
		wrote <- err
	}()
	line, err := c.await(ctx, orElse(c.program.Asking, 30*time.Minute), wrote)
	var a answer
	switch {
	case err != nil:
	case decode(line, &a) != nil:
		err = errors.New("what it says is not an answer")
	case a.Seq != c.seq:
		err = errors.New("an answer that nobody asked for")
	case a.Error != "":
		return Reply{}, errors.New(safe(a.Error))
	default:
		var reply Reply
		if reply, err = a.reply(); err == nil {
			return reply, nil
		}
	}
	c.broken = fmt.Errorf("ask model: %s: %w", c.name, err)
	c.finish()
	return Reply{}, c.broken
}

// Close ends the program: it is asked to, and killed when it does not heed that.
// When it returns the process is gone. It may be called more than once.
func (c *Child) Close() {
	if c.broken == nil {
		c.broken = fmt.Errorf("ask model: %s: it is closed", c.name)
	}
	c.finish()
}

// await returns the next line, and passes on what stderr says meanwhile.
func (c *Child) await(ctx context.Context, patience time.Duration, wrote <-chan error) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-wrote:
			if err != nil {
				return nil, c.gone()
			}
			wrote = nil
		case text := <-c.notes:
			c.note(text)
		case line, ok := <-c.lines:
			if !ok {
				return nil, c.gone()
			}
			return line, nil
		}
	}
}

// gone ends the process, and says how it had ended.
func (c *Child) gone() error {
	c.finish()
	switch {
	case errors.Is(c.lost, errLong), errors.Is(c.lost, errTorn):
		return c.lost
	case c.ended != nil:
		return fmt.Errorf("it ended before it answered: %w", c.ended)
	}
	return errors.New("it ended before it answered")
}

// read takes lines from stdout until there are no more, and waits for the process.
func (c *Child) read() {
	defer close(c.over)
	in := bufio.NewReaderSize(c.stdout, 64<<10)
	for c.lost == nil {
		line, err := readLine(in, maxLine)
		if err != nil {
			c.lost = err
			break
		}
		select {
		case c.lines <- line:
		case <-c.quit:
			c.lost = io.EOF
		}
	}
	close(c.lines)
	_ = c.stdout.Close() // whoever goes on writing has no reader
	c.ended = c.cmd.Wait()
}

// finish brings the process to its end and passes on what it said on stderr.
func (c *Child) finish() {
	select {
	case <-c.quit:
	default:
		close(c.quit)
		_ = c.stdin.Close()
	}
	timer := time.NewTimer(orElse(c.program.Ending, 2*time.Second))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			_ = c.cmd.Process.Kill()
			_ = c.stdout.Close() // a process of its own may hold the other end
		case text := <-c.notes:
			c.note(text)
		case <-c.over:
			for {
				select {
				case text := <-c.notes:
					c.note(text)
				default:
					c.note(c.stderr.rest())
					return
				}
			}
		}
	}
}

func (c *Child) note(text string) {
	if c.program.Note != nil && text != "" {
		c.program.Note(safe(text))
	}
}

func orElse(d, other time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return other
}

// maxNote bounds a line of stderr, and a text that is shown.
const maxNote = 4 << 10

// noted is a stderr that tells its lines, the beginning of one that is too long.
type noted struct {
	to   chan<- string
	line []byte
}

func (n *noted) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		n.line = append(n.line, part[:min(len(part), maxNote-len(n.line))]...)
		if ended {
			n.to <- string(n.line)
			n.line = n.line[:0]
		}
		rest = after
	}
	return len(p), nil
}

// rest is a line that did not end. Nobody writes any more.
func (n *noted) rest() string {
	text := string(n.line)
	n.line = nil
	return text
}

// safe is a text of the program's as it may be shown: cut, and in quotes when it
// holds what a terminal would act on.
func safe(text string) string {
	if len(text) > maxNote {
		end := maxNote
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	for _, r := range text {
		if !strconv.IsPrint(r) || !glyph.Shows(r) || r == utf8.RuneError {
			return glyph.Quote(text)
		}
	}
	return text
}

// safeLines is safe for each line of a text.
func safeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = safe(line)
	}
	return strings.Join(lines, "\n")
}
