package ledger

import (
	"fmt"
	"io"
)

// position is how far a ledger has been read and folded.
type position struct {
	head   Head
	lastAt int64 // where the line of head begins
	end    int64 // where it ends, newline included
	pairs  pairs // starts without end
}

// reset moves p before the first event, and state with it.
func (p *position) reset(runID string, state State) error {
	*p = position{head: Head{RunID: runID, Hash: Genesis}}
	if state == nil {
		return nil
	}
	return state.Restore(nil)
}

// start moves a reset p, and state with it, to where the cache of the run in
// dir stands, if there is one of use. Otherwise both are as reset left them;
// the error is that of a second reset.
func (p *position) start(dir string, opt *Options, events io.ReaderAt) error {
	c := readCache(dir, opt, events)
	if c == nil {
		return nil
	}
	if opt.State.Restore(c.state) != nil {
		return p.reset(opt.RunID, opt.State)
	}
	p.head.Seq, p.head.Hash = c.Seq, c.Hash
	p.lastAt, p.end = c.Start, c.End
	p.pairs = pairs{open: make(map[int64]start, len(c.Open))}
	for _, s := range c.Open {
		p.pairs.open[s.Seq] = s
	}
	return nil
}

// take folds the event behind p.
func (p *position) take(ev *Event, found links, state State) error {
	if _, err := p.pairs.add(ev, found); err != nil {
		return err
	}
	if state != nil {
		if err := state.Apply(ev); err != nil {
			return fmt.Errorf("apply %s event: %w", ev.Type, err)
		}
	}
	p.head.Seq, p.head.Hash = ev.Seq, ev.Hash
	p.lastAt, p.end = ev.Offset, ev.Offset+ev.Size+1
	return nil
}

// read folds the lines from p to size. A cache may stand behind size: what was
// appended since size was looked at.
func (p *position) read(r io.ReaderAt, size int64, state State) error {
	from := newLines(r, p.end, size)
	for {
		ln, err := from.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return cause(err)
		case !ln.ended && ln.last:
			return fmt.Errorf("%w: at byte %d", ErrTorn, ln.off)
		case !ln.ended:
			return fmt.Errorf("%w: at byte %d: %w", ErrCorrupt, ln.off, errTooLong)
		}
		ev, found, err := follow(p.head, ln)
		if err == nil {
			err = p.take(&ev, found, state)
		}
		if err != nil {
			return fmt.Errorf("%w: at byte %d: %w", ErrCorrupt, ln.off, err)
		}
	}
}
