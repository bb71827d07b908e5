package resolve

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

func TestWriteNew(t *testing.T) {
	project := lay(t, map[string]string{"d/": "", "ind": "-> d"})
	for i, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		p := []string{"a.txt", "b.txt"}[i]
		o := ask(t, r, facts.Write, "ind/"+p)
		w, err := o.Write([]byte("new"))
		must(t, err)
		if !w.Created || w.Bytes != 3 || len(w.Parents) != 0 || fileAt(t, project, "d", p) != "new" {
			t.Errorf("%+v", w)
		}
		// The name is taken now, by the file just written.
		_, err = o.Write([]byte("again"))
		wantChanged(t, err)
		if fileAt(t, project, "d", p) != "new" {
			t.Error("overwritten")
		}
	}
	if l := leftovers(t, project); l != nil {
		t.Errorf("left over: %q", l)
	}
}

func TestWriteExisting(t *testing.T) {
	project := lay(t, map[string]string{"a": "old", "other": "other"})
	must(t, os.Chmod(filepath.Join(project, "a"), 0o640))
	must(t, os.Link(filepath.Join(project, "a"), filepath.Join(project, "b")))
	if os.Geteuid() == 0 {
		must(t, os.Chown(filepath.Join(project, "a"), 12345, 23456))
	}
	r := open(t, Config{Project: project})
	o := ask(t, r, facts.Write, "a")
	w, err := o.Write([]byte("new content"))
	must(t, err)
	st, err := os.Stat(filepath.Join(project, "a"))
	must(t, err)
	sys := st.Sys().(*syscall.Stat_t)
	if w.Created || st.Mode().Perm() != 0o640 || fileAt(t, project, "a") != "new content" {
		t.Errorf("%+v mode %v", w, st.Mode())
	}
	if os.Geteuid() == 0 && (sys.Uid != 12345 || sys.Gid != 23456) {
		t.Errorf("owner %d:%d", sys.Uid, sys.Gid)
	}
	if fileAt(t, project, "b") != "old" {
		t.Error("the other link changed")
	}
	// The Object is of the old file: a second write is not of what was judged.
	_, err = o.Write([]byte("x"))
	wantChanged(t, err)
	if fileAt(t, project, "a") != "new content" || leftovers(t, project) != nil {
		t.Errorf("%q %q", fileAt(t, project, "a"), leftovers(t, project))
	}
}

// What stands at the name when it is written decides, not what stood there.
func TestWriteAfterChange(t *testing.T) {
	p := func(project, name string) string { return filepath.Join(project, name) }
	cases := map[string]struct {
		ask    string
		change func(project string) error
		want   map[string]string // afterwards; "" is gone
	}{
		"replaced":        {"a", func(d string) error { return os.Rename(p(d, "other"), p(d, "a")) }, map[string]string{"a": "other"}},
		"removed":         {"a", func(d string) error { return os.Remove(p(d, "a")) }, map[string]string{"a": ""}},
		"became a link":   {"a", func(d string) error { return errors.Join(os.Remove(p(d, "a")), os.Symlink("other", p(d, "a"))) }, map[string]string{"other": "other", "a": "other"}},
		"became a folder": {"a", func(d string) error { return errors.Join(os.Remove(p(d, "a")), os.Mkdir(p(d, "a"), 0o755)) }, map[string]string{"other": "other"}},
		"taken":           {"new", func(d string) error { return os.WriteFile(p(d, "new"), []byte("theirs"), 0o644) }, map[string]string{"new": "theirs"}},
		"taken by a link": {"new", func(d string) error { return os.Symlink("other", p(d, "new")) }, map[string]string{"other": "other"}},
		"taken, dangling": {"new", func(d string) error { return os.Symlink("nowhere", p(d, "new")) }, map[string]string{"nowhere": ""}},
		"taken by a fifo": {"new", func(d string) error { return unix.Mkfifo(p(d, "new"), 0o644) }, map[string]string{"other": "other"}},
		"exchanged":       {"a", func(d string) error { return unix.Renameat2(-1, p(d, "a"), -1, p(d, "other"), unix.RENAME_EXCHANGE) }, map[string]string{"a": "other", "other": "old"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			project := lay(t, map[string]string{"a": "old", "other": "other"})
			r := open(t, Config{Project: project})
			o := ask(t, r, facts.Write, c.ask)
			must(t, c.change(project))
			_, err := o.Write([]byte("ours"))
			wantChanged(t, err)
			for f, want := range c.want {
				b, err := os.ReadFile(p(project, f))
				if want == "" && !os.IsNotExist(err) || string(b) != want {
					t.Errorf("%s: %q, %v", f, b, err)
				}
			}
			if l := leftovers(t, project); l != nil {
				t.Errorf("left over: %q", l)
			}
		})
	}
}

