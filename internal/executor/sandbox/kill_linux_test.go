//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// marked are the processes of the host that have a word in their command line.
func marked(word string) (pids []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		if text, _ := os.ReadFile(p); bytes.Contains(text, []byte(word)) {
			pids = append(pids, filepath.Base(filepath.Dir(p)))
		}
	}
	return pids
}

// family starts five processes that try to get away, and stays.
func family(word string) string {
	return strings.ReplaceAll(`
		sleep WORD &
		setsid sleep WORD &
		(setsid sh -c 'sleep WORD & exit' &)
		sleep WORD </dev/null >/dev/null 2>&1 &
		(trap '' TERM HUP INT; exec sleep WORD) &
		echo ready
		sleep WORD
	`, "WORD", word)
}

// startFamily returns when all five run.
func startFamily(t *testing.T, word string) *Child {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := spec(t, workspace(t, nil), "/bin/sh", "-c", family(word))
	s.Stdout = w
	c, err := launcher(t).Start(t.Context(), s)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	bufio.NewReader(r).ReadString('\n')
	await(t, "the family's processes", func() bool { return len(marked(word)) >= 6 }) // five, and the shell
	return c
}

func TestKillLeavesNothing(t *testing.T) {
	needs(t)
	word := fmt.Sprintf("98761.%d", os.Getpid())
	c := startFamily(t, word)
	c.Kill()
	if r := c.Wait(); !r.Killed {
		t.Errorf("got %+v", r)
	}
	if left := marked(word); left != nil {
		t.Errorf("%v are left", left)
	}
	c.Kill() // of what has ended
}

// The end of the program ends what it left running.
func TestEndLeavesNothing(t *testing.T) {
	needs(t)
	word := fmt.Sprintf("98762.%d", os.Getpid())
	p := run(t, spec(t, workspace(t, nil), "/bin/sh", "-c", strings.TrimSuffix(strings.TrimSpace(family(word)), "sleep "+word)+"exit 5"))
	if p.ExitCode != 5 || p.Killed {
		t.Errorf("got %+v", p)
	}
	if left := marked(word); left != nil {
		t.Errorf("%v are left", left)
	}
}

const dyingName = "runlens-dying"

// dyingMain starts a family in a sandbox, or a program that spins (attacks_linux_test.go),
// and waits to be killed.
func dyingMain(dir, word string, spins bool) int {
	f, err := os.Open(dir)
	if err != nil {
		panic(err)
	}
	name, argv := "/bin/sh", []string{"sh", "-c", family(word)}
	if spins {
		name, argv = "/proc/self/exe", []string{probeName, fmt.Sprintf("spin\x1f%s\x1f%d", word, spinners)}
	}
	program, err := os.Open(name)
	if err != nil {
		panic(err)
	}
	r := Root{Path: dir, Handle: f}
	_, err = Open("").Start(context.Background(), Spec{
		Program: program, Argv: argv, Env: []string{"PATH=/usr/bin:/bin"},
		Dir: r, Write: []Root{r}, Stdout: os.Stdout,
	})
	if err != nil {
		panic(err)
	}
	select {}
}

