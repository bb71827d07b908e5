package resolve

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

// The object that was judged is the object that is used: after the name leads
// elsewhere, the handle does not.
func TestOpenAfterSwap(t *testing.T) {
	project := lay(t, map[string]string{"public": "public", ".env": "secret", "d/x": "inside", "e/x": "elsewhere"})
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		o, d := ask(t, r, facts.Read, "public"), ask(t, r, facts.List, "d")
		swap := func(a, b string) {
			must(t, unix.Renameat2(r.dir, a, r.dir, b, unix.RENAME_EXCHANGE))
		}
		swap("public", ".env")
		swap("d", "e")
		if got := content(t, o); got != "public" {
			t.Errorf("read %q", got)
		}
		c := d.Child("x")
		defer c.Close()
		if got := content(t, c); got != "inside" {
			t.Errorf("read %q below the folder", got)
		}
		cwd, err := d.Dir()
		must(t, err)
		cmd := exec.Command("cat", "x")
		cmd.Dir = cwd
		out, err := cmd.Output()
		if err != nil || string(out) != "inside" {
			t.Errorf("a child read %q, %v", out, err)
		}
		swap("public", ".env")
		swap("d", "e")
	}
}

func TestEntries(t *testing.T) {
	project := lay(t, map[string]string{"d/b": "", "d/a/": "", "d/c": "-> b", "d/bad\xff": "", "f": ""})
	must(t, unix.Mkfifo(filepath.Join(project, "d/p"), 0o644))
	r := open(t, Config{Project: project})
	d := ask(t, r, facts.List, "d")
	entries, more, err := d.Entries(10)
	must(t, err)
	want := []Entry{{"a", facts.Directory}, {"b", facts.File}, {"bad\xff", facts.File}, {"c", facts.Symlink}, {"p", facts.FIFO}}
	if more || fmt.Sprint(entries) != fmt.Sprint(want) {
		t.Errorf("%v %v", entries, more)
	}
	if entries, more, err := d.Entries(2); len(entries) != 2 || !more || err != nil {
		t.Errorf("bounded: %v %v %v", entries, more, err)
	}
	if entries, more, err := d.Entries(5); len(entries) != 5 || more || err != nil {
		t.Errorf("exact: %v %v %v", entries, more, err)
	}
	if _, _, err := ask(t, r, facts.List, "f").Entries(5); err == nil {
		t.Error("listed a file")
	}
	must(t, os.MkdirAll(filepath.Join(project, "big"), 0o755))
	for i := range 1000 {
		must(t, os.WriteFile(filepath.Join(project, "big", fmt.Sprintf("%03d", i)+strings.Repeat("x", 200)), nil, 0o644))
	}
	if entries, more, err := ask(t, r, facts.List, "big").Entries(2000); len(entries) != 1000 || more || err != nil {
		t.Errorf("big: %d %v %v", len(entries), more, err)
	}
}

func TestChild(t *testing.T) {
	project := lay(t, map[string]string{
		"d/x": "x", "d/out": "-> ../../app-copy/s", "d/in": "-> ../e", "d/.ENV": "", "e": "e", "d/sub/y": "", "d/bad\xff": "b", "d/t ": "",
	})
	add(t, filepath.Dir(project), map[string]string{"app-copy/s": "secret"})
	r := open(t, Config{Project: project, Places: DefaultPlaces("")})
	d := ask(t, r, facts.List, "./d/")
	child := func(name string) *Object {
		o := d.Child(name)
		t.Cleanup(func() { o.Close() })
		return o
	}
	wantFacts(t, child("x"), facts.OK, facts.File, project+"/d/x")
	wantFacts(t, child("in"), facts.OK, facts.File, project+"/e")
	wantFacts(t, child("out"), facts.OK, facts.File, filepath.Dir(project)+"/app-copy/s")
	wantFacts(t, child("nope"), facts.NotFound, facts.None, project+"/d")
	if f := child("x").Facts; f.Requested != "./d/x" || f.ViaSymlink || f.Access != facts.List {
		t.Errorf("requested %q via %v access %q", f.Requested, f.ViaSymlink, f.Access)
	}
	if f := child(".ENV").Facts; fmt.Sprint(f.Folded) != "[.env d]" {
		t.Errorf("folded %q", f.Folded)
	}
	if f := child("bad\xff").Facts; !f.Lexical.BadUTF8 || f.Path != project+`/d/bad\xff` || content(t, child("bad\xff")) != "b" {
		t.Errorf("bad utf8: %q", f.Path)
	}
	if f := child("t ").Facts; !f.Lexical.TrailingDotSpace {
		t.Error("odd name is not odd")
	}
	for _, name := range []string{"", ".", "..", "sub/y", "/", "x\x00"} {
		if f := child(name).Facts; f.Resolution != facts.Invalid || f.Handle {
			t.Errorf("%q: %s", name, f.Resolution)
		}
	}
	if f := ask(t, r, facts.Read, "e").Child("x").Facts; f.Resolution != facts.NotADirectory {
		t.Errorf("child of a file: %s", f.Resolution)
	}
}

