package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// start is a tool_started that has no end yet.
type start struct {
	Seq      int64 `json:"seq"`
	Verdict  int64 `json:"verdict_seq"`
	Detached bool  `json:"detached,omitempty"`
}

// pairs joins starts and their ends. The zero value is the state before the
// first event.
type pairs struct{ open map[int64]start }

// add takes the next event and returns how to take it back.
func (p *pairs) add(ev *Event, found links) (undo func(), err error) {
	nothing := func() {}
	switch ev.Type {
	case ToolStarted:
		if found.verdict < 1 || found.verdict >= ev.Seq {
			return nothing, errors.New("verdict_seq is not the seq of an earlier event")
		}
		if p.open == nil {
			p.open = map[int64]start{}
		}
		p.open[ev.Seq] = start{ev.Seq, found.verdict, found.detached}
		return func() { delete(p.open, ev.Seq) }, nil
	case ToolSucceeded, ToolFailed, ToolUnknown: // isEnd
		s, ok := p.open[found.started]
		if !ok {
			return nothing, errors.New("started_seq is not the seq of a tool_started without end")
		}
		delete(p.open, s.Seq)
		return func() { p.open[s.Seq] = s }, nil
	}
	return nothing, nil
}

func isEnd(typ string) bool {
	return typ == ToolSucceeded || typ == ToolFailed || typ == ToolUnknown
}

// list returns the open starts in order.
func (p *pairs) list() []start {
	out := make([]start, 0, len(p.open))
	for _, s := range p.open {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b start) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// owners holds one lock for each tool_started of this Log that has no end, so
// that other processes see that its handler may still be running.
type owners struct {
	mu    sync.Mutex
	locks locks // nil after Close
	mine  map[int64]bool
}

// hold takes the lock of every start, or none.
func (o *owners) hold(starts []int64) error {
	for _, seq := range starts {
		if err := o.holdOne(seq); err != nil {
			o.drop(starts...)
			return err
		}
	}
	return nil
}

func (o *owners) holdOne(seq int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	ok, err := o.locks.try(slotStarted + seq)
	if err == nil && !ok {
		// Left by a Log that was cut back to before seq and lives on.
		err = fmt.Errorf("start %d is held by another process", seq)
	}
	if err != nil {
		return err
	}
	if o.mine == nil {
		o.mine = map[int64]bool{}
	}
	o.mine[seq] = true
	return nil
}

// drop gives up those of starts that are held.
func (o *owners) drop(starts ...int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, seq := range starts {
		if o.locks == nil || !o.mine[seq] {
			continue
		}
		delete(o.mine, seq)
		// A lock that cannot be dropped ends with the process: until
		// then others wait with their tool_unknown, which harms nothing.
		_ = o.locks.drop(slotStarted + seq)
	}
}

// shut is called before the file is closed, which ends all locks.
func (o *owners) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locks, o.mine = nil, nil
}

// Started returns a function that gives up the claim, taken by the Commit that
// added tool_started seq, that its handler may be running in this process.
// The Commit that adds its end gives it up too; call release where no end can
// be recorded, so that the next Open says that the outcome is unknown. It may
// be called more than once and after Close.
func (l *Log) Started(seq int64) (release func()) {
	return func() { l.owners.drop(seq) }
}
