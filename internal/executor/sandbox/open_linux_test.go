//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpen tries on a file that is handed over open, and that its owner alone may
// read, whatever could change it.
func TestOpen(t *testing.T) {
	needs(t)
	places, s := lay(t)
	given := places["out"] + "/secret"
	if err := os.Chmod(given, 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after unix.Stat_t
	if err := unix.Stat(given, &before); err != nil {
		t.Fatal(err)
	}
	s.Files = []*os.File{open(t, places["out"]+"/free")}
	s.Open = []Root{root(t, given), root(t, places["ws"]+"/a.txt")} // 4 and 5; one lies in a root
	fd := "/proc/self/fd/4"
	tryRows(t, []row{
		{"fds", "0 1 2 3 4 5", ""},
		{"readfd 4", "secret", ""},
		{"readfd 5", "a", ""},
		{"read " + fd, "secret", ""},
		{"stat {out}/secret", "ENOENT", "ok"},
		{"fdwrite 4", "EBADF", ""},
		{"fdtrunc 4", "EINVAL", ""},
		{"fdpunch 4", "EBADF", ""},
		{"fdmap 4", "EACCES", ""},
		{"fdchmod 4", "EROFS", ""},
		{"fdchown 4", "EROFS", ""},
		{"fdutime 4", "EROFS", ""},
		{"fdxattr 4", "EROFS", ""},
		{"fdunxattr 4", "EROFS", ""},
		{"fdparent 4", "ENOTDIR", ""},
		{"fdlink 4 {ws}/linked", "EXDEV", ""},
		{"append " + fd, "EROFS", ""},
		{"trunc " + fd, "EROFS", ""},
		{"chmod " + fd + " 0666", "EROFS", ""},
		{"utime " + fd, "EROFS", ""},
		{"xattr " + fd, "EROFS", ""},
		{"exec " + fd, "EACCES", ""},
		{"list " + fd, "ENOTDIR", ""},
		{"stat " + fd + "/..", "ENOTDIR", ""},
		{"chmod /.scratch/open-0 0666", "EROFS", ""},
		{"remove /.scratch/open-0", "EACCES", ""},
		{"append /.scratch/open-0", "EROFS", ""},
		{"fdchmod 5", "EROFS", ""},
		{"append /proc/self/fd/5", "EROFS", ""},
		{"append {ws}/a.txt", "ok", ""}, // by the root, which may be written
	}, places, s)
	if err := unix.Stat(given, &after); err != nil {
		t.Fatal(err)
	}
	before.Atim, after.Atim = unix.Timespec{}, unix.Timespec{}
	if before != after {
		t.Errorf("it was %+v and is %+v", before, after)
	}
}

// A script gets its own handle after the files.
func TestOpenForScript(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"run.sh": "#!/bin/sh\ncat <&3\n", "in": "in"})
	if err := os.Chmod(dir+"/run.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	s := spec(t, dir, dir+"/run.sh")
	s.Open = []Root{root(t, dir+"/in")}
	if p := run(t, s); p.stdout != "in" {
		t.Errorf("got %+v", p)
	}
}

func TestOpenRefusals(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"a": "a", "b": "b", "gone": ""})
	swapped := root(t, dir+"/a")
	swapped.Path = dir + "/b"
	gone := root(t, dir+"/gone")
	if err := os.Remove(dir + "/gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(dir+"/fifo", unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	for _, test := range []struct {
		name string
		root Root
		want error
	}{
		{"another file", swapped, ErrChanged},
		{"a file that is gone", gone, ErrChanged},
		{"a file by a link", Root{dir + "/link", root(t, dir+"/a").Handle}, ErrChanged},
		{"a directory", root(t, dir), ErrSpec},
		{"a pipe", Root{dir + "/fifo", fifo}, ErrSpec},
		{"a device", root(t, "/dev/null"), ErrSpec},
		{"no handle", Root{Path: dir + "/a"}, ErrSpec},
		{"a relative path", Root{"a", root(t, dir+"/a").Handle}, ErrSpec},
	} {
		s := spec(t, dir, "/bin/sh", "-c", "touch ran")
		s.Open = []Root{test.root}
		if _, err := try(t, s); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		if _, err := os.Stat(dir + "/ran"); err == nil {
			t.Errorf("%s: it ran", test.name)
		}
	}
}

// More descriptors than the kernel takes in one message.
func TestManyDescriptors(t *testing.T) {
	needs(t)
	dir := workspace(t, map[string]string{"last": "last"})
	s := spec(t, dir, "/bin/sh", "-c", "ls /proc/self/fd | wc -l; cat </proc/self/fd/402; ls -l /proc/self/fd/403 >/dev/null && cat /proc/self/fd/403")
	for range 399 {
		s.Files = append(s.Files, s.Dir.Handle)
	}
	s.Files = append(s.Files, open(t, dir+"/last"))
	for i := range 20 {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		s.Open = append(s.Open, root(t, name))
	}
	p := run(t, s)
	if want := fmt.Sprintf("%d\nlast%s/0", 3+400+20+1, dir); p.ExitCode != 0 || p.stdout != want {
		t.Errorf("got %q, %q, want %q", p.stdout, p.stderr, want)
	}
}
