package resolve

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/facts"
)

// mountChild is set in the process that has a mount namespace of its own.
const mountChild = "RESOLVE_TEST_MOUNT_CHILD"

// TestMounts runs TestMountsChild in a new mount namespace, where bind mounts
// and a second proc harm nobody.
func TestMounts(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestMountsChild$", "-test.v")
	cmd.Env = append(os.Environ(), mountChild+"=1", "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Skipf("no mount namespace: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func TestMountsChild(t *testing.T) {
	if os.Getenv(mountChild) == "" {
		t.Skip("runs inside TestMounts")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("no private mounts: %v", err)
	}
	project := lay(t, map[string]string{
		"policies/runlens/rules/r.rego": "", "runs/r1/events.jsonl": "", "runs/r1/artifacts/a": "",
		"src/pol/": "", "src/rules/": "", "src/run/": "", "src/all/": "", "src/file": "", "src/data/": "", "src/proc/": "", "data/x": "", "data/sub/": "",
	})
	bind := func(from, to string) {
		t.Helper()
		to = filepath.Join(project, to)
		if err := unix.Mount(filepath.Join(project, from), to, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("no bind mounts: %v", err)
		}
		t.Cleanup(func() { must(t, unix.Unmount(to, unix.MNT_DETACH)) })
	}
	bind("policies", "src/pol")
	bind("policies/runlens/rules", "src/rules")
	bind("runs/r1", "src/run")
	bind("policies/runlens/rules/r.rego", "src/file")
	bind("data", "src/data")
	bind(".", "src/all")

	checkProtection(t, project, DefaultPlaces(""), []protection{
		{facts.Write, "src/pol/new.rego", policy},
		{facts.Write, "src/pol/runlens/rules/r.rego", policy},
		{facts.Write, "src/rules/r.rego", policy},
		{facts.Write, "src/rules/new.rego", policy},
		{facts.Write, "src/rules/a/b/new.rego", policy},
		{facts.Write, "src/file", policy},
		{facts.Read, "src/run/events.jsonl", runClass},
		{facts.Read, "src/run/artifacts/a", none},
		{facts.Write, "src/run/new", runClass},
		{facts.Write, "src/run/artifacts/new", none},
		{facts.Write, "src/data/x", none},
		{facts.Write, "src/data/new", none},
		{facts.Write, "src/all/tools.json", manifest},
		{facts.Write, "src/all/policies/new.rego", policy},
		{facts.Write, "src/all/manifests/skills", manifest},
		{facts.Read, "src/all/runs/r1/events.jsonl", runClass},
		{facts.Delete, "src/all/runs", ancestor},
		{facts.Write, "src/all/data/x", none},
		{facts.Read, "src/all/data/x", none},
	})

	r := open(t, Config{Project: project})
	here, there := ask(t, r, facts.Read, "data/x").Facts, ask(t, r, facts.Read, "src/data/x").Facts
	if here.MountID == there.MountID || here.Device != there.Device || there.Path != project+"/src/data/x" {
		t.Errorf("bind mount: %d %d %q", here.MountID, there.MountID, there.Path)
	}
	roots := r.Roots([]RootSpec{{Path: "src/data"}, {Path: "data"}})
	if roots[0].MountID != there.MountID || roots[1].MountID != here.MountID {
		t.Errorf("mounts of roots: %+v", roots)
	}

	fullDisk(t, project)
	if err := unix.Mount("proc", filepath.Join(project, "src/proc"), "proc", 0, ""); err != nil {
		t.Logf("no second proc: %v", err)
		return
	}
	t.Cleanup(func() { must(t, unix.Unmount(filepath.Join(project, "src/proc"), unix.MNT_DETACH)) })
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		if f := ask(t, r, facts.Read, "src/proc/version").Facts; f.PseudoFS != "proc" || f.Resolution != facts.OK {
			t.Errorf("proc inside: %q %s", f.PseudoFS, f.Resolution)
		}
		for _, p := range []string{"src/proc/self/fd/0", "src/proc/self/cwd", "src/proc/self/root/etc/passwd", "src/proc/1/exe"} {
			if f := ask(t, r, facts.Read, p).Facts; f.Resolution != facts.Loop && f.Resolution != facts.NoAccess || f.Handle {
				t.Errorf("%s: %s at %q", p, f.Resolution, f.Path)
			}
		}
	}
}

// fullDisk writes to a file system that is too small: the old file stays, and
// nothing is left over.
func fullDisk(t *testing.T, project string) {
	must(t, os.Mkdir(filepath.Join(project, "small"), 0o755))
	small := filepath.Join(project, "small")
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Logf("no tmpfs: %v", err)
		return
	}
	t.Cleanup(func() { must(t, unix.Unmount(small, unix.MNT_DETACH)) })
	must(t, os.WriteFile(small+"/f", []byte("old"), 0o644))
	r := open(t, Config{Project: project})
	for _, p := range []string{"small/f", "small/new", "small/a/b/new"} {
		o := asks(t, r, Request{Access: facts.Write, Requested: p, CreateParents: true})
		if _, err := o.Write(make([]byte, 1<<20)); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", p, err)
		}
	}
	entries, err := os.ReadDir(small)
	must(t, err)
	if len(entries) != 1 || fileAt(t, small, "f") != "old" {
		t.Errorf("left: %v", entries)
	}
	judged := ask(t, r, facts.Write, "small/f")
	must(t, unix.Mount("", small, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if _, err := judged.Write([]byte("x")); !errors.Is(err, unix.EROFS) {
		t.Errorf("read-only: %v", err)
	}
	for _, access := range []string{facts.Write, facts.Delete} {
		wantFacts(t, ask(t, r, access, "small/f"), facts.NoAccess, facts.None, small+"/f")
	}
	wantFacts(t, ask(t, r, facts.Read, "small/f"), facts.OK, facts.File, small+"/f")
}
