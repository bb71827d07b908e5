package ledger

import (
	"bytes"
	"io"
)

// lines reads a ledger line by line from a range of a file.
type lines struct {
	r    io.ReaderAt
	off  int64 // where buf starts in the file
	end  int64 // of the range
	buf  []byte
	used int // bytes of buf that were handed out
}

// line is one line of a ledger: bytes without the newline.
type line struct {
	bytes []byte // valid until the next call of next
	off   int64
	ended bool // its newline is there
	last  bool // nothing follows it in the range
}

func newLines(r io.ReaderAt, from, end int64) *lines {
	return &lines{r: r, off: from, end: end}
}

// next returns io.EOF behind the last line. A line that is longer than MaxLine
// comes as its first MaxLine+1 bytes, not ended and not last, and ends the
// reading: no more than that is ever held.
func (l *lines) next() (line, error) {
	searched := 0
	for {
		rest := l.buf[l.used:]
		if i := bytes.IndexByte(rest[searched:], '\n'); i >= 0 {
			n := searched + i
			at := l.off + int64(l.used)
			l.used += n + 1
			return line{rest[:n], at, true, l.off+int64(l.used) == l.end}, nil
		}
		searched = len(rest)
		at := l.off + int64(l.used)
		if searched > MaxLine {
			return line{rest[:MaxLine+1], at, false, false}, nil
		}
		if at+int64(searched) >= l.end {
			if searched == 0 {
				return line{}, io.EOF
			}
			l.used += searched
			return line{rest, at, false, true}, nil
		}
		if err := l.fill(); err != nil {
			return line{}, err
		}
	}
}

// fill reads on, at least doubling a line that did not fit.
func (l *lines) fill() error {
	rest := l.buf[l.used:]
	have := len(rest)
	want := int64(max(64<<10, 2*have))
	if left := l.end - l.off - int64(l.used) - int64(have); want > int64(have)+left {
		want = int64(have) + left
	}
	if int64(cap(l.buf)) < want {
		l.buf = append(make([]byte, 0, want), rest...)
	} else {
		l.buf = append(l.buf[:0], rest...)
	}
	l.off += int64(l.used)
	l.used = 0
	n, err := l.r.ReadAt(l.buf[have:want], l.off+int64(have))
	l.buf = l.buf[:have+n]
	if n > 0 {
		return nil
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF // the file shrank while it was read
	}
	return err
}

// behind returns the offset behind the last line that next returned.
func (l *lines) behind() int64 { return l.off + int64(l.used) }
