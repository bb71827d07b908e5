package executor_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
)

var soak = flag.Int("soak", 100, "how many programs TestSandboxSoak runs")

// Many programs, some at a time, a fifth of them hanging, forking or flooding:
// nothing is left of them on this machine, and this process is no larger than before.
func TestSandboxSoak(t *testing.T) {
	isolated(t)
	project, temp := canonical(t), canonical(t)
	t.Setenv("TMPDIR", temp)
	// In the arguments or the environment of every process of every program.
	tag := fmt.Sprintf("%d.25", 2_000_000+os.Getpid())
	begin := stage() // builds it: not to be counted
	atFirst := standingNow(t, temp)
	x, err := newExecutor(t, project, func(c *executor.Config) { c.Tools, c.Stage = tools(t, soakTools(tag)), begin })
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]int{}
	run := func(from, to int) {
		numbers := make(chan int)
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 8 {
			all.Go(func() {
				for i := range numbers {
					r := soakOne(t, x, i)
					mu.Lock()
					codes[r]++
					mu.Unlock()
				}
			})
		}
		for i := from; i < to; i++ {
			numbers <- i
		}
		close(numbers)
		all.Wait()
	}
	fifth := *soak / 5
	run(0, fifth) // makes what is made once, too
	before := standingNow(t, temp)
	run(fifth, *soak)
	left := settled(func() []string {
		return append(standingNow(t, temp).grown(before, *soak-fifth), tagged(t, tag)...)
	})
	after := standingNow(t, temp)
	t.Logf("%d programs: %v; live heap %d KiB after %d, %d KiB at the end; resident %d and %d KiB, the forker's %d and %d KiB",
		*soak, codes, before.heap>>10, fifth, after.heap>>10, before.resident>>10, after.resident>>10, before.forker>>10, after.forker>>10)
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	x = nil
	// Then nothing of the executor is left either.
	left = append(left, settled(func() []string {
		now := standingNow(t, temp)
		now.heap, now.resident, now.forker = 0, 0, 0
		return now.grown(atFirst, 0)
	})...)
	for _, l := range left {
		t.Error("left: " + l)
	}
}

// soakTools are one tool that is well and three that are not.
func soakTools(tag string) string {
	text := sandboxTools(`["out"]`, map[string][]string{
		"fine":  {"sh", "-c", "echo fine >$TMPDIR/a; cat $TMPDIR/a; sleep 0.01"},
		"hang":  {"sh", "-c", "echo begun; trap '' TERM; sleep " + tag},
		"fork":  {"sh", "-c", "echo begun; for i in 1 2 3 4 5 6 7 8; do setsid sh -c 'sleep " + tag + " & exec 1>&- 2>&-; sleep " + tag + "' & done; wait"},
		"flood": {"sh", "-c", "echo begun; yes " + tag + " & yes " + tag + " >&2"},
	})
	for _, name := range []string{"hang", "fork", "flood"} {
		from := fmt.Sprintf(`%q:{"operation":"execute","handler":"run_tests","timeout_ms":60000`, name)
		text = strings.Replace(text, from, strings.Replace(from, "60000", "500", 1), 1)
	}
	return strings.ReplaceAll(text, `"roots"`, fmt.Sprintf(`"env":{"SOAK":%q},"roots"`, tag))
}

// soakOne runs one program and says how it ended.
func soakOne(t *testing.T, x *executor.Executor, i int) string {
	tool, code := "fine", ""
	if i%5 == 0 {
		tool, code = []string{"hang", "fork", "flood"}[i/5%3], "handler_timeout"
	}
	r := x.Exec(context.Background(), toolCall(tool), "r")
	stdout, _ := r.Output["stdout"].(string)
	if r.ErrorCode != code || code == "" && stdout != "fine\n" || code != "" && !strings.HasPrefix(stdout, "begun\n") {
		t.Errorf("%s: %s %s %q, printed %.40q, want %q", tool, r.Status, r.ErrorCode, r.ErrorMessage, stdout, code)
	}
	return tool
}

// standing is what programs could leave behind in this process and on its machine.
type standing struct {
	children    []string // processes, with those that are dead and not reaped
	mounts      []string
	descriptors []string
	temps       []string // of RunLens: here, and by name where everybody's are
	routines    int

	heap, resident, forker int64 // bytes: live, of this process, of its children
}

func standingNow(t testing.TB, temp string) (s standing) {
	t.Helper()
	read := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			return "" // gone meanwhile
		}
		return string(data)
	}
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tasks {
		s.children = append(s.children, strings.Fields(read(name))...)
	}
	s.mounts = strings.Split(read("/proc/self/mountinfo"), "\n")
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			s.descriptors = append(s.descriptors, to)
		}
	}
	if s.temps, err = filepath.Glob(temp + "/*"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/tmp", "/dev/shm", "/run", "/var/tmp"} {
		found, _ := filepath.Glob(dir + "/*runlens*")
		s.temps = append(s.temps, found...)
	}
	debug.FreeOSMemory() // collects first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.heap, s.routines = int64(m.HeapAlloc), runtime.NumGoroutine()
	s.resident = resident(read("/proc/self/statm"))
	for _, pid := range s.children {
		s.forker += resident(read("/proc/" + pid + "/statm"))
	}
	return s
}

