//go:build linux

package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// These tests start this test binary again as another writer, which takes what
// it does from its arguments.
const childEnv = "LEDGER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	arg := strings.Fields(os.Getenv(childEnv))
	n, _ := strconv.Atoi(arg[2])
	var err error
	switch arg[0] {
	case "append":
		err = childAppend(arg[1], n, arg[3])
	case "die":
		err = childDie(arg[1], n)
	case "start":
		err = childStart(arg[1])
	case "crowd":
		err = childCrowd(arg[1], n)
	case "limit":
		err = childLimit(arg[1], n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err bytes.Buffer
}

func spawn(t testing.TB, args ...any) *child {
	t.Helper()
	for len(args) < 4 {
		args = append(args, "0")
	}
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), childEnv+"="+strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	c.Stderr = &c.err
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c
}

// acks reads what the child said until it ended.
func (c *child) acks(t testing.TB) (lines []string) {
	t.Helper()
	for {
		text, err := c.out.ReadString('\n')
		if err != nil {
			return lines
		}
		lines = append(lines, strings.TrimSuffix(text, "\n"))
	}
}

func (c *child) line(t testing.TB) string {
	t.Helper()
	text, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("child: %v, %s", err, c.err.String())
	}
	return strings.TrimSuffix(text, "\n")
}

// acked commits and, once that is durable, says so in one write.
func acked(l *Log, typ string, payload any) error {
	var at Head
	err := l.Commit(ctx, func(tx *Tx) error {
		_, err := tx.Add(typ, payload)
		at = tx.Head()
		return err
	})
	if err == nil {
		_, err = fmt.Printf("%d %s\n", at.Seq, at.Hash)
	}
	return err
}

// checkAcked: every acknowledged event stands where it was acknowledged.
func checkAcked(t testing.TB, evs []*Event, acks []string) {
	t.Helper()
	for _, ack := range acks {
		num, hash, _ := strings.Cut(ack, " ")
		seq, err := strconv.Atoi(num)
		if err != nil || seq > len(evs) || evs[seq-1].Hash != hash {
			t.Fatalf("acknowledged %q is not in a ledger of %d events", ack, len(evs))
		}
	}
}

