package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
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
		{"longer", key, func(p string, d []byte) { os.WriteFile(p, append(d, 'x'), 0o600) }, false},
		{"too large", key, func(p string, _ []byte) { os.Truncate(p, cacheMax+1) }, false},
		{"of the form before", key, func(p string, d []byte) {
			head, state, _ := bytes.Cut(d[65:], []byte("\n"))
			head = fmt.Appendf(head[:len(head)-1], `,"state":"%s"}`, base64.StdEncoding.EncodeToString(state))
			h := hmac.New(sha256.New, key)
			h.Write(append([]byte("runlens fold v1\n"), head...))
			os.WriteFile(p, append(fmt.Appendf(nil, "%x\n", h.Sum(nil)), head...), 0o600)
		}, false},
		{"of another run", key, func(p string, d []byte) {
			head, state, _ := bytes.Cut(d[65:], []byte("\n"))
			head = bytes.Replace(head, []byte(`"r1"`), []byte(`"r2"`), 1)
			d = append(fmt.Appendf(nil, "%x\n%s\n", cacheMAC(key, head, state), head), state...)
			os.WriteFile(p, d, 0o600)
		}, false},
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
			if f := l.Folded(); f.Events != int64(state.applied) || f.Head != l.head || f.Size != l.end || f.Took <= 0 {
				t.Errorf("folded %+v, applied %d", f, state.applied)
			}
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

// TestCacheEveryByte: no byte of it can be another, and none can be missing.
func TestCacheEveryByte(t *testing.T) {
	key := []byte("key")
	dir := cached(t, key, 100)
	path := filepath.Join(dir, cacheName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, eventsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	opt := Options{RunID: "r1", State: &tally{}, Key: key}
	usable := func(data []byte) bool {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return readCache(dir, &opt, f) != nil
	}
	if !usable(data) {
		t.Fatal("as it was, it is of no use")
	}
	for i := range data {
		if usable(data[:i]) {
			t.Fatalf("its first %d of %d bytes are used", i, len(data))
		}
		flipped := bytes.Clone(data)
		if flipped[i] ^= 1; usable(flipped) {
			t.Fatalf("it is used with byte %d flipped", i)
		}
	}
}

// TestCacheWrittenRarely: processes that add little leave a cache alone until
// it is worth writing another, and all see the same state meanwhile.
func TestCacheWrittenRarely(t *testing.T) {
	key := []byte("key")
	dir := cached(t, key, 100)
	written := 0
	for range 40 {
		before, _ := os.ReadFile(filepath.Join(dir, cacheName))
		state := &tally{}
		l := open(t, dir, Options{State: state, Key: key, wrap: func(d disk) disk { return unsynced{d} }})
		if state.restored != 1 || state.applied >= onClose {
			t.Fatalf("restored %d, applied %d", state.restored, state.applied)
		}
		for range 4 {
			mustCommit(t, l, Note, nil)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		sameFold(t, dir, state)
		if after, _ := os.ReadFile(filepath.Join(dir, cacheName)); !bytes.Equal(before, after) {
			written++
		}
	}
	if want := 40 * 4 / onClose; written != want {
		t.Errorf("written %d times, want %d", written, want)
	}
}

// TestCacheSparesEnough holds the number of events at which a cache is written
// anew, by the length of the run.
func TestCacheSparesEnough(t *testing.T) {
	for _, tc := range []struct{ seq, least, want int64 }{
		{1, onClose, 64},
		{64, onClose, 64},
		{100_000, onClose, 64},
		{1_000_000, onClose, 200},
		{100_000_000, onClose, 2000},
		{2000, everyEvents, 1024},
		{100_000, everyEvents, 1024},
		{1_000_000, everyEvents, 3200},
	} {
		if sparesEnough(tc.seq, tc.want-1, tc.least) || !sparesEnough(tc.seq, tc.want, tc.least) {
			t.Errorf("of %d events, at least %d: %d are not the number", tc.seq, tc.least, tc.want)
		}
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
