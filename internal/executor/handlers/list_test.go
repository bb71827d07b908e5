package handlers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/resolve"
)

func TestListFiles(t *testing.T) {
	p := newProject(t, map[string]string{
		"d/b.txt": "12345", "d/a": "", "d/B": "x", "d/sub/inner.txt": "1", "d/sub/.env": "S=1",
		"d/.env": "S=1", "d/link": "-> b.txt", "d/linkdir": "-> sub", "d/gone": "-> nowhere", "d/empty/": "",
	})
	admit := func(child *resolve.Object) bool {
		return child.Facts.Resolution == facts.OK && !strings.HasSuffix(child.Facts.Path, "/.env")
	}
	for _, c := range []struct {
		name      string
		recursive bool
		want      string
	}{
		{"flat", false, `{"path":"d","truncated":false,"withheld_entries":2,"entries":[
			{"name":"B","kind":"file","size":1},{"name":"a","kind":"file","size":0},{"name":"b.txt","kind":"file","size":5},
			{"name":"empty","kind":"directory","size":0},{"name":"link","kind":"symlink","size":0},
			{"name":"linkdir","kind":"symlink","size":0},{"name":"sub","kind":"directory","size":0}]}`},
		{"recursive", true, `{"truncated":false,"withheld_entries":3,"entries":[
			{"name":"B","kind":"file","size":1},{"name":"a","kind":"file","size":0},{"name":"b.txt","kind":"file","size":5},
			{"name":"empty","kind":"directory","size":0},{"name":"link","kind":"symlink","size":0},
			{"name":"linkdir","kind":"symlink","size":0},{"name":"sub","kind":"directory","size":0},
			{"name":"sub/inner.txt","kind":"file","size":1}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := p.grant("path", facts.List, "d")
			g.Admit, g.Args["recursive"] = admit, c.recursive
			want(t, run(t, "list_files", g).Output, c.want)
		})
	}
}

// A refused directory is not entered, and nobody asks about what is in it.
func TestListDoesNotEnterRefused(t *testing.T) {
	p := newProject(t, map[string]string{"d/no/secret": "", "d/yes/file": ""})
	g := p.grant("path", facts.List, "d")
	g.Args["recursive"] = true
	g.Admit = func(child *resolve.Object) bool {
		if strings.HasSuffix(child.Facts.Path, "/secret") {
			t.Error("asked about an entry of a refused directory")
		}
		return !strings.HasSuffix(child.Facts.Path, "/no")
	}
	res := run(t, "list_files", g)
	want(t, res.Output, `{"withheld_entries":1,"entries":[{"name":"yes","kind":"directory","size":0},{"name":"yes/file","kind":"file","size":0}]}`)
	if res.Observation != "yes/\nyes/file\t0\n(withheld: 1)\n" {
		t.Errorf("observation %q", res.Observation)
	}
}

func TestListWithoutAdmit(t *testing.T) {
	p := newProject(t, map[string]string{"d/a": "", "d/b": ""})
	g := p.grant("path", facts.List, "d")
	g.Admit = nil
	want(t, run(t, "list_files", g).Output, `{"entries":[],"withheld_entries":2}`)
}

func TestListIsCut(t *testing.T) {
	files := map[string]string{}
	for i := range maxEntries + 1 {
		files[fmt.Sprintf("d/%05d", i)] = ""
	}
	p := newProject(t, files)
	res := run(t, "list_files", p.grant("path", facts.List, "d"))
	entries := res.Output["entries"].([]any)
	if len(entries) != maxEntries || !res.Truncated || res.Output["truncated"] != true {
		t.Errorf("%d entries, truncated %v", len(entries), res.Truncated)
	}
	if first := entries[0].(map[string]any)["name"]; first != "00000" {
		t.Errorf("begins with %v", first)
	}
}

func TestListRunFiles(t *testing.T) {
	p := newProject(t, map[string]string{"runs/r1/artifacts/a.json": "{}", "runs/r1/events.jsonl": "x"})
	res := run(t, "list_run_files", p.grant("", facts.List, "runs/r1/artifacts"))
	want(t, res.Output, `{"path":"runs/r1/artifacts","entries":[{"name":"a.json","kind":"file","size":2}],"withheld_entries":0}`)
}

func TestListOddNames(t *testing.T) {
	p := newProject(t, map[string]string{"d/two\nlines": "", "d/bad\xff": ""})
	res := run(t, "list_files", p.grant("path", facts.List, "d"))
	want(t, res.Output, `{"entries":[{"name":"two\nlines","kind":"file","size":0}],"withheld_entries":1}`)
	if res.Observation != "two\\nlines\t0\n(withheld: 1)\n" {
		t.Errorf("observation %q", res.Observation)
	}
}

func TestListAFile(t *testing.T) {
	p := newProject(t, map[string]string{"f": ""})
	_, err := Run(context.Background(), builtin(t, "list_files"), p.grant("path", facts.List, "f"))
	if _, code := code(t, err); code != CodeFailed {
		t.Errorf("code %q", code)
	}
}
