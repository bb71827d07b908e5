package handlers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/executor/sandbox"
)

// started runs the command until end is called; it returns when the command has
// printed so many lines.
func (c command) started(s *supervisor, lines int) (end func() ending) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	ready, done := make(chan struct{}), make(chan ending)
	go func() {
		w := &counting{lines: lines, then: sync.OnceFunc(func() { close(ready) })}
		end, err := s.run(ctx, c.Grant, w, w)
		if err != nil {
			c.t.Error(err)
		}
		done <- end
	}()
	<-ready
	return func() ending {
		cancel()
		return <-done
	}
}

// One command's end leaves another's processes alone.
func TestCommandsSideBySide(t *testing.T) {
	p := newProject(t, nil)
	s := &supervisor{}
	long, short := p.command("fork", "2", "session", "hang"), p.command("leave", "session", "hang")
	endLong := long.started(s, 3)
	if end, err := s.run(context.Background(), short.Grant, io.Discard, io.Discard); err != nil || end.ended != 1 {
		t.Errorf("the short command: %+v, %v", end, err)
	}
	short.nothingLeft()
	if n := len(long.alive()); n != 3 {
		t.Errorf("of the long command's 3 processes %d are left", n)
	}
	if end := endLong(); end.ended != 2 {
		t.Errorf("the long command: %+v", end)
	}
}

// An orphan of unknown origin is the last command's to end.
func TestCommandsSideBySideWithStrays(t *testing.T) { lastEndsStrays(t) }

