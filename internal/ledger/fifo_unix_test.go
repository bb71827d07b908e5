//go:build unix

package ledger

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestNothingWaitsAtAFIFO: each file that is opened by its name, with a FIFO in
// its place that somebody holds open and writes nothing into.
func TestNothingWaitsAtAFIFO(t *testing.T) {
	fifo := func(path string) {
		t.Helper()
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		held, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { held.Close() })
	}
	dir, _ := filled(t, 3)
	fifo(filepath.Join(dir, cacheName))
	l := open(t, dir, Options{Now: clock(), State: &tally{}, Key: make([]byte, 32)})
	mustCommit(t, l, Note, numbered(4))
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Fold(dir, Options{State: &tally{}, Key: make([]byte, 32)}); err != nil {
		t.Error(err)
	}
	k, path := testKeys(t), filepath.Join(t.TempDir(), "head")
	fifo(path)
	if err := k.SaveHead(path, Head{"r1", 1, Genesis}); err == nil {
		t.Error("a FIFO is replaced by a head")
	}
	keys := t.TempDir()
	for _, name := range []string{signerName, verifierName, foldName} {
		if err := os.Chmod(keys, 0o700); err != nil {
			t.Fatal(err)
		}
		fifo(filepath.Join(keys, name))
		if _, err := OpenKeys(keys, "one"); err == nil {
			t.Errorf("%s is a FIFO, and the keys open", name)
		}
		if _, err := ReadVerifiers(keys); err == nil && name == verifierName {
			t.Error("a FIFO is read as public key")
		}
		if _, err := ReadFoldKey(keys); err == nil && name == foldName {
			t.Error("a FIFO is read as fold key")
		}
		if err := os.Remove(filepath.Join(keys, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(keys, verifierName)); err != nil {
			t.Fatal(err)
		}
	}
	fifo(filepath.Join(dir, eventsName))
	if _, err := Verify(dir, nil, nil); err == nil {
		t.Error("a FIFO is verified")
	}
	for _, err := range Read(dir) {
		if err == nil {
			t.Error("a FIFO is read")
		}
	}
	if _, err := Fold(dir, Options{}); err == nil {
		t.Error("a FIFO is folded")
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("a FIFO is opened")
	}
}
