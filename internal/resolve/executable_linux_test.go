package resolve

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

// trust is what policy trusts a program by.
type trust struct{ Foreign, GroupWritable, OtherWritable bool }

func trustOf(t *testing.T, r *Resolver, name string, path ...string) trust {
	t.Helper()
	e, o := r.Executable(name, path)
	defer o.Close()
	if e.Resolution != facts.OK || !e.Executable {
		t.Fatalf("%s in %v: %+v", name, path, e)
	}
	return trust{e.Foreign, e.GroupWritable, e.OtherWritable}
}

// sharedGroup gives a file to a group that isn't its owner's own, where that is to be
// had, and says whether it has one.
func sharedGroup(t *testing.T, name string) bool {
	t.Helper()
	if os.Geteuid() == 0 {
		must(t, os.Lchown(name, -1, 4242))
	}
	info, err := os.Lstat(name)
	must(t, err)
	st := info.Sys().(*syscall.Stat_t)
	return st.Uid != st.Gid
}

// TestOwnGroup: a group of the owner's own, by its number, has nobody else in it.
func TestOwnGroup(t *testing.T) {
	project := lay(t, map[string]string{"bin/tool": ""})
	must(t, os.Chmod(project+"/bin/tool", 0o775))
	must(t, os.Chmod(project+"/bin", 0o775))
	if os.Geteuid() == 0 {
		must(t, os.Chown(project+"/bin", 0, 0))
		must(t, os.Chown(project+"/bin/tool", 0, 0))
	} else if os.Geteuid() != os.Getegid() {
		t.Skip("this user has no group of his own number")
	}
	r := open(t, Config{Project: project})
	if got := trustOf(t, r, "tool", project+"/bin"); got != (trust{}) {
		t.Errorf("%+v", got)
	}
	if os.Geteuid() == 0 {
		sharedGroup(t, project+"/bin")
		if got := trustOf(t, r, "tool", project+"/bin"); got != (trust{GroupWritable: true}) {
			t.Errorf("of another group: %+v", got)
		}
	}
}

// TestWayToProgram: whoever may change an entry on the way to a program may have
// another one run in its place.
func TestWayToProgram(t *testing.T) {
	for _, resolver := range resolvers {
		project := lay(t, map[string]string{
			"tools/mine": "", "a/b/bin/tool": "", "links/tool": "-> ../a/b/bin/tool",
			"hop/dir": "-> ../a/b", "far/tool": "-> ../hop/dir/bin/tool", "up/bin/tool": "-> ../../tools/../a/b/bin/./tool",
		})
		for _, f := range []string{"tools/mine", "a/b/bin/tool"} {
			must(t, os.Chmod(filepath.Join(project, f), 0o755))
		}
		must(t, os.Symlink(project+"/a/b/bin/tool", project+"/links/whole"))
		r := open(t, Config{Project: project, Resolver: resolver})
		ways := map[string]func() trust{
			"straight": func() trust { return trustOf(t, r, "tool", project+"/a/b/bin") },
			"link":     func() trust { return trustOf(t, r, "tool", project+"/links") },
			"whole":    func() trust { return trustOf(t, r, "whole", project+"/links") },
			"links":    func() trust { return trustOf(t, r, "tool", project+"/far") },
			"dots":     func() trust { return trustOf(t, r, "tool", project+"/up/bin") },
			"path":     func() trust { return trustOf(t, r, "a/b/bin/tool") },
			"other":    func() trust { return trustOf(t, r, "tools/mine") },
		}
		group, other := trust{false, true, false}, trust{false, true, true}
		sticky := os.ModeSticky | 0o777
		for _, c := range []struct {
			at   string
			mode os.FileMode
			want trust
			of   string // the ways that it is on
		}{
			{"a/b/bin/tool", 0o757, trust{false, false, true}, "straight link whole links dots path"},
			{"a/b/bin/tool", 0o775, group, "straight link whole links dots path"},
			{"a/b/bin", 0o777, other, "straight link whole links dots path"},
			{"a/b", 0o777, other, "straight link whole links dots path"},
			{"a", 0o775, group, "straight link whole links dots path"},
			{"a/b", sticky, trust{}, ""},
			{"a/b/bin", sticky, trust{}, ""},
			{"links", 0o777, other, "link whole"},
			{"links", sticky, trust{}, ""},
			{"hop", 0o777, other, "links"},
			{"far", 0o770, group, "links"},
			{"up", 0o777, other, "dots"},
			{"tools", 0o777, other, "other"},
			{"", 0o777, other, "straight link whole links dots path other"},
			{"..", 0o777, other, "straight link whole links dots path other"},
			{"..", sticky, trust{}, ""},
		} {
			at := filepath.Join(project, c.at)
			before, err := os.Stat(at)
			must(t, err)
			own := !sharedGroup(t, at)
			must(t, os.Chmod(at, c.mode))
			for name, way := range ways {
				want := trust{}
				if slices.Contains(strings.Fields(c.of), name) {
					want = c.want
					want.GroupWritable = want.GroupWritable && !own
				}
				if got := way(); got != want {
					t.Errorf("%q: %q has mode %v: the way %s is %+v, want %+v", resolver, c.at, c.mode, name, got, want)
				}
			}
			must(t, os.Chmod(at, before.Mode()))
		}
	}
}

