//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// row is one thing to try. outside is what it gives without a sandbox: a row
// whose answers are the same proves nothing. "" isn't asked.
type row struct {
	try     string // words; {ws}, {ro}, {out} stand for directories
	want    string
	outside string
}

func tryRows(t *testing.T, rows []row, places map[string]string, s Spec) {
	t.Helper()
	fill := func(text string) string {
		for name, path := range places {
			text = strings.ReplaceAll(text, "{"+name+"}", path)
		}
		return text
	}
	argv := []string{probeName}
	for _, r := range rows {
		argv = append(argv, strings.ReplaceAll(fill(r.try), " ", "\x1f"))
	}
	for i, r := range rows { // before the sandbox, which has made and changed things
		if r.outside == "" {
			continue
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Args, cmd.Dir = []string{probeName, argv[i+1]}, s.Dir.Path
		out, _ := cmd.Output()
		if got := strings.TrimSuffix(string(out), "\n"); got != fill(r.outside) {
			t.Errorf("outside, %s: got %q, want %q", r.try, got, fill(r.outside))
		}
	}
	s.Argv = argv
	p := run(t, s)
	lines := strings.Split(strings.TrimSuffix(p.stdout, "\n"), "\n")
	if p.ExitCode != 0 || len(lines) != len(rows) {
		t.Fatalf("the probe ended with %+v", p)
	}
	for i, r := range rows {
		if lines[i] != fill(r.want) {
			t.Errorf("%s: got %q, want %q", r.try, lines[i], fill(r.want))
		}
	}
}

// lay lays out what the rows speak of.
func lay(t *testing.T) (map[string]string, Spec) {
	t.Helper()
	dir := workspace(t, map[string]string{
		"ws/a.txt": "a", "ws/.env": "key", "ws/.ENV.Local": "key", "ws/sub/deep/prod.env": "key",
		"ws/.env.example": "none", "ws/vault.env/inner": "key", "ws/other/x": "x",
		"ro/b.txt": "b", "ro/.env": "key", "ro/tool": "#!/bin/sh\necho tool\n",
		"out/secret": "secret", "out/free": "free",
	})
	for _, link := range [][2]string{{".env", "ws/to-env"}, {dir + "/out/secret", "ws/to-out"}, {"../ro/.env", "ws/to-ro"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "ws/.env"), filepath.Join(dir, "ws/other/harmless")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "ro/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := spec(t, filepath.Join(dir, "ws"), probeName)
	s.Read = []Root{root(t, filepath.Join(dir, "ro"))}
	return map[string]string{"ws": dir + "/ws", "ro": dir + "/ro", "out": dir + "/out"}, s
}

func TestFiles(t *testing.T) {
	needs(t)
	places, s := lay(t)
	tryRows(t, []row{
		{"read {ws}/a.txt", "a", "a"},
		{"read a.txt", "a", "a"},
		{"read {ro}/b.txt", "b", "b"},
		{"exec {ro}/tool", "tool", "tool"},
		{"write {ws}/new.txt", "ok", ""},
		{"mkdir {ws}/dir", "ok", ""},
		{"rename {ws}/new.txt {ws}/dir/new.txt", "ok", ""},
		{"link {ws}/a.txt {ws}/dir/a.txt", "ok", ""},
		{"list {ro}", ".env b.txt tool", ".env b.txt tool"},
		{"stat {ro}/../out", "ENOENT", "ok"},

		{"write {ro}/new.txt", "EROFS", ""},
		{"append {ro}/b.txt", "EROFS", ""},
		{"remove {ro}/b.txt", "EROFS", ""},
		{"chmod {ro}/b.txt 0600", "EROFS", ""},
		{"rename {ro}/b.txt {ws}/b.txt", "EXDEV", ""},

		{"read {out}/secret", "ENOENT", "secret"},
		{"write {out}/secret", "ENOENT", ""},
		{"append {out}/free", "ENOENT", "ok"},
		{"trunc {out}/secret", "ENOENT", ""},
		{"stat {out}/secret", "ENOENT", "ok"},
		{"chdir {out}", "ENOENT", "ok"},
		{"chmod {out}/secret 0600", "ENOENT", "ok"},
		{"utime {out}/secret", "ENOENT", "ok"},
		{"link {out}/secret {ws}/linked", "ENOENT", ""},
		{"read {ws}/to-out", "ENOENT", "secret"},
		{"symlink {out}/secret {ws}/to-out-too", "ok", ""},
		{"read {ws}/to-out-too", "ENOENT", ""},
		{"read /proc/self/root/{out}/secret", "ENOENT", "secret"},
		{"stat /root", "ENOENT", ""},
		{"stat /etc/shadow", "ENOENT", "ok"},
		{"list /", "EACCES", ""},
		{"list /home", "EACCES", ""},
		{"list /.scratch", "EACCES", ""},
		{"write /.scratch/x", "EACCES", ""},
		{"mkdir /x", "EROFS", ""},
		{"write /etc/passwd", "EROFS", ""},
		{"write /usr/x", "EROFS", ""},
		{"append /dev/null", "ok", "ok"},
		{"stat /dev/tty", "ENOENT", ""},
		{"write " + Temp + "/x", "ok", ""},
		{"write " + Home + "/x", "ok", ""},
		{"write /dev/shm/x", "ok", ""},
		{"mknod {ws}/null", "EPERM", ""},
		{"create {ws}/suid 04755", "EPERM", ""},
		{"create {ws}/plain 0755", "ok", ""},
		{"chmod {ws}/plain 04755", "EPERM", ""},
		{"chmod {ws}/plain 02755", "EPERM", ""},
		{"chmod {ws}/plain 0700", "ok", ""},
	}, places, s)
	// What the program made is there, and belongs to who owns the root.
	for name, owner := range map[string]string{"ws/dir/new.txt": "ws", "ws/plain": "ws"} {
		dir := filepath.Dir(places["ws"])
		var a, b unix.Stat_t
		if err := unix.Stat(filepath.Join(dir, name), &a); err != nil {
			t.Fatal(err)
		}
		if err := unix.Stat(filepath.Join(dir, owner), &b); err != nil || a.Uid != b.Uid || a.Gid != b.Gid {
			t.Errorf("%s belongs to %d:%d, its root to %d:%d (%v)", name, a.Uid, a.Gid, b.Uid, b.Gid, err)
		}
	}
}

func TestPasswdIsItsOwn(t *testing.T) {
	needs(t)
	_, s := lay(t)
	s.Argv = []string{probeName, "read\x1f/etc/passwd", "list\x1f/etc"}
	p := run(t, s)
	first, etc, _ := strings.Cut(p.stdout, "\n")
	if !strings.HasPrefix(first, "sandbox:x:") || strings.Contains(first, "root") {
		t.Errorf("/etc/passwd is %q", first)
	}
	if strings.Contains(etc, "shadow") || strings.Contains(etc, "hostname") {
		t.Errorf("/etc holds %q", etc)
	}
}

func TestSecrets(t *testing.T) {
	needs(t)
	places, s := lay(t)
	s.Hidden = []string{places["ws"] + "/other/x", places["ws"] + "/missing"}
	tryRows(t, []row{
		{"read {ws}/.env", "EACCES", "key"},
		{"read {ws}/sub/../.env", "EACCES", "key"},
		{"read {ws}/.ENV.Local", "EACCES", "key"},
		{"read {ws}/sub/deep/prod.env", "EACCES", "key"},
		{"read {ws}/to-env", "EACCES", "key"},
		{"read {ws}/to-ro", "EACCES", "key"},
		{"read {ro}/.env", "EACCES", "key"},
		{"read {ws}/other/harmless", "EACCES", "key"},
		{"read {ws}/other/x", "EACCES", "x"},
		{"read {ws}/vault.env/inner", "EACCES", "key"},
		{"list {ws}/vault.env", "EACCES", "inner"},
		{"chdir {ws}/vault.env", "EACCES", "ok"},
		{"read {ws}/.env.example", "none", "none"},
		{"write {ws}/.env", "EROFS", ""},
		{"trunc {ws}/.env", "EACCES", ""},
		{"chmod {ws}/.env 0644", "EROFS", ""},
		{"chmod {ws}/vault.env 0755", "EROFS", ""},
		{"remove {ws}/.env", "EBUSY", ""},
		{"rename {ws}/.env {ws}/got", "EBUSY", ""},
		{"rename {ws}/a.txt {ws}/.env", "EBUSY", ""},
		{"rename {ws}/vault.env {ws}/got", "EBUSY", ""},
		{"link {ws}/.env {ws}/got", "EXDEV", ""},
		{"umount {ws}/.env", "EPERM", ""},
		// A directory with something hidden in it stays where it is (pins_linux_test.go).
		{"rename {ws}/sub {ws}/moved", "EBUSY", ""},
		// Its own writes are its own.
		{"write {ws}/mine.env", "ok", ""},
		{"read {ws}/mine.env", "x", ""},
	}, places, s)
	for _, name := range []string{".env", "sub/deep/prod.env", "vault.env/inner"} {
		if text, err := os.ReadFile(filepath.Join(places["ws"], name)); err != nil || string(text) != "key" {
			t.Errorf("%s holds %q, %v afterwards", name, text, err)
		}
	}
}

func TestNetwork(t *testing.T) {
	needs(t)
	places, s := lay(t)
	var rows []row
	for name, words := range map[string]string{
		"TCP": "2 1 0", "TCP over IPv6": "10 1 0", "UDP": "2 2 0", "MPTCP": "2 1 262", "raw": "2 3 1",
		"netlink": "16 3 0", "packet": "17 3 0", "vsock": "40 1 0", "AF_UNIX": "1 1 0", "AF_UNIX datagram": "1 2 0",
		"domain above 32 bits": "0x100000002 1 0", "AF_UNIX above 32 bits": "0x100000001 1 0", "AF_ALG": "38 5 0",
	} {
		outside := ""
		if strings.HasPrefix(name, "TCP") || strings.HasPrefix(name, "UDP") || strings.HasPrefix(name, "AF_UNIX") || strings.HasPrefix(name, "domain") {
			outside = "ok"
		}
		rows = append(rows, row{"socket " + words, "EPERM", outside})
	}
	rows = append(rows, row{"socketpair 1", "ok", "ok"}, row{"socketpair 0x100000001", "EPERM", "ok"}, row{"socketpair 2", "EPERM", "ENOTSUP"})
	tryRows(t, rows, places, s)

	// The flag lets AF_UNIX in and nothing else.
	s.UnixSockets = true
	tryRows(t, []row{
		{"socket 1 1 0", "ok", ""},
		{"socket 0x100000001 1 0", "EPERM", ""},
		{"socket 2 1 0", "EPERM", ""},
		{"socket 0x100000002 1 0", "EPERM", ""},
	}, places, s)
}

func TestKernelAndProcesses(t *testing.T) {
	needs(t)
	places, s := lay(t)
	self := strconv.Itoa(os.Getpid())
	rows := []row{
		{"pids", "1", ""},
		{"read /proc/" + self + "/environ", "ENOENT", ""},
		{"stat /proc/1", "ENOENT", "ok"},
		{"read /proc/1/environ", "ENOENT", ""},
		{"list /proc/1/fd", "ENOENT", ""},
		{"kill " + self + " 0", "ESRCH", "ok"},
		{"stat /proc/sys", "ENOENT", "ok"},
		{"write /proc/sys/kernel/hostname", "ENOENT", ""},
		{"write /proc/sysrq-trigger", "ENOENT", ""},
		{"stat /sys", "ENOENT", "ok"},
		{"env", "PATH=/usr/bin:/bin HOME=" + Home + " TMPDIR=" + Temp, ""},
		{"ids", "false false false", ""},
		{"status CapInh CapPrm CapEff CapBnd CapAmb", strings.TrimSpace(strings.Repeat("0000000000000000 ", 5)), ""},
		{"status NoNewPrivs Seccomp", "1 2", "0 0"},
		{"status SigBlk SigIgn", "0000000000000000 0000000000000000", ""},
		{"fds", "0 1 2", ""},
		{"setuid", "EINVAL", ""},
		{"ptrace", "EPERM", "ok"},
		{"io_uring", "EPERM", ""},
		{"clone3", "ENOSYS", "EINVAL"},
		{"openat2", "ENOSYS", "ok"},
		{"newest", "ENOSYS", ""},
		{"persona 0xffffffff", "ok", "ok"},
		{"persona 0x0040000", "EPERM", ""},
		{"ioctl 0x5412", "EPERM", "ENOTTY"},
		{"ioctl 0x100005412", "EPERM", "ENOTTY"},
		{"ioctl 0x541c", "EPERM", "ENOTTY"},
		{"ioctl 0x5401", "ENOTTY", "ENOTTY"},
		{"remount {ro}", "EPERM", ""},
		{"remount /proc", "EPERM", ""},
		{"umount {ws}", "EPERM", ""},
		{"raise", "EPERM", ""},
		{"memfd", "ok", "ok"},
		{"chmod /proc/self/exe 0755", "EROFS", ""},
		{"utime /proc/self/exe", "EROFS", ""},
		{"limit 4", "0 0", ""},
	}
	for _, flag := range []uintptr{unix.CLONE_NEWUSER, unix.CLONE_NEWNS, unix.CLONE_NEWPID, unix.CLONE_NEWNET, unix.CLONE_NEWCGROUP, unix.CLONE_NEWTIME} {
		rows = append(rows, row{fmt.Sprintf("unshare %#x", flag), "EPERM", ""})
		if flag != unix.CLONE_NEWTIME {
			rows = append(rows, row{fmt.Sprintf("clone %#x", flag), "EPERM", ""})
		}
	}
	for _, call := range []string{
		"mount", "fsopen", "open_tree", "chroot", "setns", "keyctl", "add_key", "bpf", "perf", "userfault", "vm_readv",
		"handle_at", "by_handle", "getfd", "kexec", "module", "reboot", "swapon", "syslog", "hostname",
	} {
		rows = append(rows, row{call, "EPERM", ""})
	}
	tryRows(t, rows, places, s)
}

// Signals that a program sends to the sandbox's first process change nothing.
func TestFirstProcessIsOutOfReach(t *testing.T) {
	needs(t)
	dir := workspace(t, nil)
	p := run(t, spec(t, dir, "/bin/sh", "-c",
		`for s in HUP INT QUIT USR1 SEGV TERM KILL STOP ABRT; do kill -$s 1; done 2>/dev/null; kill -9 -1 2>/dev/null; sleep 0.1; echo here; exit 3`))
	if p.ExitCode != 3 || p.stdout != "here\n" {
		t.Errorf("got %+v", p)
	}
}

func TestSetUserIDGainsNothing(t *testing.T) {
	needs(t)
	if os.Getuid() != 0 {
		t.Skip("only root can lay out a set-user-ID program of root")
	}
	dir := workspace(t, nil)
	text, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/sh", text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+"/sh", 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	s := spec(t, dir, "/bin/sh", "-c", "./sh -p -c 'id -u; grep CapEff /proc/self/status'")
	p := run(t, s)
	if want := fmt.Sprintf("%d\nCapEff:\t0000000000000000\n", insideID); p.stdout != want {
		t.Errorf("got %q, %q", p.stdout, p.stderr)
	}
}

// On the host's view the program is not root, whoever starts it.
func TestHostIdentity(t *testing.T) {
	needs(t)
	s := spec(t, workspace(t, nil), "/bin/sleep", "100")
	c, err := launcher(t).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Kill()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID))
	if err != nil {
		t.Fatal(err)
	}
	uid := os.Getuid()
	if uid == 0 {
		uid = nobody
	}
	if want := fmt.Sprintf("\nUid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\n", uid); !strings.Contains(string(text), want) {
		t.Errorf("its identity on the host is not %d", uid)
	}
	if uid == nobody && strings.Contains(string(text), "\nGroups:\t0") {
		t.Error("it kept a group of root's")
	}
}

