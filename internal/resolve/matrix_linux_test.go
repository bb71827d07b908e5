package resolve

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

// row is one path of the bypass matrix and the facts it must give. Path is
// below the project, or absolute when it starts with "/"; "@" is the directory
// that holds the project.
type row struct {
	ask        string
	access     string // "" is read
	resolution string
	kind       string
	path       string
	missing    string
	via        bool
}

func layMatrix(t testing.TB) string {
	project := lay(t, map[string]string{
		"f.txt": "f", "d/f.txt": "df", "d/sub/": "", "empty/": "",
		"in": "-> d/f.txt", "ind": "-> d", "chain2": "-> in",
		"out": "-> ../app-copy/s.txt", "outd": "-> ../app-copy", "gone": "-> ../app-copy/nope", "gone2": "-> ../nowhere/x",
		"etc": "-> /etc", "loop": "-> loop", "loop2": "-> loop3", "loop3": "-> loop2", "dangle": "-> d/missing",
		"dots": "-> d/../f.txt", "slash": "-> d/", "~": "tilde", "ü/日本.txt": "x", "fd": "-> /proc/self/fd/0",
	})
	add(t, filepath.Dir(project), map[string]string{"app-copy/s.txt": "secret", "app-copy/.env": "secret"})
	must(t, os.Symlink(filepath.Join(project, "d/f.txt"), filepath.Join(project, "absin")))
	for i := range 42 { // l1 -> l0 -> f.txt: lN takes N+1 links
		target := "f.txt"
		if i > 0 {
			target = fmt.Sprintf("l%d", i-1)
		}
		must(t, os.Symlink(target, filepath.Join(project, fmt.Sprintf("l%d", i))))
	}
	return project
}

