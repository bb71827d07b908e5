//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// forkerOf is the only forker that this process has.
func forkerOf(t *testing.T) (pid int) {
	t.Helper()
	for _, child := range children(os.Getpid()) {
		if !Forks(child) {
			continue
		}
		if pid != 0 {
			t.Fatal("there are two forkers")
		}
		pid = child
	}
	if pid == 0 {
		t.Fatal("there is no forker")
	}
	return pid
}

func commandOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimRight(string(text), "\x00")
}

// nextOf waits until the forker has one child, and that waits for an order.
func nextOf(t *testing.T, forker int) (pid int) {
	t.Helper()
	await(t, "a first process made ahead", func() bool {
		list := children(forker)
		if len(list) == 1 && commandOf(list[0]) == firstName {
			pid = list[0]
			state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return strings.Contains(string(state), ") S ")
		}
		return false
	})
	return pid
}

// descriptorsOf are what a process was given, the kinds without numbers, sorted:
// not what the Go runtime and this test binary open for themselves. Nobody but root
// may look.
func descriptorsOf(t *testing.T, pid int) (list []string) {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	number := regexp.MustCompile(`[0-9]+`)
	for _, link := range links {
		target, err := os.Readlink(link)
		own := strings.HasPrefix(target, "/sys/fs/cgroup/") || strings.HasPrefix(target, "pipe:") ||
			target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]"
		if err == nil && target == "/" && ofSystem(link) {
			target = "system"
		}
		if err == nil && !own {
			list = append(list, number.ReplaceAllString(target, "N"))
		}
	}
	slices.Sort(list)
	return list
}

// ofSystem says whether a descriptor is of a file that every sandbox has.
func ofSystem(link string) bool {
	held, err := os.Stat(link)
	return err == nil && slices.ContainsFunc(slices.Concat(system, devices), func(p string) bool {
		info, err := os.Lstat(p)
		return err == nil && os.SameFile(held, info)
	})
}

// forkerHolds waits until the forker holds its own and what it needs to hand over
// the next first process.
func forkerHolds(t *testing.T, pid int) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	const want = "/dev/null /dev/null /dev/null /dev/null /proc/N/mountinfo anon_inode:[pidfd] socket:[N] socket:[N]"
	got := ""
	defer func() {
		if got != want {
			t.Errorf("the forker holds %q, want %q", got, want)
		}
	}()
	await(t, "the forker", func() bool { got = strings.Join(descriptorsOf(t, pid), " "); return got == want })
}

// What is made ahead knows nothing, holds nothing, and goes with the Launcher.
func TestNextIsInert(t *testing.T) {
	needs(t)
	l := Open("")
	defer l.Close()
	dir := workspace(t, map[string]string{"in": "in"})
	s := spec(t, dir, "/bin/sh", "-c", "echo marked-argument")
	s.Env = append(s.Env, "MARKED=marked-value")
	s.Open = []Root{root(t, dir+"/in")}
	if _, err := tryBy(t, l, s); err != nil {
		t.Fatal(err)
	}
	forker := forkerOf(t)
	next := nextOf(t, forker)
	for _, pid := range []int{forker, next} {
		if !dumpable(t, pid) {
			continue
		}
		t.Errorf("%s can be looked into", commandOf(pid))
	}
	if os.Getuid() == 0 {
		got := slices.DeleteFunc(descriptorsOf(t, next), func(held string) bool { return held == "system" })
		if want := []string{"/dev/null", "/dev/null", "/dev/null", "socket:[N]"}; !slices.Equal(got, want) {
			t.Errorf("what is made ahead holds %q, want %q", got, want)
		}
		forkerHolds(t, forker)
		for _, name := range []string{"environ", "maps"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", next, name))
			if err != nil || strings.Contains(string(text), "marked") || strings.Contains(string(text), dir) {
				t.Errorf("its %s is %q, %v", name, text, err)
			}
		}
	}
	if c, err := l.Start(t.Context(), s); err != nil || c.PID != next {
		t.Errorf("what was made ahead is not used: %v", err)
	} else {
		c.Wait()
	}
	next = nextOf(t, forker)
	l.Close()
	for _, pid := range []int{forker, next} {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d is there after Close", pid)
		}
	}
	if _, err := l.Start(t.Context(), s); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after Close: got %v", err)
	}
}

// dumpable says whether another process of the user may look into one; root may
// always, and sees by whom its files in /proc are owned.
func dumpable(t *testing.T, pid int) bool {
	t.Helper()
	var st unix.Stat_t
	if os.Getuid() != 0 {
		if err := unix.Stat(fmt.Sprintf("/proc/%d/environ", pid), &st); err != nil {
			t.Fatal(err)
		}
		return st.Uid != 0 && st.Uid != nobody // in a user namespace it is root's there, whom nobody is here
	}
	_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err != nil
}

// One made before a mount would not see it, and isn't used.
func TestMountAfterNext(t *testing.T) {
	needs(t)
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	l, s := launcher(t), spec(t, workspace(t, nil), "/bin/true")
	start := func() int {
		c, err := l.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		c.Wait()
		return c.PID
	}
	start()
	next := nextOf(t, forkerOf(t))
	at := t.TempDir()
	if err := unix.Mount("none", at, "tmpfs", 0, ""); err != nil {
		t.Skip("mounting is forbidden here: ", err)
	}
	pid := start()
	after := nextOf(t, forkerOf(t))
	if err := unix.Unmount(at, 0); err != nil {
		t.Error(err)
	}
	if pid == next {
		t.Error("it was used")
	}
	if start() == after {
		t.Error("it was used after the end of the mount")
	}
	if next = nextOf(t, forkerOf(t)); start() != next {
		t.Error("without a change it wasn't used")
	}
}

