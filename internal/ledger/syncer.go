package ledger

import "sync"

// syncer shares syncs: one covers every byte that was written before it
// started, and at most one runs at a time.
type syncer struct {
	sync func() error

	mu      sync.Mutex
	done    *sync.Cond // a sync ended
	written int64      // offsets in the file
	durable int64
	running bool
	err     error // of the first sync that failed; there is no second try
}

func (s *syncer) init(datasync func() error) {
	s.sync = datasync
	s.done = sync.NewCond(&s.mu)
}

// idle tells whether no sync is running.
func (s *syncer) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.running
}

func (s *syncer) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// wrote says that the file ends at end now.
func (s *syncer) wrote(end int64) {
	s.mu.Lock()
	s.written = max(s.written, end)
	s.mu.Unlock()
}

// wait returns when everything before end is on disk. The first caller that
// finds no sync running runs one; the others wait for its end, then one of
// those whose bytes came too late for it runs the next.
func (s *syncer) wait(end int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && s.durable < end {
		if s.running {
			s.done.Wait()
			continue
		}
		s.running = true
		covers := max(s.written, end)
		s.mu.Unlock()
		err := s.sync()
		s.mu.Lock()
		s.running = false
		if err != nil {
			// The kernel may have dropped the pages and will report
			// success next time: what is on disk is unknown for good.
			s.err = err
		} else {
			s.durable = max(s.durable, covers)
		}
		s.done.Broadcast()
	}
	if s.durable >= end {
		return nil
	}
	return s.err
}