var matrix = []row{
	{ask: "f.txt", resolution: facts.OK, kind: facts.File, path: "f.txt"},
	{ask: "./d/./f.txt", resolution: facts.OK, kind: facts.File, path: "d/f.txt"},
	{ask: "d//f.txt", resolution: facts.OK, kind: facts.File, path: "d/f.txt"},
	{ask: "d/../f.txt", resolution: facts.OK, kind: facts.File, path: "f.txt"},
	{ask: "ü/日本.txt", resolution: facts.OK, kind: facts.File, path: "ü/日本.txt"},
	{ask: "~", resolution: facts.OK, kind: facts.File, path: "~"},
	{ask: ".", resolution: facts.OK, kind: facts.Directory, path: ""},
	{ask: "./", resolution: facts.OK, kind: facts.Directory, path: ""},
	{ask: "d", resolution: facts.OK, kind: facts.Directory, path: "d"},
	{ask: "d/", resolution: facts.OK, kind: facts.Directory, path: "d"},
	{ask: "..", resolution: facts.OK, kind: facts.Directory, path: "@"},
	{ask: "../app-copy/s.txt", resolution: facts.OK, kind: facts.File, path: "@/app-copy/s.txt"},
	{ask: "d/../../app-copy/s.txt", resolution: facts.OK, kind: facts.File, path: "@/app-copy/s.txt"},
	{ask: "../app/f.txt", resolution: facts.OK, kind: facts.File, path: "f.txt"},
	{ask: "/etc/hostname", resolution: facts.Invalid, kind: facts.None, path: "-"},
	{ask: "/no/such/file", resolution: facts.Invalid, kind: facts.None, path: "-"},
	{ask: "", resolution: facts.Invalid, kind: facts.None, path: "-"},
	{ask: "f.txt\x00.png", resolution: facts.Invalid, kind: facts.None, path: "-"},
	// A slash after a file: a lexical clean would let the last two pass.
	{ask: "f.txt/", resolution: facts.NotADirectory, kind: facts.None, path: "f.txt"},
	{ask: "f.txt/.", resolution: facts.NotADirectory, kind: facts.None, path: "f.txt"},
	{ask: "f.txt/..", resolution: facts.NotADirectory, kind: facts.None, path: "f.txt"},
	{ask: "f.txt/../f.txt", resolution: facts.NotADirectory, kind: facts.None, path: "f.txt"},
	{ask: "f.txt/x", resolution: facts.NotADirectory, kind: facts.None, path: "f.txt"},
	{ask: "in/", resolution: facts.NotADirectory, kind: facts.None, path: "d/f.txt"},
	{ask: "nope", resolution: facts.NotFound, kind: facts.None, path: "", missing: "name"},
	{ask: "d/nope", resolution: facts.NotFound, kind: facts.None, path: "d", missing: "name"},
	{ask: "d/nope/", resolution: facts.NotFound, kind: facts.None, path: "d", missing: "name"},
	{ask: "nope/../f.txt", resolution: facts.NotFound, kind: facts.None, path: "", missing: "parent"},
	{ask: "../nope/x", resolution: facts.NotFound, kind: facts.None, path: "@", missing: "parent"},
	// Links are followed, the final object counts.
	{ask: "in", resolution: facts.OK, kind: facts.File, path: "d/f.txt", via: true},
	{ask: "chain2", resolution: facts.OK, kind: facts.File, path: "d/f.txt", via: true},
	{ask: "absin", resolution: facts.OK, kind: facts.File, path: "d/f.txt", via: true},
	{ask: "ind/f.txt", resolution: facts.OK, kind: facts.File, path: "d/f.txt", via: true},
	{ask: "ind/sub/../f.txt", resolution: facts.OK, kind: facts.File, path: "d/f.txt", via: true},
	{ask: "dots", resolution: facts.OK, kind: facts.File, path: "f.txt", via: true},
	{ask: "slash", resolution: facts.OK, kind: facts.Directory, path: "d", via: true},
	{ask: "slash/f.txt", resolution: facts.OK, kind: facts.File, path: "d/f.txt", via: true},
	{ask: "dangle", resolution: facts.NotFound, kind: facts.None, path: "d", missing: "name"},
	{ask: "loop", resolution: facts.Loop, kind: facts.None, path: ""},
	{ask: "loop2", resolution: facts.Loop, kind: facts.None, path: ""},
	{ask: "l39", resolution: facts.OK, kind: facts.File, path: "f.txt", via: true},
	{ask: "l40", resolution: facts.Loop, kind: facts.None, path: ""},
	{ask: "out", resolution: facts.OK, kind: facts.File, path: "@/app-copy/s.txt", via: true},
	{ask: "outd/.env", resolution: facts.OK, kind: facts.File, path: "@/app-copy/.env", via: true},
	{ask: "gone", resolution: facts.NotFound, kind: facts.None, path: "@/app-copy", missing: "name"},
	{ask: "gone2", resolution: facts.NotFound, kind: facts.None, path: "@", missing: "parent"},
	// CVE-2026-39822: a slash after a link made os.Root follow it out.
	{ask: "outd/", resolution: facts.OK, kind: facts.Directory, path: "@/app-copy", via: true},
	{ask: "outd/.", resolution: facts.OK, kind: facts.Directory, path: "@/app-copy", via: true},
	{ask: "outd/../f.txt", resolution: facts.NotFound, kind: facts.None, path: "@", missing: "name"},
	{ask: "fd", resolution: facts.Loop, kind: facts.None, path: "*"},
	{ask: strings.Repeat("x", 256), resolution: facts.TooLong, kind: facts.None, path: ""},
	{ask: strings.Repeat("./", 2100) + "f.txt", resolution: facts.TooLong, kind: facts.None, path: "f.txt"},

	// Writes: the parent is followed, the last name never.
	{access: facts.Write, ask: "f.txt", resolution: facts.OK, kind: facts.File, path: "f.txt"},
	{access: facts.Write, ask: "new.txt", resolution: facts.Absent, kind: facts.None, path: "new.txt"},
	{access: facts.Write, ask: "ind/new.txt", resolution: facts.Absent, kind: facts.None, path: "d/new.txt", via: true},
	{access: facts.Write, ask: "outd/new.txt", resolution: facts.Absent, kind: facts.None, path: "@/app-copy/new.txt", via: true},
	{access: facts.Write, ask: "../new.txt", resolution: facts.Absent, kind: facts.None, path: "@/new.txt"},
	{access: facts.Write, ask: "in", resolution: facts.OK, kind: facts.Symlink, path: "in"},
	{access: facts.Write, ask: "gone", resolution: facts.OK, kind: facts.Symlink, path: "gone"},
	{access: facts.Write, ask: "dangle", resolution: facts.OK, kind: facts.Symlink, path: "dangle"},
	{access: facts.Write, ask: "loop", resolution: facts.OK, kind: facts.Symlink, path: "loop"},
	{access: facts.Write, ask: "loop/x", resolution: facts.Loop, kind: facts.None, path: ""},
	{access: facts.Write, ask: "nope/x", resolution: facts.NotFound, kind: facts.None, path: "", missing: "parent"},
	{access: facts.Write, ask: "f.txt/x", resolution: facts.NotADirectory, kind: facts.None, path: "f.txt"},
	{access: facts.Write, ask: "f.txt/", resolution: facts.NotADirectory, kind: facts.None, path: "f.txt"},
	{access: facts.Write, ask: "in/", resolution: facts.NotADirectory, kind: facts.None, path: "in"},
	{access: facts.Write, ask: "new/", resolution: facts.NotFound, kind: facts.None, path: "", missing: "name"},
	{access: facts.Write, ask: "d", resolution: facts.OK, kind: facts.Directory, path: "d"},
	{access: facts.Write, ask: "d/", resolution: facts.OK, kind: facts.Directory, path: "d"},
	{access: facts.Write, ask: "d/.", resolution: facts.OK, kind: facts.Directory, path: "d"},
	{access: facts.Write, ask: "d/..", resolution: facts.OK, kind: facts.Directory, path: ""},
	{access: facts.Write, ask: strings.Repeat("x", 256), resolution: facts.TooLong, kind: facts.None, path: ""},
	{access: facts.Write, ask: "/tmp/x", resolution: facts.Invalid, kind: facts.None, path: "-"},

	{access: facts.Delete, ask: "f.txt", resolution: facts.OK, kind: facts.File, path: "f.txt"},
	{access: facts.Delete, ask: "out", resolution: facts.OK, kind: facts.Symlink, path: "out"},
	{access: facts.Delete, ask: "nope", resolution: facts.NotFound, kind: facts.None, path: "", missing: "name"},
	{access: facts.Delete, ask: "nope/x", resolution: facts.NotFound, kind: facts.None, path: "", missing: "parent"},
	{access: facts.Delete, ask: "d/", resolution: facts.OK, kind: facts.Directory, path: "d"},
	{access: facts.List, ask: "ind", resolution: facts.OK, kind: facts.Directory, path: "d", via: true},
}

