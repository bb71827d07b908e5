package resolve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

// The kernel's seccomp_notif and seccomp_notif_resp (seccomp(2)).
type (
	notification struct {
		id         uint64
		pid, flags uint32
		nr         int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	answer struct {
		id    uint64
		val   int64
		errno int32
		flags uint32
	}
)

// withSyncs calls fn in a thread whose syncs wait for seen: seen is told what is
// to be synced, by its path, and what it returns is what the caller gets, 0
// letting the sync through. The test is skipped where the kernel has no such
// thing.
func withSyncs(t *testing.T, seen func(path string) unix.Errno, fn func()) {
	t.Helper()
	var over [2]int
	must(t, unix.Pipe2(over[:], unix.O_CLOEXEC))
	defer unix.Close(over[0])
	listener, done := make(chan int), make(chan error, 1)
	go func() {
		defer unix.Close(over[1])
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		fd, err := listenForSyncs()
		if err != nil {
			done <- err
			close(listener)
			return
		}
		listener <- fd
		fn()
		done <- nil
	}()
	fd, ok := <-listener
	if !ok {
		t.Skipf("no seccomp listener: %v", <-done)
	}
	defer unix.Close(fd)
	for {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(over[0]), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[1].Revents != 0 {
				break
			}
			continue
		}
		var n notification
		if err := ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			t.Fatal(err)
		}
		path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", n.args[0]))
		if err != nil {
			t.Error(err)
		}
		a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if errno := seen(path); errno != 0 {
			a.flags, a.errno = 0, -int32(errno)
		}
		if err := ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)); err != nil {
			t.Fatal(err)
		}
	}
	must(t, <-done)
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	for {
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); e == 0 {
			return nil
		} else if e != unix.EINTR {
			return e
		}
	}
}

// listenForSyncs makes fsync and fdatasync of this thread wait for the returned
// listener.
func listenForSyncs() (int, error) {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the system call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSYNC, Jt: 1},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FDATASYNC, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return 0, e
	}
	return int(fd), nil
}

// syncCase is a change of the project and the syncs that make it durable, in
// order: what is synced, and what the named files hold at that moment.
type syncCase struct {
	name  string
	watch []string // files, from the project
	do    func(ask func(access, path string) *Object) error
	want  []string
}

var syncCases = []syncCase{
	{
		"write new",
		[]string{"d/n"},
		func(ask func(access, path string) *Object) error {
			_, err := ask(facts.Write, "d/n").Write([]byte("new"))
			return err
		},
		[]string{`d/temp "new", d/n absent`, `d, d/n "new"`},
	},
	{
		"write existing",
		[]string{"d/a"},
		func(ask func(access, path string) *Object) error {
			_, err := ask(facts.Write, "d/a").Write([]byte("new"))
			return err
		},
		[]string{`d/temp "new", d/a "old"`, `d, d/a "new"`},
	},
	{
		"write with parents",
		[]string{"d/p/q/n"},
		func(ask func(access, path string) *Object) error {
			_, err := ask(facts.Write, "d/p/q/n").Write([]byte("new"))
			return err
		},
		[]string{`d/p/q/temp "new", d/p/q/n absent`, `d/p/q, d/p/q/n "new"`, `d/p, d/p/q/n "new"`, `d, d/p/q/n "new"`},
	},
	{
		"remove",
		[]string{"d/a"},
		func(ask func(access, path string) *Object) error { return ask(facts.Delete, "d/a").Remove() },
		[]string{`d, d/a absent`},
	},
	{
		"rename to a free name",
		[]string{"d/a", "e/n"},
		func(ask func(access, path string) *Object) error {
			return ask(facts.Delete, "d/a").RenameTo(ask(facts.Write, "e/n"))
		},
		[]string{`e, d/a absent, e/n "old"`, `d, d/a absent, e/n "old"`},
	},
	{
		"rename over a file",
		[]string{"d/a", "e/b"},
		func(ask func(access, path string) *Object) error {
			return ask(facts.Delete, "d/a").RenameTo(ask(facts.Write, "e/b"))
		},
		[]string{`e, d/a absent, e/b "old"`, `d, d/a absent, e/b "old"`},
	},
}

// describeSync says what is synced and what the files hold.
func describeSync(project, path string, watch []string) string {
	rel := strings.TrimPrefix(path, project+"/")
	if dir, name := filepath.Split(rel); strings.HasPrefix(name, tempPrefix) {
		rel = dir + "temp " + holds(path)
	}
	for _, name := range watch {
		rel += ", " + name + " " + holds(filepath.Join(project, name))
	}
	return rel
}

func holds(path string) string {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "absent"
	}
	return fmt.Sprintf("%q", text)
}

// change runs one case in a project of its own. The sync with the number fails,
// from 1; 0 lets all through.
func (c syncCase) change(t *testing.T, fails int) (project string, got []string, err error) {
	t.Helper()
	project = lay(t, map[string]string{"d/a": "old", "e/b": "other"})
	r := open(t, Config{Project: project})
	asked := func(access, path string) *Object {
		return asks(t, r, Request{Access: access, Raw: path, Requested: path, CreateParents: true})
	}
	withSyncs(t, func(path string) unix.Errno {
		got = append(got, describeSync(project, path, c.watch))
		if len(got) == fails {
			return unix.EIO
		}
		return 0
	}, func() { err = c.do(asked) })
	return project, got, err
}

// TestSyncs: content is on disk before its name is, and the name before the
// change is reported as done.
func TestSyncs(t *testing.T) {
	for _, c := range syncCases {
		t.Run(c.name, func(t *testing.T) {
			_, got, err := c.change(t, 0)
			must(t, err)
			if !slices.Equal(got, c.want) {
				t.Errorf("syncs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestSyncFails: a sync that fails is told. When it is the content's, nothing
// has changed.
func TestSyncFails(t *testing.T) {
	for _, c := range syncCases {
		for n := range c.want {
			t.Run(fmt.Sprint(c.name, "/", n+1), func(t *testing.T) {
				project, _, err := c.change(t, n+1)
				if !errors.Is(err, unix.EIO) {
					t.Errorf("%v, want %v", err, unix.EIO)
				}
				if l := leftovers(t, project); l != nil {
					t.Errorf("left over: %q", l)
				}
				if !strings.Contains(c.want[n], "/temp ") {
					return
				}
				for _, name := range c.watch {
					before := map[string]string{"d/a": `"old"`}[name]
					if before == "" {
						before = "absent"
					}
					if now := holds(filepath.Join(project, name)); now != before {
						t.Errorf("%s is %s, was %s", name, now, before)
					}
				}
				if _, err := os.Stat(filepath.Join(project, "d/p")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a parent was left: %v", err)
				}
			})
		}
	}
}