func TestObjectZero(t *testing.T) {
	var o Object
	if _, err := o.Open(); err == nil {
		t.Error("opened nothing")
	}
	if _, _, err := o.Entries(1); err == nil {
		t.Error("listed nothing")
	}
	if _, err := o.Dir(); err == nil {
		t.Error("entered nothing")
	}
	if o.Remove() == nil || o.RenameTo(&o) == nil || o.Close() != nil {
		t.Error("the zero Object does something")
	}
}

// Every handle is given back, whatever the outcome.
func TestHandlesAreClosed(t *testing.T) {
	project := layMatrix(t)
	count := func() int {
		e, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(e)
	}
	before := count()
	for _, name := range resolvers {
		r, err := Open(Config{Project: project, Places: DefaultPlaces(""), Resolver: name})
		must(t, err)
		r.Roots([]RootSpec{{Path: "d"}, {Path: "ind"}, {Path: "nope"}, {Path: "f.txt"}})
		for _, c := range matrix {
			for _, create := range []bool{false, true} {
				for _, access := range []string{facts.Read, facts.Write, facts.Delete} {
					o := r.Resolve(Request{Access: access, Requested: c.ask, Absolute: true, CreateParents: create, Recursive: strings.HasPrefix(c.ask, "d")})
					o.Close()
					o.Close()
				}
			}
		}
		e, o := r.Executable("sh", []string{"/usr/bin", "/bin"})
		if e.Path == "" {
			t.Error("no shell")
		}
		o.Close()
		r.Close()
	}
	if after := count(); after != before {
		t.Errorf("%d handles before, %d after", before, after)
	}
}

func TestRoots(t *testing.T) {
	project := lay(t, map[string]string{"data/": "", "link": "-> data", "other/": "", "file": "", "runs/r/artifacts/": ""})
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		check := func(spec, path string, exists bool) {
			t.Helper()
			for range 2 { // from the name, then from the kept handle
				f := r.Roots([]RootSpec{{Declared: spec, Access: []string{facts.Read}}})[0]
				if f.Path != path || f.Exists != exists || f.Prefix != strings.TrimRight(path, "/")+"/" || exists != (f.Device != 0) || f.Declared != spec {
					t.Errorf("%s: %+v, want %q %v", spec, f, path, exists)
				}
			}
		}
		check("data", project+"/data", true)
		check("./data//", project+"/data", true)
		check(".", project, true)
		check("/", "/", true)
		check(project+"/data", project+"/data", true)
		check("link", project+"/data", true)
		check("runs/r/artifacts", project+"/runs/r/artifacts", true)
		check("nope/../x", project+"/x", false)
		check("file", project+"/file", false)
		check("..", filepath.Dir(project), true)
		check("", project, false)

		// A kept handle never answers for a name that leads elsewhere.
		must(t, os.Rename(project+"/data", project+"/gone"))
		check("data", project+"/data", false)
		check("link", project+"/link", false)
		must(t, os.Mkdir(project+"/data", 0o755))
		check("data", project+"/data", true)
		must(t, os.Remove(project+"/link"))
		must(t, os.Symlink("other", project+"/link"))
		check("link", project+"/other", true)
		must(t, os.Remove(project+"/data"))
		check("data", project+"/data", false)
		must(t, os.Rename(project+"/gone", project+"/data"))
		must(t, os.Remove(project+"/link"))
		must(t, os.Symlink("data", project+"/link"))
		for i := range 2 * maxRoots {
			must(t, os.MkdirAll(fmt.Sprintf("%s/many/%d", project, i), 0o755))
			check(fmt.Sprintf("many/%d", i), fmt.Sprintf("%s/many/%d", project, i), true)
		}
		if len(r.roots) > maxRoots {
			t.Errorf("%d roots kept", len(r.roots))
		}
	}
}

