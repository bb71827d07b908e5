package ledger

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// cached makes a ledger of n notes with an open start, and its cache.
func cached(t *testing.T, key []byte, n int) (dir string) {
	t.Helper()
	dir = runDir(t)
	l := open(t, dir, Options{State: &tally{}, Key: key, wrap: func(d disk) disk { return unsynced{d} }})
	mustCommit(t, l, ToolAllowed, nil)
	mustCommit(t, l, ToolStarted, map[string]any{"verdict_seq": 1, "detached": true})
	for i := range n {
		mustCommit(t, l, Note, numbered(i))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCache: it is used when everything fits, and the fold starts over when
// anything does not; the state is the same either way.
func TestCache(t *testing.T) {
	key := bytes.Repeat([]byte("k"), 32)
	for _, tc := range []struct {
		name   string
		key    []byte
		change func(path string, data []byte) // of the cache
		used   bool
	}{
		{"as it is", key, func(string, []byte) {}, true},
		{"missing", key, func(p string, _ []byte) { os.Remove(p) }, false},
		{"other key", []byte("other"), func(string, []byte) {}, false},
		{"no key", nil, func(string, []byte) {}, false},
		{"empty", key, func(p string, _ []byte) { os.WriteFile(p, nil, 0o600) }, false},
		{"cut", key, func(p string, d []byte) { os.WriteFile(p, d[:len(d)-1], 0o600) }, false},
		{"flipped", key, func(p string, d []byte) { d[len(d)/2] ^= 1; os.WriteFile(p, d, 0o600) }, false},
		{"mac flipped", key, func(p string, d []byte) { d[3] ^= 1; os.WriteFile(p, d, 0o600) }, false},
		{"mac cut off", key, func(p string, d []byte) { os.WriteFile(p, d[65:], 0o600) }, false},
		{"link", key, func(p string, d []byte) { os.Rename(p, p+".1"); os.Symlink(p+".1", p) }, false},
		{"of a run made anew", key, func(p string, d []byte) {
			os.Rename(filepath.Dir(p), filepath.Dir(p)+"-old")
			os.Mkdir(filepath.Dir(p), 0o700)
			l, err := Open(filepath.Dir(p), Options{Create: true})
			if err == nil {
				mustCommit(t, l, ToolAllowed, nil)
				mustCommit(t, l, ToolStarted, map[string]any{"verdict_seq": 1, "detached": true})
				l.Close()
			}
			os.WriteFile(p, d, 0o600)
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := cached(t, key, 200)
			path := filepath.Join(dir, cacheName)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tc.change(path, data)
			state := &tally{}
			l := open(t, dir, Options{State: state, Key: tc.key})
			if used := state.restored > 0 && state.applied == 0; used != tc.used {
				t.Errorf("restored %d, applied %d", state.restored, state.applied)
			}
			sameFold(t, dir, state)
			mustCommit(t, l, ToolSucceeded, ended(2)) // pairs came along
			sameFold(t, dir, state)
			checkWhole(t, dir)
		})
	}
}

// TestCacheReadsTail: what came after it is folded, by whoever wrote it.
func TestCacheReadsTail(t *testing.T) {
	key := []byte("key")
	dir := cached(t, key, 100)
	l := open(t, dir, Options{})
	for range 10 {
		mustCommit(t, l, Note, nil)
	}
	l.Close()
	state := &tally{}
	open(t, dir, Options{State: state, Key: key})
	if state.restored != 1 || state.applied != 10 {
		t.Errorf("restored %d, applied %d", state.restored, state.applied)
	}
	sameFold(t, dir, state)
}

// TestCacheLineChanged: the line that the cache stands on must be in its place.
func TestCacheLineChanged(t *testing.T) {
	key := []byte("key")
	for name, change := range map[string]func(data []byte) []byte{
		"last line cut": func(d []byte) []byte { return d[:bytes.LastIndexByte(d[:len(d)-1], '\n')+1] },
		"line edited": func(d []byte) []byte {
			i := bytes.LastIndex(d, []byte(`{"i":`))
			d[i+5] = '7'
			return d
		},
		"newline before lost": func(d []byte) []byte {
			d[bytes.LastIndexByte(d[:len(d)-1], '\n')] = ' '
			return d
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := cached(t, key, 100)
			writeFile(t, dir, change(readFile(t, dir)))
			state := &tally{}
			l, err := Open(dir, Options{State: state, Key: key})
			if state.restored > 0 {
				t.Error("the cache was used")
			}
			if name == "newline before lost" {
				if !errors.Is(err, ErrCorrupt) {
					t.Errorf("open: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sameFold(t, dir, state)
			l.Close()
		})
	}
}

// TestCacheRefused: a State may refuse its snapshot, and is then reset.
func TestCacheRefused(t *testing.T) {
	key := []byte("key")
	dir := cached(t, key, 100)
	state := &refuser{}
	open(t, dir, Options{State: state, Key: key})
	sameFold(t, dir, &state.tally)
}

type refuser struct{ tally }

func (r *refuser) Restore(snapshot []byte) error {
	if err := r.tally.Restore(snapshot); err != nil || snapshot == nil {
		return err
	}
	return errors.New("an older form")
}

// TestCacheWhileRunning: a long run is cached before it ends.
func TestCacheWhileRunning(t *testing.T) {
	dir := runDir(t)
	l := open(t, dir, Options{State: &tally{}, Key: []byte("k"), wrap: func(d disk) disk { return unsynced{d} }})
	for range 3 {
		err := l.Commit(ctx, func(tx *Tx) error {
			for range everyEvents/2 + 1 {
				tx.Add(Note, nil)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	state := &tally{}
	open(t, dir, Options{State: state, Key: []byte("k")})
	if state.restored != 1 || state.applied == 0 {
		t.Errorf("restored %d, applied %d", state.restored, state.applied)
	}
	sameFold(t, dir, state)
}

// TestRefoldUsesNoStaleCache: after a failed write the state is that of the
// file, with a cache in place.
func TestRefoldUsesNoStaleCache(t *testing.T) {
	key := []byte("key")
	dir := cached(t, key, 100)
	state, f := &tally{}, &faulty{}
	l := open(t, dir, Options{State: state, Key: key, wrap: func(d disk) disk { f.disk = d; return cutter{f} }})
	mustCommit(t, l, Note, nil)
	f.err, f.short = errors.New("full"), 7
	if _, err := commit(l, Note, nil); err == nil {
		t.Fatal("the write went through")
	}
	sameFold(t, dir, state)
	mustCommit(t, l, ToolSucceeded, ended(2))
	sameFold(t, dir, state)
}