// A directory that was judged stays the one that is written in, whatever its
// name leads to by then.
func TestWriteInMovedParent(t *testing.T) {
	project := lay(t, map[string]string{"d/f": "old", "secret/f": "secret"})
	r := open(t, Config{Project: project})
	o, n := ask(t, r, facts.Write, "d/f"), ask(t, r, facts.Write, "d/new")
	must(t, os.Rename(filepath.Join(project, "d"), filepath.Join(project, "moved")))
	must(t, os.Symlink("secret", filepath.Join(project, "d")))
	_, err := o.Write([]byte("ours"))
	must(t, err)
	_, err = n.Write([]byte("ours too"))
	must(t, err)
	if fileAt(t, project, "secret/f") != "secret" || fileAt(t, project, "moved/f") != "ours" || fileAt(t, project, "moved/new") != "ours too" {
		t.Error("written elsewhere")
	}
}

func TestCreateParents(t *testing.T) {
	project := lay(t, map[string]string{"d/f": "f", "dangle": "-> nowhere", "link": "-> d"})
	for i, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		create := func(p string) *Object {
			return asks(t, r, Request{Access: facts.Write, Raw: p, Requested: p, CreateParents: true})
		}
		for _, p := range []string{"nope/../x", "dangle/x", "nope/", "nope/x/", "d/nope/../../x"} {
			if o := create(p); o.Facts.Resolution != facts.NotFound {
				t.Errorf("%s: %s %q", p, o.Facts.Resolution, o.Facts.Path)
			}
		}
		base := []string{"one", "two"}[i]
		o := create("link/" + base + "/./b//c.txt")
		wantFacts(t, o, facts.Absent, facts.None, project+"/d/"+base+"/b/c.txt")
		w, err := o.Write([]byte("deep"))
		must(t, err)
		if want := []string{project + "/d/" + base, project + "/d/" + base + "/b"}; !slices.Equal(w.Parents, want) {
			t.Errorf("parents %q, want %q", w.Parents, want)
		}
		if fileAt(t, project, "d", base, "b/c.txt") != "deep" {
			t.Error("not written")
		}
		wantFacts(t, create("d/f/x"), facts.NotADirectory, facts.None, project+"/d/f")
	}
	r := open(t, Config{Project: project})
	o := asks(t, r, Request{Access: facts.Write, Requested: "x/y/z", CreateParents: true})
	// A link or a file in the place of a parent is not gone through.
	must(t, os.Symlink("d", filepath.Join(project, "x")))
	_, err := o.Write([]byte("z"))
	wantChanged(t, err)
	must(t, os.Remove(filepath.Join(project, "x")))
	must(t, os.Mkdir(filepath.Join(project, "x"), 0o755))
	must(t, os.WriteFile(filepath.Join(project, "x/y"), nil, 0o644))
	_, err = o.Write([]byte("z"))
	wantChanged(t, err)
	// A folder that somebody made meanwhile will do; what failed is undone.
	must(t, os.Remove(filepath.Join(project, "x/y")))
	must(t, os.MkdirAll(filepath.Join(project, "x/y/z"), 0o755))
	_, err = o.Write([]byte("z"))
	wantChanged(t, err)
	must(t, os.RemoveAll(filepath.Join(project, "x/y")))
	w, err := o.Write([]byte("z"))
	must(t, err)
	if fileAt(t, project, "x/y/z") != "z" || !slices.Equal(w.Parents, []string{project + "/x/y"}) {
		t.Errorf("%+v", w)
	}
	if _, err := os.Stat(filepath.Join(project, "d/y")); err == nil {
		t.Error("made a folder behind the link")
	}
}

func TestRemove(t *testing.T) {
	project := lay(t, map[string]string{"a": "a", "link": "-> a", "empty/": "", "full/x": "x", "b": "b", "c": "c"})
	r := open(t, Config{Project: project})
	must(t, ask(t, r, facts.Delete, "link").Remove())
	if fileAt(t, project, "a") != "a" {
		t.Error("the link was followed")
	}
	must(t, ask(t, r, facts.Delete, "a").Remove())
	must(t, ask(t, r, facts.Delete, "empty/").Remove())
	if err := ask(t, r, facts.Delete, "full").Remove(); err == nil {
		t.Error("removed a folder that is not empty")
	}
	for _, p := range []string{".", "full/.", "full/.."} {
		if err := ask(t, r, facts.Delete, p).Remove(); err == nil {
			t.Errorf("removed %s", p)
		}
	}
	o := ask(t, r, facts.Delete, "b")
	must(t, os.Rename(filepath.Join(project, "c"), filepath.Join(project, "b")))
	wantChanged(t, o.Remove())
	if fileAt(t, project, "b") != "c" {
		t.Error("removed another file")
	}
	must(t, os.Remove(filepath.Join(project, "b")))
	wantChanged(t, o.Remove())
	if err := ask(t, r, facts.Write, "full/x").Remove(); err == nil {
		t.Error("removed what was resolved for writing")
	}
	var names []string
	entries, err := os.ReadDir(project)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"full"}) {
		t.Errorf("left: %q", names)
	}
}

