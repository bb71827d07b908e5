//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRefusals(t *testing.T) {
	needs(t)
	files := map[string]string{"a/x": "", "b/x": "", "script": "#!/missing/interpreter\n", "text": "no program", "many/.keep": ""}
	dir := workspace(t, files)
	for i := range 50 {
		if err := os.WriteFile(fmt.Sprintf("%s/many/%d", dir, i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"script", "text"} {
		if err := os.Chmod(dir+"/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	swapped := root(t, dir+"/a")
	swapped.Path = dir + "/b"
	for _, test := range []struct {
		name string
		bend func(s *Spec)
		want error
	}{
		{"nothing", func(s *Spec) { *s = Spec{} }, ErrSpec},
		{"no program", func(s *Spec) { s.Program = nil }, ErrSpec},
		{"no argv", func(s *Spec) { s.Argv = nil }, ErrSpec},
		{"directory outside the roots", func(s *Spec) { s.Dir.Path = "/usr" }, ErrSpec},
		{"directory is the root", func(s *Spec) { s.Dir.Path = "/" }, ErrSpec},
		{"directory in the system", func(s *Spec) { s.Dir.Path = "/usr/share" }, ErrSpec},
		{"a hidden path outside the roots", func(s *Spec) { s.Hidden = []string{dir + "-sibling"} }, ErrSpec},
		{"a hidden root", func(s *Spec) { s.Hidden = []string{dir} }, ErrSpec},
		{"the whole machine", func(s *Spec) { s.Read = []Root{root(t, "/")} }, ErrSpec},
		{"/proc", func(s *Spec) { s.Read = []Root{root(t, "/proc")} }, ErrSpec},
		{"a path with dots", func(s *Spec) { s.Read = []Root{{Path: dir + "/../x", Handle: s.Dir.Handle}} }, ErrSpec},
		{"two roots at a path", func(s *Spec) { s.Read = s.Write }, ErrSpec},
		{"a NUL", func(s *Spec) { s.Env = []string{"A=\x00"} }, ErrSpec},
		{"another directory", func(s *Spec) { s.Dir = swapped }, ErrChanged},
		{"too many entries", func(s *Spec) { s.Limits.Entries = 20 }, ErrWalkCut},
		{"a missing interpreter", func(s *Spec) { s.Program = open(t, dir+"/script") }, ErrProgram},
		{"no program at all", func(s *Spec) { s.Program = open(t, dir+"/text") }, ErrProgram},
		{"a directory as program", func(s *Spec) { s.Program = open(t, dir) }, ErrProgram},
	} {
		s := spec(t, dir, "/bin/sh", "-c", "touch ran")
		test.bend(&s)
		_, err := try(t, s)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		if _, err := os.Stat(dir + "/ran"); err == nil {
			t.Errorf("%s: it ran", test.name)
		}
	}
	if os.Getuid() != 0 { // as root the handle itself is mounted
		s := spec(t, dir, "/bin/sh", "-c", "touch ran")
		s.Read = []Root{swapped}
		if _, err := try(t, s); !errors.Is(err, ErrChanged) {
			t.Errorf("a root that is another object: got %v", err)
		}
	}
}

// A script runs by its handle too, with its arguments.
func TestScript(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"run.sh": "#!/bin/sh\necho \"$1\" $#\n"})
	if err := os.Chmod(dir+"/run.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	s := spec(t, dir, dir+"/run.sh", "a b", "c")
	if err := os.Rename(dir+"/run.sh", dir+"/old.sh"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/run.sh", []byte("#!/bin/sh\necho planted\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if p := run(t, s); p.stdout != "a b 2\n" {
		t.Errorf("got %q, %q", p.stdout, p.stderr)
	}
}

// A real test suite runs in it, passes and fails as it should, and can neither
// read a secret nor reach loopback.
func TestPythonSuite(t *testing.T) {
	needs(t)
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Skip("there is no python3 on this machine")
	}
	const suite = `
import os, socket, tempfile, unittest

class T(unittest.TestCase):
    def test_files(self):
        with tempfile.NamedTemporaryFile() as f:
            f.write(b"x")
        self.assertEqual(open("data.txt").read(), "data")
    def test_secret(self):
        with self.assertRaises(PermissionError):
            open(".env")
    def test_loopback(self):
        with self.assertRaises(PermissionError):
            socket.create_connection(("127.0.0.1", 80), 1)
    def test_children(self):
        import multiprocessing, subprocess
        self.assertEqual(subprocess.check_output(["echo", "x"]), b"x\n")
        with multiprocessing.get_context("fork").Pool(2) as pool:
            self.assertEqual(pool.map(abs, [-1, -2]), [1, 2])
    def test_asyncio(self):
        import asyncio
        async def main():
            p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
            return (await p.communicate(b"x"))[0]
        self.assertEqual(asyncio.run(main()), b"x")
    def test_pipes(self):
        import multiprocessing, resource
        a, b = multiprocessing.Pipe(duplex=True)
        a.send("x")
        self.assertEqual(b.recv(), "x")
        os.nice(1)
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        resource.setrlimit(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))
    def test_flag(self):
        self.assertFalse(os.path.exists("fail"))
`
	dir := workspace(t, map[string]string{"test_it.py": suite, "data.txt": "data", ".env": "key"})
	s := spec(t, dir, python, "-B", "-m", "unittest")
	if p := run(t, s); p.ExitCode != 0 || !strings.Contains(p.stderr, "Ran 7 tests") {
		t.Errorf("got %+v", p)
	}
	if err := os.WriteFile(dir+"/fail", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if p := run(t, s); p.ExitCode != 1 || !strings.Contains(p.stderr, "failures=1") {
		t.Errorf("got %+v", p)
	}
}

func TestStage(t *testing.T) {
	needs(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := spec(t, workspace(t, nil), "/bin/echo", "x")
	if p, err := tryBy(t, closing(t, Open(self)), s); err != nil || p.stdout != "x\n" {
		t.Errorf("got %+v", p)
	}
	for _, other := range []string{"/bin/true", "/missing"} { // it is no first process
		if _, err := tryBy(t, closing(t, Open(other)), s); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: got %v", other, err)
		}
	}
}

// Roots may lie in each other.
func TestNestedRoots(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"src/a": "a", "src/out/b": "b", "src/out/.env": "key", "src/out/lock/c": "c"})
	s := spec(t, dir+"/src/out", "/bin/sh", "-c",
		"echo 1 >b && echo 2 >../a; echo 3 >lock/c; cat .env ../out/.env; cat ../a; cat b")
	s.Read = []Root{root(t, dir+"/src"), root(t, dir+"/src/out/lock")}
	p := run(t, s)
	if p.stdout != "a1\n" || strings.Count(p.stderr, "Read-only") != 2 || strings.Count(p.stderr, "Permission denied") != 2 {
		t.Errorf("got %q, %q", p.stdout, p.stderr)
	}
}