func TestMatrix(t *testing.T) {
	project := layMatrix(t)
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Places: DefaultPlaces(""), Resolver: name})
		for _, c := range matrix {
			if c.access == "" {
				c.access = facts.Read
			}
			label := c.ask
			if len(label) > 40 {
				label = label[:40]
			}
			t.Run(fmt.Sprintf("%s/%s/%q", r.resolver(), c.access, label), func(t *testing.T) {
				o := ask(t, r, c.access, c.ask)
				checkRow(t, project, c, o, r.resolver())
			})
		}
	}
}

func checkRow(t *testing.T, project string, c row, o *Object, resolver string) {
	t.Helper()
	want := filepath.Join(project, c.path)
	switch {
	case c.path == "-":
		want = ""
	case c.path == "*":
		want = o.Facts.Path
	case c.path[:min(1, len(c.path))] == "@":
		want = filepath.Join(filepath.Dir(project), c.path[1:])
	}
	wantFacts(t, o, c.resolution, c.kind, want)
	f := o.Facts
	if f.Missing != c.missing || f.ViaSymlink != c.via || f.Resolver != resolver {
		t.Errorf("missing %q via %v resolver %q, want %q %v %q", f.Missing, f.ViaSymlink, f.Resolver, c.missing, c.via, resolver)
	}
	if f.LinkTarget != (c.kind == facts.Symlink) {
		t.Errorf("link_target %v", f.LinkTarget)
	}
	inside := want == project || strings.HasPrefix(want, project+"/")
	segs := segments(strings.TrimPrefix(want, project))
	if !inside {
		segs = segments(want)
	}
	if f.InProject != inside || !slices.Equal(f.Segments, segs) {
		t.Errorf("in_project %v segments %q, want %v %q", f.InProject, f.Segments, inside, segs)
	}
	if f.Segments == nil || f.Folded == nil || f.Below == nil {
		t.Error("facts are not total")
	}
}

// What a link leads to outside must not show from what exists there.
func TestNoExistenceOracle(t *testing.T) {
	project := layMatrix(t)
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		for _, p := range []string{"out", "gone", "gone2", "etc/shadow", "etc/nope/x", "../app-copy/s.txt", "../app-copy/nope"} {
			if o := ask(t, r, facts.Read, p); o.Facts.InProject || o.Facts.Path == "" {
				t.Errorf("%s: in_project %v at %q", p, o.Facts.InProject, o.Facts.Path)
			}
		}
		a, b := ask(t, r, facts.Read, "/etc/passwd"), ask(t, r, facts.Read, "/etc/nope")
		a.Facts.Raw, a.Facts.Requested, a.Facts.Folded = b.Facts.Raw, b.Facts.Requested, b.Facts.Folded
		if !reflect.DeepEqual(a.Facts, b.Facts) {
			t.Errorf("absolute paths differ: %+v %+v", a.Facts, b.Facts)
		}
	}
}

