package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// Files that can't all be written leave nothing behind.
func TestLayTakesBack(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("kept", 0o755); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	w := &world{stderr: &stderr}
	err := w.lay(".", map[string][]byte{"kept/new/a": nil, "x/y/b": nil, "z": nil, "z/under": nil})
	if err == nil || !strings.Contains(err.Error(), "write z/under: ") {
		t.Errorf("%v", err)
	}
	if left := entries("."); len(left) != 1 || len(entries("kept")) != 0 {
		t.Errorf("left behind: %q, %q", left, entries("kept"))
	}
	if stderr.Len() > 0 {
		t.Errorf("said: %q", stderr.String())
	}
}
