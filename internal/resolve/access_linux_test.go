package resolve

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

// modes sets permission bits and makes the folders removable again.
func modes(t *testing.T, project string, bits map[string]os.FileMode) {
	t.Helper()
	for name, mode := range bits {
		p := filepath.Join(project, name)
		must(t, os.Chmod(p, mode))
		t.Cleanup(func() { must(t, os.Chmod(p, 0o755)) })
	}
}

// layClosed lays out what an ordinary user may not use, though it is its own.
func layClosed(t *testing.T) string {
	project := lay(t, map[string]string{
		"unreadable": "x", "write_only": "x", "read_only": "x", "open/f": "x", "open/closed": "x", "bin/plain": "x",
		"bin/theirs": "x", "bin/run_only": "x", "bin2/theirs": "x", "listless/f": "x", "fixed/f": "x", "fixed/d/": "", "link": "-> unreadable",
	})
	must(t, unix.Mkfifo(project+"/fifo", 0o200))
	modes(t, project, map[string]os.FileMode{
		"unreadable": 0, "write_only": 0o200, "read_only": 0o400, "open/closed": 0, "bin/theirs": 0o611, "bin/run_only": 0o111,
		"bin2/theirs": 0o711, "listless": 0o311, "fixed": 0o555, "bin/plain": 0o644,
	})
	return project
}

// What the kernel will refuse is a fact before it is tried.
func TestAccessDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may use everything; run this as an ordinary user")
	}
	project := layClosed(t)
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		for _, c := range []struct{ access, ask, resolution, at string }{
			{facts.Read, "unreadable", facts.NoAccess, "unreadable"},
			{facts.Read, "link", facts.NoAccess, "unreadable"},
			{facts.Read, "write_only", facts.NoAccess, "write_only"},
			{facts.Read, "listless", facts.NoAccess, "listless"},
			{facts.List, "listless", facts.NoAccess, "listless"},
			{facts.Execute, "bin/theirs", facts.NoAccess, "bin/theirs"},
			{facts.Write, "fixed/f", facts.NoAccess, "fixed/f"},
			{facts.Write, "fixed/new", facts.NoAccess, "fixed/new"},
			{facts.Write, "fixed/a/b", facts.NoAccess, "fixed/a/b"},
			{facts.Delete, "fixed/f", facts.NoAccess, "fixed/f"},
			{facts.Delete, "fixed/d", facts.NoAccess, "fixed/d"},
		} {
			o := asks(t, r, Request{Access: c.access, Raw: c.ask, Requested: c.ask, CreateParents: true})
			wantFacts(t, o, c.resolution, facts.None, project+"/"+c.at)
			f := o.Facts
			if o.fd >= 0 || o.dir >= 0 || f.Size != 0 || f.Nlink != 0 || f.Device != 0 || f.MountID != 0 || f.Missing != "" {
				t.Errorf("%s %s: says more: %+v", c.access, c.ask, f)
			}
		}
		e, o := r.Executable("theirs", []string{project + "/bin"})
		o.Close()
		if e.Resolution != facts.NoAccess || e.Path != "" {
			t.Errorf("a program that may not be run: %+v", e)
		}
		e, o = r.Executable("theirs", []string{project + "/bin", project + "/bin2"})
		o.Close()
		if e.Path != project+"/bin2/theirs" {
			t.Errorf("the next program of the name: %+v", e)
		}
	}
}

// What can be used is not refused, and what has a fact of its own keeps it.
func TestAccessGranted(t *testing.T) {
	project := layClosed(t)
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		for _, c := range []struct{ access, ask, resolution, kind string }{
			{facts.Read, "read_only", facts.OK, facts.File},
			{facts.Write, "unreadable", facts.OK, facts.File}, // the folder is what changes
			{facts.Write, "listless/f", facts.OK, facts.File},
			{facts.Write, "listless/new", facts.Absent, facts.None},
			{facts.Delete, "unreadable", facts.OK, facts.File},
			{facts.Execute, "bin/run_only", facts.OK, facts.File},
			{facts.Execute, "bin/plain", facts.OK, facts.File},
			{facts.Execute, ".", facts.OK, facts.Directory},
			{facts.Read, "fifo", facts.OK, facts.FIFO},
			{facts.Write, "fixed/d", facts.OK, facts.Directory},
		} {
			o := ask(t, r, c.access, c.ask)
			if o.Facts.Resolution != c.resolution || o.Facts.Kind != c.kind || !o.Facts.Handle {
				t.Errorf("%s: %s %s: %s %s", r.resolver(), c.access, c.ask, o.Facts.Resolution, o.Facts.Kind)
			}
		}
		o := asks(t, r, Request{Access: facts.Write, Requested: "/proc/new", Absolute: true})
		if o.Facts.Resolution != facts.Absent || o.Facts.PseudoFS != "proc" {
			t.Errorf("%s: in proc: %s %q", r.resolver(), o.Facts.Resolution, o.Facts.PseudoFS)
		}
		// A listing shows what may not be read.
		dir := ask(t, r, facts.List, "open")
		child := dir.Child("closed")
		wantFacts(t, child, facts.OK, facts.File, project+"/open/closed")
		child.Close()
	}
}

// A place is named also where the kernel would refuse anyway.
func TestAccessAndProtection(t *testing.T) {
	project := lay(t, map[string]string{"policies/runlens/x": "", "runs/r/events.jsonl": ""})
	modes(t, project, map[string]os.FileMode{"policies": 0o555, "runs/r/events.jsonl": 0})
	checkProtection(t, project, DefaultPlaces(""), []protection{
		{facts.Write, "policies/new", policy},
		{facts.Read, "runs/r/events.jsonl", runClass},
	})
}

// Root may read what is nobody's, and the older call agrees with the newer.
func TestPermitted(t *testing.T) {
	project := layClosed(t)
	r := open(t, Config{Project: project})
	for _, p := range []string{"unreadable", "read_only", "fixed", "listless", "bin/theirs", "bin/plain"} {
		n, err := openNode(r.dir, filepath.Dir(p))
		must(t, err)
		n2, err := openNode(n.fd, filepath.Base(p))
		must(t, err)
		for _, want := range []uint32{mayRead, mayWrite, mayExecute, mayWrite | mayExecute} {
			got := permitted(n2.fd, want)
			if old := unix.Faccessat(unix.AT_FDCWD, heldPath(n2.fd), want, 0); old != got {
				t.Errorf("%s, %o: %v, by the older call %v", p, want, got, old)
			}
			if os.Geteuid() == 0 && want&mayExecute == 0 && got != nil {
				t.Errorf("%s, %o: root may not: %v", p, want, got)
			}
		}
		closeFD(n2.fd)
		closeFD(n.fd)
	}
}