func TestAbsolute(t *testing.T) {
	project := layMatrix(t)
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		for p, want := range map[string]string{
			filepath.Join(project, "d/f.txt"): filepath.Join(project, "d/f.txt"),
			project + "//./in":                filepath.Join(project, "d/f.txt"),
			"/":                               "/",
			"/..":                             "/",
		} {
			o := asks(t, r, Request{Access: facts.Read, Raw: p, Requested: p, Absolute: true})
			if o.Facts.Resolution != facts.OK || o.Facts.Path != want || !o.Facts.Lexical.Absolute {
				t.Errorf("%s: %s %q absolute %v", p, o.Facts.Resolution, o.Facts.Path, o.Facts.Lexical.Absolute)
			}
		}
		p := filepath.Join(project, "d/new.txt")
		wantFacts(t, asks(t, r, Request{Access: facts.Write, Raw: p, Requested: p, Absolute: true}), facts.Absent, facts.None, p)
		o := asks(t, r, Request{Access: facts.Read, Raw: "f.txt", Requested: "f.txt", Dir: ask(t, r, facts.List, "d")})
		wantFacts(t, o, facts.OK, facts.File, filepath.Join(project, "d/f.txt"))
		if o.Facts.ViaSymlink {
			t.Error("via_symlink without a link")
		}
		up := asks(t, r, Request{Access: facts.Read, Raw: "../d/f.txt", Requested: "../d/f.txt", Dir: ask(t, r, facts.List, "d")})
		wantFacts(t, up, facts.OK, facts.File, filepath.Join(project, "d/f.txt"))
		file := asks(t, r, Request{Access: facts.Read, Raw: "x", Requested: "x", Dir: ask(t, r, facts.Read, "d/f.txt")})
		wantFacts(t, file, facts.NotADirectory, facts.None, filepath.Join(project, "d/f.txt"))
		none := asks(t, r, Request{Access: facts.Read, Raw: "f.txt", Requested: "f.txt", Dir: ask(t, r, facts.List, "none")})
		wantFacts(t, none, facts.NotFound, facts.None, "")
	}
}

// A path counts from the directory that is held, whatever its name leads to by then.
func TestDirIsHeld(t *testing.T) {
	for _, name := range resolvers {
		project := lay(t, map[string]string{"a/f": "A", "b/f": "B", "cur": "-> a"})
		r := open(t, Config{Project: project, Resolver: name})
		dir := ask(t, r, facts.List, "cur")
		must(t, os.Remove(project+"/cur"))
		must(t, os.Symlink("b", project+"/cur"))
		got := asks(t, r, Request{Access: facts.Read, Raw: "f", Requested: "f", Dir: dir})
		wantFacts(t, got, facts.OK, facts.File, project+"/a/f")
		must(t, os.Rename(project+"/a", project+"/c"))
		free := asks(t, r, Request{Access: facts.Write, Raw: "new", Requested: "new", Dir: dir})
		wantFacts(t, free, facts.Absent, facts.None, project+"/c/new")
	}
}

func TestSpecialFilesNeverBlock(t *testing.T) {
	project := lay(t, map[string]string{"d/": ""})
	must(t, unix.Mkfifo(filepath.Join(project, "fifo"), 0o644))
	l, err := net.Listen("unix", filepath.Join(project, "sock"))
	must(t, err)
	defer l.Close()
	kinds := map[string]string{"fifo": facts.FIFO, "sock": facts.Socket, "null": facts.CharDevice, "disk": facts.BlockDevice}
	if err := unix.Mknod(filepath.Join(project, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Logf("no device nodes: %v", err)
		delete(kinds, "null")
		delete(kinds, "disk")
	} else {
		must(t, unix.Mknod(filepath.Join(project, "disk"), unix.S_IFBLK|0o666, int(unix.Mkdev(7, 250))))
	}
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		for p, kind := range kinds {
			for _, access := range []string{facts.Read, facts.Write, facts.Delete} {
				done := make(chan *Object, 1)
				go func() { done <- r.Resolve(Request{Access: access, Raw: p, Requested: p}) }()
				select {
				case o := <-done:
					wantFacts(t, o, facts.OK, kind, filepath.Join(project, p))
					if f, err := o.Open(); err == nil {
						f.Close()
						t.Errorf("%s was opened", p)
					}
					if _, err := o.Write([]byte("x")); err == nil {
						t.Errorf("%s was written", p)
					}
					o.Close()
				case <-time.After(10 * time.Second):
					t.Fatalf("%s %s blocks", access, p)
				}
			}
		}
	}
}

