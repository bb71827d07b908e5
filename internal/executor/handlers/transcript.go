package handlers

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Labels begin every line of a transcript, so that no program passes for another
// stream, nor for RunLens, by what it prints: what comes from RunLens has none. The
// ones with "+" stand where a line goes on, since the other stream or a cut came
// between.
const (
	labelOut     = "out| "
	labelErr     = "err| "
	labelOutMore = "out+ "
	labelErrMore = "err+ "
	labelSize    = len(labelOut)
)

var labels = [2][2]string{{labelOut, labelOutMore}, {labelErr, labelErrMore}}

// printed is what a command prints: each stream by itself, and both together in
// the order in which they came. All are kept by head and tail alone.
type printed struct {
	stdout, stderr *capture
	both           transcript
}

// newPrinted keeps limit bytes of each stream, and as many of both as that is
// together: it is cut only when one of them is.
func newPrinted(limit int) *printed {
	return &printed{
		stdout: newCapture(limit), stderr: newCapture(limit),
		both: transcript{text: newCapture(2 * limit), from: newCapture(2 * limit)},
	}
}

// writers are where the streams go.
func (p *printed) writers() (stdout, stderr io.Writer) {
	return io.MultiWriter(p.stdout, stream{&p.both, 0}), io.MultiWriter(p.stderr, stream{&p.both, 1})
}

// transcript keeps what two streams bring, in order. It is safe for concurrent use.
type transcript struct {
	mu   sync.Mutex
	text *capture
	from *capture // for each byte of text its stream: 0 or 1
}

type stream struct {
	*transcript
	number byte
}

func (s stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	var from [4 << 10]byte
	if s.number != 0 {
		for i := range from {
			from[i] = s.number
		}
	}
	for left := len(p); left > 0; left -= len(from) {
		s.from.Write(from[:min(left, len(from))])
	}
	return len(p), nil
}

// String is the transcript, every line with its label, made visible. Where
// something is missing a mark stands on a line of its own.
func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, tail, missing := t.text.kept()
	fromHead, fromTail, _ := t.from.kept()
	w := &labelling{}
	w.add(head, fromHead)
	if missing == 0 {
		w.add(tail, fromTail)
		w.finish()
		return w.b.String()
	}
	w.finish()
	begin := wholeTail(string(tail), 0)
	w.b.WriteString(strings.TrimPrefix(cutMark(missing+int64(begin), t.text.total), "\n"))
	w.within = [2]bool{true, true} // nobody knows where the cut has left their lines
	w.add(tail[begin:], fromTail[begin:])
	w.finish()
	return w.b.String()
}

// labelling writes text of two streams so that each line has its label.
type labelling struct {
	b      strings.Builder
	open   bool      // the last line has no line feed yet
	last   byte      // the stream that it is of
	within [2]bool   // a stream's last line has no line feed yet
	part   [2][]byte // the beginning of a character that the other stream came into
}

// add takes the bytes of text, and for each its stream.
func (w *labelling) add(text, from []byte) {
	for len(text) > 0 {
		s := from[0]
		n := len(from) - len(bytes.TrimLeft(from, string(from[:1])))
		run := append(w.part[s], text[:n]...)
		whole := wholeEnd(run)
		w.part[s] = bytes.Clone(run[whole:])
		w.run(s, visible(string(run[:whole])))
		text, from = text[n:], from[n:]
	}
}

// run writes what one stream has brought.
func (w *labelling) run(s byte, text string) {
	for line := range strings.Lines(text) {
		if w.open && w.last != s {
			w.b.WriteByte('\n')
			w.open = false
		}
		if !w.open {
			more := 0
			if w.within[s] {
				more = 1
			}
			w.b.WriteString(labels[s][more])
		}
		w.b.WriteString(line)
		w.open, w.last = !strings.HasSuffix(line, "\n"), s
		w.within[s] = w.open
	}
}

// finish ends the last line, and writes what is left of characters that were never
// whole.
func (w *labelling) finish() {
	for s := range w.part {
		w.run(byte(s), visible(string(w.part[s])))
		w.part[s] = nil
	}
	if w.open {
		w.b.WriteByte('\n')
	}
	w.open = false
}

// leaveOff is where text ends that is cut at i: before a label of which nothing
// would follow.
func leaveOff(text string, i int) int {
	if begin, _ := labelAt(text, i); begin >= 0 && i-begin <= labelSize {
		return begin
	}
	return i
}

// takeUp is where text goes on that is cut from head to i, and the label that it
// needs when that is in the middle of a line of a transcript.
func takeUp(text string, head, i int) (label string, rest int) {
	begin, more := labelAt(text, i)
	switch {
	case begin < 0 || begin == i:
		return "", i
	case i-begin >= labelSize:
		return more, i
	case begin > head:
		return "", begin
	}
	return more, begin + labelSize // else nothing would be missing
}

// labelAt is where the line begins that i is in, and the label that it goes on
// with; -1 when it has none.
func labelAt(text string, i int) (begin int, more string) {
	begin = strings.LastIndexByte(text[:i], '\n') + 1
	for _, pair := range labels {
		if strings.HasPrefix(text[begin:], pair[0]) || strings.HasPrefix(text[begin:], pair[1]) {
			return begin, pair[1]
		}
	}
	return -1, ""
}