func TestDeathOfTheParentLeavesNothing(t *testing.T) {
	needs(t)
	word := fmt.Sprintf("98763.%d", os.Getpid())
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{dyingName, workspace(t, nil), word}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the family's processes", func() bool { return len(marked(word)) >= 7 })
	forkers := children(cmd.Process.Pid)
	if len(forkers) != 1 {
		t.Errorf("it has %d children, and not the forker", len(forkers))
	}
	cmd.Process.Kill()
	cmd.Wait()
	await(t, "the end of the family", func() bool { return marked(word) == nil })
	await(t, "the end of the forker", func() bool {
		return !slices.ContainsFunc(forkers, func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 2000 {
		if holds() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: waited in vain", what)
}

// children are the processes that have this one as their parent, zombies too.
func children(pid int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, p := range stats {
		text, _ := os.ReadFile(p)
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			pids = append(pids, child)
		}
	}
	return pids
}

func TestForkBombIsBounded(t *testing.T) {
	needs(t)
	s := spec(t, workspace(t, nil), "/bin/sh", "-c", `i=0; while [ $i -lt 200 ]; do sleep 98764 & i=$((i+1)); done; echo all; exit 9`)
	s.Limits.Processes = 30
	p := run(t, s)
	// The shell gives up when it can't fork; the first process lives to tell.
	if p.stdout == "all\n" || p.Killed || p.ExitCode != 2 && p.ExitCode != 254 {
		t.Errorf("got %+v", p)
	}
	if !strings.Contains(strings.ToLower(p.stderr), "fork") {
		t.Errorf("the shell said %q", p.stderr)
	}
}

func TestLimits(t *testing.T) {
	needs(t)
	dir := workspace(t, nil)
	s := spec(t, dir, "/bin/sh", "-c", "head -c 5000 /dev/zero >big; echo $?; head -c 3000000 /dev/zero >"+Temp+"/big; echo $?; ulimit -n; ulimit -c")
	s.Limits.FileSize, s.Limits.OpenFiles = 1000, 50
	p := run(t, s)
	info, err := os.Stat(dir + "/big")
	if err != nil || info.Size() != 1000 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if !strings.HasSuffix(p.stdout, "50\n0\n") {
		t.Errorf("got %q", p.stdout)
	}
	s = spec(t, dir, "/bin/sh", "-c", "head -c 3000000 /dev/zero >"+Temp+"/big || echo full")
	s.Limits.Temp = 1 << 20
	if p := run(t, s); p.stdout != "full\n" {
		t.Errorf("got %q, %q", p.stdout, p.stderr)
	}
	s = spec(t, dir, "/bin/sh", "-c", "while :; do :; done")
	s.Limits.CPU = time.Second
	if p := run(t, s); p.Signal == 0 || p.ExitCode != -1 || p.Killed {
		t.Errorf("got %+v", p)
	}
}

// traces are what a sandbox could leave behind in this process and around it.
func traces(t *testing.T) string {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	temp, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, e := range temp {
		if strings.HasPrefix(e.Name(), "runlens") || strings.HasPrefix(e.Name(), ".") {
			own++
		}
	}
	return fmt.Sprintf("%d descriptors, %d mounts, %d children, %d temporary files", len(fds), bytes.Count(mounts, []byte("\n")), len(children(os.Getpid())), own)
}

// settled are the traces once they don't change any more.
func settled(t *testing.T) (now string) {
	t.Helper()
	same := 0
	await(t, "quiet", func() bool {
		last := now
		if now = traces(t); now != last {
			same = 0
		}
		same++
		return same > 10
	})
	return now
}

func TestManyLeaveNothing(t *testing.T) {
	needs(t)
	runs := 200
	if testing.Short() {
		runs = 40
	}
	word := fmt.Sprintf("98765.%d", os.Getpid())
	quick := spec(t, workspace(t, map[string]string{".env": "key"}), "/bin/true")
	hangs := spec(t, workspace(t, nil), "/bin/sh", "-c", family(word))
	l := launcher(t)
	if _, err := tryBy(t, l, quick); err != nil {
		t.Fatal(err)
	}
	pid := forkerOf(t)
	nextOf(t, pid)
	forkerHolds(t, pid)
	before := settled(t)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := range runs {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer func() { <-slots; wg.Done() }()
			s := quick
			if i%5 == 0 {
				s = hangs
			}
			c, err := l.Start(context.Background(), s)
			if err != nil {
				t.Error(err)
				return
			}
			if i%5 == 0 {
				time.Sleep(time.Duration(i%40) * time.Millisecond)
				c.Kill()
			}
			if r := c.Wait(); r.Killed != (i%5 == 0) {
				t.Errorf("run %d: %+v", i, r)
			}
		}()
	}
	wg.Wait()
	if after := traces(t); after != before {
		t.Errorf("before: %s; after: %s", before, after)
	}
	if left := marked(word); left != nil {
		t.Errorf("%v are left", left)
	}
	if again := forkerOf(t); again != pid {
		t.Errorf("the forker was %d and is %d", pid, again)
	}
	nextOf(t, pid) // its only child
	forkerHolds(t, pid)
}

// A start that is given up on leaves nothing either.
func TestStartGivenUp(t *testing.T) {
	needs(t)
	s, l := spec(t, workspace(t, nil), "/bin/sleep", "98766"), Open("")
	before := traces(t)
	for i := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		c, err := l.Start(ctx, s)
		if err == nil {
			c.Kill()
			c.Wait()
		} else if !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		cancel()
	}
	l.Close()
	// A forker that was asked when the start was given up on ends by itself.
	await(t, "the end of all: "+before, func() bool { return traces(t) == before })
}
