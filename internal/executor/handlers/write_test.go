package handlers

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/resolve"
)

func TestRender(t *testing.T) {
	for _, c := range []struct {
		tool    string
		args    map[string]any
		data    string
		pointer string
		err     string
	}{
		{"write_file", map[string]any{"content": "a\r\nb"}, "a\r\nb", "/content", ""},
		{"write_file", map[string]any{"content": ""}, "", "/content", ""},
		{"write_file", map[string]any{}, "", "/content", "must be a string"},
		{"write_markdown_file", map[string]any{"artifact_name": "a.md", "content": "# a"}, "# a\n", "/content", ""},
		{"write_markdown_file", map[string]any{"artifact_name": "a.md", "content": "# a\n"}, "# a\n", "/content", ""},
		{"write_markdown_file", map[string]any{"artifact_name": "a.md", "content": ""}, "\n", "/content", ""},
		{"write_markdown_file", map[string]any{"artifact_name": "a.txt", "content": ""}, "", "/artifact_name", "must end in .md"},
		{"write_json_file", map[string]any{"artifact_name": "a.json", "content": json.Number("1.0")}, "1.0\n", "/content", ""},
		{"write_json_file", map[string]any{"artifact_name": "a.json", "content": nil}, "null\n", "/content", ""},
		{"write_json_file", map[string]any{"artifact_name": "a.json"}, "", "/content", "field is required"},
		{"write_json_file", map[string]any{"artifact_name": "a.yaml", "content": nil}, "", "/artifact_name", "must end in .json"},
	} {
		data, pointer, err := builtin(t, c.tool).Render(c.args)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if string(data) != c.data || pointer != c.pointer || text != c.err {
			t.Errorf("%s %v: %q at %q, error %q", c.tool, c.args, data, pointer, text)
		}
	}
}

func TestArtifactNames(t *testing.T) {
	input := compile(t, "input", builtin(t, "write_json_file").Input)
	for name, fits := range map[string]bool{
		"a.json": true, "a.b.json": true, "sub/a.json": true, "../a.json": true, // where it ends is for policy to judge
		"a.txt": false, "a.json\n": false, "a.json/": false, ".json": false, "x/.json": false, "ajson": false, "": false,
	} {
		err := input.Validate(map[string]any{"artifact_name": name, "content": nil})
		if (err == nil) != fits {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestWriteArtifact(t *testing.T) {
	p := newProject(t, map[string]string{"runs/r1/artifacts/": "", "runs/r1/artifacts/old.md": "old"})
	for _, c := range []struct{ tool, name, data string }{
		{"write_json_file", "a.json", "{}\n"},
		{"write_markdown_file", "old.md", "# new\n"},
		{"write_markdown_file", "empty.md", ""},
	} {
		path := "runs/r1/artifacts/" + c.name
		g := p.grant("artifact_name", facts.Write, path)
		g.Data = []byte(c.data)
		res := run(t, c.tool, g)
		if len(res.Output) != 2 || res.Output["path"] != path || res.Output["artifact_name"] != c.name {
			t.Errorf("output %v", res.Output)
		}
		if got := p.content(path); got != c.data {
			t.Errorf("%s: wrote %q", c.name, got)
		}
	}
}

func TestWriteFile(t *testing.T) {
	p := newProject(t, map[string]string{"f": "old"})
	g := p.grant("path", facts.Write, "f")
	g.Data = []byte("new")
	want(t, run(t, "write_file", g).Output, `{"path":"f","bytes":3}`)
	if got := p.content("f"); got != "new" {
		t.Errorf("wrote %q", got)
	}
}

// Without rendered bytes nothing is written, not even nothing.
func TestWriteNeedsData(t *testing.T) {
	p := newProject(t, map[string]string{"f": "old"})
	_, err := Run(context.Background(), builtin(t, "write_file"), p.grant("path", facts.Write, "f"))
	if _, code := code(t, err); code != CodeFailed || p.content("f") != "old" {
		t.Errorf("code %q, content %q", code, p.content("f"))
	}
}

// What stands at the name is no longer what was judged: it stays.
func TestWriteToAnotherObject(t *testing.T) {
	for _, c := range []struct{ tool, access string }{{"write_file", facts.Write}, {"delete_file", facts.Delete}} {
		p := newProject(t, map[string]string{"f": "judged", "other": "other"})
		g := p.grant("path", c.access, "f")
		g.Data = []byte("new")
		p.must(os.Rename(filepath.Join(p.dir, "other"), filepath.Join(p.dir, "f")))
		_, err := Run(context.Background(), builtin(t, c.tool), g)
		if _, code := code(t, err); code != CodeChanged || p.content("f") != "other" {
			t.Errorf("%s: code %q, content %q", c.tool, code, p.content("f"))
		}
	}
}

func TestDeleteFile(t *testing.T) {
	p := newProject(t, map[string]string{"f": "x"})
	want(t, run(t, "delete_file", p.grant("path", facts.Delete, "f")).Output, `{"path":"f"}`)
	if p.content("f") != "(none)" {
		t.Error("it is still there")
	}
}

func TestRenameFile(t *testing.T) {
	p := newProject(t, map[string]string{"a": "x", "d/": ""})
	g := &Grant{
		Objects:  map[string]*resolve.Object{"from": p.object(facts.Delete, "a"), "to": p.object(facts.Write, "d/b")},
		Declared: map[string]string{"from": "a", "to": "d/b"},
	}
	want(t, run(t, "rename_file", g).Output, `{"from":"a","to":"d/b"}`)
	if p.content("a") != "(none)" || p.content("d/b") != "x" {
		t.Errorf("a %q, d/b %q", p.content("a"), p.content("d/b"))
	}
}
