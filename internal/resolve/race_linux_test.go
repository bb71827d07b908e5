package resolve

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

var (
	soakReads  = flag.Int("soak.reads", 0, "reads against a thread that swaps names, in TestSoak")
	soakWrites = flag.Int("soak.writes", 0, "writes against a thread that swaps names, in TestSoak")
)

// TestRace runs a few thousand rounds of what TestSoak runs a million of.
func TestRace(t *testing.T) {
	reads, writes := 3000, 300
	if testing.Short() {
		reads, writes = 300, 30
	}
	soakAll(t, reads, writes)
}

// TestSoak is the long run: -run Soak -soak.reads=1000000 -soak.writes=100000.
func TestSoak(t *testing.T) {
	if *soakReads == 0 && *soakWrites == 0 {
		t.Skip("set -soak.reads and -soak.writes")
	}
	soakAll(t, *soakReads, *soakWrites)
}

// counts are what a soak saw. Escapes and mismatches must be none.
type counts struct {
	tried, ok, refused, changed       int
	escapes, usedOther, replacedOther int
	mixed                             int // a write that left neither the old nor the new state
}

func (c counts) String() string {
	return fmt.Sprintf("tried=%d ok=%d refused=%d object_changed=%d escapes=%d judged_vs_used=%d judged_vs_replaced=%d mixed=%d",
		c.tried, c.ok, c.refused, c.changed, c.escapes, c.usedOther, c.replacedOther, c.mixed)
}

// swap exchanges two names as fast as it can on a thread of its own.
func swap(t *testing.T, dir, a, b string) (stop func() int64) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	var done atomic.Bool
	var n atomic.Int64
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		runtime.LockOSThread()
		for !done.Load() {
			if unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE) == nil {
				n.Add(1)
			}
		}
	}()
	for n.Load() == 0 {
		runtime.Gosched()
	}
	return func() int64 {
		done.Store(true)
		wg.Wait()
		unix.Close(fd)
		return n.Load()
	}
}

// flip is a pair of names that are swapped while a third thread asks for path.
type flip struct {
	name, a, b, path string
}

var flips = []flip{
	{"folder and absolute link", "d", "abs", "d/f"},
	{"folder and relative link", "d", "rel", "d/f"},
	{"folder and folder", "d", "e", "d/f"},
	{"file and absolute link", "d/f", "d/absf", "d/f"},
	{"file and secret file", "d/f", "d/.env", "d/f"},
	{"file and file", "d/f", "d/g", "d/f"},
}

func laySoak(t *testing.T) string {
	project := lay(t, map[string]string{"d/f": "inside", "d/g": "inside as well", "d/.env": "SECRET", "e/f": "inside too", "rel": "-> ../out", "e/.env": "SECRET"})
	add(t, filepath.Dir(project), map[string]string{"out/f": "OUTSIDE"})
	must(t, os.Symlink(filepath.Dir(project)+"/out", project+"/abs"))
	must(t, os.Symlink(filepath.Dir(project)+"/out/f", project+"/d/absf"))
	return project
}

func soakAll(t *testing.T, reads, writes int) {
	for _, resolver := range resolvers {
		for _, f := range flips {
			for _, access := range []string{facts.Read, facts.Write} {
				n := reads
				if access == facts.Write {
					n = writes
				}
				n /= len(flips) * len(resolvers)
				name := resolver
				if name == "" {
					name = openat2Resolver
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, access, f.name), func(t *testing.T) {
					project := laySoak(t)
					r := open(t, Config{Project: project, Places: DefaultPlaces(""), Resolver: resolver})
					run := soakRead
					if access == facts.Write {
						run = soakWrite
					}
					c, swaps := run(t, r, project, f, n)
					t.Logf("swaps=%d %s", swaps, c)
					if c.escapes+c.usedOther+c.replacedOther+c.mixed > 0 {
						t.Error("an object was used that was not judged")
					}
					if n > 5000 && (c.ok == 0 || swaps == 0) {
						t.Error("nothing was tried")
					}
				})
			}
		}
	}
}

