package resolve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

func renaming(t *testing.T, r *Resolver, from, to string) error {
	t.Helper()
	src := ask(t, r, facts.Delete, from)
	return src.RenameTo(asks(t, r, Request{Access: facts.Write, Requested: to, Absolute: true, CreateParents: true}))
}

// However the same entry is spelt, moving it onto itself changes nothing.
func TestRenameOntoItself(t *testing.T) {
	project := lay(t, map[string]string{"a/f": "f", "a/d/x": "x", "here": "-> a", "a/l": "-> f", "a/b/": ""})
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Resolver: name})
		for _, c := range [][2]string{
			{"a/f", "a/f"},
			{"a/f", "a/../a/./f"},
			{"a/f", "a//f"},
			{"a/f", "here/f"},
			{"here/f", "a/f"},
			{"a/b/../f", "here/b/../f"},
			{"a/f", project + "/a/f"},
			{"a/d", "a/d"},
			{"a/d", "here/d/"},
			{"a/l", "here/l"},
		} {
			if err := renaming(t, r, c[0], c[1]); err != nil {
				t.Errorf("%s: %s to %s: %v", name, c[0], c[1], err)
			}
		}
		if fileAt(t, project, "a/f") != "f" || fileAt(t, project, "a/l") != "f" || fileAt(t, project, "a/d/x") != "x" {
			t.Errorf("%s: something changed", name)
		}
		// Not when the entry is another object by now.
		src, dst := ask(t, r, facts.Delete, "a/f"), ask(t, r, facts.Write, "here/f")
		must(t, os.WriteFile(filepath.Join(project, "other"), []byte("f"), 0o644))
		must(t, os.Rename(filepath.Join(project, "other"), filepath.Join(project, "a/f")))
		wantChanged(t, src.RenameTo(dst))
	}
	if l := leftovers(t, project); l != nil {
		t.Errorf("left over: %q", l)
	}
}

// Two names of one file stay two names: no success is claimed and none is lost.
func TestRenameOntoHardLink(t *testing.T) {
	project := lay(t, map[string]string{"a/f": "f", "b/": ""})
	must(t, os.Link(project+"/a/f", project+"/a/g"))
	must(t, os.Link(project+"/a/f", project+"/b/f"))
	r := open(t, Config{Project: project})
	for _, c := range [][2]string{{"a/f", "a/g"}, {"a/g", "a/f"}, {"a/f", "b/f"}, {"b/f", "a/../a/g"}} {
		if err := renaming(t, r, c[0], c[1]); err == nil {
			t.Errorf("%s to %s: no error", c[0], c[1])
		}
	}
	for _, p := range []string{"a/f", "a/g", "b/f"} {
		if fileAt(t, project, p) != "f" {
			t.Errorf("%s changed", p)
		}
	}
	if l := leftovers(t, project); l != nil {
		t.Errorf("left over: %q", l)
	}
}

// A file that becomes another name of the other end after it was judged is not
// taken for that end.
func TestRenameOntoLaterHardLink(t *testing.T) {
	project := lay(t, map[string]string{"f": "f", "g": "g"})
	r := open(t, Config{Project: project})
	src, dst := ask(t, r, facts.Delete, "f"), ask(t, r, facts.Write, "g")
	must(t, os.Remove(project+"/g"))
	must(t, os.Link(project+"/f", project+"/g"))
	wantChanged(t, src.RenameTo(dst))
	if fileAt(t, project, "f") != "f" || fileAt(t, project, "g") != "f" {
		t.Error("a name was lost")
	}
}