func TestExecutable(t *testing.T) {
	project := lay(t, map[string]string{"bin/tool": "#!/bin/sh\n", "bin/plain": "", "bin2/tool": "#!/bin/sh\n", "bin2/link": "-> ../bin/tool", "bin2/dir/": ""})
	must(t, os.Chmod(project+"/bin/tool", 0o755))
	must(t, os.Chmod(project+"/bin2/tool", 0o755))
	must(t, os.Chmod(project+"/bin2/dir", 0o755))
	r := open(t, Config{Project: project})
	find := func(name string, path ...string) facts.Executable {
		t.Helper()
		e, o := r.Executable(name, path)
		defer o.Close()
		if (e.Resolution == facts.OK) != o.Facts.Handle {
			t.Errorf("%s: %s, handle %v", name, e.Resolution, o.Facts.Handle)
		}
		return e
	}
	bin, bin2 := project+"/bin", project+"/bin2"
	if e := find("tool", bin, bin2); e.Path != bin+"/tool" || !e.Executable || !e.InProject || e.UID != int64(os.Geteuid()) || e.GroupWritable || e.OtherWritable || e.Kind != facts.File {
		t.Errorf("%+v", e)
	}
	if e := find("tool", "", "bin", ".", bin2, bin); e.Path != bin2+"/tool" {
		t.Errorf("relative directories: %+v", e)
	}
	if e := find("link", bin2); e.Path != bin+"/tool" {
		t.Errorf("link: %+v", e)
	}
	for _, name := range []string{"plain", "dir", "nope", "", "..", "tool\x00"} {
		if e := find(name, bin, bin2); e.Path != "" || e.Executable || e.Resolution == facts.OK {
			t.Errorf("%q: %+v", name, e)
		}
	}
	if e := find("bin/plain"); e.Path != bin+"/plain" || e.Executable || e.Resolution != facts.OK {
		t.Errorf("by path: %+v", e)
	}
	must(t, os.Chmod(bin2, 0o777))
	if e := find("link", bin2); !e.OtherWritable {
		t.Errorf("a link that anyone may replace: %+v", e)
	}
	must(t, os.Chmod(bin+"/tool", 0o775))
	shared := sharedGroup(t, bin+"/tool")
	if e := find("tool", bin); e.OtherWritable || e.GroupWritable != shared {
		t.Errorf("%+v", e)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/f", nil, 0o644))
	for _, cfg := range []Config{{Project: dir + "/nope"}, {Project: dir + "/f"}, {Project: dir, Resolver: "odd"}} {
		if r, err := Open(cfg); err == nil {
			r.Close()
			t.Errorf("%+v: no error", cfg)
		}
	}
	must(t, os.Symlink(".", dir+"/self"))
	r := open(t, Config{Project: dir + "/self/self"})
	if want, _ := filepath.EvalSymlinks(dir); r.Project() != want {
		t.Errorf("project %q", r.Project())
	}
}

// A template's other values are in the facts of what it leads to.
func TestValuesInFacts(t *testing.T) {
	r := open(t, Config{Project: lay(t, map[string]string{"runs/%2e%2e/f": ""})})
	o := asks(t, r, Request{Access: facts.Read, Raw: "f", Values: []string{"%2e%2e"}, Requested: "runs/%2e%2e/f"})
	if o.Facts.Resolution != facts.OK || !o.Facts.Lexical.PercentEncoded {
		t.Errorf("%s %+v", o.Facts.Resolution, o.Facts.Lexical)
	}
}
