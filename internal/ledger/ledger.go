package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

var (
	// ErrBusy: somebody else held the run's lock for all of Options.Wait.
	ErrBusy = errors.New("another writer holds the run")
	// ErrCorrupt: the ledger holds something that no crash leaves behind.
	// Nothing is appended to it any more.
	ErrCorrupt = errors.New("ledger is corrupt")
	// ErrReplaced: events.jsonl no longer names the file that was opened.
	ErrReplaced = errors.New("ledger file was replaced")
	// ErrBroken: an earlier write or sync left it unknown what is on disk.
	// This Log refuses everything; opening the run again finds out.
	ErrBroken = errors.New("ledger is broken since an earlier error")
	// ErrClosed: the Log was closed.
	ErrClosed = errors.New("ledger is closed")
)

// State is what the caller folds from the events. The Log calls it from one
// goroutine at a time; the caller may touch it inside Commit and View only.
type State interface {
	// Apply takes the next event. ev and its payload are valid during the
	// call only. An error means that the event cannot follow: a Commit that
	// added it fails and nothing of it is kept; in a file that is read it
	// is corruption.
	Apply(ev *Event) error
	// Snapshot returns the state for the fold cache, any bytes, which the
	// Log only reads; nil to not be cached.
	Snapshot() ([]byte, error)
	// Restore replaces the state by one that Snapshot returned, or by the
	// one before the first event when snapshot is nil, which must succeed.
	// The state may keep snapshot. It runs in every Open: what it parses of
	// a large one, each process pays. An error means that the snapshot is
	// of no use.
	Restore(snapshot []byte) error
}

// Options of Open.
type Options struct {
	RunID  string           // "" means the last element of dir
	Create bool             // make directory and file when absent; otherwise that is fs.ErrNotExist
	State  State            // nil folds nothing
	Now    func() time.Time // nil means time.Now
	Key    []byte           // authenticates the fold cache; nil means no cache
	Wait   time.Duration    // bound of each wait for the lock; 0 means 5 s

	wrap func(disk) disk // tests: faults
}

// Log is an open ledger that can be appended to. It is safe for concurrent
// use, also beside other Logs of the same run in this and other processes.
type Log struct {
	dir, name string // as the caller spelt them; name is dir/events.jsonl
	opt       Options
	disk      disk
	gate      gate
	syncer    syncer
	owners    owners
	folded    Folded // by Open; not changed later

	// What has been read and folded. Only the goroutine behind the gate touches it.
	position        // its head may be in the batch, its end is the file's
	cached   int64  // seq that the fold cache holds, as far as this Log knows
	batch    *batch // collected but not written; while it is there the run's lock is held
	buf      []byte // of an earlier batch, for reuse
	broken   error  // refuses everything

	repaired   bool // something was appended or cut after a crash
	unfinished bool // a torn tail was cut, but its ledger_recovered is missing
}

// Open opens the ledger of the run in dir, repairs what a crash left (package
// comment), and folds its events into opt.State. When it returns, the events
// that a repair added are durable.
func Open(dir string, opt Options) (*Log, error) {
	if opt.RunID == "" {
		opt.RunID = filepath.Base(dir)
	}
	if err := CheckRunID(opt.RunID); err != nil {
		return nil, err
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Wait <= 0 {
		opt.Wait = 5 * time.Second
	}
	name := filepath.Join(dir, eventsName)
	// A later change of the working directory must not redirect the path.
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	f, err := openFile(abs, opt.Create)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, cause(err))
	}
	l := &Log{dir: abs, name: name, opt: opt, disk: f}
	if opt.wrap != nil {
		l.disk = opt.wrap(f)
	}
	l.syncer.init(l.disk.sync)
	l.owners.locks = l.disk
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.disk.close())
	}
	return l, nil
}

// cause drops the path that os adds: the message names it already.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// usable tells why nothing can be done any more.
func (l *Log) usable() error {
	if l.broken != nil {
		return l.broken
	}
	if err := l.syncer.failed(); err != nil {
		return fmt.Errorf("sync %s: %w: %w", l.name, ErrBroken, err)
	}
	return nil
}

// View calls fn with State and l advanced to what is in the file now, unlike
// Commit without the run's lock unless others appended since: for judging
// ahead of a Commit that then finds, by Head, whether anything changed. What fn
// sees may not be durable yet. fn must not keep State.
func (l *Log) View(ctx context.Context, fn func(at Head) error) error {
	deadline := time.Now().Add(l.opt.Wait)
	if err := l.gate.enter(ctx, deadline, false); err != nil {
		return err
	}
	defer l.gate.leave()
	if err := l.usable(); err != nil {
		return err
	}
	size, err := l.disk.look()
	if err != nil {
		return fmt.Errorf("read %s: %w", l.name, cause(err))
	}
	// An equal size means that nobody has appended: a file only grows, save
	// under the lock. Any other may show a line half written.
	if size != l.end {
		if err := l.lock(ctx, deadline); err != nil {
			return err
		}
		err := l.catchUp()
		if err := errors.Join(err, l.unlock()); err != nil {
			return err
		}
	}
	return fn(l.head)
}

func (l *Log) unlock() error {
	if err := l.disk.drop(slotCommit); err != nil {
		l.broken = fmt.Errorf("unlock %s: %w: %w", l.name, ErrBroken, err)
		return l.broken
	}
	return nil
}

// Close writes the fold cache, waits until everything appended is durable and
// closes the file. Starts that have no end stay without one: the next Open
// says that their outcome is unknown.
func (l *Log) Close() error {
	if err := l.gate.enter(context.Background(), time.Now().Add(l.opt.Wait), false); err != nil {
		return fmt.Errorf("close %s: %w", l.name, err)
	}
	defer l.gate.leave()
	if errors.Is(l.broken, ErrClosed) {
		return nil
	}
	var err error
	if l.usable() == nil {
		l.cacheOnClose()
		err = l.durable(l.end)
	}
	l.broken = fmt.Errorf("use %s: %w", l.name, ErrClosed)
	l.owners.shut()
	return errors.Join(err, l.disk.close())
}

// durable returns once the bytes before end are on disk.
func (l *Log) durable(end int64) error {
	if err := l.syncer.wait(end); err != nil {
		return fmt.Errorf("sync %s: %w: %w", l.name, ErrBroken, err)
	}
	return nil
}