func lastEndsStrays(t *testing.T) {
	t.Helper()
	p := newProject(t, nil)
	s := &supervisor{}
	first, second := p.command("hang"), p.command("leave", "bare", "session", "hang")
	endFirst := first.started(s, 1)
	if _, err := s.run(context.Background(), second.Grant, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	endFirst()
	second.nothingLeft()
}

// The process that begins sandboxes is a child for as long as its launcher is open,
// and has no orphans that would be taken for a command's.
func TestCommandStraysBesideSandboxes(t *testing.T) {
	begin := sandbox.Open("")
	defer begin.Close()
	if s := begin.Probe(t.Context()); s.Level != sandbox.Full {
		t.Skip("no sandbox here: " + strings.Join(s.Missing, "; "))
	}
	lastEndsStrays(t)
}

// While its command runs, an orphan of unknown origin is left alone.
func TestCommandKeepsItsStrays(t *testing.T) {
	p := newProject(t, nil)
	s := &supervisor{}
	first, second := p.command("fork", "1", "leave", "bare", "session", "hang"), p.command("print", "", "", "0")
	endFirst := first.started(s, 2)
	if end, err := s.run(context.Background(), second.Grant, io.Discard, io.Discard); err != nil || end.ended != 0 {
		t.Errorf("the second command: %+v, %v", end, err)
	}
	if n := len(first.alive()); n < 2 {
		t.Errorf("of the first command's 2 processes %d are left", n)
	}
	endFirst()
	first.nothingLeft()
}

// What another part of this process starts meanwhile is none of a command's
// business, and neither are its orphans.
func TestCommandLeavesOthersAlone(t *testing.T) {
	p := newProject(t, nil)
	command := p.command("fork", "1", "session", "hang")
	end := command.started(&supervisor{}, 2)
	self, err := os.Executable()
	p.must(err)
	ready := make(chan struct{})
	other := exec.Cmd{
		Path: self, Args: []string{probeName, newTag(t), "fork", "1", "leave", "bare", "session", "hang"},
		Stdout:      &counting{lines: 2, then: sync.OnceFunc(func() { close(ready) })},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	p.must(other.Start())
	<-ready
	if got := end(); got.ended != 1 {
		t.Errorf("ended %d processes", got.ended)
	}
	others := processesNamed(t, other.Args[1])
	for range 1000 { // the one between the two goes when it can
		if len(others) <= 2 {
			break
		}
		time.Sleep(time.Millisecond)
		others = processesNamed(t, other.Args[1])
	}
	if len(others) != 2 {
		t.Errorf("of the 2 other processes %d are left", len(others))
	}
	for _, pid := range others {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	other.Wait()
	for _, pid := range others {
		syscall.Wait4(pid, nil, 0, nil)
	}
	for pid, p := range processes() { // the one that left
		if p.parent == os.Getpid() && p.session == other.Process.Pid {
			syscall.Wait4(pid, nil, 0, nil)
		}
	}
}

// processesNamed are the living processes whose command line has the tag.
func processesNamed(t *testing.T, tag string) (pids []int) {
	t.Helper()
	for pid, p := range processes() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && !p.zombie && bytes.Contains(line, []byte(tag)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// unwatched starts the command with nobody that looks. The caller finishes it.
func (c command) unwatched(s *supervisor) (*family, *child, <-chan struct{}) {
	c.t.Helper()
	outputs, err := newPipes(io.Discard, io.Discard)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(outputs.close)
	child, err := prepare(c.Grant, outputs)
	if err != nil {
		c.t.Fatal(err)
	}
	f, exited, err := s.start(child)
	outputs.started()
	if err != nil {
		c.t.Fatal(err)
	}
	return f, child, exited
}

// stray makes an orphan of unknown origin, in a session of its own and without a
// marker, that this process inherits and nobody has seen with its parent.
func (c command) stray() {
	c.t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		c.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	parent := exec.Cmd{
		Path: self, Args: []string{probeName, c.tag, "leave", "bare", "session", "closed"},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := parent.Run(); err != nil {
		c.t.Fatal(err)
	}
	if n := len(c.alive()); n != 2 {
		c.t.Fatalf("%d processes where the command and its orphan should be", n)
	}
}

// A look that falls into a command's end does not mistake its leader for
// something else that this process started, so the orphan is still claimed. The
// look is taken before the leader is reaped and after, whenever mu would let one
// in; nothing else looks.
func TestStraysAreClaimedAfterALookAtAnEnd(t *testing.T) {
	p := newProject(t, nil)
	s := &supervisor{}
	first, second := p.command("hang"), p.command("print", "", "", "0")
	f, child, exited := first.unwatched(s)
	first.stray()
	look, reaped := func() {
		if s.mu.TryLock() {
			s.members(f)
			s.mu.Unlock()
		}
	}, 0
	s.reap = func(cmd *exec.Cmd) error {
		look()
		defer look()
		reaped++
		return cmd.Wait()
	}
	if end, err := s.run(context.Background(), second.Grant, io.Discard, io.Discard); err != nil || end.ended != 0 {
		t.Errorf("the second command: %+v, %v", end, err)
	}
	if reaped != 1 {
		t.Fatalf("reaped %d leaders", reaped)
	}
	if end := s.finish(f, child, exited); end.ended != 1 {
		t.Errorf("the first command: %+v", end)
	}
	first.nothingLeft()
}

// Of commands that end at once the last to go claims the orphan, though another
// still hands on what it printed.
func TestStraysAreClaimedWhenCommandsEndAtOnce(t *testing.T) {
	p := newProject(t, nil)
	first, second := p.command("hang"), p.command("print", "text", "", "0")
	reaped := make(chan struct{}, 2)
	s := &supervisor{reap: func(cmd *exec.Cmd) error {
		defer func() { reaped <- struct{}{} }()
		return cmd.Wait()
	}}
	f, child, exited := first.unwatched(s)
	first.stray()
	w, ended := &held{release: make(chan struct{})}, make(chan ending)
	go func() {
		end, err := s.run(context.Background(), second.Grant, w, io.Discard)
		if err != nil {
			t.Error(err)
		}
		ended <- end
	}()
	select {
	case <-reaped: // the second is gone, but for its output
	case <-time.After(20 * time.Second): // a bound for a failing test only
		t.Error("the second command stays for its output")
	}
	if end := s.finish(f, child, exited); end.ended != 1 {
		t.Errorf("the first command: %+v", end)
	}
	close(w.release)
	<-ended
	first.nothingLeft()
}

// held keeps what is written to it waiting.
type held struct{ release chan struct{} }

func (h *held) Write(p []byte) (int, error) {
	<-h.release
	return len(p), nil
}

// A command that was given up on is neither another that runs nor something else
// that was started here, and goes as soon as it can be reaped.
func TestStraysAreClaimedBesideACommandGivenUpOn(t *testing.T) {
	p := newProject(t, nil)
	reaped := make(chan struct{}, 2)
	s := &supervisor{reap: func(cmd *exec.Cmd) error {
		defer func() { reaped <- struct{}{} }()
		return cmd.Wait()
	}}
	hung, other := p.command("hang"), p.command("hang")
	f, child, _ := hung.unwatched(s)
	exited := make(chan struct{}) // closed when the end of the hung command is heard of
	end, done := s.finishRound(f, child, exited, map[id]struct{}{}, time.Time{})
	if !done || end.exit != -1 || end.left != 1 {
		t.Errorf("the hung command: %+v, %v", end, done)
	}
	f, child, ended := other.unwatched(s)
	other.stray()
	if end := s.finish(f, child, ended); end.ended != 1 {
		t.Errorf("the other command: %+v", end)
	}
	<-reaped
	close(exited)
	<-reaped
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.families) != 0 {
		t.Errorf("%d families are left", len(s.families))
	}
}
