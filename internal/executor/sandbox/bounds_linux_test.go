//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A directory that may be listed but not looked through is hidden, and the program
// runs all the same.
func TestListedButClosed(t *testing.T) {
	needs(t)
	if os.Getuid() != 0 {
		t.Skip("only root can lay out a directory of somebody else")
	}
	dir := workspace(t, map[string]string{"a/b/closed/.env": "key", "a/b/closed/x": "x", "a/c": "c"})
	if err := os.Chmod(dir+"/a/b/closed", 0o744); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir+"/a/b/closed", 12345, 12345); err != nil {
		t.Fatal(err)
	}
	tryRows(t, []row{
		{"list {ws}/a/b/closed", "EACCES", ".env x"},
		{"read {ws}/a/b/closed/.env", "EACCES", "key"},
		{"read {ws}/a/c", "c", "c"},
		{"rename {ws}/a/b {ws}/b", "EBUSY", ""},
	}, map[string]string{"ws": dir}, spec(t, dir, probeName))
}

// A failed search says where, and what to do.
func TestSearchFailuresSayWhere(t *testing.T) {
	needs(t)
	deep := workspace(t, nil)
	if err := os.MkdirAll(deep+"/down"+strings.Repeat("/d", maxDepth+1), 0o755); err != nil {
		t.Fatal(err)
	}
	many := workspace(t, map[string]string{"much/x": ""})
	for i := range maxMasks + 1 {
		if err := os.WriteFile(fmt.Sprintf("%s/much/%d.env", many, i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := workspace(t, map[string]string{"much/x": "", "much/y": ""})
	for _, test := range []struct {
		dir, at, why string
		entries      int
	}{
		{deep, deep + "/down/d/d", fmt.Sprintf("more than %d deep", maxDepth), 0},
		{many, many + "/much", fmt.Sprintf("more than %d of them", maxMasks), 0},
		{long, long + "/much", "more than 2 entries", 2},
	} {
		s := spec(t, test.dir, "/bin/true")
		s.Limits.Entries = test.entries
		_, err := try(t, s)
		if !errors.Is(err, ErrWalkCut) {
			t.Errorf("got %v", err)
			continue
		}
		for _, part := range []string{test.at, test.why, "give a root without it"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: doesn't hold %q", err, part)
			}
		}
	}
}

// However little memory a program may have, it runs, ends by a signal or an error of
// its own, or can't be run; the first process always has a word to say.
func TestLittleMemory(t *testing.T) {
	needs(t)
	runs := 40
	if testing.Short() {
		runs = 5
	}
	dir, l := workspace(t, nil), launcher(t)
	s := spec(t, dir, "/bin/true")
	for _, mebibytes := range []int64{0, 1, 2, 4, 8, 16, 32, 48, 64, 96} {
		s.Limits.AddressSpace = max(mebibytes<<20, 4096)
		for range runs {
			c, err := l.Start(t.Context(), s)
			if err != nil {
				if !errors.Is(err, ErrProgram) {
					t.Fatalf("%d MiB: got %v", mebibytes, err)
				}
				continue
			}
			r := c.Wait()
			if r.Killed || mebibytes >= 16 && (r.ExitCode != 0 || r.Signal != 0) {
				t.Fatalf("%d MiB: got %+v", mebibytes, r)
			}
		}
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil || limit.Cur < 1<<30 {
		t.Errorf("this process's own limit is %d, %v", limit.Cur, err)
	}
}
