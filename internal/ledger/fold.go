package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Folded is what a fold led to and what it cost.
type Folded struct {
	Head   Head          // the last event
	Size   int64         // of the file, up to the end of that event's line
	Events int64         // read and applied one by one; without a fold cache, all
	Took   time.Duration // to read and apply them
}

// Folded tells how Open came by State. Many Events in a run that is opened with
// a Key mean that its fold cache was missing, of no use, or not written for long.
func (l *Log) Folded() Folded { return l.folded }

// load is the rest of Open: fold, repair, and make the repairs durable.
func (l *Log) load() error {
	if err := l.lock(context.Background(), time.Now().Add(l.opt.Wait)); err != nil {
		return err
	}
	err := l.reset()
	if err == nil {
		begin, first := time.Now(), l.head.Seq
		err = l.catchUp()
		l.folded = Folded{Head: l.head, Size: l.end, Events: l.head.Seq - first, Took: time.Since(begin)}
	}
	if err == nil {
		err = l.finishRecovery(Recovered{})
	}
	if err == nil {
		err = l.settleStarts()
	}
	if err = errors.Join(err, l.unlock()); err != nil || !l.repaired {
		return err
	}
	return l.durable(l.end)
}

// reset puts everything folded back to where the fold cache stands, else to
// before the first event.
func (l *Log) reset() error {
	err := l.position.reset(l.opt.RunID, l.opt.State)
	if err == nil {
		err = l.position.start(l.dir, &l.opt, l.disk)
	}
	l.cached = l.head.Seq
	if err != nil {
		l.broken = fmt.Errorf("reset state of %s: %w: %w", l.name, ErrBroken, err)
		return l.broken
	}
	return nil
}

// catchUp reads what others appended since. The lock is held, so a line that is
// not whole was left by a crash.
func (l *Log) catchUp() error {
	size, err := l.disk.look()
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", l.name, cause(err))
	case size < l.end:
		return l.corrupt(l.head.Seq, size, errors.New("the file is shorter than it was"))
	case size > l.end:
		err = l.fold(size)
	}
	if err == nil && l.unfinished {
		err = l.finishRecovery(Recovered{})
	}
	return err
}

// corrupt makes this Log refuse everything. seq is that of the last good event.
func (l *Log) corrupt(seq, offset int64, why error) error {
	l.broken = fmt.Errorf("read %s:%d: %w: at byte %d: %w", l.name, seq+1, ErrCorrupt, offset, why)
	return l.broken
}

// fold applies the lines between l.end and size, and repairs a torn tail.
func (l *Log) fold(size int64) error {
	from := newLines(l.disk, l.end, size)
	for {
		ln, err := from.next()
		if err == io.EOF {
			l.syncer.wrote(l.end)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", l.name, cause(err))
		}
		if !ln.ended {
			if !ln.last {
				return l.corrupt(l.head.Seq, ln.off, errTooLong)
			}
			return l.recoverTail(ln)
		}
		ev, found, err := follow(l.head, ln)
		if err != nil {
			if ln.last && bytes.IndexByte(ln.bytes, 0) >= 0 {
				return l.recoverTail(ln)
			}
			return l.corrupt(l.head.Seq, ln.off, err)
		}
		if err := l.take(&ev, found, l.opt.State); err != nil {
			return l.corrupt(l.head.Seq, ev.Offset, err)
		}
	}
}

// follow parses ln as the event behind head.
func follow(head Head, ln line) (Event, links, error) {
	ev, found, err := parse(ln.bytes)
	ev.Offset = ln.off
	if err == nil {
		err = continues(head, &ev)
	}
	return ev, found, err
}

// continues tells why ev is not the event behind head.
func continues(head Head, ev *Event) error {
	switch {
	case ev.RunID != head.RunID:
		return errors.New("run_id is that of another run")
	case ev.Seq != head.Seq+1:
		return fmt.Errorf("seq is %d, not %d", ev.Seq, head.Seq+1)
	case ev.Prev != head.Hash:
		return errors.New("prev is not the hash of the line before")
	}
	return nil
}
