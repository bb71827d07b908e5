package resolve

import (
	"os"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/facts"
)

// Two entries are one by their name, or by what they are names of.
func TestSameEntry(t *testing.T) {
	project := lay(t, map[string]string{"d/a": "a", "d/b": "a", "l": "-> d"})
	must(t, os.Link(project+"/d/a", project+"/d/other"))
	r := open(t, Config{Project: project})
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"d/a", "l/a", true},
		{"d/a", "d/other", true},
		{"d/new", "l/new", true},
		{"d/a", "d/b", false},
		{"d/new", "d/newer", false},
		{"d/new", "new", false},
		{"d/a", "d/new", false},
	} {
		if got := ask(t, r, facts.Write, c.a).SameEntry(ask(t, r, facts.Write, c.b)); got != c.want {
			t.Errorf("%s and %s: %t, want %t", c.a, c.b, got, c.want)
		}
	}
}

// A file that has just been changed can change again without a trace, for a moment.
func TestYoung(t *testing.T) {
	project := lay(t, map[string]string{"a": "a"})
	r := open(t, Config{Project: project})
	o := ask(t, r, facts.Write, "a")
	if y := o.Young(); y <= 0 || y > 20*time.Millisecond {
		t.Errorf("a new file: %v", y)
	}
	time.Sleep(21 * time.Millisecond)
	if y := o.Young(); y != 0 {
		t.Errorf("later: %v", y)
	}
	if y := ask(t, r, facts.Write, "new").Young(); y != 0 {
		t.Errorf("a free name: %v", y)
	}
}

// What is held to be written must be found where it was judged to be, even if only its
// folder is another.
func TestStands(t *testing.T) {
	for name, change := range map[string]func(project string) error{
		"":            func(string) error { return nil },
		"moved":       func(d string) error { return os.Rename(d+"/d", d+"/e") },
		"above moved": func(d string) error { return os.Rename(d, d+"_") },
		"exchanged": func(d string) error {
			return firstOf(os.Rename(d+"/d", d+"/e"), os.Mkdir(d+"/d", 0o755))
		},
	} {
		project := lay(t, map[string]string{"p/d/a": "a"}) + "/p"
		r := open(t, Config{Project: project})
		for _, asked := range []string{"d/a", "d/new", "d/x/y/new"} {
			o := asks(t, r, Request{Access: facts.Write, Raw: asked, Requested: asked, CreateParents: true})
			if err := o.Stands(); err != nil {
				t.Errorf("%s: %v", asked, err)
			}
			defer func() {
				if err := o.Stands(); (err == nil) != (name == "") {
					t.Errorf("%q, %s: %v", name, asked, err)
				}
				o.Close()
			}()
		}
		must(t, change(project))
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