func TestRename(t *testing.T) {
	project := lay(t, map[string]string{"a": "a", "b": "b", "d/": "", "dir/x": "x", "c": "c", "e": "e", "link": "-> a"})
	r := open(t, Config{Project: project})
	from := func(p string) *Object { return ask(t, r, facts.Delete, p) }
	to := func(p string) *Object {
		return asks(t, r, Request{Access: facts.Write, Requested: p, CreateParents: true})
	}
	must(t, from("a").RenameTo(to("d/new/a2")))
	must(t, from("dir").RenameTo(to("d/dir2")))
	must(t, from("b").RenameTo(to("d/new/a2"))) // over a file
	if fileAt(t, project, "d/new/a2") != "b" || fileAt(t, project, "d/dir2/x") != "x" {
		t.Error("not moved")
	}
	for _, p := range []string{"a", "b", "dir"} {
		if _, err := os.Lstat(filepath.Join(project, p)); !os.IsNotExist(err) {
			t.Errorf("%s is still there", p)
		}
	}
	if err := from("d/dir2").RenameTo(to("c")); err == nil {
		t.Error("a folder replaced a file")
	}
	if err := from("c").RenameTo(to("link")); err == nil {
		t.Error("a file replaced a link")
	}
	if err := from("d").RenameTo(to("d/new/below")); err == nil {
		t.Error("a folder moved into itself")
	}
	src, dst, free := from("c"), to("e"), to("free")
	must(t, os.Rename(filepath.Join(project, "d/new/a2"), filepath.Join(project, "e")))
	wantChanged(t, src.RenameTo(dst))
	must(t, os.WriteFile(filepath.Join(project, "free"), []byte("theirs"), 0o644))
	wantChanged(t, src.RenameTo(free))
	must(t, os.Remove(filepath.Join(project, "c")))
	must(t, os.WriteFile(filepath.Join(project, "c"), []byte("another"), 0o644))
	wantChanged(t, src.RenameTo(to("free2")))
	wantChanged(t, src.RenameTo(to("e")))
	for f, want := range map[string]string{"c": "another", "e": "b", "free": "theirs"} {
		if got := fileAt(t, project, f); got != want {
			t.Errorf("%s: %q", f, got)
		}
	}
	if l := leftovers(t, project); l != nil {
		t.Errorf("left over: %q", l)
	}
}

// Where a rename cannot refuse a name that is taken, a link can.
func TestLinkNew(t *testing.T) {
	project := lay(t, map[string]string{"a": "a", "b": "b"})
	r := open(t, Config{Project: project})
	wantChanged(t, linkNew(r.dir, "a", "b"))
	must(t, linkNew(r.dir, "a", "c"))
	if _, err := os.Stat(project + "/a"); err == nil || fileAt(t, project, "b") != "b" || fileAt(t, project, "c") != "a" {
		t.Error("not moved, or the other one was replaced")
	}
}

func TestWriteRefuses(t *testing.T) {
	project := lay(t, map[string]string{"a": "a", "d/": "", "link": "-> a"})
	r := open(t, Config{Project: project})
	closed := ask(t, r, facts.Write, "a")
	closed.Close()
	for name, o := range map[string]*Object{
		"zero": {}, "closed": closed, "read": ask(t, r, facts.Read, "a"), "link": ask(t, r, facts.Write, "link"),
		"folder": ask(t, r, facts.Write, "d"), "dot": ask(t, r, facts.Write, "d/."), "none": ask(t, r, facts.Write, "x/y"),
	} {
		if _, err := o.Write([]byte("x")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if fileAt(t, project, "a") != "a" || leftovers(t, project) != nil {
		t.Error("something changed")
	}
}

// TestWriteKilled kills a writer at any moment: the file is whole, old or new.
func TestWriteKilled(t *testing.T) {
	if dir := os.Getenv("RESOLVE_TEST_WRITER"); dir != "" {
		writeForever(t, dir)
	}
	project := lay(t, map[string]string{"f": strings.Repeat("a", 64<<10)})
	for i := range 8 {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestWriteKilled$")
		cmd.Env = append(os.Environ(), "RESOLVE_TEST_WRITER="+project)
		must(t, cmd.Start())
		time.Sleep(time.Duration(20+7*i) * time.Millisecond)
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		b := []byte(fileAt(t, project, "f"))
		if len(b) != 64<<10 || bytes.Count(b, b[:1]) != len(b) {
			t.Fatalf("torn: %d bytes, %d of the first", len(b), bytes.Count(b, b[:1]))
		}
	}
}

func writeForever(t *testing.T, dir string) {
	r := open(t, Config{Project: dir})
	for i := 0; ; i++ {
		o := r.Resolve(Request{Access: facts.Write, Requested: "f"})
		_, err := o.Write(bytes.Repeat([]byte{byte('a' + i%26)}, 64<<10))
		must(t, err)
		o.Close()
	}
}
