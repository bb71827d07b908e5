package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Tx is one commit in the making. It is of no use after fn returned.
type Tx struct {
	// State is Options.State with every event that is in the file applied,
	// whoever wrote it, and none that this Tx added: those are applied once
	// they are written, so that a failed commit leaves State as it was.
	State State

	log    *Log
	head   Head // moves with each Add
	buf    []byte
	events []Event
	undo   []func() // of l.pairs, in order
	starts []int64  // tool_started that this process carries out
	ends   []int64  // tool_started that got their end
	err    error    // of the first Add that failed, or why no more can come
}

// Seq returns the seq of the last event, those that this Tx added included;
// the next Add returns one more.
func (tx *Tx) Seq() int64 { return tx.head.Seq }

// LastHash returns the hash of the last event, those added included.
func (tx *Tx) LastHash() string { return tx.head.Hash }

// Head returns the last event, those added included; in an fn that has added
// nothing it is what View compared to.
func (tx *Tx) Head() Head { return tx.head }

// Add appends an event of one of the package's types and returns its seq.
// payload is anything that encoding/json turns into an object, or a
// json.RawMessage or []byte that already is one, taken as it is spelt; nil is
// an empty one. After an error the Tx is void: Commit returns that error too.
func (tx *Tx) Add(typ string, payload any) (int64, error) {
	if tx.err != nil {
		return 0, tx.err
	}
	if err := tx.add(typ, payload); err != nil {
		tx.err = fmt.Errorf("add %s event: %w", foreign(typ), err)
		return 0, tx.err
	}
	return tx.head.Seq, nil
}

func (tx *Tx) add(typ string, payload any) error {
	if !validType(typ) {
		return errors.New("no such type")
	}
	raw, found, err := encodePayload(payload)
	if err != nil {
		return err
	}
	ev := Event{
		V: version, RunID: tx.head.RunID, Seq: tx.head.Seq + 1, Type: typ, Payload: raw, Prev: tx.head.Hash,
		TS: tx.log.opt.Now().UTC().Format(tsLayout),
	}
	if !validTS(ev.TS) {
		return errors.New("the clock is outside the years 0 to 9999")
	}
	from := len(tx.buf)
	tx.buf = ev.AppendLine(tx.buf)
	line := tx.buf[from:]
	if len(line) > MaxLine {
		return errTooLong
	}
	back, err := tx.log.pairs.add(&ev, found)
	if err != nil {
		return err
	}
	tx.undo = append(tx.undo, back)
	switch {
	case typ == ToolStarted && !found.detached:
		tx.starts = append(tx.starts, ev.Seq)
	case isEnd(typ):
		tx.ends = append(tx.ends, found.started)
	}
	ev.Hash, ev.Offset, ev.Size = hashLine(line), tx.log.end+int64(from), int64(len(line))
	tx.buf = append(tx.buf, '\n')
	tx.events = append(tx.events, ev)
	tx.head.Seq, tx.head.Hash = ev.Seq, ev.Hash
	return nil
}

// Commit runs fn under the run's exclusive lock, with State advanced to the end
// of the file, appends what fn added with one write, gives up the lock and
// returns once it is durable, together with all that fn saw.
//
// When fn returns an error, so does Commit, and nothing was added. ErrBusy
// means that the lock was not had within Options.Wait. ctx ends the wait for
// the lock, not the wait for the disk. After any other error nothing that fn
// added counts as recorded: the caller must not act on it. It may still be in
// the file when the sync failed.
func (l *Log) Commit(ctx context.Context, fn func(tx *Tx) error) error {
	deadline := time.Now().Add(l.opt.Wait)
	if err := l.enter(ctx, deadline); err != nil {
		return err
	}
	end, err := l.commit(ctx, deadline, fn)
	if err != nil {
		return err
	}
	// True now: the lines are in the file and seen by every process, but
	// not acknowledged. A crash leaves them whole, torn or not at all; the
	// next Open or Commit finds out which.
	return l.durable(end)
}

// commit is the critical section. It gives back both locks, also when fn panics.
func (l *Log) commit(ctx context.Context, deadline time.Time, fn func(tx *Tx) error) (end int64, err error) {
	defer l.leave()
	if err := l.lock(ctx, deadline); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.unlock()) }()
	if err := l.catchUp(); err != nil {
		return 0, err
	}
	if err := l.transact(fn); err != nil {
		return 0, err
	}
	l.cacheOften()
	return l.end, nil
}

// transact collects what fn adds and writes it. The lock is held.
func (l *Log) transact(fn func(tx *Tx) error) (err error) {
	tx := &Tx{State: l.opt.State, log: l, head: l.head, buf: l.buf[:0]}
	kept := false
	defer func() {
		tx.err = errors.New("the commit is over")
		if !kept {
			for i := len(tx.undo) - 1; i >= 0; i-- {
				tx.undo[i]()
			}
		}
		if l.buf = tx.buf; cap(l.buf) > 1<<20 {
			l.buf = nil
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if tx.err != nil {
		return tx.err
	}
	if len(tx.events) == 0 {
		return nil
	}
	if err := l.write(tx); err != nil {
		return err
	}
	kept = true
	return nil
}

// write appends the lines of tx with one write, then applies its events.
func (l *Log) write(tx *Tx) error {
	// True now: nothing of tx is in the file. Owner locks come first, so that
	// nobody ever reads a tool_started whose process is alive but not seen.
	if err := l.owners.hold(tx.starts); err != nil {
		return fmt.Errorf("lock %s: %w", l.name, err)
	}
	if n, err := l.disk.Write(tx.buf); err != nil {
		l.owners.drop(tx.starts...)
		return errors.Join(fmt.Errorf("append to %s: %w", l.name, cause(err)), l.cut(n))
	}
	// True now: the lines are in the file. A crash leaves some prefix of
	// them; whoever takes the lock next keeps its whole events (they claim
	// no more than was decided) and cuts the rest.
	for i := range tx.events {
		if l.opt.State == nil {
			break
		}
		if err := l.opt.State.Apply(&tx.events[i]); err != nil {
			l.owners.drop(tx.starts...)
			err = fmt.Errorf("apply %s event: %w", tx.events[i].Type, err)
			return errors.Join(err, l.cut(len(tx.buf)), l.refold(tx))
		}
	}
	last := &tx.events[len(tx.events)-1]
	l.head, l.lastAt = tx.head, last.Offset
	l.end += int64(len(tx.buf))
	l.syncer.wrote(l.end)
	l.owners.drop(tx.ends...)
	return nil
}

// cut takes back a failed write of which n bytes reached the file. If it
// cannot, the rest of a line stays as a torn tail for the next Open, and this
// Log is finished.
func (l *Log) cut(n int) error {
	if n == 0 {
		return nil
	}
	if err := l.disk.truncate(l.end); err != nil {
		l.broken = fmt.Errorf("cut %s: %w: %w", l.name, ErrBroken, cause(err))
		return l.broken
	}
	return nil
}

// refold rebuilds State after it took some events of a Tx that was cut away.
func (l *Log) refold(tx *Tx) error {
	if l.broken != nil {
		return nil
	}
	end := l.end
	if err := l.reset(); err != nil {
		return err
	}
	if err := l.fold(end); err != nil {
		l.broken = err
		return err
	}
	tx.undo = nil // pairs were folded afresh
	return nil
}
