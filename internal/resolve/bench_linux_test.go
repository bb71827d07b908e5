package resolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

func layBench(b *testing.B) string {
	return lay(b, map[string]string{
		"workspace/src/app/handlers/main.go": strings.Repeat("x", 4096), "policies/runlens/decision.rego": "",
		"manifests/tools.json": "", "data/": "", "runs/r1/events.jsonl": "", "runs/r1/artifacts/a/b/c.json": "{}",
	})
}

const benchFile = "workspace/src/app/handlers/main.go"

// BenchmarkResolve compares a resolve with all facts to the bare calls that
// open and describe the same file.
func BenchmarkResolve(b *testing.B) {
	project := layBench(b)
	r := open(b, Config{Project: project, Places: DefaultPlaces("")})
	walk := open(b, Config{Project: project, Places: DefaultPlaces(""), Resolver: rootWalkResolver})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
		for b.Loop() {
			fd, err := unix.Openat2(r.dir, benchFile, &how)
			must(b, err)
			var x unix.Statx_t
			must(b, unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &x))
			unix.Close(fd)
		}
	})
	b.Run("permitted", func(b *testing.B) { // the part of a resolve that asks for access
		o := ask(b, r, facts.Read, benchFile)
		b.ReportAllocs()
		for b.Loop() {
			must(b, permitted(o.fd, mayRead))
		}
	})
	b.Run("watched", func(b *testing.B) { // the part of a read that looks at the folder of runs
		w := r.snap.Load().watch[0]
		b.ReportAllocs()
		for b.Loop() {
			if !w.same(r) {
				b.Fatal("changed")
			}
		}
	})
	for _, c := range []struct {
		name string
		r    *Resolver
		req  Request
		want string
	}{
		{"read", r, Request{Access: facts.Read, Requested: benchFile}, facts.OK},
		{"read_artifact", r, Request{Access: facts.Read, Requested: "runs/r1/artifacts/a/b/c.json"}, facts.OK},
		{"write_existing", r, Request{Access: facts.Write, Requested: benchFile}, facts.OK},
		{"write_new", r, Request{Access: facts.Write, Requested: "runs/r1/artifacts/a/b/new.json"}, facts.Absent},
		{"not_found", r, Request{Access: facts.Read, Requested: benchFile + "x"}, facts.NotFound},
		{"read_root_walk", walk, Request{Access: facts.Read, Requested: benchFile}, facts.OK},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			c.req.Raw = c.req.Requested
			for b.Loop() {
				o := c.r.Resolve(c.req)
				if o.Facts.Resolution != c.want {
					b.Fatal(o.Facts.Resolution)
				}
				o.Close()
			}
		})
	}
}

func BenchmarkRoots(b *testing.B) {
	r := open(b, Config{Project: layBench(b)})
	specs := []RootSpec{{Path: "data"}, {Path: "runs/r1/artifacts"}}
	b.ReportAllocs()
	for b.Loop() {
		if f := r.Roots(specs); !f[0].Exists || !f[1].Exists {
			b.Fatal(f)
		}
	}
}

// BenchmarkWrite compares a durable write with the same calls done bare.
func BenchmarkWrite(b *testing.B) {
	project := layBench(b)
	r := open(b, Config{Project: project, Places: DefaultPlaces("")})
	dir := filepath.Join(project, "data")
	data := []byte(strings.Repeat("x", 1000))
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			f, err := os.OpenFile(dir+"/tmp", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			must(b, err)
			_, err = f.Write(data)
			must(b, err)
			must(b, f.Sync())
			must(b, f.Close())
			must(b, os.Rename(dir+"/tmp", dir+"/bare"))
			d, err := os.Open(dir)
			must(b, err)
			must(b, d.Sync())
			must(b, d.Close())
		}
	})
	for _, p := range []string{"existing", "new"} {
		b.Run(p, func(b *testing.B) {
			must(b, os.WriteFile(dir+"/existing", nil, 0o644))
			for b.Loop() {
				o := r.Resolve(Request{Access: facts.Write, Raw: "data/" + p, Requested: "data/" + p})
				_, err := o.Write(data)
				must(b, err)
				o.Close()
				if p == "new" {
					must(b, os.Remove(dir+"/new"))
				}
			}
		})
	}
}

// FuzzResolve asks for any path: both resolvers agree, and facts are total.
func FuzzResolve(f *testing.F) {
	for _, c := range matrix {
		f.Add(c.ask, c.access == facts.Write)
	}
	project := layMatrix(f)
	best := open(f, Config{Project: project, Places: DefaultPlaces("")})
	walk := open(f, Config{Project: project, Places: DefaultPlaces(""), Resolver: rootWalkResolver})
	f.Fuzz(func(t *testing.T, p string, write bool) {
		if strings.Contains(p, "proc") {
			t.Skip("the two differ on links of /proc, which the portable one never follows")
		}
		req := Request{Access: facts.Read, Raw: p, Requested: p}
		if write {
			req.Access, req.CreateParents = facts.Write, true
		}
		a, b := best.Resolve(req), walk.Resolve(req)
		defer a.Close()
		defer b.Close()
		x, y := a.Facts, b.Facts
		if x.Resolution != y.Resolution || x.Path != y.Path || x.Kind != y.Kind || x.Missing != y.Missing || x.ViaSymlink != y.ViaSymlink || x.Protected != y.Protected {
			t.Fatalf("%q: %s %q %s, by hand %s %q %s", p, x.Resolution, x.Path, x.Kind, y.Resolution, y.Path, y.Kind)
		}
		if x.Segments == nil || x.Folded == nil || x.Below == nil || x.Handle != (x.Resolution == facts.OK || x.Resolution == facts.Absent) {
			t.Fatalf("%q: %+v", p, x)
		}
		if x.Handle && x.InProject != within(a.path, project) {
			t.Fatalf("%q: in_project %v at %q", p, x.InProject, x.Path)
		}
	})
}
