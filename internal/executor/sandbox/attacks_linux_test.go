//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A program sets how it is scheduled, and what bounds it, for itself; the first
// process and its threads are none of its business.
func TestScheduling(t *testing.T) {
	needs(t)
	places, s := lay(t)
	call := func(number int, args string) string { return fmt.Sprintf("call %d %s", number, args) }
	var rows []row
	for _, test := range []struct {
		number     int
		args, none string // none: what the kernel itself says
		group      bool   // which may hold others
	}{
		{unix.SYS_SCHED_SETSCHEDULER, "PID 5 0", "EINVAL", false},
		{unix.SYS_SCHED_SETPARAM, "PID 0", "EINVAL", false},
		{unix.SYS_SCHED_SETAFFINITY, "PID 8 0", "EFAULT", false},
		{unix.SYS_PRLIMIT64, "PID 7 0 0", "ok", false},
		{unix.SYS_SETPRIORITY, "0 PID 0", "ok", false},
		{unix.SYS_SETPRIORITY, "1 PID 0", "ok", true},
		{unix.SYS_IOPRIO_SET, "1 PID 0", "ok", false},
		{unix.SYS_IOPRIO_SET, "2 PID 0", "ok", true},
	} {
		for _, pid := range []string{"1", "2", "3", "0x100000000", "0xffffffff", "0x100000001"} {
			rows = append(rows, row{call(test.number, strings.ReplaceAll(test.args, "PID", pid)), "EPERM", ""})
		}
		outside := test.none
		if test.group {
			outside = ""
		}
		rows = append(rows, row{call(test.number, strings.ReplaceAll(test.args, "PID", "0")), test.none, outside})
	}
	rows = append(rows,
		row{call(unix.SYS_SETPRIORITY, "2 0 0"), "EPERM", ""}, // all of the user
		row{call(unix.SYS_SETPRIORITY, "0x100000000 0 0"), "EPERM", ""},
		row{call(unix.SYS_IOPRIO_SET, "3 0 0"), "EPERM", ""},
		row{call(unix.SYS_SCHED_SETATTR, "0 0 0"), "ENOSYS", "EINVAL"},
		row{call(unix.SYS_SCHED_SETATTR, "1 0 0"), "ENOSYS", ""},
		row{"demote 1", "EPERM", ""},
		row{"demote 2", "EPERM", ""},
		row{"demote 0", "ok", ""},
		row{"limit " + fmt.Sprint(unix.RLIMIT_RTPRIO), "0 0", ""},
		row{"limit " + fmt.Sprint(unix.RLIMIT_NICE), "0 0", ""},
	)
	tryRows(t, rows, places, s)
}

const (
	spinners  = 480
	spinBound = 10 * time.Second // for the end of all of them
)

// However much time a program takes from its first process, Kill ends all.
func TestKillEndsSpinners(t *testing.T) {
	needs(t)
	word := fmt.Sprintf("98767.%d", os.Getpid())
	s := spec(t, workspace(t, nil), probeName, fmt.Sprintf("spin\x1f%s\x1f%d", word, spinners))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.Stdout = w
	c, err := launcher(t).Start(t.Context(), s)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(r).ReadString('\n'); line != "ready\n" {
		t.Errorf("it said %q", line)
	}
	time.Sleep(time.Second) // they have their time
	began := time.Now()
	c.Kill()
	select {
	case <-c.Done():
	case <-time.After(spinBound):
		t.Errorf("%d processes are left after %v", len(marked(word)), spinBound)
		killMarked(t, word)
		<-c.Done()
	}
	t.Logf("it took %v", time.Since(began).Round(time.Millisecond))
	if left := marked(word); left != nil {
		t.Errorf("%d are left", len(left))
	}
}

// And so does the death of this process.
func TestDeathEndsSpinners(t *testing.T) {
	needs(t)
	word := fmt.Sprintf("98768.%d", os.Getpid())
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{dyingName, workspace(t, nil), word, "spin"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("it said %q", line)
	}
	time.Sleep(time.Second)
	began := time.Now()
	cmd.Process.Kill()
	for marked(word) != nil && time.Since(began) < spinBound {
		time.Sleep(20 * time.Millisecond)
	}
	if left := marked(word); left != nil {
		t.Errorf("%d processes are left after %v", len(left), spinBound)
		killMarked(t, word)
	}
	t.Logf("it took %v", time.Since(began).Round(time.Millisecond))
	cmd.Wait()
}

