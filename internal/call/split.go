package call

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Split cuts a stream into the raw values it holds, for Admit: JSON lines,
// values one after the other, or one value over many lines. Between them it
// drops blanks and nothing else, so that no byte escapes judgement.
//
// It never cuts a valid object or array. What is not valid still comes out, for
// Admit to refuse, and costs no more than it must of what follows: other values
// reach to the end of their line, a broken one to the end of the line where
// that shows, or to a bracket at the start of a line that cannot belong to it.
//
// A value longer than max bytes (MaxBytes if max is not positive) gives a nil
// slice and a [*Malformed], and the next one follows. An error of r ends the
// sequence. Each slice is the caller's to keep.
func Split(r io.Reader, max int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for piece, err := range Pieces(r, max) {
			if !yield(piece.Raw, err) {
				return
			}
		}
	}
}

// Pieces is Split, with the place of each value in the stream. An error of r
// comes without one.
func Pieces(r io.Reader, max int64) iter.Seq2[Piece, error] {
	if max <= 0 {
		max = MaxBytes
	}
	return func(yield func(Piece, error) bool) {
		s := splitter{r: bufio.NewReaderSize(r, 64<<10), max: max, here: place{1, 1}}
		for s.blanks() {
			p := Piece{Line: s.here.line, Column: s.here.column}
			value := s.next()
			if s.err != nil {
				break
			}
			var err error
			if s.size > max {
				err = &Malformed{Rule: ruleTooLarge, Offset: max, Fix: "send less"}
			} else {
				p.Raw = value
			}
			if !yield(p, err) {
				return
			}
		}
		if s.err != nil {
			yield(Piece{}, s.err)
		}
	}
}

type splitter struct {
	r     *bufio.Reader
	max   int64
	err   error // of r, other than its end
	value []byte
	size  int64 // of the value without blanks behind it, kept or not
	gap   int64 // blanks behind it so far
	open  []byte

	here, before place // of the next byte, and of the one read last
}

// place counts lines and characters from 1.
type place struct{ line, column int }

// tooOpen is the depth at which a value is broken without a doubt.
const tooOpen = 10_000

func (s *splitter) read() (byte, bool) {
	c, err := s.r.ReadByte()
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	if err != nil {
		return c, false
	}
	s.before = s.here
	switch {
	case c == '\n':
		s.here = place{s.here.line + 1, 1}
	case starts(c):
		s.here.column++
	}
	return c, true
}

// unread gives the last byte back.
func (s *splitter) unread() error {
	s.here = s.before
	return s.r.UnreadByte()
}

// blanks skips to the next value and reports whether there is one.
func (s *splitter) blanks() bool {
	for {
		c, ok := s.read()
		if !ok {
			return false
		}
		if !blank(c) {
			return s.unread() == nil
		}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// take adds a byte to the value, as long as there is room.
func (s *splitter) take(c byte) {
	if blank(c) {
		s.gap++
	} else {
		s.size += s.gap + 1
		s.gap = 0
	}
	if s.size > s.max {
		s.value = nil
	} else if s.size+s.gap <= s.max {
		s.value = append(s.value, c)
	}
}

// next reads the value that starts here.
func (s *splitter) next() []byte {
	s.value, s.size, s.gap, s.open = nil, 0, 0, s.open[:0]
	if head, _ := s.r.Peek(3); string(head) == "\ufeff" { // part of the value: Admit names it
		for range 3 {
			c, _ := s.read()
			s.take(c)
		}
	}
	if head, _ := s.r.Peek(1); len(head) == 1 && (head[0] == '{' || head[0] == '[') {
		s.brackets()
	} else {
		s.line()
	}
	return bytes.TrimRight(s.value, " \t\r\n")
}

// line takes the rest of the line.
func (s *splitter) line() {
	for {
		c, ok := s.read()
		if !ok || c == '\n' {
			return
		}
		s.take(c)
	}
}

// brackets takes an object or array up to its last bracket.
func (s *splitter) brackets() {
	last := byte(0) // the last byte that was no blank
	fresh := false  // only blanks since the line began
	c, ok := s.read()
	for ; ok; c, ok = s.read() {
		switch c {
		case '\n', ' ', '\t', '\r':
			fresh = fresh || c == '\n'
			s.take(c)
			continue
		case '{', '[':
			if !s.fits(last) {
				if fresh {
					s.err = s.unread()
				} else {
					s.take(c)
					s.line()
				}
				return
			}
			s.open = append(s.open, c)
		case '}', ']':
			top := len(s.open) - 1
			if s.open[top] != c-2 { // '{' and '}', '[' and ']' are two apart
				s.take(c)
				s.line()
				return
			}
			s.open = s.open[:top]
			if top == 0 {
				s.take(c)
				return
			}
		case '"':
			if !s.text() {
				return
			}
			last, fresh = '"', false
			continue
		}
		s.take(c)
		last, fresh = c, false
	}
}

// fits reports whether a bracket may open behind the byte last.
func (s *splitter) fits(last byte) bool {
	top := len(s.open) - 1
	switch {
	case top < 0:
		return true
	case top >= tooOpen:
		return false
	case s.open[top] == '{':
		return last == ':'
	}
	return last == '[' || last == ','
}

// text takes a string from its first quote, which is read, to its last; false
// says that the line or the stream ended before.
func (s *splitter) text() bool {
	s.take('"')
	for {
		c, ok := s.read()
		if !ok || c == '\n' {
			return false
		}
		s.take(c)
		if c == '"' {
			return true
		}
		if c == '\\' {
			if c, ok = s.read(); !ok || c == '\n' {
				return false
			}
			s.take(c)
		}
	}
}
