package ledger

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// gate lets one goroutine of a Log in at a time, first come, first served.
type gate struct {
	mu    sync.Mutex
	busy  bool
	queue []*waiter
}

type waiter struct {
	ready   chan struct{}
	commits bool
}

// enter waits for the gate. commits says that the caller can take over a batch.
func (g *gate) enter(ctx context.Context, deadline time.Time, commits bool) error {
	g.mu.Lock()
	if !g.busy {
		g.busy = true
		g.mu.Unlock()
		return nil
	}
	w := &waiter{make(chan struct{}), commits}
	g.queue = append(g.queue, w)
	g.mu.Unlock()

	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	err := ErrBusy
	select {
	case <-w.ready:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.queue {
		if g.queue[i] == w {
			g.queue = append(g.queue[:i:i], g.queue[i+1:]...)
			return fmt.Errorf("wait for the run: %w", err)
		}
	}
	return nil // it was handed over in the same moment
}

// pass lets the next waiter in, with a batch that is not written yet if it can
// take it over. It returns false, and lets nobody in, if it cannot.
func (g *gate) pass() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 || !g.queue[0].commits {
		return false
	}
	g.next()
	return true
}

// leave lets the next waiter in, if there is one.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.busy = false
		return
	}
	g.next()
}

func (g *gate) next() {
	close(g.queue[0].ready)
	g.queue[0] = nil
	g.queue = g.queue[1:]
}
