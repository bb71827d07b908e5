package ledger

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// payload2K makes a line of about 2 KB with the nesting of a recorded input.
func payload2K() json.RawMessage {
	return json.RawMessage(`{"verdict":"allow","reason":"allowed","path":"/srv/project/workspace/src/app.py","max_bytes":65536,"input":{"call":{"id":"c1","tool":"read_file","arguments":{"path":"workspace/src/app.py"}},"targets":[{"param":"path","access":"read","recursive":false,"segments":["workspace","src","app.py"],"folded":["workspace","src","app.py"]}],"filler":"` + strings.Repeat("abcdefghij", 150) + `"}}`)
}

// BenchmarkBareAppendSync is the baseline: the same bytes, one write and one
// fdatasync an event, no chain, no lock.
func BenchmarkBareAppendSync(b *testing.B) {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "bare"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := append([]byte(payload2K()), make([]byte, 200)...)
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := datasync(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	l := benchLog(b, nil)
	payload := payload2K()
	for b.Loop() {
		benchCommit(b, l, payload)
	}
}

// BenchmarkCommit64 is 64 goroutines on one Log: its ns/op against that of
// BenchmarkCommit is the gain of the shared sync.
func BenchmarkCommit64(b *testing.B) {
	l := benchLog(b, nil)
	payload := payload2K()
	work := make(chan struct{})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range work {
				benchCommit(b, l, payload)
			}
		})
	}
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	wg.Wait()
}

// BenchmarkCommitUnsynced leaves out the sync: what the critical section costs.
func BenchmarkCommitUnsynced(b *testing.B) {
	l := benchLog(b, func(d disk) disk { return unsynced{d} })
	payload := payload2K()
	for b.Loop() {
		benchCommit(b, l, payload)
	}
}

// BenchmarkView is the price of a look at a state that nobody changed.
func BenchmarkView(b *testing.B) {
	l := benchLog(b, nil)
	benchCommit(b, l, payload2K())
	for b.Loop() {
		if err := l.View(context.Background(), func(Head) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

type unsynced struct{ disk }

func (unsynced) sync() error { return nil }

func benchLog(b *testing.B, wrap func(disk) disk) *Log {
	b.Helper()
	l, err := Open(filepath.Join(b.TempDir(), "r1"), Options{Create: true, wrap: wrap})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	return l
}

func benchCommit(b *testing.B, l *Log, payload json.RawMessage) {
	err := l.Commit(context.Background(), func(tx *Tx) error {
		_, err := tx.Add(Note, payload)
		return err
	})
	if err != nil {
		b.Error(err)
	}
}

// ballast is a State whose snapshot is as large as that of a long run.
type ballast []byte

func (b *ballast) Apply(*Event) error            { return nil }
func (b *ballast) Snapshot() ([]byte, error)     { return *b, nil }
func (b *ballast) Restore(snapshot []byte) error { *b = snapshot; return nil }

// longRun makes a run of n events of 2 KB, and the options that cache it with a
// state as large as 100,000 events leave.
func longRun(b *testing.B, n int) (dir string, opt Options) {
	b.Helper()
	state := ballast(make([]byte, 800_000))
	opt = Options{RunID: "r1", State: &state, Key: make([]byte, 32), wrap: func(d disk) disk { return unsynced{d} }}
	dir = filepath.Join(b.TempDir(), "r1")
	l := open(b, dir, Options{})
	payload := payload2K()
	err := l.Commit(context.Background(), func(tx *Tx) error {
		for range n {
			if _, err := tx.Add(Note, payload); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return dir, opt
}

// BenchmarkCacheSave is what a writer pays now and then for the cache of a long
// run; BenchmarkCacheLoad what each process does, BenchmarkFold what each event
// costs that is not in it.
func BenchmarkCacheSave(b *testing.B) {
	dir, opt := longRun(b, 10)
	l := open(b, dir, opt)
	*opt.State.(*ballast) = make([]byte, 800_000)
	b.ReportAllocs()
	for b.Loop() {
		l.saveCache()
	}
}

func BenchmarkCacheLoad(b *testing.B) {
	dir, opt := longRun(b, 10)
	l := open(b, dir, opt)
	*opt.State.(*ballast) = make([]byte, 800_000)
	l.saveCache()
	b.ReportAllocs()
	for b.Loop() {
		if c := readCache(dir, &opt, l.disk); c == nil || len(c.state) != 800_000 {
			b.Fatal("the cache is of no use")
		}
	}
}

func BenchmarkFold(b *testing.B) {
	const n = 1000
	dir, _ := longRun(b, n)
	for b.Loop() {
		if done, err := Fold(dir, Options{State: new(ballast)}); err != nil || done.Events != n {
			b.Fatal(done, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/event")
}
