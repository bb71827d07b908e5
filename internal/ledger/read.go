package ledger

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// ErrTorn: the last line is not whole. A writer's crash leaves that; the next
// Open repairs it.
var ErrTorn = errors.New("last line is torn")

// Read yields the events of the run in dir up to the end that the file had when
// the reading began, each after checking that it continues the chain and is of
// the run that the directory is named after. It ends with the first error:
// ErrTorn, ErrCorrupt, or one of the file system. It takes no lock and needs no
// right to write. The events are the caller's.
func Read(dir string) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		name := filepath.Join(dir, eventsName)
		id, err := RunIDOf(dir)
		if err != nil {
			yield(nil, fmt.Errorf("read %s: %w", name, err))
			return
		}
		f, size, err := openWhole(dir)
		if err != nil {
			yield(nil, fmt.Errorf("read %s: %w", name, cause(err)))
			return
		}
		defer f.Close()
		from := newLines(f, 0, size)
		head := Head{RunID: id, Hash: Genesis}
		for {
			ln, err := from.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", name, cause(err)))
				return
			}
			if !ln.ended && ln.last {
				yield(nil, fmt.Errorf("read %s:%d: %w: at byte %d", name, head.Seq+1, ErrTorn, ln.off))
				return
			}
			ln.bytes = append([]byte(nil), ln.bytes...)
			seq := head.Seq + 1
			ev, _, err := chained(&head, ln)
			if err == nil && ev.RunID != id {
				err = errForeign(ev.RunID, id)
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s:%d: %w: at byte %d: %w", name, seq, ErrCorrupt, ln.off, err))
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// Fold folds the run in dir into opt.State as Open does, from its fold cache
// when that is of use, and changes nothing: it takes no lock, needs no right to
// write, and repairs nothing, so that a last line that is not whole is ErrTorn,
// with State and Folded at the event before it. Of opt it heeds RunID, State
// and Key.
func Fold(dir string, opt Options) (done Folded, err error) {
	name := filepath.Join(dir, eventsName)
	if opt.RunID == "" {
		if opt.RunID, err = RunIDOf(dir); err != nil {
			return Folded{}, fmt.Errorf("read %s: %w", name, err)
		}
	}
	var p position
	if err := p.reset(opt.RunID, opt.State); err != nil {
		return Folded{}, fmt.Errorf("reset state of %s: %w", name, err)
	}
	f, size, err := openWhole(dir)
	if err != nil {
		return Folded{}, fmt.Errorf("read %s: %w", name, cause(err))
	}
	defer f.Close()
	if err := p.start(dir, &opt, f); err != nil {
		return Folded{}, fmt.Errorf("reset state of %s: %w", name, err)
	}
	begin, first := time.Now(), p.head.Seq
	err = p.read(f, size, opt.State)
	done = Folded{Head: p.head, Size: p.end, Events: p.head.Seq - first, Took: time.Since(begin)}
	if err != nil {
		return done, fmt.Errorf("read %s:%d: %w", name, p.head.Seq+1, err)
	}
	return done, nil
}

// RunIDOf is the id of the run that dir holds: the directory's own name. It may
// be no valid id, and then no ledger fits it.
func RunIDOf(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	return filepath.Base(abs), err
}

// errForeign: a ledger that was copied or moved from another run.
func errForeign(found, want string) error {
	return fmt.Errorf("run_id is %s, but the directory is that of run %s", foreign(found), foreign(want))
}

// chained parses ln as the event behind head and moves head to it. The first
// line may be of another run than head; the caller looks.
func chained(head *Head, ln line) (*Event, links, error) {
	if !ln.ended {
		return nil, links{}, errTooLong
	}
	ev, found, err := parse(ln.bytes)
	ev.Offset = ln.off
	expect := *head
	if head.Seq == 0 {
		expect.RunID = ev.RunID
	}
	if err == nil {
		err = continues(expect, &ev)
	}
	if err != nil {
		return nil, found, err
	}
	*head = Head{RunID: ev.RunID, Seq: ev.Seq, Hash: ev.Hash}
	return &ev, found, nil
}

// openWhole opens dir/events.jsonl for reading and returns a size at which no
// writer is in the middle of a line, if that can be had within a second.
func openWhole(dir string) (*os.File, int64, error) {
	f, err := os.OpenFile(filepath.Join(dir, eventsName), os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	size := info.Size()
	held, err := newLocks(f)
	for tries := 0; err == nil && tries < 100 && tornAt(f, size); tries++ {
		// Only a commit that is going on can still end the line.
		busy, err := held.held(slotCommit)
		if err != nil {
			break
		}
		if busy {
			time.Sleep(10 * time.Millisecond)
		}
		info, err := f.Stat()
		if err != nil || !busy && info.Size() == size {
			break
		}
		size = info.Size()
	}
	return f, size, nil
}

// tornAt tells whether the byte before size is no newline.
func tornAt(f io.ReaderAt, size int64) bool {
	if size == 0 {
		return false
	}
	var last [1]byte
	n, _ := f.ReadAt(last[:], size-1)
	return n == 1 && last[0] != '\n'
}
