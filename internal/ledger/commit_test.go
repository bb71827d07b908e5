package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var ctx = context.Background()

func TestCommit(t *testing.T) {
	dir := runDir(t)
	var state tally
	l := open(t, dir, Options{State: &state})
	err := l.Commit(ctx, func(tx *Tx) error {
		if tx.Seq() != 0 || tx.LastHash() != Genesis || tx.State != State(&state) {
			t.Errorf("a new run begins at %d %s", tx.Seq(), tx.LastHash())
		}
		for want := int64(1); want <= 3; want++ {
			seq, err := tx.Add(Note, numbered(int(want)))
			if err != nil || seq != want || tx.Seq() != want || tx.LastHash() == Genesis {
				t.Errorf("add %d: %d, %v", want, seq, err)
			}
			if state.N != 0 {
				t.Error("State sees what was not written yet")
			}
		}
		return nil
	})
	if err != nil || state.N != 3 {
		t.Fatalf("%v, folded %d", err, state.N)
	}
	evs := checkWhole(t, dir)
	if len(evs) != 3 || evs[2].Offset != evs[1].Offset+evs[1].Size+1 {
		t.Fatalf("events %d", len(evs))
	}
	err = l.Commit(ctx, func(tx *Tx) error {
		if tx.LastHash() != evs[2].Hash {
			t.Error("LastHash is not that of the last line")
		}
		return nil
	})
	if err != nil || len(events(t, dir)) != 3 {
		t.Errorf("an empty commit: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := commit(l, Note, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("commit after Close: %v", err)
	}
	if err := l.View(ctx, func(Head) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("view after Close: %v", err)
	}
}

// TestCommitTakesBack: a commit that fails leaves file, state and pairs alone,
// and the next one goes through.
func TestCommitTakesBack(t *testing.T) {
	no := errors.New("no")
	for name, fn := range map[string]func(tx *Tx) error{
		"fn error":         func(tx *Tx) error { tx.Add(ToolStarted, started(1)); return no },
		"swallowed":        func(tx *Tx) error { tx.Add(Note, nil); tx.Add("nonsense", nil); return nil },
		"end without open": func(tx *Tx) error { tx.Add(ToolFailed, ended(1)); return nil },
		"end twice":        func(tx *Tx) error { tx.Add(ToolFailed, ended(2)); tx.Add(ToolSucceeded, ended(2)); return nil },
		"start of later":   func(tx *Tx) error { tx.Add(ToolStarted, started(3)); return nil },
		"no verdict":       func(tx *Tx) error { tx.Add(ToolStarted, nil); return nil },
		"state refuses":    func(tx *Tx) error { tx.Add(Note, nil); tx.Add(Note, json.RawMessage(`{"refuse":true}`)); return nil },
		"panic":            func(tx *Tx) error { tx.Add(Note, nil); panic(no) },
		"too long": func(tx *Tx) error {
			tx.Add(Note, json.RawMessage(`{"a":"`+strings.Repeat("x", MaxLine)+`"}`))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := runDir(t)
			var state tally
			l := open(t, dir, Options{State: &state})
			mustCommit(t, l, ToolAllowed, nil)
			mustCommit(t, l, ToolStarted, started(1))
			before, size := state, len(readFile(t, dir))
			err := func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						err = p.(error)
					}
				}()
				return l.Commit(ctx, fn)
			}()
			if err == nil {
				t.Fatal("it went through")
			}
			if state.N != before.N || state.Sum != before.Sum || len(readFile(t, dir)) != size {
				t.Fatalf("left %+v, was %+v", state, before)
			}
			mustCommit(t, l, ToolSucceeded, ended(2))
			if evs := checkWhole(t, dir); types(evs) != "tool_allowed tool_started tool_succeeded" {
				t.Error(types(evs))
			}
			sameFold(t, dir, &state)
		})
	}
}

func started(verdict int64) map[string]int64 { return map[string]int64{"verdict_seq": verdict} }
func ended(start int64) map[string]int64     { return map[string]int64{"started_seq": start} }

