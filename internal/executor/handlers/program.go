package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// Program returns the handler of tools that a program serves; docs/programs.md is
// its contract. It shares the bookkeeping of running commands with the handlers of
// list, which Builtin made.
func Program(list []Handler) Handler {
	s := &supervisor{}
	for _, h := range list {
		if h.running != nil {
			s = h.running
		}
	}
	return Handler{
		Handler: manifest.Handler{Name: "exec"},
		Run:     func(ctx context.Context, g *Grant) (Result, error) { return runProgram(ctx, g, s) },
	}
}

// runProgram asks the grant's program once. What it wrote is put in place only
// after it has ended well and answered as it should; until then nothing has
// changed, whatever goes wrong.
func runProgram(ctx context.Context, g *Grant, s *supervisor) (Result, error) {
	limit := int(g.Output)
	if limit <= 0 {
		limit = DefaultOutput
	}
	if g.Executable != nil {
		if err := g.Executable.Unchanged(); err != nil {
			return Result{}, objectError("run program", err)
		}
	}
	if err := settle(ctx, g.Targets); err != nil {
		return Result{}, err
	}
	handed, err := handOver(g)
	if err != nil {
		return Result{}, objectError("run program", err)
	}
	defer handed.close()
	asked := *g
	asked.handed = handed
	stdout, stderr := &answer{capture: newCapture(limit), limit: limit}, newCapture(limit)
	end, err := runGranted(ctx, &asked, s, stdout, stderr)
	if err != nil {
		return Result{}, objectError("run program", err) // it never started
	}
	printed, cut := describeProgram(end, stdout, stderr)
	if err := interrupted(ctx, end, printed); err != nil {
		e := *typed("exec", err)
		e.Truncated = cut
		return Result{}, &e
	}
	output, err := stdout.read(end)
	if err == nil && g.Fits != nil {
		err = g.Fits(output)
	}
	if err != nil {
		e := *typed("exec", err)
		e.Output, e.Truncated = printed, cut
		return Result{}, &e
	}
	written, err := handed.putInPlace(ctx)
	if err != nil {
		e := *typed("exec", err)
		e.Output, e.Truncated, e.Written = printed, cut, written
		return Result{}, &e
	}
	return Result{Output: output, Written: written}, nil
}

// answer is what a program prints on stdout: kept whole up to the limit, and head
// and tail of it beyond.
type answer struct {
	*capture
	limit int
	whole bytes.Buffer
}

// Write is called by one goroutine; read comes after its end.
func (a *answer) Write(p []byte) (int, error) {
	a.whole.Write(p[:min(len(p), max(a.limit-a.whole.Len(), 0))])
	return a.capture.Write(p)
}

// read is the answer, or what is wrong with how the program ended or with what it
// printed. It says nothing of the text itself: messages are recorded.
func (a *answer) read(end ending) (map[string]any, error) {
	_, total, _ := a.text()
	switch {
	case end.signal != "":
		return nil, failed("run program: %s ended it", end.signal)
	case end.exit != 0:
		return nil, failed("run program: it ended with exit code %d; 0 is expected", end.exit)
	case total > int64(a.limit):
		return nil, failed("run program: its answer has %d bytes, at most %d are taken", total, a.limit)
	}
	output, err := call.Object(a.whole.Bytes(), "answer")
	if err != nil {
		return nil, failed("run program: it did not answer with one JSON object on stdout: %v", err)
	}
	return output, nil
}

// describeProgram is what is told of a program that did not answer as it should, and
// whether it printed more than that.
func describeProgram(end ending, stdout *answer, stderr *capture) (output map[string]any, cut bool) {
	out, _, outCut := stdout.text()
	err, _, errCut := stderr.text()
	return map[string]any{"exit_code": end.exit, "signal": end.signal, "stdout": out, "stderr": err}, outCut || errCut
}

// question is what a program reads on stdin.
type question struct {
	Version   int                `json:"schema_version"`
	Tool      string             `json:"tool"`
	RunID     string             `json:"run_id"`
	Arguments map[string]any     `json:"arguments"`
	Targets   map[string]*object `json:"targets"`
	MaxBytes  int64              `json:"max_bytes"`
	TimeoutMS int64              `json:"timeout_ms"`
}

// questionVersion changes when a field changes its meaning or goes away.
const questionVersion = 1

// object is one target as a program is told of it.
type object struct {
	Access   string `json:"access"`
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Size     int64  `json:"size"`
	FD       int    `json:"fd,omitempty"`
	ReadFD   int    `json:"read_fd,omitempty"` // of one that is read, too
	Dir      string `json:"dir,omitempty"`
	MaxBytes int64  `json:"max_bytes,omitempty"` // of what may be written
}

// firstFD is the number of the first descriptor that a program is handed.
const firstFD = 3