func TestDescriptors(t *testing.T) {
	needs(t)
	places, s := lay(t)
	// A descriptor that this process lets anyone inherit.
	leak, err := unix.Open(places["out"]+"/secret", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	if left := heldByFirst(t, places["out"]); left != "" {
		t.Errorf("the first process holds %s", left)
	}
	s.Files = []*os.File{open(t, places["out"]+"/free")}
	s.Argv = []string{probeName, "fds", "readfd\x1f3", "append\x1f/proc/self/fd/3"}
	if p := run(t, s); p.stdout != "0 1 2 3\nfree\nEACCES\n" {
		t.Errorf("got %q, %q", p.stdout, p.stderr)
	}
}

// heldByFirst names what the first process of a sandbox still holds below a
// directory of the host that it was not given.
func heldByFirst(t *testing.T, dir string) (held string) {
	t.Helper()
	c, err := launcher(t).Start(t.Context(), spec(t, workspace(t, nil), "/bin/sleep", "100"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Kill()
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.PID))
	if len(links) == 0 && os.Getuid() == 0 { // nobody else may look
		t.Error("its descriptors can't be seen")
	}
	for _, link := range links {
		if target, _ := os.Readlink(link); strings.HasPrefix(target, dir) {
			held += target
		}
	}
	return held
}
