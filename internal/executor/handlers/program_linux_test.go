package handlers

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

// asking is a grant to ask the program of a tool for two files and more targets.
func (p *project) asking(more ...Target) *Grant {
	c := p.commandOf("true", "true", newTag(p.t))
	c.Targets = append([]Target{
		{Name: "a", Access: facts.Write, Object: p.object(facts.Write, "a")},
		{Name: "b", Access: facts.Write, Object: p.object(facts.Write, "b")},
	}, more...)
	return c.Grant
}

// A target with which no program can be served is an error, and what was made for
// others is given back.
func TestHandOverRefuses(t *testing.T) {
	p := newProject(t, map[string]string{"c": "c"})
	g := p.asking(Target{Name: "c", Access: facts.Delete, Object: p.object(facts.Delete, "c")})
	h := Program(nil)
	before := descriptors(t)
	_, err := h.Run(context.Background(), g)
	if e, code := code(t, err); code != CodeFailed || !strings.Contains(e.Message, "it can be handed nothing to delete") {
		t.Errorf("%s %s", code, e.Message)
	}
	if after := descriptors(t); after != before {
		t.Errorf("descriptors %d, then %d", before, after)
	}
}

// Without descriptors there is no first, no second file, and no question: each is an
// error, and nothing is left open. It is tried in a process of its own, which may run
// out of them.
func TestHandOverOutOfDescriptors(t *testing.T) {
	const marker = "RUNLENS_TEST_FEW"
	if os.Getenv(marker) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestHandOverOutOfDescriptors$", "-test.v")
		cmd.Env = append(os.Environ(), marker+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestHandOver") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	p := newProject(t, nil)
	g := p.asking()
	free := func() int { // the lowest number that is free
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		p.must(err)
		p.must(unix.Close(fd))
		return fd
	}
	for free() < 64 { // no holes below
		_, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		p.must(err)
	}
	first := free()
	for left, says := range []string{"make a file to write to", "make a file to write to", "write its question", ""} {
		var limit unix.Rlimit
		p.must(unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
		few := limit
		few.Cur = uint64(first + left)
		p.must(unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
		h, err := handOver(g)
		p.must(unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
		switch {
		case says == "" && err == nil:
			h.close()
		case says == "" || err == nil || !strings.Contains(err.Error(), says):
			t.Errorf("with %d descriptors: %v, want %q", left, err, says)
		}
		if now := free(); now != first {
			t.Errorf("with %d descriptors: %d is free, want %d", left, now, first)
		}
	}
}
