package handlers

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A writer that puts size and mtime back is given away by the ctime, as soon as
// the file system's clock ticks.
func TestStampSeesCtime(t *testing.T) {
	p := newProject(t, map[string]string{"f": "old"})
	path := filepath.Join(p.dir, "f")
	f, err := os.Open(path)
	p.must(err)
	defer f.Close()
	info, err := f.Stat()
	p.must(err)
	before, err := stampOf(f)
	p.must(err)
	for range 200 {
		p.put("f", "new")
		p.must(os.Chtimes(path, time.Time{}, info.ModTime()))
		after, err := stampOf(f)
		p.must(err)
		if before.size != after.size || before.mtime != after.mtime {
			t.Fatalf("size and mtime were to stay: %+v, %+v", before, after)
		}
		if before != after {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the stamp stayed the same")
}
