//go:build unix

package openai

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestKeyFile holds every file that is no key's to an error that doesn't say what
// it holds, and waits for none.
func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	lay := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	lay("good", "\n"+testKey+"\r\n", 0o600)
	lay("read-only", testKey, 0o400)
	lay("group", testKey, 0o640)
	lay("others", testKey, 0o602)
	lay("empty", " \n", 0o600)
	lay("two", testKey+"\n"+testKey, 0o600)
	lay("huge", strings.Repeat(testKey, maxKey), 0o600)
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("good", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"good": "", "read-only": "", "link": "",
		"group": "others may read it (0640)", "others": "others may read it (0602)",
		"empty": "the file is empty", "two": "holds a character that a key can't have",
		"huge": "larger than 8192 bytes", "fifo": "not a regular file", ".": "is a directory", "gone": "no such file or directory",
	} {
		var wrong problems
		key := keyOfFile(filepath.Join(dir, name), &wrong)
		_, err := wrong.together()
		switch {
		case want == "" && (err != nil || key != testKey):
			t.Errorf("%s: %v", name, err)
		case want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+want)):
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
		keyless(t, err)
	}
}
