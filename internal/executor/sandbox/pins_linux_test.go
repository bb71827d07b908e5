//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A directory on the way to something hidden, or to a nested root, stays where it is;
// its siblings and what else is in it don't.
func TestPins(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{
		"ws/a/b/.env": "key", "ws/a/b/file": "", "ws/a/side/x": "", "ws/free/x": "", "ws/file": "", "ws/empty/x": "",
		"ws/n/m/vendor/v": "v", "ws/n/side/x": "", "ws/h/i/hidden": "key", "ws/c/d/runs/out/x": "", "ws/c/d/runs/log": "log",
		"ws/l/other": "", "ws/l/x": "", "ws/g/.env": "key", "ws/.deep/er/than/this/.env/x": "key",
		"ro/a/.env": "key", "ro/w/x/out/y": "",
	})
	if err := os.Link(dir+"/ws/g/.env", dir+"/ws/l/linked"); err != nil {
		t.Fatal(err)
	}
	s := spec(t, dir+"/ws", probeName)
	s.Read = []Root{root(t, dir+"/ro"), root(t, dir+"/ws/n/m/vendor")}
	s.Write = append(s.Write, root(t, dir+"/ws/c/d/runs/out"), root(t, dir+"/ro/w/x/out"))
	s.Hidden = []string{dir + "/ws/h/i/hidden", dir + "/ws/h/missing/hidden", dir + "/ws/c/d/runs"}
	var rows []row
	for _, stays := range []string{"a", "a/b", "n", "n/m", "n/m/vendor", "h", "h/i", "c", "c/d", "c/d/runs", "l", "g", ".deep", ".deep/er/than", ".deep/er/than/this"} {
		rows = append(rows,
			row{"rename {ws}/" + stays + " {ws}/moved", "EBUSY", ""},
			row{"exchange {ws}/" + stays + " {ws}/free", "EBUSY", ""},
			row{"exchange {ws}/free {ws}/" + stays, "EBUSY", ""},
			row{"remove {ws}/" + stays, "EBUSY", ""})
	}
	rows = append(rows, []row{
		{"rename {ws}/free {ws}/freed", "ok", ""},
		{"rename {ws}/a/side {ws}/aside", "ok", ""},
		{"rename {ws}/n/side {ws}/a/b/nside", "ok", ""},
		{"rename {ws}/file {ws}/a/b/moved", "ok", ""}, // no other file system
		{"link {ws}/a/b/moved {ws}/linked", "ok", ""},
		{"rename {ws}/a/b/file {ws}/file", "ok", ""},
		{"rename {ws}/l/other {ws}/l/another", "ok", ""},
		{"remove {ws}/empty/x", "ok", ""},
		{"remove {ws}/empty", "ok", ""},
		{"mkdir {ws}/a/b/new", "ok", ""},
		{"rename {ws}/a/b/new {ws}/new", "ok", ""},
		{"read {ws}/a/b/.env", "EACCES", ""},
		{"read {ws}/l/linked", "EACCES", ""},
		{"write {ws}/n/m/vendor/v", "EROFS", ""},
		{"rename {ro}/a {ro}/moved", "EROFS", ""},
		{"rename {ro}/w/x {ro}/w/moved", "EROFS", ""},
		{"write {ro}/w/x/out/y", "ok", ""},
		{"list " + pinsDir, "EACCES", ""},
		{"list " + pinsDir + "/0", "EACCES", ""},
		{"chmod " + pinsDir + "/0 0755", "EROFS", ""},
	}...)
	tryRows(t, rows, map[string]string{"ws": dir + "/ws", "ro": dir + "/ro"}, s)
	// Nothing of it outlives the sandbox.
	for _, name := range []string{"a/b", "n/m", "c/d", ".deep/er"} {
		if err := os.Rename(dir+"/ws/"+name, dir+"/ws/again"); err != nil {
			t.Error(err)
		}
		if err := os.Rename(dir+"/ws/again", dir+"/ws/"+name); err != nil {
			t.Error(err)
		}
	}
}

// No pin where nothing is hidden: all can be moved, but what roots are in.
func TestNoPins(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"ws/a/b/x": "", "ws/.env": "key"})
	tryRows(t, []row{
		{"rename {ws}/a/b {ws}/b", "ok", ""},
		{"rename {ws}/a {ws}/b/a", "ok", ""},
		{"stat " + pinsDir, "ENOENT", ""},
	}, map[string]string{"ws": dir + "/ws"}, spec(t, dir+"/ws", probeName))
}

// A sandbox can't carry a hidden file past another that is looking for it.
func TestNothingIsCarriedPast(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"ws/z/d/.env": "key-of-all"})
	for i := range 40 {
		for j := range 30 {
			if err := os.MkdirAll(filepath.Join(dir, "ws", "k"+strconv.Itoa(i), strconv.Itoa(j)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	l := launcher(t)
	carrier := spec(t, dir+"/ws", probeName, "shuttle\x1f"+dir+"/ws/z/d\x1f"+dir+"/ws/k7/d\x1f3000")
	out := new(strings.Builder)
	stdout, copied := pipe(t, out)
	carrier.Stdout = stdout
	c, err := l.Start(t.Context(), carrier)
	stdout.Close()
	if err != nil {
		t.Fatal(err)
	}
	look := spec(t, dir+"/ws", "/bin/sh", "-c", "i=0; while [ $i -lt 300 ]; do cat z/d/.env k7/d/.env; i=$((i+1)); done 2>/dev/null; true")
	for range 8 {
		if p, err := tryBy(t, l, look); err != nil || strings.Contains(p.stdout, "key") {
			t.Errorf("it got %.20q, %v", p.stdout, err)
		}
	}
	c.Wait()
	<-copied
	if out.String() != "EBUSY\n" {
		t.Errorf("the carrier said %q", out)
	}
}
