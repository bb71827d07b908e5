package ledger

import (
	"errors"
	"fmt"
)

// At reads back the event whose line starts at offset, as Event.Offset told it
// to State.Apply. It checks the line's form and that it belongs to this run,
// not the chain before it, which this Log has followed already.
func (l *Log) At(offset int64) (*Event, error) {
	size, err := l.disk.look()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.name, cause(err))
	}
	ln, err := newLines(l.disk, offset, size).next()
	if err != nil {
		return nil, fmt.Errorf("read %s: at byte %d: %w", l.name, offset, cause(err))
	}
	ev, _, err := parse(append([]byte(nil), ln.bytes...))
	if err == nil && (!ln.ended || ev.RunID != l.opt.RunID) {
		err = errors.New("no whole event of this run")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: at byte %d: %w", l.name, ErrCorrupt, offset, err)
	}
	ev.Offset = offset
	return &ev, nil
}