// sameFold compares state with a fold from the file alone.
func sameFold(t testing.TB, dir string, state *tally) {
	t.Helper()
	var fresh tally
	for ev, err := range Read(dir) {
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	if fresh.N != state.N || fresh.Sum != state.Sum {
		t.Fatalf("folded to %d %s, a fresh fold gives %d %s", state.N, state.Sum, fresh.N, fresh.Sum)
	}
}

// TestTxAfterwards: a Tx that was kept adds nothing.
func TestTxAfterwards(t *testing.T) {
	dir := runDir(t)
	l := open(t, dir, Options{})
	var kept *Tx
	l.Commit(ctx, func(tx *Tx) error { kept = tx; return nil })
	if _, err := kept.Add(Note, nil); err == nil {
		t.Error("Add after the commit is accepted")
	}
	if evs := events(t, dir); len(evs) > 0 {
		t.Error(types(evs))
	}
}

// TestGoroutines: 16 at once, one chain (agent-bom#4185), and every fn judged on
// the state of the event before its own.
func TestGoroutines(t *testing.T) {
	dir := runDir(t)
	var state tally
	l := open(t, dir, Options{State: &state})
	other := open(t, dir, Options{State: &tally{}}) // second Log, same process
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			log, st := l, &state
			if g%4 == 3 {
				log, st = other, other.opt.State.(*tally)
			}
			for i := range 25 {
				err := log.Commit(ctx, func(tx *Tx) error {
					if st.N != tx.Seq() {
						return fmt.Errorf("state of %d judged at %d", st.N, tx.Seq())
					}
					if i%5 == 4 {
						tx.Add(Note, nil)
						return errSpace // adds nothing
					}
					seq, err := tx.Add(Note, map[string]any{"g": g, "i": i, "sum": st.Sum})
					if seq != st.N+1 {
						return fmt.Errorf("seq %d after %d", seq, st.N)
					}
					return err
				})
				if err != nil && (i%5 != 4 || !errors.Is(err, errSpace)) {
					t.Error(err)
				}
				err = log.View(ctx, func(at Head) error {
					if st.N != at.Seq {
						return fmt.Errorf("view of %d at %d", st.N, at.Seq)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	evs := checkWhole(t, dir)
	if len(evs) != 16*20 {
		t.Fatalf("%d events", len(evs))
	}
	var fresh tally
	for _, ev := range evs {
		var p struct{ Sum string }
		if json.Unmarshal(ev.Payload, &p); p.Sum != fresh.Sum {
			t.Fatalf("event %d was judged on a stale fold", ev.Seq)
		}
		fresh.Apply(ev)
	}
	for _, log := range []*Log{l, other} {
		if err := log.View(ctx, func(Head) error { return nil }); err != nil {
			t.Fatal(err)
		}
		sameFold(t, dir, log.opt.State.(*tally))
	}
}

// gated blocks in sync until it may go on, and counts.
type gated struct {
	disk
	entered chan struct{}
	goOn    chan error
	mu      sync.Mutex
	syncs   int
	writes  int
}

func (g *gated) sync() error {
	g.mu.Lock()
	g.syncs++
	g.mu.Unlock()
	g.entered <- struct{}{}
	return <-g.goOn
}

func (g *gated) Write(p []byte) (int, error) {
	g.mu.Lock()
	g.writes++
	g.mu.Unlock()
	return g.disk.Write(p)
}

func openGated(t *testing.T, dir string, opt Options) (*Log, *gated) {
	t.Helper()
	g := &gated{entered: make(chan struct{}, 100), goOn: make(chan error, 100)}
	opt.wrap = func(d disk) disk { g.disk = d; return g }
	return open(t, dir, opt), g
}

// TestSharedSync: what arrives while a sync runs shares the next one, and
// nobody is acknowledged by a sync that started before its write.
func TestSharedSync(t *testing.T) {
	dir := runDir(t)
	l, g := openGated(t, dir, Options{})
	done := make(chan int, 100)
	put := func(i int) { mustCommitIn(t, l, i); done <- i }
	go put(0)
	<-g.entered
	for i := 1; i <= 20; i++ {
		go put(i)
	}
	// All are behind the gate or wait for the batch once nobody is left
	// who could enter.
	for waiting := 0; waiting < 20; {
		time.Sleep(time.Millisecond)
		waiting = int(l.headNow(t)) - 1
	}
	select {
	case i := <-done:
		t.Fatalf("commit %d was acknowledged before any sync ended", i)
	default:
	}
	g.goOn <- nil
	if first := <-done; first != 0 {
		t.Errorf("the first sync acknowledged commit %d", first)
	}
	close(g.goOn)
	for range 20 {
		<-done
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.syncs > 4 {
		t.Errorf("%d syncs for 21 commits", g.syncs)
	}
	if evs := checkWhole(t, dir); len(evs) != 21 {
		t.Errorf("%d events", len(evs))
	}
}

func mustCommitIn(t *testing.T, l *Log, i int) {
	if _, err := commit(l, Note, numbered(i)); err != nil {
		t.Error(err)
	}
}

// headNow counts the events that are written or collected.
func (l *Log) headNow(t *testing.T) (seq int64) {
	if err := l.View(ctx, func(at Head) error { seq = at.Seq; return nil }); err != nil {
		t.Error(err)
	}
	return seq
}

// TestSyncFails: everybody whose bytes were not durable hears of it, nobody
// later is served, and there is no second try.
func TestSyncFails(t *testing.T) {
	dir := runDir(t)
	l, g := openGated(t, dir, Options{})
	errs := make(chan error, 3)
	go func() { _, err := commit(l, Note, nil); errs <- err }()
	<-g.entered
	go func() { _, err := commit(l, Note, nil); errs <- err }()
	for l.headNow(t) < 2 {
		time.Sleep(time.Millisecond)
	}
	broke := errors.New("input/output error")
	g.goOn <- broke
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrBroken) || !errors.Is(err, broke) {
			t.Errorf("commit: %v", err)
		}
	}
	if _, err := commit(l, Note, nil); !errors.Is(err, ErrBroken) {
		t.Errorf("later commit: %v", err)
	}
	if err := l.View(ctx, func(Head) error { return nil }); !errors.Is(err, ErrBroken) {
		t.Errorf("later view: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if g.syncs != 1 {
		t.Errorf("%d syncs", g.syncs)
	}
	l = open(t, dir, Options{})
	mustCommit(t, l, Note, nil)
	checkWhole(t, dir)
}

// TestSyncFailsDuringCommit: a commit that began before a sync failed writes
// nothing any more.
func TestSyncFailsDuringCommit(t *testing.T) {
	dir := runDir(t)
	l, g := openGated(t, dir, Options{})
	first := make(chan error, 1)
	go func() { _, err := commit(l, Note, nil); first <- err }()
	<-g.entered
	size := len(readFile(t, dir))
	err := l.Commit(ctx, func(tx *Tx) error {
		g.goOn <- errors.New("input/output error")
		if err := <-first; !errors.Is(err, ErrBroken) {
			t.Errorf("first commit: %v", err)
		}
		_, err := tx.Add(Note, nil)
		return err
	})
	if !errors.Is(err, ErrBroken) || len(readFile(t, dir)) != size {
		t.Errorf("commit: %v, %d bytes more", err, len(readFile(t, dir))-size)
	}
}

// TestViewSeesTheFile: a batch is written before anybody looks who does not
// commit.
func TestViewSeesTheFile(t *testing.T) {
	dir := runDir(t)
	l, g := openGated(t, dir, Options{})
	first, view, seen := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { _, err := commit(l, Note, nil); first <- err }()
	<-g.entered // a sync is running: batches are passed on
	err := l.Commit(ctx, func(tx *Tx) error {
		go func() {
			view <- l.View(ctx, func(at Head) error {
				if evs := events(t, dir); at.Seq != 2 || len(evs) != 2 {
					t.Errorf("view of %d, %d in the file", at.Seq, len(evs))
				}
				return nil
			})
		}()
		for queued := 0; queued < 1; runtime.Gosched() {
			l.gate.mu.Lock()
			queued = len(l.gate.queue)
			l.gate.mu.Unlock()
		}
		_, err := tx.Add(Note, nil)
		go func() { // the look comes before the sync
			seen <- <-view
			close(g.goOn)
		}()
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := errors.Join(<-first, <-seen); err != nil {
		t.Error(err)
	}
}

func TestBusy(t *testing.T) {
	dir := runDir(t)
	holder := open(t, dir, Options{})
	waits := open(t, dir, Options{Wait: 30 * time.Millisecond})
	var inner, view, again error
	err := holder.Commit(ctx, func(tx *Tx) error {
		_, inner = commit(waits, Note, nil)
		_, again = Open(dir, Options{Wait: 30 * time.Millisecond})
		// Nobody has appended, so a look needs no lock.
		view = waits.View(ctx, func(Head) error { return nil })
		_, err := tx.Add(Note, nil)
		return err
	})
	if err != nil || view != nil {
		t.Fatal(err, view)
	}
	if !errors.Is(inner, ErrBusy) || !errors.Is(again, ErrBusy) {
		t.Errorf("commit %v, open %v; want ErrBusy", inner, again)
	}
	mustCommit(t, waits, Note, nil)
	checkWhole(t, dir)
}

// TestBusyInside: the wait among goroutines of one Log is bounded as well.
func TestBusyInside(t *testing.T) {
	dir := runDir(t)
	l := open(t, dir, Options{Wait: 30 * time.Millisecond})
	err := l.Commit(ctx, func(tx *Tx) error {
		errs := make(chan error, 3)
		go func() { _, err := commit(l, Note, nil); errs <- err }()
		go func() { errs <- l.View(ctx, func(Head) error { return nil }) }()
		for range 2 {
			if err := <-errs; !errors.Is(err, ErrBusy) {
				t.Errorf("%v, want ErrBusy", err)
			}
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		go func() { errs <- l.Commit(gone, func(*Tx) error { return nil }) }()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want context.Canceled", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	mustCommit(t, l, Note, nil)
}

func TestContextEndsWait(t *testing.T) {
	dir := runDir(t)
	holder, waits := open(t, dir, Options{}), open(t, dir, Options{})
	gone, cancel := context.WithCancel(ctx)
	holder.Commit(ctx, func(*Tx) error {
		go cancel()
		err := waits.Commit(gone, func(*Tx) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want context.Canceled", err)
		}
		return nil
	})
}

// TestReplaced: nobody succeeds into a file that is not there any more
// (kubernetes#111208).
func TestReplaced(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"deleted":  os.Remove,
		"moved":    func(path string) error { return os.Rename(path, path+".1") },
		"run gone": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"replaced": func(path string) error {
			data, _ := os.ReadFile(path)
			return errors.Join(os.Remove(path), os.WriteFile(path, data, 0o600))
		},
		"link": func(path string) error {
			return errors.Join(os.Rename(path, path+".1"), os.Symlink(path+".1", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := runDir(t)
			l := open(t, dir, Options{})
			mustCommit(t, l, Note, nil)
			if err := change(filepath.Join(dir, eventsName)); err != nil {
				t.Skip(err)
			}
			if _, err := commit(l, Note, nil); !errors.Is(err, ErrReplaced) {
				t.Errorf("commit: %v, want ErrReplaced", err)
			}
			if err := l.View(ctx, func(Head) error { return nil }); !errors.Is(err, ErrReplaced) {
				t.Errorf("view: %v, want ErrReplaced", err)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "r1"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no run: %v", err)
	}
	dir, _ := filled(t, 1)
	if _, err := Open(dir, Options{RunID: "r2"}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another run's ledger: %v", err)
	}
	path := filepath.Join(dir, eventsName)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+".1", path); err != nil {
		t.Skip(err)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("a link in the ledger's place is opened")
	}
	os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{Create: true}); err == nil {
		t.Error("a directory in the ledger's place is opened")
	}
	for ev, err := range Read(dir) {
		if err == nil {
			t.Error("read a directory", ev)
		}
	}
}
