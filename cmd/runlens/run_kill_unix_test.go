//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/ledger"
)

// killAt tells the child process when to end itself: at its n-th look at the clock.
const killAt = "RUNLENS_TEST_KILL_AT"

// A run looks at the clock for the time of each event, just before it is written,
// and before and after a tool works. So a kill at each look is one before and one
// after each event, each judgement and each effect.
func countLooks(w *world, at int64) (looks func() int64) {
	var seen int64
	w.now = func() time.Time {
		seen++
		if seen == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return time.Now()
	}
	return func() int64 { return seen }
}

// TestKillChild is the process that is killed; by itself it tests nothing.
func TestKillChild(t *testing.T) {
	at, err := strconv.ParseInt(os.Getenv(killAt), 10, 64)
	if err != nil {
		t.Skip("only as a child of TestKilledRun")
	}
	w := system()
	w.private = nil
	countLooks(w, at)
	os.Exit(run(startWords, w))
}

// startWords start the example run in the current directory.
var startWords = []string{"run", "--run", "r1", "--skill", "feedback_analysis"}

// site is a project of its own with the example's data.
type site struct {
	dir   string
	calls []byte
}

func layExample(t *testing.T, transcript string) *site {
	t.Helper()
	example := filepath.Join("..", "..", "examples", "feedback")
	calls, err := os.ReadFile(filepath.Join(example, transcript))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{dir: t.TempDir(), calls: calls}
	if err := os.CopyFS(filepath.Join(s.dir, "data"), os.DirFS(filepath.Join(example, "data"))); err != nil {
		t.Fatal(err)
	}
	return s
}

// world is a process in the site, as far as the command line knows.
func (s *site) world(in []byte) (w *world, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return &world{
		stdin: bytes.NewReader(in), stdout: stdout, stderr: stderr,
		getenv: func(name string) string {
			if name == "HOME" {
				return s.dir + "/.home"
			}
			return ""
		},
		now: time.Now, random: bytes.NewReader(make([]byte, 1<<16)),
	}, stdout, stderr
}

// do runs a command line there and returns its exit code.
func (s *site) do(in []byte, words ...string) (code int, stdout, stderr string) {
	w, out, errs := s.world(in)
	code = run(append([]string{"--project", s.dir}, words...), w)
	return code, out.String(), errs.String()
}

// killed starts the run in a process that ends itself at its n-th look at the
// clock; false says that it came to its end before.
func (s *site) killed(t *testing.T, n int64) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self, "-test.run=^TestKillChild$")
	child.Dir = s.dir
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", killAt, n), "HOME="+s.dir+"/.home", "XDG_STATE_HOME=")
	child.Stdin = bytes.NewReader(s.calls)
	child.Stdout, child.Stderr = io.Discard, io.Discard
	err = child.Run()
	failed, died := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return false
	case !died || failed.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL:
		t.Fatalf("killed at look %d: %v", n, err)
	}
	return true
}

var approvable = regexp.MustCompile(`runlens approve r1 ([0-9]+)`)

// resume goes on with the run until it is complete, and answers what a person is
// asked. It returns the last answers.
func (s *site) resume(t *testing.T) (answers string, asked int) {
	t.Helper()
	words := []string{"run", "--resume", "r1"}
	if !begun(filepath.Join(s.dir, "runs", "r1")) {
		if code, _, _ := s.do(s.calls, words...); code != exitBroken {
			t.Fatalf("a run without events is resumed: exit code %d", code)
		}
		words = startWords
	}
	for range 5 {
		code, stdout, stderr := s.do(s.calls, words...)
		if code == exitAllowed {
			return stdout, asked
		}
		ask := approvable.FindStringSubmatch(stdout)
		if code != exitDenied || ask == nil {
			t.Fatalf("%v: exit code %d\n%s%s", words, code, stdout, stderr)
		}
		asked++
		if code, stdout, stderr := s.do(nil, "approve", "r1", ask[1], "--by", "eve", "--ttl", "10m"); code != exitAllowed {
			t.Fatalf("approve %s: exit code %d\n%s%s", ask[1], code, stdout, stderr)
		}
		words = []string{"run", "--resume", "r1"}
	}
	t.Fatal("the run does not end")
	return "", 0
}