// A hidden path below which a root lies shows the way to it and nothing else.
func TestRootBelowHidden(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"a": "a", "runs/r/out/b": "b", "runs/r/log": "log", "runs/other/log": "log", "runs/r/out/.env": "key", "src/c": "c"})
	s := spec(t, dir, "/bin/sh", "-c",
		"cat a b; ls .. ../..; cat ../log ../../other/log .env; echo 1 >new; echo 2 >../new; echo 3 >../../new; mkdir ../../other; mv ../../r ../../s; rmdir ..; true")
	s.Read, s.Write = []Root{root(t, dir)}, []Root{root(t, dir+"/runs/r/out")}
	s.Dir, s.Hidden = s.Write[0], []string{dir + "/runs", dir + "/src"}
	p := run(t, s)
	if p.stdout != "b..:\nout\n\n../..:\nr\n" {
		t.Errorf("got %q, %q", p.stdout, p.stderr)
	}
	for name, want := range map[string]bool{"runs/r/out/new": true, "runs/r/new": false, "runs/new": false, "runs/r/log": true} {
		if _, err := os.Stat(dir + "/" + name); (err == nil) != want {
			t.Errorf("%s: there %t, want %t", name, err == nil, want)
		}
	}
}

// A working directory that is in no root shows the way to the roots in it, and
// what the program itself makes.
func TestOwnDirectory(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"a": "a", "src/b": "b"})
	s := spec(t, dir, "/bin/sh", "-c", "pwd; ls; cat src/b; cat a; ls ..; echo 1 >src/new; true")
	s.Read, s.Write = []Root{root(t, dir+"/src")}, nil
	p := run(t, s)
	if want := dir + "\nsrc\nb" + filepath.Base(dir) + "\n"; p.stdout != want {
		t.Errorf("got %q, %q, want %q", p.stdout, p.stderr, want)
	}
}

func TestProbe(t *testing.T) {
	s := launcher(t).Probe(t.Context(), root(t, workspace(t, nil)))
	switch s.Level {
	case Full:
		if len(s.Missing) > 0 || !s.Filesystem || !s.Network || !s.Secrets || !s.Limits {
			t.Errorf("got %+v", s)
		}
	case Partial, None:
		if len(s.Missing) == 0 {
			t.Errorf("got %+v", s)
		}
	default:
		t.Errorf("got %+v", s)
	}
}

// A call under another numbering ends the program, whatever it would be.
func TestForeignNumbersKill(t *testing.T) {
	needs(t)
	if nativeArch != unix.AUDIT_ARCH_X86_64 {
		t.Skip("there are no other numbers to call by on this processor")
	}
	s := spec(t, workspace(t, nil), probeName, "x32")
	if p := run(t, s); p.Signal != unix.SIGSYS {
		t.Errorf("got %+v", p)
	}
}

// A working directory to which no root leads is there, empty, and the sandbox's own.
func TestOwnDirectoryAlone(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"a": "a"})
	s := spec(t, dir, "/bin/sh", "-c", "pwd; ls -A; echo 1 >new; true")
	s.Write = nil
	if p := run(t, s); p.stdout != dir+"\n" {
		t.Errorf("got %q, %q", p.stdout, p.stderr)
	}
	if _, err := os.Stat(dir + "/new"); err == nil {
		t.Error("it reached the host's")
	}
}
