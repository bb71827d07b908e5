package resolve

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

// seccompChild is set in the process whose openat2 is refused, to the errno.
const seccompChild = "RESOLVE_TEST_SECCOMP_CHILD"

// TestWithoutOpenat2 runs TestSeccompChild under filters such as containers
// have: openat2 fails with EPERM or ENOSYS, everything else works.
func TestWithoutOpenat2(t *testing.T) {
	for _, errno := range []string{"EPERM", "ENOSYS"} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestSeccompChild$", "-test.v")
		cmd.Env = append(os.Environ(), seccompChild+"="+errno, "TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", errno, err, out)
		}
		t.Logf("%s", out)
	}
}

func TestSeccompChild(t *testing.T) {
	errno, ok := map[string]unix.Errno{"EPERM": unix.EPERM, "ENOSYS": unix.ENOSYS}[os.Getenv(seccompChild)]
	if !ok {
		t.Skip("runs inside TestWithoutOpenat2")
	}
	project := layMatrix(t)
	r := open(t, Config{Project: project, Places: DefaultPlaces("")})
	if f := ask(t, r, facts.Read, "f.txt").Facts; f.Resolver != openat2Resolver {
		t.Fatalf("before: %s", f.Resolver)
	}
	if err := refuseOpenat2(errno); err != nil {
		t.Skipf("no filter: %v", err)
	}
	if fd, err := openBest(r.dir, "f.txt"); err != errno {
		t.Fatalf("openat2: %d, %v", fd, err)
	}
	for _, c := range matrix {
		if c.access == "" {
			c.access = facts.Read
		}
		want := rootWalkResolver
		if c.path == "-" {
			want = openat2Resolver // never asked for
		}
		checkRow(t, project, c, ask(t, r, c.access, c.ask), want)
	}
	if !r.Roots([]RootSpec{{Path: "d"}})[0].Exists {
		t.Error("no root")
	}
	w, err := ask(t, r, facts.Write, "d/new").Write([]byte("x"))
	if err != nil || !w.Created {
		t.Errorf("write: %+v %v", w, err)
	}
}

// refuseOpenat2 makes the kernel answer openat2 with errno in every thread, as
// long as the process lives: seccomp(2).
func refuseOpenat2(errno unix.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the system call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_OPENAT2, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread() // the first call below is for this thread, the second for all
	defer runtime.UnlockOSThread()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return e
	}
	return nil
}