// TestForeignProgram: an owner may change what is his, also in a sticky directory,
// where nobody else may.
func TestForeignProgram(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give files away")
	}
	foreign, both := trust{Foreign: true}, trust{Foreign: true, OtherWritable: true}
	for _, c := range []struct {
		give, open string // what another user has, and which directory is sticky and open to all
		name       string
		want       trust
	}{
		{"", "", "tool", trust{}},
		{"a/bin/tool", "", "tool", foreign},
		{"a/bin", "", "tool", foreign},
		{"a", "", "tool", foreign},
		{"a/bin/link", "", "tool", trust{}},
		{"a/bin/link", "", "link", trust{}}, // where a link leads can't be changed, and its directory is ours
		{"", "a/bin", "link", trust{}},
		{"a/bin/link", "a/bin", "link", trust{OtherWritable: true}},
		{"a/bin/link", "a/bin", "tool", trust{}},
		{"b/real", "b", "tool", trust{}},
		{"b/real", "b", "link", both},
		{"b/real", "", "link", foreign},
		{"b", "", "link", foreign},
		{"b", "b", "link", foreign},
	} {
		for _, resolver := range resolvers {
			project := lay(t, map[string]string{"a/bin/tool": "", "a/bin/link": "-> ../../b/real", "b/real": ""})
			for _, f := range []string{"a/bin/tool", "b/real"} {
				must(t, os.Chmod(filepath.Join(project, f), 0o755))
			}
			if c.give != "" {
				must(t, os.Lchown(filepath.Join(project, c.give), 65534, 65534))
			}
			if c.open != "" {
				must(t, os.Chmod(filepath.Join(project, c.open), os.ModeSticky|0o777))
			}
			r := open(t, Config{Project: project, Resolver: resolver})
			if got := trustOf(t, r, c.name, project+"/a/bin"); got != c.want {
				t.Errorf("%q: another user has %q, all may write %q: %s is %+v, want %+v", resolver, c.give, c.open, c.name, got, c.want)
			}
		}
	}
}

// TestOwnersProgram: in the project its owner is trusted, who could change the
// manifests too; elsewhere he is another user.
func TestOwnersProgram(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give files away")
	}
	project := lay(t, map[string]string{"tools/tool": ""})
	outside := lay(t, map[string]string{"tool": ""})
	for _, f := range []string{project + "/tools/tool", outside + "/tool"} {
		must(t, os.Chmod(f, 0o755))
		must(t, os.Chown(f, 65534, 65534))
	}
	must(t, os.Chown(project+"/tools", 65534, 65534))
	for owner, want := range map[int]trust{0: {Foreign: true}, 65534: {}, 65533: {Foreign: true}} {
		must(t, os.Chown(project, owner, owner))
		r := open(t, Config{Project: project})
		if got := trustOf(t, r, "tool", project+"/tools"); got != want {
			t.Errorf("the project is %d's: %+v, want %+v", owner, got, want)
		}
		if got := trustOf(t, r, "tool", outside); got != (trust{Foreign: true}) {
			t.Errorf("the project is %d's: outside it %+v", owner, got)
		}
	}
}

// The system's own programs are to be trusted, for root and for everyone.
func TestSystemProgram(t *testing.T) {
	r := open(t, Config{Project: lay(t, nil)})
	for _, name := range []string{"sh", "true", "cat"} {
		if got := trustOf(t, r, name, "/usr/bin", "/bin"); got != (trust{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What the way leads to must be the program that was opened.
func TestProgramReplacedMeanwhile(t *testing.T) {
	project := lay(t, map[string]string{"bin/tool": "", "bin/other": ""})
	for _, f := range []string{"bin/tool", "bin/other"} {
		must(t, os.Chmod(filepath.Join(project, f), 0o755))
	}
	r := open(t, Config{Project: project})
	o := ask(t, r, facts.Execute, "bin/tool")
	all := trust{true, true, true}
	for p, want := range map[string]trust{"bin/tool": {}, "bin/other": all, "bin/gone": all, "bin": all, "bin/tool/more": all} {
		e := r.describeExecutable(o, p)
		if got := (trust{e.Foreign, e.GroupWritable, e.OtherWritable}); got != want {
			t.Errorf("%s: %+v, want %+v", p, got, want)
		}
	}
}
