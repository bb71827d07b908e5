//go:build unix

package loop

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Only a plain file of one name is written, and only by one process.
func TestNotOurFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for name, lay := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(outside, path) },
		"hard link": func(path string) error { return os.Link(outside, path) },
		"FIFO":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"folder":    func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(outside, []byte("theirs"), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := lay(filepath.Join(dir, messagesName)); err != nil {
				t.Fatal(err)
			}
			if m, err := OpenMessages(dir); err == nil {
				m.Close()
				t.Error("it is opened")
			}
			if text, err := os.ReadFile(outside); err != nil || string(text) != "theirs" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	t.Run("absent folder", func(t *testing.T) {
		if _, err := OpenMessages(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
	t.Run("driven by another", func(t *testing.T) {
		dir := t.TempDir()
		m := reopen(t, dir)
		if _, err := OpenMessages(dir); !errors.Is(err, ErrDriven) {
			t.Error(err)
		}
		m.Close()
		reopen(t, dir)
	})
	t.Run("open to others", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "")
		name := filepath.Join(dir, messagesName)
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
		reopen(t, dir)
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
}
