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