// The forker's death ends no sandbox and no Launcher.
func TestForkerDies(t *testing.T) {
	needs(t)
	l, s := launcher(t), spec(t, workspace(t, nil), "/bin/sleep", "98767")
	c, err := l.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	forker := forkerOf(t)
	next := nextAmong(t, forker, c.PID)
	syscall.Kill(forker, syscall.SIGKILL)
	await(t, "the end of what was made ahead", func() bool { return syscall.Kill(next, 0) != nil })
	select {
	case <-c.Done():
		t.Error("the sandbox ended with the forker")
	default:
	}
	p, err := tryBy(t, l, spec(t, s.Dir.Path, "/bin/echo", "x"))
	if err != nil || p.stdout != "x\n" {
		t.Errorf("got %+v, %v", p, err)
	}
	if again := forkerOf(t); again == forker {
		t.Error("the forker didn't die")
	}
	c.Kill()
	if r := c.Wait(); !r.Killed {
		t.Errorf("got %+v", r)
	}
}

// nextAmong waits for a child of the forker that isn't the other.
func nextAmong(t *testing.T, forker, other int) (pid int) {
	t.Helper()
	await(t, "a first process made ahead", func() bool {
		for _, child := range children(forker) {
			if child != other {
				pid = child
			}
		}
		return pid != 0
	})
	return pid
}

// Sandboxes run on after Close, and the forker waits for them.
func TestCloseLeavesSandboxes(t *testing.T) {
	needs(t)
	l := Open("")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := spec(t, workspace(t, nil), "/bin/sh", "-c", "read x; exit 5")
	s.Stdin = r
	c, err := l.Start(t.Context(), s)
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	forker := forkerOf(t)
	l.Close()
	l.Close()
	time.Sleep(20 * time.Millisecond)
	fmt.Fprintln(w, "x")
	if r := c.Wait(); r.ExitCode != 5 || r.Killed {
		t.Errorf("got %+v", r)
	}
	await(t, "the end of the forker", func() bool { return syscall.Kill(forker, 0) != nil })
}

// A Launcher that nobody has any more ends its forker.
func TestDroppedLauncher(t *testing.T) {
	needs(t)
	s := spec(t, workspace(t, nil), "/bin/true")
	func() {
		if _, err := tryBy(t, Open(""), s); err != nil {
			t.Fatal(err)
		}
	}()
	await(t, "the end of the forker", func() bool { runtime.GC(); return len(children(os.Getpid())) == 0 })
}

// Many at once, by one forker.
func TestStartsAtOnce(t *testing.T) {
	needs(t)
	l, s := launcher(t), spec(t, workspace(t, nil), "/bin/sh", "-c", "exit 4")
	var all sync.WaitGroup
	for range 24 {
		all.Go(func() {
			c, err := l.Start(t.Context(), s)
			if err != nil {
				t.Error(err)
				return
			}
			if r := c.Wait(); r.ExitCode != 4 || r.Killed {
				t.Errorf("got %+v", r)
			}
		})
	}
	all.Wait()
	forkerOf(t)
}

// More owners than are kept, oldest dropped, each as asked.
func TestOwners(t *testing.T) {
	needs(t)
	if os.Getuid() != 0 {
		t.Skip("only root needs mappings")
	}
	l := launcher(t)
	dir := workspace(t, nil)
	for i := range maxOwners + 6 {
		own := fmt.Sprintf("%s/%d", dir, i)
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(own, 3000+i, 4000+i); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{0, 1, 0} {
		ownerMakes(t, l, fmt.Sprintf("%s/%d", dir, i), 3000+i, 4000+i)
	}
	for i := range maxOwners + 6 {
		if err := l.mapped(t.Context(), uint32(3000+i), uint32(4000+i), func(*os.File) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.owners) != maxOwners {
		t.Errorf("%d are kept", len(l.owners))
	}
	ownerMakes(t, l, dir+"/0", 3000, 4000)
}

func ownerMakes(t *testing.T, l *Launcher, dir string, uid, gid int) {
	t.Helper()
	if p, err := tryBy(t, l, spec(t, dir, "/bin/sh", "-c", "rm -f made; echo x >made")); err != nil || p.ExitCode != 0 {
		t.Fatalf("got %+v, %v", p, err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir+"/made", &st); err != nil || int(st.Uid) != uid || int(st.Gid) != gid {
		t.Errorf("it belongs to %d:%d, %v, want %d:%d", st.Uid, st.Gid, err, uid, gid)
	}
}

// What was gathered of the system counts only while it is what the paths name.
func TestGatheredIsCurrent(t *testing.T) {
	s := &stage{}
	if s.current() {
		t.Error("nothing was gathered, and it is current")
	}
	for _, p := range system {
		if s.seen == nil {
			s.seen = map[string]unix.Stat_t{}
		}
		s.seen[p] = lookAt(p)
	}
	if !s.current() {
		t.Error("it is not current")
	}
	other := s.seen["/usr"]
	other.Ino++
	s.seen["/usr"] = other
	if s.current() {
		t.Error("another /usr is current")
	}
	s.seen["/usr"] = unix.Stat_t{}
	if s.current() {
		t.Error("a new /usr is current")
	}
}
