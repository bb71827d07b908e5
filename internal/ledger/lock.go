package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Slots are what can be locked in a run; the package comment tells where.
const (
	slotTurn    = 0
	slotCommit  = 1
	slotStarted = 2 // plus the seq of the tool_started
)

// locks are exclusive locks that end with their holder's process at the
// latest. Two open ledgers of one process exclude each other as well.
type locks interface {
	try(slot int64) (bool, error) // false: somebody else holds it
	drop(slot int64) error
	held(slot int64) (bool, error) // by somebody else
	close() error
}

// lock takes the run's lock. Waiters queue for the turn, so that a process
// that commits without pause cannot keep the others out.
func (l *Log) lock(ctx context.Context, deadline time.Time) error {
	if err := l.poll(ctx, deadline, slotTurn); err != nil {
		return err
	}
	err := l.poll(ctx, deadline, slotCommit)
	if dropped := l.disk.drop(slotTurn); err == nil && dropped != nil {
		err = errors.Join(fmt.Errorf("lock %s: %w", l.name, dropped), l.disk.drop(slotCommit))
	}
	return err
}

// poll tries until the deadline. Locks that block in the kernel could not be
// given up when ctx ends.
func (l *Log) poll(ctx context.Context, deadline time.Time, slot int64) error {
	const longest = time.Millisecond
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, longest) {
		ok, err := l.disk.try(slot)
		if err != nil {
			return fmt.Errorf("lock %s: %w", l.name, err)
		}
		if ok {
			return nil
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("lock %s: %w", l.name, ErrBusy)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("lock %s: %w", l.name, ctx.Err())
		case <-timer.C:
		}
	}
}
