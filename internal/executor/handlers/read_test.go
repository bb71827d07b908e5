package handlers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

func TestReadFile(t *testing.T) {
	for _, c := range []struct {
		name, content string
		limit         int64
		want          string
	}{
		{"text", "a\nb\n", 100, `{"content":"a\nb\n","size":4,"returned":4,"lines":2,"truncated":false,"encoding":"utf-8","path":"f","bom":null,"summary":null}`},
		{"no final newline", "a\nb", 100, `{"content":"a\nb","lines":2,"truncated":false}`},
		{"empty", "", 100, `{"content":"","size":0,"returned":0,"lines":0,"truncated":false,"encoding":"utf-8"}`},
		{"exactly the limit", "abcd", 4, `{"content":"abcd","truncated":false,"returned":4}`},
		{"one over", "abcde", 4, `{"content":"abcd","truncated":true,"returned":4,"size":5,"lines":1}`},
		{"cut at a character of two", "aaé!", 3, `{"content":"aa","truncated":true,"returned":2,"size":5,"encoding":"utf-8"}`},
		{"cut at a character of four", "a😀b", 4, `{"content":"a","truncated":true,"returned":1,"size":6}`},
		{"cut after a character", "a😀b", 5, `{"content":"a😀","truncated":true,"returned":5}`},
		{"nothing fits", "😀", 3, `{"content":"","truncated":true,"returned":0,"encoding":"utf-8"}`},
		{"byte order mark", "\xef\xbb\xbfhi", 100, `{"content":"hi","bom":true,"size":5,"returned":2,"encoding":"utf-8"}`},
		{"mark only", "\xef\xbb\xbf", 100, `{"content":"","bom":true,"size":3,"returned":0}`},
		{"NUL", "a\x00b", 100, `{"content":"","encoding":"binary","size":3,"returned":0,"lines":0,"summary":"binary content, 3 bytes"}`},
		{"invalid UTF-8", "a\xffb", 100, `{"content":"","encoding":"binary","summary":"binary content, 3 bytes"}`},
		{"unfinished character, not cut", "ab\xc3", 100, `{"content":"","encoding":"binary","truncated":false}`},
		{"UTF-16", "\xff\xfeh\x00i\x00", 100, `{"encoding":"binary","summary":"binary content, 6 bytes, UTF-16 or UTF-32 text, little endian"}`},
		{"long binary", "\x7fELF\x00" + strings.Repeat("x", 100), 10, `{"content":"","encoding":"binary","size":105,"truncated":false,"summary":"binary content, 105 bytes, an ELF program or library"}`},
		{"CR LF stays", "a\r\nb\r\n", 100, `{"content":"a\r\nb\r\n","lines":2}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(t, map[string]string{"f": c.content})
			g := p.grant("path", facts.Read, "f")
			g.MaxBytes = c.limit
			res := run(t, "read_file", g)
			want(t, res.Output, c.want)
			if res.Truncated != res.Output["truncated"] {
				t.Errorf("Truncated %v, output %v", res.Truncated, res.Output["truncated"])
			}
		})
	}
}

// Files of /proc say they have no bytes.
func TestReadFileOfUnknownSize(t *testing.T) {
	const path = "/proc/self/status"
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Skip("no file here whose size is not told")
	}
	p := newProject(t, nil)
	g := p.grant("path", facts.Read, path)
	g.MaxBytes = 7
	want(t, run(t, "read_file", g).Output, `{"content":"Name:\t`+comm(t)[:1]+`","truncated":true,"returned":7}`)
}

func comm(t *testing.T) string {
	data, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The object is the one that was judged, whatever its name leads to by now.
func TestReadFileByHandle(t *testing.T) {
	p := newProject(t, map[string]string{"f": "judged", "other": "other"})
	g := p.grant("path", facts.Read, "f")
	p.must(os.Rename(filepath.Join(p.dir, "other"), filepath.Join(p.dir, "f")))
	want(t, run(t, "read_file", g).Output, `{"content":"judged"}`)
}

// A file that is never at rest is withheld. Each stamp differs from the one
// before because the size does.
func TestReadFileThatChanges(t *testing.T) {
	p := newProject(t, map[string]string{"f": "secret"})
	g := p.grant("path", facts.Read, "f")
	f, err := os.OpenFile(filepath.Join(p.dir, "f"), os.O_APPEND|os.O_WRONLY, 0)
	p.must(err)
	defer f.Close()
	ctx := &touching{Context: context.Background(), touch: func() { fmt.Fprint(f, "x") }}
	_, err = readHead(ctx, g.Objects["path"], 100)
	e, code := code(t, err)
	if code != CodeChanged || strings.Contains(e.Message, "secret") {
		t.Errorf("code %q, message %q", code, e.Message)
	}
	if ctx.asked != attempts {
		t.Errorf("read %d times", ctx.asked)
	}

	ctx = &touching{Context: context.Background(), touch: func() {
		if ctx.asked == 1 {
			fmt.Fprint(f, "y")
		}
	}}
	read, err := readHead(ctx, g.Objects["path"], 100)
	if err != nil || string(read.data) != "secretxxxy" {
		t.Errorf("a file that comes to rest: %q, %v", read.data, err)
	}
}

// touching calls touch whenever a reader asks whether to go on: between the
// first stamp and the last.
type touching struct {
	context.Context
	touch func()
	asked int
}

func (c *touching) Err() error {
	c.asked++
	c.touch()
	return nil
}

func TestReadFileNotReadable(t *testing.T) {
	p := newProject(t, map[string]string{"d/": ""})
	_, err := Run(context.Background(), builtin(t, "read_file"), p.grant("path", facts.Read, "d"))
	if e, code := code(t, err); code != CodeFailed || strings.Contains(e.Message, p.dir) {
		t.Errorf("code %q, message %q", code, e.Message)
	}
}