func resident(statm string) int64 {
	fields := strings.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// What may come of each program, and whatever their number: the run's state and
// ledger hold some bytes of every call, and memory is had in pieces.
const (
	heapEach, heapMuch         = 2 << 10, 256 << 10
	residentEach, residentMuch = 2 << 10, 2 << 20
)

// grown says what there is now and was not then, so many programs ago.
func (s standing) grown(then standing, programs int) (list []string) {
	for _, kind := range []struct {
		name      string
		then, now []string
	}{
		{"child", then.children, s.children},
		{"mount", then.mounts, s.mounts},
		{"descriptor", then.descriptors, s.descriptors},
		{"temporary file", then.temps, s.temps},
	} {
		count := map[string]int{}
		for _, have := range kind.now {
			count[have]++
		}
		for _, had := range kind.then {
			count[had]--
		}
		// A child may be another than before: a first process that waits for the next sandbox.
		if kind.name == "child" {
			if len(kind.now) > len(kind.then) {
				list = append(list, fmt.Sprintf("%d children, then %d", len(kind.then), len(kind.now)))
			}
			continue
		}
		for _, have := range slices.Sorted(maps.Keys(count)) {
			if n := count[have]; n > 0 {
				list = append(list, fmt.Sprintf("%d × %s %s", n, kind.name, have))
			}
		}
	}
	if s.routines > then.routines {
		list = append(list, fmt.Sprintf("%d goroutines, then %d", then.routines, s.routines))
	}
	more := func(name string, was, is, each, much int64) {
		if is-was > each*int64(programs)+much {
			list = append(list, fmt.Sprintf("%s: %d KiB, then %d KiB", name, was>>10, is>>10))
		}
	}
	more("live heap", then.heap, s.heap, heapEach, heapMuch)
	if raced {
		return list
	}
	more("resident memory", then.resident, s.resident, residentEach, residentMuch)
	more("resident memory of the children", then.forker, s.forker, residentEach/4, residentMuch/4)
	return list
}

// settled is what look finds for good: the end of what was killed is not a moment,
// and others mount and unmount on this machine.
func settled(look func() []string) (found []string) {
	for range 50 {
		if found = look(); len(found) == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return found
}

// tagged are the processes of the machine with the tag in their arguments or their
// environment.
func tagged(t testing.TB, tag string) (list []string) {
	t.Helper()
	for _, name := range []string{"cmdline", "environ"} {
		found, err := filepath.Glob("/proc/[0-9]*/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), tag) {
				list = append(list, "process with the tag in "+name)
			}
		}
	}
	return list
}

// TestSoakSees: what the test above looks for, it finds.
func TestSoakSees(t *testing.T) {
	tag := fmt.Sprintf("%d.125", 2_000_000+os.Getpid())
	temp := canonical(t)
	var kept [][]byte
	for name, leak := range map[string]func(t *testing.T) (mend func()){
		"process with the tag in": func(t *testing.T) func() { return sleeping(t, exec.Command("sleep", tag)) },
		"children, then": func(t *testing.T) func() {
			c := exec.Command("sleep", "1000")
			c.Env = []string{"SOAK=" + tag}
			return sleeping(t, c)
		},
		"descriptor pipe:": func(t *testing.T) func() {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			return func() { r.Close(); w.Close() }
		},
		"temporary file " + temp: func(t *testing.T) func() {
			write(t, temp, "left", "x")
			return func() { os.Remove(filepath.Join(temp, "left")) }
		},
		"mount ": func(t *testing.T) func() {
			dir := t.TempDir()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
				t.Skipf("mount: %v", err)
			}
			return func() { _ = syscall.Unmount(dir, 0) }
		},
		"goroutines, then": func(t *testing.T) func() {
			stop := make(chan struct{})
			go func() { <-stop }()
			return func() { close(stop) }
		},
		"live heap": func(t *testing.T) func() {
			for range *soak - *soak/5 {
				kept = append(kept, make([]byte, 6<<10))
			}
			return func() { kept = nil }
		},
	} {
		t.Run(strings.Fields(name)[0], func(t *testing.T) {
			before := standingNow(t, temp)
			mend := leak(t)
			now := standingNow(t, temp)
			found := append(now.grown(before, *soak-*soak/5), tagged(t, tag)...)
			mend()
			if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, name) }) {
				t.Errorf("found %q, want %s", found, name)
			}
			if left := settled(func() []string {
				return append(standingNow(t, temp).grown(before, *soak-*soak/5), tagged(t, tag)...)
			}); len(left) > 0 {
				t.Errorf("found though it is mended: %q", left)
			}
		})
	}
	runtime.KeepAlive(kept)
}

func sleeping(t *testing.T, c *exec.Cmd) func() {
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return func() { _ = c.Process.Kill(); _ = c.Wait() }
}
