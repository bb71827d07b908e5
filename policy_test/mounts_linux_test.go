package policy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/golden"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// mountChild is set in the process that has a mount namespace of its own.
const mountChild = "RUNLENS_TEST_MOUNT_CHILD"

// TestMounts runs TestMountsChild in a mount namespace of its own, where mounts
// harm nobody. It needs root.
func TestMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestMountsChild$", "-test.v")
	cmd.Env = append(os.Environ(), mountChild+"=1", "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Skipf("no mount namespace: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if i := strings.Index(string(out), "--- SKIP"); i >= 0 {
		t.Skipf("%s", out[i:])
	}
}

// mounted are the calls on a project into which other file systems are
// mounted. What is told of each: verdict and codes.
var mounted = []struct{ tool, path, want string }{
	{"read_file", "ws/f.txt", "allow allowed"},
	// A bind mount inside the root, of a folder outside and of one inside.
	{"read_file", "ws/bound/s.txt", "deny mount_crossing"},
	{"read_file", "ws/bound/d/../s.txt", "deny mount_crossing"},
	{"read_file", "ws/to-bound", "deny mount_crossing"},
	{"read_file", "ws/inner/f.txt", "deny mount_crossing"},
	{"read_file", "ws/bound/.env", "deny forbidden_path mount_crossing"},
	{"read_file", "ws/bound/nope", "deny not_found:name"},
	{"read_file", "ws/one-file", "deny mount_crossing"},
	{"list_files", "ws/bound", "deny mount_crossing"},
	{"write_file", "ws/bound/new.txt", "deny mount_crossing"},
	{"write_file", "ws/bound/s.txt", "deny mount_crossing"},
	{"delete_file", "ws/bound/s.txt", "deny mount_crossing"},
	// Out of the mount again, over the mount point's own parent.
	{"read_file", "ws/bound/../f.txt", "allow allowed"},
	// A root that is itself a mount holds what lies on it.
	{"read_mount", "ws/bound/s.txt", "allow allowed"},
	{"read_mount", "ws/f.txt", "deny outside_roots"},
	// A second proc inside the root: sizes lie there, and links are doors.
	{"read_file", "ws/proc/version", "deny mount_crossing pseudo_fs"},
	{"read_file", "ws/proc/self/status", "deny mount_crossing pseudo_fs"},
	{"read_file", "ws/proc/self/environ", "deny mount_crossing pseudo_fs"},
	{"list_files", "ws/proc", "deny mount_crossing pseudo_fs"},
	{"write_file", "ws/proc/self/comm", "deny mount_crossing pseudo_fs"},
	{"read_file", "ws/proc/self/fd/0", "deny symlink_loop"},
	{"read_file", "ws/proc/self/cwd", "deny symlink_loop"},
	{"read_file", "ws/proc/self/cwd/x", "deny symlink_loop"},
	{"read_file", "ws/proc/self/root", "deny symlink_loop"},
	{"read_file", "ws/proc/self/root/etc/passwd", "deny symlink_loop"},
	{"read_file", "ws/proc/self/exe", "deny symlink_loop"},
	// A root that is proc itself.
	{"read_proc", "ws/proc/version", "deny pseudo_fs"},
	{"read_proc", "ws/proc/self/fd/0", "deny symlink_loop"},
	// A file system in memory is a real one, and another than the root's.
	{"read_file", "ws/mem/a.txt", "deny mount_crossing"},
	{"write_file", "ws/mem/new.txt", "deny mount_crossing"},
	// Through the system's own proc, which is outside.
	{"read_file", "ws/fd", "deny outside_roots symlink_loop(ledger)"},
	{"read_file", "ws/version", "deny outside_roots pseudo_fs(ledger)"},
}

const mountTools = `{"schema_version":1,"tools":{
  "read_file":  {"operation":"read","roots":["ws"],"max_bytes":65536},
  "read_mount": {"operation":"read","handler":"read_file","roots":["ws/bound"],"max_bytes":65536},
  "read_proc":  {"operation":"read","handler":"read_file","roots":["ws/proc"],"max_bytes":65536},
  "list_files": {"operation":"list","roots":["ws"]},
  "write_file": {"operation":"write","roots":["ws"]},
  "delete_file":{"operation":"delete","roots":["ws"]}}}`

func TestMountsChild(t *testing.T) {
	if os.Getenv(mountChild) == "" {
		t.Skip("runs inside TestMounts")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("no private mounts: %v", err)
	}
	p := layOut(t,
		"file ws/f.txt ws/sub/f.txt ws/one-file ../out/s.txt ../out/.env",
		"dir ../out/d ws/bound ws/inner ws/proc ws/mem",
		"link ws/to-bound -> bound/s.txt",
		"link ws/fd -> /proc/self/fd/0",
		"link ws/version -> /proc/version",
	)
	project := p.Dir
	mount := func(what, from, to string, flags uintptr) {
		t.Helper()
		to = filepath.Join(project, to)
		if err := unix.Mount(from, to, what, flags, ""); err != nil {
			t.Skipf("mount %s: %v", to, err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(to, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	mount("", filepath.Join(project, "../out"), "ws/bound", unix.MS_BIND)
	mount("", filepath.Join(project, "ws/sub"), "ws/inner", unix.MS_BIND)
	mount("", filepath.Join(project, "../out/s.txt"), "ws/one-file", unix.MS_BIND)
	mount("tmpfs", "tmpfs", "ws/mem", 0)
	mount("proc", "proc", "ws/proc", 0)
	if err := os.WriteFile(filepath.Join(project, "ws/mem/a.txt"), []byte("text\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	e, err := engine.Load(engine.Source{FS: policies.FS, Schemas: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	x := execute(t, e, p, mountTools)
	for _, m := range mounted {
		call := fmt.Sprintf(`{"name":%q,"arguments":{"path":%q}}`, m.tool, m.path)
		if m.tool == "write_file" {
			call = fmt.Sprintf(`{"name":%q,"arguments":{"path":%q,"content":"x"}}`, m.tool, m.path)
		}
		out, err := x.Check(t.Context(), []byte(call), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := golden.Told(out.Verdict); got != m.want {
			t.Errorf("%s %s\n got  %s\n want %s", m.tool, m.path, got, m.want)
		}
	}
}
