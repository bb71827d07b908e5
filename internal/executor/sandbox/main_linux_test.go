//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// polled makes the Go runtime open descriptors of its own before Init, as the
// packages of a large program do.
var polled, _, _ = os.Pipe()

// The test binary is the sandbox's first process when Start runs it again, and
// the program within when its name is probeName (probing_linux_test.go), or a host that dies.
func TestMain(m *testing.M) {
	Init(strings.ToLower)
	runtime.KeepAlive(polled)
	if os.Args[0] == probeName {
		syscall.Exit(probeMain(os.Args[1:])) // os.Exit takes a second under the race detector
	}
	if os.Args[0] == dyingName {
		syscall.Exit(dyingMain(os.Args[1], os.Args[2], len(os.Args) > 3))
	}
	os.Exit(m.Run())
}

var dotenv = Names{
	Exact:  []string{".env", ".envrc"},
	Prefix: []string{".env."},
	Suffix: []string{".env"},
	Except: []string{".example"},
}

// needs skips a test, with the reason, on a machine that has no full sandbox.
func needs(t testing.TB) {
	t.Helper()
	l := Open("")
	defer l.Close()
	if s := l.Probe(t.Context()); s.Level != Full {
		t.Skip("no sandbox here: " + strings.Join(s.Missing, "; "))
	}
}

// launcher is one that is closed when the test ends.
func launcher(t testing.TB) *Launcher {
	return closing(t, Open(""))
}

func closing(t testing.TB, l *Launcher) *Launcher {
	t.Cleanup(l.Close)
	return l
}

// workspace is a directory for a test that whoever it runs as owns, under its
// canonical path.
func workspace(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func root(t testing.TB, path string) Root {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return Root{Path: path, Handle: f}
}

func open(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// spec runs argv in dir, which is a write root.
func spec(t testing.TB, dir string, argv ...string) Spec {
	t.Helper()
	program := argv[0]
	if program == probeName {
		program = "/proc/self/exe"
	}
	r := root(t, dir)
	return Spec{
		Program: open(t, program), Argv: argv,
		Env: []string{"PATH=/usr/bin:/bin", "HOME=" + Home, "TMPDIR=" + Temp},
		Dir: r, Write: []Root{r}, Names: dotenv,
	}
}

type printed struct {
	Result
	stdout, stderr string
}

// run runs a sandbox to its end.
func run(t testing.TB, s Spec) printed {
	t.Helper()
	p, err := try(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func try(t testing.TB, s Spec) (printed, error) {
	t.Helper()
	return tryBy(t, launcher(t), s)
}

func tryBy(t testing.TB, l *Launcher, s Spec) (printed, error) {
	t.Helper()
	var out, errs bytes.Buffer
	stdout, copied := pipe(t, &out)
	stderr, copied2 := pipe(t, &errs)
	s.Stdout, s.Stderr = stdout, stderr
	c, err := l.Start(t.Context(), s)
	stdout.Close()
	stderr.Close()
	if err != nil {
		return printed{}, err
	}
	select {
	case <-c.Done():
	case <-time.After(30 * time.Second):
		c.Kill()
		t.Error("it did not end")
	}
	r := c.Wait()
	<-copied
	<-copied2
	return printed{r, out.String(), errs.String()}, nil
}

// pipe copies what is written to it until nobody holds it.
func pipe(t testing.TB, into io.Writer) (*os.File, <-chan struct{}) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(into, r)
		r.Close()
	}()
	return w, done
}

func TestProgramRuns(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"a.txt": "hello"})
	p := run(t, spec(t, dir, "/bin/sh", "-c", "pwd; cat a.txt; echo; id -u; echo no >&2; exit 7"))
	want := dir + "\nhello\n"
	if p.ExitCode != 7 || p.Signal != 0 || p.Killed || !strings.HasPrefix(p.stdout, want) || p.stderr != "no\n" {
		t.Errorf("got %+v", p)
	}
}

// A process that is closed to others can start sandboxes, and is closed afterwards.
func TestClosedProcess(t *testing.T) {
	needs(t)
	was, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(was), 0, 0, 0)
	dir, l := workspace(t, nil), launcher(t)
	var all sync.WaitGroup
	for range 4 {
		s := spec(t, dir, "/bin/true")
		all.Go(func() {
			c, err := l.Start(t.Context(), s)
			if err != nil {
				t.Error(err)
				return
			}
			if r := c.Wait(); r.ExitCode != 0 {
				t.Errorf("got %+v", r)
			}
		})
	}
	all.Wait()
	if now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || now != 0 {
		t.Errorf("it is open now: %d, %v", now, err)
	}
}

// BenchmarkTrue starts /bin/true in the sandbox and plainly in turns, and reports
// the medians and how many times the one is the other. The promise is 12 at most.
func BenchmarkTrue(b *testing.B) {
	needs(b)
	s, l := spec(b, workspace(b, nil), "/bin/true"), launcher(b)
	var sandboxed, plain []time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		c, err := l.Start(b.Context(), s)
		if err != nil {
			b.Fatal(err)
		}
		if r := c.Wait(); r.ExitCode != 0 {
			b.Fatal(r)
		}
		sandboxed, plain = append(sandboxed, time.Since(between)), append(plain, between.Sub(begin))
	}
	slices.Sort(sandboxed)
	slices.Sort(plain)
	x, y := sandboxed[len(sandboxed)/2], plain[len(plain)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(y.Microseconds()), "plain-µs")
	b.ReportMetric(float64(x.Microseconds()), "sandbox-µs")
	b.ReportMetric(float64(x)/float64(y), "times")
}
