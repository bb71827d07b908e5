//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file is hidden by what it is, under every name; one that may be read only where it
// could be written. Another of the same number on another device is not meant, and all
// this without names to hide.
func TestObjects(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{
		"out/judge": "rules", "out/tool": "tool", "out/other": "other",
		"ws/a.txt": "a", "ws/sub/x": "", "ro/b.txt": "b", "ro/in/x": "",
	})
	object := func(name string) Object {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sys := st.Sys().(*syscall.Stat_t)
		return Object{Dev: uint64(sys.Dev), Ino: sys.Ino}
	}
	for _, l := range [][2]string{
		{"judge", "ws/one"},
		{"judge", "ws/sub/two"},
		{"judge", "ro/three"},
		{"judge", "ro/in/four"},
		{"tool", "ws/tool"},
		{"tool", "ro/tool"},
		{"tool", "ro/in/tool"},
		{"other", "ws/other"},
	} {
		if err := os.Link(dir+"/out/"+l[0], dir+"/"+l[1]); err != nil {
			t.Fatal(err)
		}
	}
	judge, tool, other := object("out/judge"), object("out/tool"), object("out/other")
	tool.Readable = true
	other.Dev++
	s := spec(t, dir+"/ws", probeName)
	s.Read = []Root{root(t, dir+"/ro")}
	s.Write = append(s.Write, root(t, dir+"/ro/in"))
	s.Names, s.Objects = Names{}, []Object{judge, tool, other}
	tryRows(t, []row{
		{"read {d}/ws/a.txt", "a", "a"},
		{"append {d}/ws/other", "ok", ""},
		{"read {d}/ws/one", "EACCES", "rules"},
		{"append {d}/ws/one", "EACCES", ""},
		{"remove {d}/ws/one", "EBUSY", ""},
		{"rename {d}/ws/one {d}/ws/sub/one", "EBUSY", ""},
		{"link {d}/ws/one {d}/ws/sub/one", "EXDEV", ""},
		{"read {d}/ws/sub/two", "EACCES", "rules"},
		{"read {d}/ro/three", "EACCES", "rules"},
		{"append {d}/ro/in/four", "EACCES", ""},
		{"read {d}/ws/tool", "EACCES", "tool"},
		{"append {d}/ws/tool", "EACCES", ""},
		{"read {d}/ro/tool", "tool", "tool"},
		{"append {d}/ro/in/tool", "EACCES", ""},
	}, map[string]string{"d": dir}, s)
	if text, err := os.ReadFile(dir + "/out/judge"); err != nil || string(text) != "rules" {
		t.Errorf("it holds %q, %v", text, err)
	}
}