// killMarked clears away what a test has failed to end.
func killMarked(t *testing.T, word string) {
	t.Helper()
	await(t, "the end of what is left", func() bool {
		left := marked(word)
		for _, pid := range left {
			unix.Kill(int(long(pid)), unix.SIGKILL)
		}
		return left == nil
	})
}

// Nobody's datagram socket in a root can be reached from a connected pair, whether
// by an address with the message or by a connection, nor a descriptor be sent there.
func TestPairsReachNobody(t *testing.T) {
	needs(t)
	places, s := lay(t)
	short, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	if err := os.Chmod(short, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"stream", "seqpacket"} {
		network := map[string]string{"stream": "unix", "seqpacket": "unixpacket"}[kind]
		for _, at := range []string{filepath.Join(short, kind), "@" + filepath.Base(short) + kind} {
			l, err := net.Listen(network, at)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}
	}
	server, err := net.ListenPacket("unixgram", filepath.Join(short, "dgram"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for err := error(nil); err == nil; {
			_, _, err = server.ReadFrom(make([]byte, 10))
		}
	}()
	places["s"], places["names"] = short, "@"+filepath.Base(short)
	s.Read = append(s.Read, root(t, short))
	for _, test := range []struct {
		loopback, unix bool
		dgram          string // a datagram pair
		// connect on one that is connected: to a path, to a name of the host's, to another kind
		connect, names, other string
	}{
		{false, false, "EPERM", "EPERM", "EPERM", "EPERM"},
		{true, false, "EPERM", "EISCONN", "ECONNREFUSED", "EPROTOTYPE"},
		{false, true, "ok", "EISCONN", "ECONNREFUSED", "EPROTOTYPE"},
		{true, true, "ok", "EISCONN", "ECONNREFUSED", "EPROTOTYPE"},
	} {
		s.Loopback, s.UnixSockets = test.loopback, test.unix
		denied := map[bool]string{true: "EPERM", false: "EBADF"}[!test.loopback && !test.unix]
		rows := []row{
			{"pair 1 1", "ok", "ok"},
			{"pair 1 5", "ok", "ok"},
			{"pair 1 0x80801", "ok", "ok"}, // CLOEXEC, NONBLOCK
			{"pair 1 2", test.dgram, "ok"},
			{"pair 1 3", test.dgram, "ok"}, // SOCK_RAW means datagrams
			{"pair 1 0x80802", test.dgram, "ok"},
			{"pairsend 2 {s}/dgram", test.dgram, "ok"},
			{"pairsend 3 {s}/dgram", test.dgram, "ok"},
			{"pairsend 1 {s}/stream", test.connect, "EISCONN"},
			{"pairsend 1 {names}stream", test.names, "EISCONN"},
			{"pairsend 5 {s}/seqpacket", test.connect, "EISCONN"},
			{"pairsend 5 {names}seqpacket", test.names, "EISCONN"},
			{"pairsend 1 {s}/dgram", test.other, "EPROTOTYPE"},
			{"pair 2 1", "EPERM", ""},
		}
		for _, number := range []int{unix.SYS_BIND, unix.SYS_CONNECT, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4} {
			rows = append(rows, row{fmt.Sprintf("call %d 999 0 0 0", number), denied, ""})
		}
		if !test.unix {
			for _, kind := range []string{"0x80000001", "0x11", "0x100000001", "4", "6", "10"} {
				rows = append(rows, row{"pair 1 " + kind, "EPERM", ""})
			}
		}
		tryRows(t, rows, places, s)
	}
}

// What opens a file outside doesn't wait for a program's lease.
func TestLeases(t *testing.T) {
	needs(t)
	places, s := lay(t)
	tryRows(t, []row{
		{"write {ws}/mine", "ok", ""},
		{"lease {ws}/mine", "EPERM", ""},
		{"lease {ws}/a.txt", "EPERM", "ok"},
		{"delegate {ws}/a.txt", "EPERM", ""},
		{"notify {ws}", "EPERM", "ok"},
	}, places, s)
}

// An executable that doesn't call Init, as forker, must not start itself.
func TestNoForkerOfAForker(t *testing.T) {
	needs(t)
	name := os.Args[0]
	defer func() { os.Args[0] = name }()
	for _, os.Args[0] = range []string{forkerName, firstName} {
		l := Open("")
		_, err := l.Start(context.Background(), spec(t, workspace(t, nil), "/bin/true"))
		l.Close()
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "does not call Init") {
			t.Errorf("as %s: got %v", os.Args[0], err)
		}
	}
}
