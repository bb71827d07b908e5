//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestGettingAway tries each way to leave a process behind, once with a program that
// ends and once with one that is killed. Output that one holds is closed by then:
// tryBy reads it to the end.
func TestGettingAway(t *testing.T) {
	needs(t)
	for i, test := range []struct{ name, how string }{
		{"in the background", "sleep WORD &"},
		{"by a session of its own", "setsid sleep WORD &"},
		{"by a double fork", "(setsid sh -c 'sleep WORD & exit' &)"},
		{"with its output closed", "sleep WORD <&- >&- 2>&- &"},
		{"with its output elsewhere", "sleep WORD </dev/null >/dev/null 2>&1 &"},
		{"holding the output", "(sleep WORD; echo late) &"},
		{"deaf to signals", "(trap '' TERM HUP INT QUIT; exec sleep WORD) &"},
		{"stopped", "sleep WORD & kill -STOP $!"},
		{"by a new name", "cp /bin/sleep /tmp/other; /tmp/other WORD &"},
		{"from a deleted file", "cp /bin/sleep /tmp/gone; /tmp/gone WORD & rm /tmp/gone"},
		{"in many generations", "for i in 1 2 3 4 5; do setsid sh -c 'setsid sleep WORD & setsid sleep WORD' & done"},
		{"with no permission to look", "mkdir -m 0 /tmp/closed; (cd /; exec sleep WORD) &"},
	} {
		t.Run(test.name, func(t *testing.T) {
			word := fmt.Sprintf("9878.%d%02d", os.Getpid(), i)
			script := strings.ReplaceAll(test.how, "WORD", word)
			s := spec(t, workspace(t, nil), "/bin/sh", "-c", script+"\nsleep 0.05; echo done; exit 6")
			if p := run(t, s); p.ExitCode != 6 || p.Killed || p.stdout != "done\n" {
				t.Errorf("got %+v", p)
			}
			if left := marked(word); left != nil {
				t.Errorf("%v are left at the end of the program", left)
			}

			s = spec(t, workspace(t, nil), "/bin/sh", "-c", script+"\nwait; sleep "+word)
			c, err := launcher(t).Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			await(t, "its processes", func() bool { return len(marked(word)) > 1 }) // the shell is one
			c.Kill()
			select {
			case <-c.Done():
			case <-time.After(10 * time.Second):
				t.Fatal("Kill ends it not")
			}
			if r := c.Wait(); !r.Killed {
				t.Errorf("got %+v", r)
			}
			if left := marked(word); left != nil {
				t.Errorf("%v are left after Kill", left)
			}
		})
	}
}

// Nothing of this process comes through: its environment, its descriptors, its
// command line, what it may do.
func TestNothingComesThrough(t *testing.T) {
	needs(t)
	t.Setenv("RUNLENS_TEST_SECRET", "secret-of-the-parent")
	places, s := lay(t)
	s.Argv = []string{probeName, "env", "fds", "read\x1f/proc/self/environ", "list\x1f/proc", "read\x1f/proc/self/cgroup", "read\x1f/proc/self/mountinfo"}
	p := run(t, s)
	lines := strings.Split(p.stdout, "\n")
	if p.ExitCode != 0 || len(lines) < 6 {
		t.Fatalf("got %+v", p)
	}
	if strings.Contains(p.stdout, "secret-of-the-parent") || strings.Contains(p.stdout, "RUNLENS") {
		t.Errorf("the environment came through: %q", p.stdout)
	}
	if lines[0] != strings.Join(s.Env, " ") || lines[1] != "0 1 2" {
		t.Errorf("got %q", lines[:2])
	}
	for _, name := range strings.Fields(lines[3]) { // processes of its own, and links to itself
		if strings.Trim(name, "0123456789") != "" && name != "self" && name != "thread-self" {
			t.Errorf("/proc holds %s", name)
		}
	}
	for _, group := range strings.Split(strings.TrimSuffix(lines[4], "|"), "|") {
		if !strings.HasSuffix(group, ":/") && group != "ENOENT" {
			t.Errorf("/proc/self/cgroup tells %q", group)
		}
	}
	if strings.Contains(lines[5], places["out"]) {
		t.Errorf("/proc/self/mountinfo is %q", lines[5])
	}
}

// A program of another architecture may be run and dies at its first call, whatever
// number that has.
func TestForeignProgram(t *testing.T) {
	needs(t)
	if nativeArch != unix.AUDIT_ARCH_X86_64 {
		t.Skip("there is no other architecture to try")
	}
	dir := workspace(t, map[string]string{"i386": string(exitSeven())})
	if err := os.Chmod(dir+"/i386", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(dir + "/i386").Run(); err == nil || err.Error() != "exit status 7" {
		t.Skip("this machine runs no i386 programs: ", err)
	}
	if p := run(t, spec(t, dir, dir+"/i386")); p.Signal != unix.SIGSYS {
		t.Errorf("got %+v", p)
	}
}

// exitSeven is an i386 program that calls exit(7).
func exitSeven() []byte {
	const at, start = 0x08048000, 52 + 32
	code := []byte{0xb8, 1, 0, 0, 0, 0xbb, 7, 0, 0, 0, 0xcd, 0x80}
	var b bytes.Buffer
	b.Write([]byte{0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	put := func(values ...interface{}) {
		for _, v := range values {
			binary.Write(&b, binary.LittleEndian, v)
		}
	}
	put(uint16(2), uint16(3), uint32(1), uint32(at+start), uint32(52), uint32(0), uint32(0))
	put(uint16(52), uint16(32), uint16(1), uint16(40), uint16(0), uint16(0))
	size := uint32(start + len(code))
	put(uint32(1), uint32(0), uint32(at), uint32(at), size, size, uint32(5), uint32(4096))
	b.Write(code)
	return b.Bytes()
}
