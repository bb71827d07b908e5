package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// contents is every file in dir, to see that nothing was changed.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFold: with a cache, without, and with one that others wrote since, the
// state is the one that Open comes to, and nothing is changed.
func TestFold(t *testing.T) {
	key := []byte("key")
	for _, tc := range []struct {
		name string
		key  []byte
		more int // events behind the cache
		read int64
	}{
		{"from its cache", key, 0, 0},
		{"and what follows", key, 10, 10},
		{"with another key", []byte("other"), 10, 112},
		{"without a key", nil, 0, 102},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := cached(t, key, 100)
			l := open(t, dir, Options{})
			for i := range tc.more {
				mustCommit(t, l, Note, numbered(i))
			}
			before := contents(t, dir)
			state := &tally{}
			done, err := Fold(dir, Options{State: state, Key: tc.key})
			if err != nil {
				t.Fatal(err)
			}
			if done.Events != tc.read || done.Head != l.head || done.Size != l.end || int64(state.applied) != tc.read {
				t.Errorf("%+v, applied %d", done, state.applied)
			}
			sameFold(t, dir, state)
			if after := contents(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Error("something was changed")
			}
		})
	}
	if done, err := Fold(cached(t, key, 100), Options{}); err != nil || done.Events != 102 {
		t.Errorf("without a state: %+v, %v", done, err)
	}
}

// TestFoldTakesNoLock: neither a writer inside a commit nor the lack of a right
// to write holds it up.
func TestFoldTakesNoLock(t *testing.T) {
	dir := cached(t, []byte("key"), 100)
	l := open(t, dir, Options{})
	err := l.Commit(ctx, func(*Tx) error {
		for _, path := range []string{filepath.Join(dir, eventsName), dir} {
			if err := os.Chmod(path, 0o500); err != nil {
				return err
			}
			defer os.Chmod(path, 0o700)
		}
		state := &tally{}
		_, err := Fold(dir, Options{State: state, Key: []byte("key")})
		sameFold(t, dir, state)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFoldRefuses: what is no whole ledger of this run is an error that says
// where, with what came before it folded.
func TestFoldRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(data []byte) []byte
		want   error
		events int64
	}{
		{"torn", func(d []byte) []byte { return d[:len(d)-7] }, ErrTorn, 4},
		{"flipped", func(d []byte) []byte { d[bytes.Index(d, []byte(`{"i":3`))+5] = '7'; return d }, ErrCorrupt, 3},
		{"of another run", func(d []byte) []byte { return bytes.ReplaceAll(d, []byte(`"r1"`), []byte(`"r2"`)) }, ErrCorrupt, 0},
		{"an end without start", func(d []byte) []byte {
			return bytes.Replace(d, []byte(`"note","payload":{"i":5}`), []byte(`"tool_failed","payload":{"started_seq":1}`), 1)
		}, ErrCorrupt, 4},
		{"refused by the state", func(d []byte) []byte {
			return bytes.Replace(d, []byte(`{"i":5}`), []byte(`{"refuse":true}`), 1)
		}, ErrCorrupt, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, data := filled(t, 5)
			writeFile(t, dir, tc.change(data))
			before := contents(t, dir)
			state := &tally{}
			done, err := Fold(dir, Options{State: state})
			if !errors.Is(err, tc.want) || done.Events != tc.events || done.Head.Seq != tc.events || state.N != tc.events {
				t.Errorf("%v; %+v, state at %d", err, done, state.N)
			}
			if after := contents(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Error("something was changed")
			}
		})
	}
	if _, err := Fold(filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// TestFoldBehindTheEnd: a cache written after the size was looked at stands
// behind it, and is the end.
func TestFoldBehindTheEnd(t *testing.T) {
	key := []byte("key")
	dir := cached(t, key, 100)
	f, err := os.Open(filepath.Join(dir, eventsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	state := &tally{}
	opt := Options{RunID: "r1", State: state, Key: key}
	var p position
	if err := errors.Join(p.reset("r1", state), p.start(dir, &opt, f), p.read(f, 1000, state)); err != nil {
		t.Fatal(err)
	}
	if p.head.Seq != 102 || p.end != int64(len(readFile(t, dir))) {
		t.Errorf("at event %d, byte %d", p.head.Seq, p.end)
	}
	sameFold(t, dir, state)
}