func TestSizesAndLinks(t *testing.T) {
	project := lay(t, map[string]string{"a": "12345"})
	must(t, os.Link(filepath.Join(project, "a"), filepath.Join(project, "b")))
	must(t, os.WriteFile(filepath.Join(project, "sparse"), nil, 0o644))
	must(t, os.Truncate(filepath.Join(project, "sparse"), 1<<40))
	r := open(t, Config{Project: project})
	if f := ask(t, r, facts.Read, "b").Facts; f.Nlink != 2 || f.Size != 5 || f.Device == 0 {
		t.Errorf("hard link: %+v", f)
	}
	if f := ask(t, r, facts.Read, "sparse").Facts; f.Size != 1<<40 || f.Allocated >= f.Size {
		t.Errorf("sparse: size %d allocated %d", f.Size, f.Allocated)
	}
	if f := asks(t, r, Request{Access: facts.Read, Requested: "/proc/version", Absolute: true}).Facts; f.PseudoFS != "proc" {
		t.Errorf("proc: %q", f.PseudoFS)
	}
	if f := asks(t, r, Request{Access: facts.Read, Requested: "/sys/kernel", Absolute: true}).Facts; f.PseudoFS != "sysfs" {
		t.Errorf("sysfs: %q", f.PseudoFS)
	}
}

func TestNoAccess(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may search every directory")
	}
	project := lay(t, map[string]string{"closed/x": "x", "unread": "x"})
	must(t, os.Chmod(filepath.Join(project, "closed"), 0))
	defer os.Chmod(filepath.Join(project, "closed"), 0o755)
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		for _, p := range []string{"closed/x", "closed/nope"} {
			wantFacts(t, ask(t, r, facts.Read, p), facts.NoAccess, facts.None, filepath.Join(project, "closed"))
		}
		wantFacts(t, ask(t, r, facts.Write, "closed/x"), facts.NoAccess, facts.None, filepath.Join(project, "closed"))
		must(t, os.Chmod(filepath.Join(project, "unread"), 0o600))
		o := ask(t, r, facts.Read, "unread")
		must(t, os.Chmod(filepath.Join(project, "unread"), 0))
		if _, err := o.Open(); !os.IsPermission(unwrapAll(err)) {
			t.Errorf("open: %v", err)
		}
	}
}

func TestBadUTF8(t *testing.T) {
	project := lay(t, map[string]string{"bad\xff/x": "x", "link": "-> bad\xff/x"})
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		o := ask(t, r, facts.Read, "link")
		wantFacts(t, o, facts.OK, facts.File, project+`/bad\xff/x`)
		if !o.Facts.Lexical.BadUTF8 || !slices.Equal(o.Facts.Segments, []string{`bad\xff`, "x"}) {
			t.Errorf("bad_utf8 %v segments %q", o.Facts.Lexical.BadUTF8, o.Facts.Segments)
		}
		if content(t, o) != "x" {
			t.Error("wrong content")
		}
	}
}

func TestUnlinked(t *testing.T) {
	project := lay(t, map[string]string{"x (deleted)": "live", "y": "y", "z": "z", "d/": ""})
	r := open(t, Config{Project: project})
	wantFacts(t, ask(t, r, facts.Read, "x (deleted)"), facts.OK, facts.File, project+"/x (deleted)")

	for _, p := range []string{"y", "d"} {
		n, err := openNode(r.dir, p)
		must(t, err)
		must(t, os.Remove(filepath.Join(project, p)))
		st, err := statFD(n.fd)
		must(t, err)
		if _, err := liveName(r.proc, n.fd, st); resolutionOf(err) != facts.Changed {
			t.Errorf("%s: %v", p, err)
		}
		closeFD(n.fd)
	}
	// With another link left, the count says nothing; the name does.
	n, err := openNode(r.dir, "z")
	must(t, err)
	defer closeFD(n.fd)
	must(t, os.Link(filepath.Join(project, "z"), filepath.Join(project, "z2")))
	must(t, os.Remove(filepath.Join(project, "z")))
	st, err := statFD(n.fd)
	must(t, err)
	if _, err := liveName(r.proc, n.fd, st); resolutionOf(err) != facts.Changed || st.nlink != 1 {
		t.Errorf("z: %v with %d links", err, st.nlink)
	}
	add(t, project, map[string]string{"z (deleted)": "another file that is really called that"})
	if name, err := liveName(r.proc, n.fd, st); resolutionOf(err) != facts.Changed {
		t.Errorf("z: %q, %v", name, err)
	}
	// A held object outlives its name: what was judged is what is read.
	o := ask(t, r, facts.Read, "z2")
	must(t, os.Remove(filepath.Join(project, "z2")))
	if content(t, o) != "z" {
		t.Error("wrong content")
	}
}
