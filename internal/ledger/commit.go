package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Tx is one commit in the making. It is of no use after fn returned.
type Tx struct {
	// State is Options.State with every earlier event applied,
	// whoever wrote it, and none that this Tx added: those are applied when fn
	// has returned, so that an fn that fails leaves State as it was.
	State State

	log    *Log
	head   Head // moves with each Add
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
// json.RawMessage or []byte that already is one, taken as it is spelt (it must
// not change until Commit returns), or an Encoded; nil is an empty one. After an error the Tx is void: Commit returns that error too.
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
	}
	now := tx.log.opt.Now().UTC()
	ev.TS = now.Format(tsLayout)
	if year := now.Year(); year < 0 || year > 9999 {
		return errors.New("the clock is outside the years 0 to 9999")
	}
	b := tx.log.batch
	from := len(b.buf)
	b.buf = ev.AppendLine(b.buf)
	line := b.buf[from:]
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
	b.buf = append(b.buf, '\n')
	tx.events = append(tx.events, ev)
	tx.head.Seq, tx.head.Hash = ev.Seq, ev.Hash
	return nil
}

// Commit runs fn under the run's exclusive lock, with State advanced to the last
// event, appends what fn added, gives up the lock, and returns once it is
// durable, together with all that fn saw.
//
// When fn returns an error, so does Commit, and nothing was added. ErrBusy
// means that the lock was not had within Options.Wait. ctx ends the wait for
// the lock, not the wait for the disk. After any other error nothing that fn
// added counts as recorded: the caller must not act on it. It may still be in
// the file when the sync failed.
//
// Goroutines that commit at the same time share locks, writes and syncs. fn
// runs on the caller's goroutine and must not call the Log.
func (l *Log) Commit(ctx context.Context, fn func(tx *Tx) error) error {
	deadline := time.Now().Add(l.opt.Wait)
	if err := l.gate.enter(ctx, deadline, true); err != nil {
		return fmt.Errorf("commit to %s: %w", l.name, err)
	}
	if l.batch == nil {
		if err := l.begin(ctx, deadline); err != nil {
			l.gate.leave()
			return err
		}
	}
	b := l.batch
	if err := l.join(fn); err != nil {
		return err
	}
	<-b.done
	return b.err
}

// batch is what several commits add under one hold of the run's lock. It goes
// from goroutine to goroutine with the gate; the last one writes it.
type batch struct {
	buf    []byte
	starts []int64 // tool_started in buf, whose owner locks are held
	ends   []int64 // tool_started that get their end in buf
	size   int64   // commits that succeeded so far
	lastAt int64   // where in buf the last line begins
	since  time.Time

	done chan struct{} // closed when err is final
	err  error         // once set, the batch is over
}

// A batch is passed on while a sync is running anyway, but others who wait for
// the run's lock must get it.
const (
	batchBytes = 1 << 20
	batchTime  = 2 * time.Millisecond
)

// begin takes the run's lock, reads to the end and starts a batch.
func (l *Log) begin(ctx context.Context, deadline time.Time) error {
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.lock(ctx, deadline); err != nil {
		return err
	}
	if err := l.catchUp(); err != nil {
		return errors.Join(err, l.unlock())
	}
	l.newBatch()
	return nil
}

func (l *Log) newBatch() {
	l.batch = &batch{buf: l.buf[:0], since: time.Now(), done: make(chan struct{})}
	l.buf = nil
}

// join adds one commit to the batch and passes it on or finishes it, also when
// fn panics.
func (l *Log) join(fn func(tx *Tx) error) error {
	defer func() {
		b := l.batch
		small := len(b.buf) < batchBytes && time.Since(b.since) < batchTime
		if small && b.err == nil && l.broken == nil && !l.syncer.idle() && l.gate.pass() {
			return
		}
		l.finish(b)
	}()
	return l.transact(fn)
}