// artifacts are the files that the run has made.
func (s *site) artifacts(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(s.dir, "runs", "r1", "artifacts")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// substance is what the answers say, without where in the ledger it stands.
func substance(t *testing.T, answers string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(answers) {
		var r struct {
			Tool   string          `json:"tool_name"`
			Status string          `json:"status"`
			Output json.RawMessage `json:"output"`
			Reason string          `json:"reason"`
			Told   string          `json:"observation"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(r.Tool, " ", r.Status, " ", r.Reason, " ", string(r.Output), " ", r.Told))
	}
	return lines
}

// attempts are how often a call was started, lost and approved.
type attempts struct {
	tool                    string
	started, lost, approved int
}

// checkLedger holds the ledger to one chain in which no call was started twice,
// but those of which nobody knows how the start before had ended: a read again by
// itself, anything else once a person has approved it.
func (s *site) checkLedger(t *testing.T) {
	t.Helper()
	if code, stdout, stderr := s.do(nil, "ledger", "verify", "r1"); code != exitAllowed {
		t.Errorf("ledger verify: exit code %d\n%s%s", code, stdout, stderr)
	}
	calls, starts, open := map[string]*attempts{}, map[int64]string{}, map[int64]bool{}
	for ev, err := range ledger.Read(filepath.Join(s.dir, "runs", "r1")) {
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			CallID  string `json:"call_id"`
			Tool    string `json:"tool"`
			Started int64  `json:"started_seq"`
		}
		if err := json.Unmarshal(ev.Payload, &p); err != nil {
			t.Fatal(err)
		}
		c := calls[p.CallID]
		if c == nil {
			c = &attempts{tool: p.Tool}
			calls[p.CallID] = c
		}
		switch ev.Type {
		case ledger.ToolStarted:
			starts[ev.Seq], open[ev.Seq] = p.CallID, true
			c.started++
		case ledger.ApprovalUsed:
			c.approved++
		case ledger.ToolUnknown:
			calls[starts[p.Started]].lost++
			fallthrough
		case ledger.ToolSucceeded, ledger.ToolFailed:
			if !open[p.Started] {
				t.Errorf("event %d ends what is not open", ev.Seq)
			}
			delete(open, p.Started)
		}
	}
	if len(open) > 0 {
		t.Errorf("starts without an end: %v", open)
	}
	for id, c := range calls {
		writes := strings.HasPrefix(c.tool, "write_")
		if c.started > 1+c.lost || writes && c.started > 1+c.approved {
			t.Errorf("call %s: %+v", id, *c)
		}
	}
}

// Killed at any event of the example run, it goes on and ends with the same
// artifacts and one unbroken chain.
func TestKilledRun(t *testing.T) {
	for _, transcript := range []string{"calls.jsonl", "swapped.jsonl"} {
		t.Run(transcript, func(t *testing.T) { killEverywhere(t, transcript) })
	}
}

func killEverywhere(t *testing.T, transcript string) {
	whole := layExample(t, transcript)
	w, stdout, stderr := whole.world(whole.calls)
	looks := countLooks(w, 0)
	if code := run(append([]string{"--project", whole.dir}, startWords...), w); code != exitAllowed {
		t.Fatalf("the example run: exit code %d\n%s%s", code, stdout, stderr)
	}
	whole.checkLedger(t)
	want, said := whole.artifacts(t), substance(t, stdout.String())
	if len(want) != 2 {
		t.Fatalf("artifacts: %v", slices.Sorted(maps.Keys(want)))
	}
	last := looks()
	asked := 0
	for n := int64(1); n <= last+1; n += everyNth {
		s := layExample(t, transcript)
		if died := s.killed(t, n); died != (n <= last) {
			t.Fatalf("look %d of %d: killed %t", n, last, died)
		}
		answers, asks := s.resume(t)
		asked += asks
		s.checkLedger(t)
		if got := s.artifacts(t); !maps.Equal(got, want) {
			t.Errorf("killed at look %d: artifacts differ: %v", n, slices.Sorted(maps.Keys(got)))
		}
		if got := substance(t, answers); !slices.Equal(got, said) {
			t.Errorf("killed at look %d: other answers:\n%s\nwant:\n%s", n, strings.Join(got, "\n"), strings.Join(said, "\n"))
		}
	}
	if asked == 0 && everyNth == 1 {
		t.Error("no kill left a write in doubt")
	}
	t.Logf("%d looks at the clock, killed at every %d. of them, %d writes that a person was asked about", last, everyNth, asked)
}
