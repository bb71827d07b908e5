package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A word names a tree of its own, an overlay, a bundle or the embedded tree; what
// names none is refused with the word in it.
func TestTreesByWord(t *testing.T) {
	dir := t.TempDir()
	bundle := buildBundle(t, dir, "plain")
	t.Chdir(dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("plain/notes.txt", "no tree\n")
	write("loose.txt", "no bundle\n")
	write("over/runlens/data.json", `{}`)
	if _, stderr, code := command(t, "policy", "export", "whole"); code != exitAllowed {
		t.Fatalf("policy export: exit code %d: %s", code, stderr)
	}
	p := &project{w: &world{stderr: io.Discard}, dir: "."}
	shipped, err := p.loadTree("embedded")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"whole", "./whole/", bundle, "over"} {
		e, err := p.loadTree(word)
		if err != nil {
			t.Errorf("load %s: %v", word, err)
		} else if e.Revision() != shipped.Revision() {
			t.Errorf("load %s: revision %s, that of the shipped tree is %s", word, e.Revision(), shipped.Revision())
		}
	}
	for word, says := range map[string]string{
		"whoel": "load policies whoel: no such file", "plain": "load policies plain: no runlens/ in it",
		"loose.txt": "load loose.txt", "./embedded": "load policies ./embedded: no such file",
	} {
		if _, err := p.loadTree(word); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("load %s: %v, want %q", word, err, says)
		}
	}
	if _, err := p.loadTree("whoel"); err.(*trouble).hint != `did you mean "whole"?` {
		t.Errorf("load whoel: hint %q", err.(*trouble).hint)
	}
	p.key = "key.pem"
	if err := p.checkTreeKey("whole", "embedded"); err == nil || !strings.Contains(err.Error(), "--verification-key is only for a bundle") {
		t.Errorf("a key without a bundle: %v", err)
	}
	if err := p.checkTreeKey("whole", bundle); err != nil {
		t.Errorf("a key with a bundle: %v", err)
	}
	if _, err := p.loadTree(bundle); err == nil || !strings.Contains(err.Error(), "key.pem") {
		t.Errorf("a key that is not there: %v", err)
	}
	if _, err := p.loadTree("whole"); err != nil {
		t.Errorf("a directory beside a key: %v", err)
	}
}