// finish writes the batch, gives up both locks and waits for the sync.
func (l *Log) finish(b *batch) {
	if l.write(b) == nil {
		l.cacheOften()
	}
	l.batch = nil
	if err := l.unlock(); b.err == nil {
		b.err = err
	}
	end := l.end
	l.gate.leave()
	// True now: the lines are in the file and seen by every process, but not
	// acknowledged. A crash of the machine leaves them whole, torn or not at
	// all; whoever takes the run's lock next finds out which.
	if b.err == nil && b.size > 0 {
		b.err = l.durable(end)
	}
	close(b.done)
}

// appendNow is a commit by one who holds the run's lock already. It leaves the
// sync to its caller.
func (l *Log) appendNow(fn func(tx *Tx) error) error {
	l.newBatch()
	defer func() { l.batch = nil }()
	if err := l.transact(fn); err != nil {
		return err
	}
	return l.write(l.batch)
}

// transact lets fn add to the batch, all or nothing, and applies what it added.
func (l *Log) transact(fn func(tx *Tx) error) (err error) {
	b := l.batch
	from := len(b.buf)
	tx := &Tx{State: l.opt.State, log: l, head: l.head}
	kept := false
	defer func() {
		tx.err = errors.New("the commit is over")
		if kept {
			return
		}
		b.buf = b.buf[:from]
		for i := len(tx.undo) - 1; i >= 0; i-- {
			tx.undo[i]()
		}
	}()
	if err := l.usable(); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	if tx.err != nil {
		return tx.err
	}
	// Owner locks come before the bytes, so that nobody ever reads a
	// tool_started whose process is alive but not seen.
	if err := l.owners.hold(tx.starts); err != nil {
		return fmt.Errorf("lock %s: %w", l.name, err)
	}
	for i := range tx.events {
		if l.opt.State == nil {
			break
		}
		if err := l.opt.State.Apply(&tx.events[i]); err != nil {
			l.owners.drop(tx.starts...)
			b.buf = b.buf[:from]
			err = fmt.Errorf("apply %s event: %w", tx.events[i].Type, err)
			// The commits before this one are as good as they were.
			return errors.Join(err, l.write(b), l.refold(tx))
		}
	}
	kept = true
	if n := len(tx.events); n > 0 {
		l.head = tx.head
		b.lastAt = tx.events[n-1].Offset - l.end
		b.starts, b.ends = append(b.starts, tx.starts...), append(b.ends, tx.ends...)
	}
	b.size++
	return nil
}

// write appends the lines of the batch with one write and empties it. When it
// fails, so does every commit of the batch.
func (l *Log) write(b *batch) error {
	if b.err == nil {
		b.err = l.usable() // a sync may have failed meanwhile
	}
	if b.err != nil {
		l.owners.drop(b.starts...)
	}
	if b.err != nil || len(b.buf) == 0 {
		return b.err
	}
	// True now: nothing of the batch is in the file.
	n, err := l.disk.Write(b.buf)
	if err != nil {
		l.owners.drop(b.starts...)
		b.buf = b.buf[:0]
		b.err = errors.Join(fmt.Errorf("append to %s: %w", l.name, cause(err)), l.cut(n), l.refold(nil))
		return b.err
	}
	// True now: the lines are in the file. A crash of the machine leaves some
	// of them; whoever takes the lock next keeps whole events (they claim no
	// more than was decided) and cuts the rest.
	l.lastAt = l.end + b.lastAt
	l.end += int64(len(b.buf))
	l.syncer.wrote(l.end)
	l.owners.drop(b.ends...)
	if l.buf = b.buf[:0]; cap(l.buf) > 4<<20 {
		l.buf = nil
	}
	b.buf, b.starts, b.ends = nil, nil, nil
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

// refold rebuilds all that is folded from the file, after State took events
// that did not get there. tx, if any, has nothing to undo any more.
func (l *Log) refold(tx *Tx) error {
	if l.broken != nil {
		return nil
	}
	if tx != nil {
		tx.undo = nil
	}
	end := l.end
	err := l.reset()
	if err == nil {
		err = l.fold(end)
	}
	if err != nil && l.broken == nil {
		l.broken = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return err
}