// handed is what a program gets beside its argv and environment.
type handed struct {
	stdin  *os.File
	writes []newContent // descriptors from firstFD
	reads  []Target     // the descriptors after those
	limit  int64        // of each new content
}

// newContent is a file of nobody else that will stand in the target's place.
type newContent struct {
	Target
	file *os.File
}

// handOver makes what a program of the grant gets. Written targets come first: their
// files are the host's own, and the sandbox opens the others after them.
func handOver(g *Grant) (*handed, error) {
	h := &handed{limit: g.Writes}
	if err := h.fill(g); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *handed) fill(g *Grant) error {
	q := question{
		Version: questionVersion, Tool: g.Tool, RunID: g.RunID, Arguments: map[string]any{}, Targets: map[string]*object{},
		MaxBytes: g.MaxBytes, TimeoutMS: g.timeout(Handler{}).Milliseconds(),
	}
	for _, list := range []map[string]any{g.Args, g.Payload} {
		for name, value := range list {
			q.Arguments[name] = value
		}
	}
	for _, t := range g.Targets {
		if t.Access == facts.Write {
			for _, have := range h.writes {
				if t.Object.SameEntry(have.Object) {
					return failed("run program: nothing was run: %.200q and %.200q are one file, and both are to be written: name two", have.Name, t.Name)
				}
			}
			file, err := newMemory(nil)
			if err != nil {
				return failed("run program: make a file to write to: %v", cause(err))
			}
			h.writes = append(h.writes, newContent{t, file})
			o := q.object(t)
			o.Access, o.FD, o.MaxBytes = t.Access, firstFD+len(h.writes)-1, h.limit
		}
	}
	for _, t := range g.Targets {
		switch o := q.object(t); {
		case t.Access == facts.Write:
		case t.Object.Facts.Kind == facts.Directory:
			o.Dir = t.Object.Path()
		case t.Access != facts.Read && t.Access != facts.List:
			return failed("run program: it can be handed nothing to %s", t.Access)
		default:
			h.reads = append(h.reads, t)
			fd := firstFD + len(h.writes) + len(h.reads) - 1
			if o.Access == facts.Write {
				o.ReadFD = fd
			} else {
				o.FD = fd
			}
		}
	}
	text, err := plainJSON(q)
	if err == nil {
		h.stdin, err = newMemory(text)
	}
	if err != nil {
		return failed("run program: write its question: %v", cause(err))
	}
	return nil
}

func plainJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return buf.Bytes(), err
}

// object is the entry of a target's parameter, made when it is first asked for.
func (q *question) object(t Target) *object {
	o := q.Targets[t.Name]
	if o == nil {
		f := t.Object.Facts
		o = &object{Access: t.Access, Path: t.Declared, Kind: f.Kind, Size: f.Size}
		q.Targets[t.Name] = o
	}
	return o
}

// files are the descriptors that the host itself has for the program, from firstFD.
func (h *handed) files() (list []*os.File) {
	for _, w := range h.writes {
		list = append(list, w.file)
	}
	return list
}

// settle waits until a change of what will be written is sure to show: a program that
// has read it must not put its answer in the place of something newer.
func settle(ctx context.Context, targets []Target) error {
	wait := time.Duration(0)
	for _, t := range targets {
		if t.Access == facts.Write {
			wait = max(wait, t.Object.Young())
		}
	}
	if wait == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return interrupted(ctx, ending{}, nil)
	case <-time.After(wait):
		return nil
	}
}

// putInPlace makes each target what the program wrote for it. All is read and
// measured, and each target held to what was judged, before the first is touched. It
// returns what was written, with an error, too.
func (h *handed) putInPlace(ctx context.Context) (written []Written, err error) {
	contents := make([][]byte, len(h.writes))
	for i, w := range h.writes {
		if contents[i], err = readWhole(w.file, h.limit); err != nil {
			return nil, fmt.Errorf("read what it wrote for %.200q: %w", w.Name, err)
		}
	}
	for _, w := range h.writes {
		if err := w.Object.Stands(); err != nil {
			return nil, objectError("write file", err)
		}
	}
	for i, w := range h.writes {
		if err := interrupted(ctx, ending{byItself: ctx.Err() == nil}, nil); err != nil {
			return written, err
		}
		err := w.Object.Stands()
		if err == nil {
			_, err = w.Object.Write(contents[i])
		}
		if err != nil {
			return written, objectError("write file", err)
		}
		written = append(written, newWritten(w.Declared, contents[i]))
	}
	return written, nil
}

// readWhole reads a file from its beginning, wherever the program stands in it.
func readWhole(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, failed("run program: it wrote %d bytes for a file, at most %d may be", info.Size(), limit)
	}
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if n == len(data) {
		err = nil
	}
	return data, err
}

func (h *handed) close() {
	for _, f := range append(h.files(), h.stdin) {
		if f != nil {
			f.Close()
		}
	}
}