// clear is the verdict of a small policy: inside the project, a file, not a
// secret by either name.
func clear(f *facts.Target) bool {
	if f.Resolution != facts.OK || f.Kind != facts.File || !f.InProject || !f.Handle {
		return false
	}
	for _, s := range f.Folded {
		if s == ".env" {
			return false
		}
	}
	return true
}

// soakRead judges, opens and reads. The inode that policy would have seen is
// taken from the held handle; a path that is inside the project by its facts
// must not give bytes of a file outside.
func soakRead(t *testing.T, r *Resolver, project string, f flip, n int) (counts, int64) {
	c := counts{tried: n}
	out, err := statAt(r.dir, "../out/f")
	must(t, err)
	buf := make([]byte, 64)
	stop := swap(t, project, f.a, f.b)
	for range n {
		o := r.Resolve(Request{Access: facts.Read, Raw: f.path, Requested: f.path})
		if !clear(&o.Facts) {
			c.refused++
			o.Close()
			continue
		}
		file, err := o.Open()
		if errors.Is(err, ErrChanged) {
			c.changed++
			o.Close()
			continue
		}
		must(t, err)
		used, err := statFD(int(file.Fd()))
		must(t, err)
		k, _ := file.Read(buf)
		file.Close()
		if used.same(out) || string(buf[:k]) == "OUTSIDE" {
			c.escapes++
		}
		if used.ino != o.st.ino || used.size != o.Facts.Size {
			c.usedOther++
		}
		c.ok++
		o.Close()
	}
	return c, stop()
}

// soakWrite judges and replaces, n times past the verdict. After each write the
// judged file is gone if the write said so, and has a name if it did not; in
// the end every other file is still there.
func soakWrite(t *testing.T, r *Resolver, project string, f flip, n int) (counts, int64) {
	var c counts
	out, err := statAt(r.dir, "../out/f")
	must(t, err)
	secret, err := statAt(r.dir, "d/.env")
	must(t, err)
	entries := len(everything(t, project))
	stop := swap(t, project, f.a, f.b)
	for i := 0; c.ok+c.changed < n && i < 100*n; i++ {
		c.tried++
		o := r.Resolve(Request{Access: facts.Write, Raw: f.path, Requested: f.path})
		// The swapping thread launders the secret: now and then it is really
		// named d/f when it is judged. No rule about names can tell; keep it.
		if !clear(&o.Facts) || o.st.same(secret) {
			c.refused++
			o.Close()
			continue
		}
		_, err := o.Write(fmt.Appendf(nil, "ours %d", i))
		switch {
		case err == nil:
			c.ok++
			// What was replaced has lost its last name; it is held, so its
			// number cannot be another's.
			if st, err := statFD(o.fd); err != nil || st.nlink != 0 {
				c.replacedOther++
			}
		case errors.Is(err, ErrChanged):
			c.changed++
			if st, err := statFD(o.fd); err != nil || st.nlink == 0 {
				c.replacedOther++
			}
		default:
			t.Fatal(err)
		}
		o.Close()
	}
	swaps := stop()
	if st, err := statAt(r.dir, "../out/f"); err != nil || st.ino != out.ino || fileAt(t, filepath.Dir(project), "out/f") != "OUTSIDE" {
		c.escapes++
	}
	c.mixed += lost(t, project, entries)
	return c, swaps
}

// lost counts the secrets that are gone, the temp names that stayed, and every
// entry that is there no more or too much.
func lost(t *testing.T, project string, entries int) int {
	n := len(leftovers(t, project))
	secrets := 0
	all := everything(t, project)
	for _, p := range all {
		if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() && fileAt(t, p) == "SECRET" {
			secrets++
		}
	}
	if secrets != 2 {
		n++
	}
	return n + max(len(all)-entries, entries-len(all))
}

func everything(t *testing.T, dir string) (out []string) {
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		out = append(out, p)
		return err
	}))
	return out
}