func childAppend(dir string, n int, size string) error {
	fill, _ := strconv.Atoi(size)
	state := &tally{}
	l, err := Open(dir, Options{State: state, Key: []byte("k")})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin) // the barrier
	for i := range n {
		err := l.Commit(ctx, func(tx *Tx) error {
			if tx.Seq() != state.N {
				return fmt.Errorf("judged at %d with %d folded", tx.Seq(), state.N)
			}
			_, err := tx.Add(Note, map[string]any{"pid": os.Getpid(), "i": i, "sum": state.Sum, "fill": strings.Repeat("x", fill)})
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := l.View(ctx, func(Head) error { return nil }); err != nil {
		return err
	}
	fmt.Println(state.N, state.Sum)
	return l.Close()
}

// TestProcesses: several processes at once make one unbroken chain, and every
// event was judged on the fold of exactly the events before it.
func TestProcesses(t *testing.T) {
	for _, tc := range []struct{ processes, commits, fill int }{
		{2, 200, 100},
		{6, 5, 300_000},
	} {
		t.Run(fmt.Sprintf("%d×%d×%d", tc.processes, tc.commits, tc.fill), func(t *testing.T) {
			dir := runDir(t)
			open(t, dir, Options{}).Close()
			var children []*child
			for range tc.processes {
				c := spawn(t, "append", dir, tc.commits, tc.fill)
				if got := c.line(t); got != "ready" {
					t.Fatal(got)
				}
				children = append(children, c)
			}
			for _, c := range children {
				c.in.Close()
			}
			var folds []string
			for _, c := range children {
				folds = append(folds, c.acks(t)...)
				if err := c.Wait(); err != nil {
					t.Fatalf("%v: %s", err, c.err.String())
				}
			}
			evs := checkWhole(t, dir)
			if len(evs) != tc.processes*tc.commits {
				t.Fatalf("%d events", len(evs))
			}
			fresh, at := tally{}, map[int64]string{}
			for _, ev := range evs {
				var p struct{ Sum string }
				if err := json.Unmarshal(ev.Payload, &p); err != nil || p.Sum != fresh.Sum {
					t.Fatalf("event %d was judged on a stale fold", ev.Seq)
				}
				fresh.Apply(ev)
				at[fresh.N] = fresh.Sum
			}
			if len(folds) != tc.processes {
				t.Fatalf("folds %q", folds)
			}
			for _, f := range folds {
				n, sum, _ := strings.Cut(f, " ")
				if seq, _ := strconv.ParseInt(n, 10, 64); at[seq] != sum {
					t.Errorf("a process folded to %s, a fresh fold differs", f)
				}
			}
		})
	}
}

// mortal kills its process before the step that its counter reaches.
type mortal struct {
	disk
	mu    sync.Mutex
	steps int
}

// step counts and, when the time has come, does the last thing and dies.
func (m *mortal) step(last func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.steps--; m.steps == 0 {
		last()
		unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}
}

func nothing() {}

func (m *mortal) Write(p []byte) (int, error) {
	m.step(nothing)
	m.step(func() { m.disk.Write(p[:1]) })
	m.step(func() { m.disk.Write(p[:len(p)/2]) })
	m.step(func() { m.disk.Write(p[:len(p)-1]) })
	m.step(func() { m.disk.Write(p) })
	return m.disk.Write(p)
}

func (m *mortal) truncate(size int64) error { m.step(nothing); return m.disk.truncate(size) }
func (m *mortal) sync() error               { m.step(nothing); return m.disk.sync() }
func (m *mortal) look() (int64, error)      { m.step(nothing); return m.disk.look() }
func (m *mortal) try(slot int64) (bool, error) {
	m.step(nothing)
	return m.disk.try(slot)
}

func (m *mortal) drop(slot int64) error { m.step(nothing); return m.disk.drop(slot) }
func (m *mortal) close() error          { m.step(nothing); return m.disk.close() }

func (m *mortal) save(name string, r io.Reader) error {
	m.step(nothing)
	m.step(func() { // half a copy, under its temporary name
		os.WriteFile(filepath.Join(filepath.Dir(m.disk.(*file).Name()), eventsName+".part"), []byte("{"), 0o600)
	})
	return m.disk.save(name, r)
}

func (m *mortal) replace(name string, data []byte) error {
	m.step(nothing)
	m.step(func() {
		os.WriteFile(filepath.Join(filepath.Dir(m.disk.(*file).Name()), name+".new"), data[:len(data)/2], 0o600)
	})
	return m.disk.replace(name, data)
}

// childDie repairs, executes one call, writes its cache and closes, or dies on
// the way.
func childDie(dir string, steps int) error {
	l, err := Open(dir, Options{State: &tally{}, Key: []byte("k"), wrap: func(d disk) disk { return &mortal{disk: d, steps: steps} }})
	if err != nil {
		return err
	}
	var verdict, start int64
	err = l.Commit(ctx, func(tx *Tx) error {
		tx.Add(ModelProposed, nil)
		verdict, _ = tx.Add(ToolAllowed, nil)
		start, err = tx.Add(ToolStarted, started(verdict))
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d %s\n", start, l.head.Hash)
	if err := acked(l, ToolSucceeded, ended(start)); err != nil {
		return err
	}
	err = l.Commit(ctx, func(tx *Tx) error { // as many as make Close write the cache
		for range onClose {
			tx.Add(Note, nil)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.Close()
}

// TestKillEverywhere kills a writer between any two steps, those of a recovery
// included. Nothing acknowledged is lost, the tail is kept, what started has an
// end, and a second Open finds nothing more to do.
func TestKillEverywhere(t *testing.T) {
	_, clean := filled(t, 2)
	tail := []byte(`{"v":1,"run_id":"r1","seq":3,"ts`)
	for steps := 1; ; steps++ {
		if steps > 300 {
			t.Fatal("the child never gets through")
		}
		dir := runDir(t)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, append(bytes.Clone(clean), tail...))
		c := spawn(t, "die", dir, steps)
		acks := c.acks(t)
		err := c.Wait()
		if c.ProcessState.Exited() && err != nil {
			t.Fatalf("step %d: %v: %s", steps, err, c.err.String())
		}
		rep, verr := Verify(dir, nil, nil)
		if verr != nil || rep.Status != Unanchored && rep.Status != Torn {
			t.Fatalf("step %d: verify says %s, %v", steps, rep.Status, verr)
		}
		state := &tally{}
		l, oerr := Open(dir, Options{State: state, Key: []byte("k")})
		if oerr != nil {
			t.Fatalf("step %d: %v", steps, oerr)
		}
		evs := checkWhole(t, dir)
		checkAcked(t, evs, acks)
		sameFold(t, dir, state)
		l.Close()
		open(t, dir, Options{}).Close()
		if again := events(t, dir); len(again) != len(evs) {
			t.Fatalf("step %d: a second Open added %s", steps, types(again[len(evs):]))
		}
		checkStory(t, dir, evs, tail)
		if err == nil {
			if steps < 40 {
				t.Errorf("only %d steps", steps)
			}
			return
		}
	}
}

// checkStory: the first tail is kept whole, and starts have exactly one end.
func checkStory(t *testing.T, dir string, evs []*Event, tail []byte) {
	t.Helper()
	open, kept := map[int64]bool{}, false
	for _, ev := range evs {
		_, found, _ := parse(ev.AppendLine(nil))
		switch {
		case ev.Type == ToolStarted:
			open[ev.Seq] = true
		case isEnd(ev.Type):
			delete(open, found.started)
		case ev.Type == LedgerRecovered:
			data, _ := os.ReadFile(filepath.Join(dir, found.file))
			kept = kept || bytes.Equal(data, tail)
		}
	}
	if len(open) > 0 || !kept {
		t.Fatalf("starts without end %v, tail kept %v: %s", open, kept, types(evs))
	}
}

func childStart(dir string) error {
	l, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	err = l.Commit(ctx, func(tx *Tx) error {
		verdict, _ := tx.Add(ToolAllowed, nil)
		_, err := tx.Add(ToolStarted, started(verdict))
		return err
	})
	fmt.Println("started")
	io.Copy(io.Discard, os.Stdin)
	return err
}

// TestStartsOfOthers: a start is unknown once its process is gone, and not a
// moment earlier.
func TestStartsOfOthers(t *testing.T) {
	dir := runDir(t)
	open(t, dir, Options{}).Close()
	c := spawn(t, "start", dir)
	c.line(t)
	open(t, dir, Options{}).Close()
	if evs := checkWhole(t, dir); types(evs) != "tool_allowed tool_started" {
		t.Fatalf("while it lives: %s", types(evs))
	}
	c.Process.Kill()
	c.Wait()
	state := &tally{}
	open(t, dir, Options{State: state})
	evs := checkWhole(t, dir)
	if types(evs) != "tool_allowed tool_started tool_unknown" || string(evs[2].Payload) != `{"started_seq":2,"verdict_seq":1}` {
		t.Fatalf("after its death: %s", types(evs))
	}
	sameFold(t, dir, state)
}

// TestStartsOfOurs: another Log of this process is another owner.
func TestStartsOfOurs(t *testing.T) {
	// An end gives the claim up, and a failed commit never had it.
	l := open(t, runDir(t), Options{})
	other, err := Open(l.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	held := func(seq int64) bool {
		got, err := other.disk.held(slotStarted + seq)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	mustCommit(t, l, ToolAllowed, nil)
	if mustCommit(t, l, ToolStarted, started(1)); !held(2) {
		t.Error("a start is not claimed")
	}
	if mustCommit(t, l, ToolSucceeded, ended(2)); held(2) {
		t.Error("an end leaves the claim")
	}

	start := func(l *Log, payload any) (seq int64) {
		mustCommit(t, l, ToolAllowed, nil)
		return mustCommit(t, l, ToolStarted, payload)
	}
	for _, tc := range []struct {
		name string
		do   func(l *Log)
		want string
	}{
		{"running", func(l *Log) { start(l, started(1)) }, "tool_allowed tool_started"},
		{"ended", func(l *Log) { mustCommit(t, l, ToolFailed, ended(start(l, started(1)))) }, "tool_allowed tool_started tool_failed"},
		{"released", func(l *Log) { l.Started(start(l, started(1)))() }, "tool_allowed tool_started tool_unknown"},
		{"closed", func(l *Log) { release := l.Started(start(l, started(1))); l.Close(); release() }, "tool_allowed tool_started tool_unknown"},
		{"detached", func(l *Log) {
			start(l, map[string]any{"verdict_seq": 1, "detached": true})
			l.Close()
		}, "tool_allowed tool_started"},
		{
			"one of two", func(l *Log) { start(l, started(1)); release := l.Started(start(l, started(3))); release(); release() },
			"tool_allowed tool_started tool_allowed tool_started tool_unknown",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := runDir(t)
			tc.do(open(t, dir, Options{}))
			open(t, dir, Options{})
			if evs := checkWhole(t, dir); types(evs) != tc.want {
				t.Error(types(evs))
			}
		})
	}
}

func childCrowd(dir string, n int) error {
	l, err := Open(dir, Options{State: &tally{}})
	if err != nil {
		return err
	}
	for g := range n {
		go func() {
			for i := 0; ; i++ {
				if err := acked(l, Note, map[string]int{"g": g, "i": i}); err != nil {
					return
				}
			}
		}()
	}
	select {}
}

// TestKillCrowd: a process is killed while 16 goroutines share its syncs.
// What it acknowledged is there (nats-server#7564).
func TestKillCrowd(t *testing.T) {
	dir := runDir(t)
	open(t, dir, Options{}).Close()
	c := spawn(t, "crowd", dir, 16)
	var acks []string
	for range 100 {
		acks = append(acks, c.line(t))
	}
	c.Process.Kill()
	for {
		text, err := c.out.ReadString('\n')
		if err != nil {
			break // what has no newline was not said
		}
		acks = append(acks, strings.TrimSuffix(text, "\n"))
	}
	c.Wait()
	open(t, dir, Options{})
	checkAcked(t, checkWhole(t, dir), acks)
}

func childLimit(dir string, room int) error {
	l, err := Open(dir, Options{State: &tally{}})
	if err != nil {
		return err
	}
	size := l.end
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(size) + uint64(room), Max: old.Max}); err != nil {
		return err
	}
	_, err = commit(l, Note, map[string]string{"fill": strings.Repeat("x", 1000)})
	if !errors.Is(err, unix.EFBIG) || errors.Is(err, ErrBroken) {
		return fmt.Errorf("commit beyond the limit: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, eventsName)); err != nil || info.Size() != size {
		return fmt.Errorf("left %d bytes, was %d", info.Size(), size)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	return acked(l, Note, nil)
}

// TestFileSizeLimit: part of a line fits (pi#8345).
func TestFileSizeLimit(t *testing.T) {
	for _, room := range []int{0, 1, 100} {
		dir, _ := filled(t, 3)
		c := spawn(t, "limit", dir, room)
		acks := c.acks(t)
		if err := c.Wait(); err != nil {
			t.Fatalf("%v: %s", err, c.err.String())
		}
		evs := checkWhole(t, dir)
		if checkAcked(t, evs, acks); len(evs) != 4 {
			t.Errorf("%d events", len(evs))
		}
	}
}

// mounted gives a tmpfs of its own.
func mounted(t *testing.T, options string) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestDiskFull: write until there is no room, make room, go on (oh-my-pi#8596).
func TestDiskFull(t *testing.T) {
	dir := filepath.Join(mounted(t, "size=64k"), "r1")
	state := &tally{}
	l := open(t, dir, Options{State: state, Key: []byte("k")})
	filler := filepath.Join(filepath.Dir(dir), "filler")
	if err := os.WriteFile(filler, make([]byte, 20<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	acknowledged, err := 0, error(nil)
	for err == nil {
		if _, err = commit(l, Note, map[string]string{"fill": strings.Repeat("x", 700)}); err == nil {
			acknowledged++
		}
	}
	if !errors.Is(err, unix.ENOSPC) || errors.Is(err, ErrBroken) || acknowledged == 0 {
		t.Fatalf("after %d: %v", acknowledged, err)
	}
	if evs := checkWhole(t, dir); len(evs) != acknowledged {
		t.Fatalf("%d events, %d acknowledged", len(evs), acknowledged)
	}
	sameFold(t, dir, state)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, l, RunStopped, nil)
	checkWhole(t, dir)
	sameFold(t, dir, state)
}

// TestDiskFullAtOpen: a torn tail on a full disk is refused untouched, and
// repaired once there is room.
func TestDiskFullAtOpen(t *testing.T) {
	root := mounted(t, "size=64k")
	dir := filepath.Join(root, "r1")
	l := open(t, dir, Options{})
	mustCommit(t, l, Note, nil)
	l.Close()
	torn := append(readFile(t, dir), strings.Repeat("x", 100)...)
	writeFile(t, dir, torn)
	filler, err := os.Create(filepath.Join(root, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 1024))
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, unix.ENOSPC) || !bytes.Equal(readFile(t, dir), torn) {
		t.Fatalf("open: %v", err)
	}
	filler.Close()
	os.Remove(filler.Name())
	open(t, dir, Options{})
	if evs := checkWhole(t, dir); types(evs) != "note ledger_recovered" {
		t.Error(types(evs))
	}
}

// TestReadOnly: a file system that cannot be written is said so, and can still
// be read and verified.
func TestReadOnly(t *testing.T) {
	root := mounted(t, "size=1m")
	dir := filepath.Join(root, "r1")
	l := open(t, dir, Options{})
	mustCommit(t, l, Note, nil)
	l.Close()
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("remount: %v", err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, unix.EROFS) || !strings.HasSuffix(err.Error(), "events.jsonl: read-only file system") {
		t.Errorf("open: %v", err)
	}
	if _, err := Open(filepath.Join(root, "r2"), Options{Create: true}); !errors.Is(err, unix.EROFS) {
		t.Errorf("create: %v", err)
	}
	checkWhole(t, dir)
}

// TestNoRights is the same for an ordinary user.
func TestNoRights(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere; TestReadOnly stands in")
	}
	dir, _ := filled(t, 1)
	os.Chmod(filepath.Join(dir, eventsName), 0o400)
	if _, err := Open(dir, Options{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("open: %v", err)
	}
	checkWhole(t, dir)
	os.Chmod(dir, 0o500)
	defer os.Chmod(dir, 0o700)
	os.Remove(filepath.Join(dir, eventsName))
	checkWhole(t, dir)
}

// TestFIFO: a pipe in the ledger's place is refused and nobody waits at it.
func TestFIFO(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, eventsName), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(dir, Options{RunID: "r1"}); err == nil {
		t.Error("it is opened")
	}
	if _, err := Verify(dir, nil, nil); err == nil {
		t.Error("it is verified")
	}
}
