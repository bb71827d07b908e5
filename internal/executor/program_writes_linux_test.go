package executor_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// What was written is in the ledger with size and digest; a target that the manifest
// names itself stands under its template.
func TestProgramWrites(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			project := canonical(t)
			program(t, project, "tools/p.sh", `case $(cat) in *'"runs/{run_id}/artifacts/made/sum.txt":{"access":"write","path":"runs/r/artifacts/made/sum.txt","kind":"none","size":0,"fd":3'*) ;; *) exit 9;; esac
printf sum >&3; echo '{"ok":true}'`)
			x := served(t, project, level, map[string]string{"p": `{"operation":"write","handler":"exec:tools/p.sh","sandbox":"LEVEL","payload":[],"create_parents":true,
				"timeout_ms":20000,"targets":[{"access":"write","template":"runs/{run_id}/artifacts/made/sum.txt"}]}`}, nil)
			r := x.Exec(context.Background(), toolCall("p"), "r")
			if r.Status != executor.StatusSuccess {
				t.Fatalf("%s %s\n%v", r.ErrorCode, r.ErrorMessage, r.Output)
			}
			if data, err := os.ReadFile(project + "/runs/r/artifacts/made/sum.txt"); err != nil || string(data) != "sum" {
				t.Errorf("it wrote %q, %v", data, err)
			}
			end := payloadOf[struct {
				Artifacts []struct {
					Path, Digest string
					Bytes        int64
				}
			}](t, events(t, project, "r"), ledger.ToolSucceeded)
			if len(end.Artifacts) != 1 || end.Artifacts[0].Path != "runs/r/artifacts/made/sum.txt" || end.Artifacts[0].Bytes != 3 ||
				end.Artifacts[0].Digest != fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("sum"))) {
				t.Errorf("recorded %+v", end)
			}
		})
	}
}

// Nothing is written unless everything is in order.
func TestProgramWritesNothing(t *testing.T) {
	for name, c := range map[string]struct{ script, code, says string }{
		"exit code":    {`echo new >&3; echo '{}'; exit 1`, "handler_failed", "exit code 1"},
		"no answer":    {`echo new >&3`, "handler_failed", "answer: empty"},
		"bad output":   {`echo new >&3; echo '{"more":1}'`, "output_validation_failed", "output.*: unknown field"},
		"hang":         {`echo new >&3; echo '{}'; exec >&-; sleep 1000`, "handler_timeout", "deadline"},
		"too much":     {`head -c 1001 /dev/zero >&3; echo '{}'`, "handler_failed", "it wrote 1001 bytes for a file, at most 1000 may be"},
		"a hole":       {`truncate -s 1G /dev/fd/3 2>/dev/null || head -c 1001 /dev/zero >&3; echo '{}'`, "handler_failed", "at most 1000 may be"},
		"just as much": {`head -c 1000 /dev/zero >&3; echo '{}'`, "", ""},
	} {
		for _, level := range levels {
			t.Run(name+" "+level, func(t *testing.T) {
				t.Parallel()
				project := canonical(t)
				write(t, project, "data/a.txt", "old\n")
				program(t, project, "tools/p.sh", c.script)
				timeout := "20000"
				if c.code == "handler_timeout" {
					timeout = "700"
				}
				x := served(t, project, level, map[string]string{"p": strings.Replace(writes, `"timeout_ms":20000`,
					`"timeout_ms":`+timeout+`,"output_schema":{"type":"object","additionalProperties":false,"properties":{}}`, 1)}, nil)
				r := x.Exec(context.Background(), callOf("p", map[string]any{"path": "data/a.txt"}), "r")
				if r.ErrorCode != c.code || !strings.Contains(r.ErrorMessage, c.says) {
					t.Errorf("%s %q, want %s %q", r.ErrorCode, r.ErrorMessage, c.code, c.says)
				}
				data, err := os.ReadFile(project + "/data/a.txt")
				if kept := string(data) == "old\n"; err != nil || kept == (c.code == "") {
					t.Errorf("the file has %d bytes, %.10q", len(data), data)
				}
			})
		}
	}
}

// A target that somebody replaces while the program runs stays as it is then.
func TestProgramTargetReplaced(t *testing.T) {
	for _, level := range levels {
		project := canonical(t)
		write(t, project, "data/a.txt", "old\n")
		write(t, project, "flags/none", "")
		program(t, project, "tools/p.sh", "until [ -e "+project+"/flags/go ]; do sleep 0.02; done\necho new >&3; echo '{}'")
		clock := &between{}
		x := served(t, project, level, map[string]string{"p": `{"operation":"write","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data","flags"],"payload":[],
			"timeout_ms":20000,"targets":[{"param":"path","access":"write"},{"param":"flags","access":"list"}]}`},
			func(c *executor.Config) { c.Now = clock.now })
		clock.next = func() {
			write(t, project, "data/new.txt", "another's\n")
			move(t, project+"/data/new.txt", project+"/data/a.txt")
			write(t, project, "flags/go", "")
		}
		r := x.Exec(context.Background(), callOf("p", map[string]any{"path": "data/a.txt", "flags": "flags"}), "r")
		if r.ErrorCode != "object_changed" {
			t.Errorf("%s: %s %s", level, r.ErrorCode, r.ErrorMessage)
		}
		if data, _ := os.ReadFile(project + "/data/a.txt"); string(data) != "another's\n" {
			t.Errorf("%s: the file holds %q", level, data)
		}
		if entries, _ := os.ReadDir(project + "/data"); len(entries) != 1 {
			t.Errorf("%s: left in data/: %v", level, entries)
		}
	}
}

// What becomes of a target while the program works: it is left as it is then, and
// nothing is written elsewhere.
func TestProgramTargetChanged(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		change func(t *testing.T, project string)
		want   map[string]string // "": nothing there
	}{
		"rewritten, longer":  {"data/a.txt", func(t *testing.T, d string) { write(t, d, "data/a.txt", "another's\n") }, map[string]string{"data/a.txt": "another's\n"}},
		"rewritten, as long": {"data/a.txt", func(t *testing.T, d string) { write(t, d, "data/a.txt", "OLD\n") }, map[string]string{"data/a.txt": "OLD\n"}},
		"parent moved": {"data/a.txt", func(t *testing.T, d string) {
			move(t, d+"/data", d+"/data_")
			write(t, d, "data/a.txt", "another's\n")
		}, map[string]string{"data/a.txt": "another's\n", "data_/a.txt": "old\n"}},
		"parent moved behind a link": {"data/a.txt", func(t *testing.T, d string) {
			move(t, d+"/data", d+"/data_")
			link(t, "data_", d+"/data")
		}, map[string]string{"data_/a.txt": "old\n"}},
		"parent of a new file moved": {"data/new", func(t *testing.T, d string) {
			move(t, d+"/data", d+"/data_")
			write(t, d, "data/b", "b")
		}, map[string]string{"data/new": "", "data_/new": ""}},
		"folder above moved": {"data/in/new", func(t *testing.T, d string) { move(t, d+"/data", d+"/data_") }, map[string]string{"data_/in/new": ""}},
		"parent removed":     {"data/gone/new", func(t *testing.T, d string) { must(t, os.Remove(d+"/data/gone")) }, map[string]string{"data/gone/new": ""}},
		"folders to be made": {"data/x/y/new", func(t *testing.T, d string) { move(t, d+"/data", d+"/data_") }, map[string]string{"data_/x": ""}},
		"nothing":            {"data/a.txt", func(t *testing.T, d string) {}, map[string]string{"data/a.txt": "new\n"}},
		"a file beside":      {"data/x/y/new", func(t *testing.T, d string) { write(t, d, "data/b", "b") }, map[string]string{"data/x/y/new": "new\n"}},
	} {
		for _, both := range []string{"", `{"param":"path","access":"read"},`} {
			if both != "" && c.path != "data/a.txt" {
				continue
			}
			t.Run(fmt.Sprintf("%s %t", name, both != ""), func(t *testing.T) {
				project := canonical(t)
				write(t, project, "data/a.txt", "old\n")
				write(t, project, "data/in/x", "")
				must(t, os.Mkdir(project+"/data/gone", 0o755))
				write(t, project, "flags/none", "")
				program(t, project, "tools/p.sh", "until [ -e "+project+"/flags/go ]; do sleep 0.02; done\necho new >&3; echo '{}'")
				x := served(t, project, "none", map[string]string{"p": `{"operation":"write","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"],"payload":[],"create_parents":true,
					"timeout_ms":20000,"targets":[` + both + `{"param":"path","access":"write"}]}`}, nil)
				time.AfterFunc(200*time.Millisecond, func() {
					c.change(t, project)
					write(t, project, "flags/go", "")
				})
				code := "object_changed"
				if name == "nothing" || name == "a file beside" {
					code = ""
				}
				r := x.Exec(context.Background(), callOf("p", map[string]any{"path": c.path}), "r")
				if r.ErrorCode != code {
					t.Errorf("%s %s, want %s", r.ErrorCode, r.ErrorMessage, code)
				}
				for name, want := range c.want {
					if got, _ := os.ReadFile(filepath.Join(project, name)); string(got) != want {
						t.Errorf("%s holds %q, want %q", name, got, want)
					}
				}
				if _, err := os.Stat(project + "/data_/x"); err == nil {
					t.Error("a folder was made elsewhere")
				}
			})
		}
	}
}

// Two targets that are one file are refused before anything runs.
func TestProgramWritesOneFileTwice(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/a", "old\n")
	program(t, project, "tools/p.sh", "echo ran >data/ran; echo 1 >&3; echo 2 >&4; echo '{}'")
	x := served(t, project, "none", map[string]string{"p": `{"operation":"write","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"],"payload":[],
		"targets":[{"param":"a","access":"write"},{"param":"b","access":"write"}]}`}, nil)
	for a, b := range map[string]string{"data/a": "data/a", "data/./a": "data/a", "data/new": "data/new"} {
		r := x.Exec(context.Background(), callOf("p", map[string]any{"a": a, "b": b}), "r")
		if r.ErrorCode != "handler_failed" || !strings.Contains(r.ErrorMessage, `"a" and "b" are one file`) {
			t.Errorf("%s and %s: %s %s", a, b, r.ErrorCode, r.ErrorMessage)
		}
		entries, _ := os.ReadDir(project + "/data")
		if text, _ := os.ReadFile(project + "/data/a"); string(text) != "old\n" || len(entries) != 1 {
			t.Errorf("%s and %s: %q, %v", a, b, text, entries)
		}
	}
}

// Of two targets the second can't be put in place: the first is written, and the
// ledger has it. Where it can be told before, neither is.
func TestProgramWritesOneOfTwo(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/c", "old\n")
	program(t, project, "tools/p.sh", "echo 1 >&3; echo 2 >&4; echo '{}'")
	clock := &between{}
	x := served(t, project, "none", map[string]string{"p": `{"operation":"write","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"],"payload":[],"create_parents":true,
		"targets":[{"param":"a","access":"write"},{"param":"b","access":"write"}]}`}, func(c *executor.Config) { c.Now = clock.now })
	clock.next = func() {
		write(t, project, "data/new", "another's\n")
		move(t, project+"/data/new", project+"/data/c")
	}
	r := x.Exec(context.Background(), callOf("p", map[string]any{"a": "data/a", "b": "data/c"}), "r")
	if _, err := os.Stat(project + "/data/a"); r.ErrorCode != "object_changed" || err == nil {
		t.Errorf("the second was replaced: %s, %v", r.ErrorCode, err)
	}
	clock.next = func() { write(t, project, "data/b", "in the place of a folder\n") }
	r = x.Exec(context.Background(), callOf("p", map[string]any{"a": "data/a", "b": "data/b/b"}), "r")
	if a, _ := os.ReadFile(project + "/data/a"); r.ErrorCode != "object_changed" || string(a) != "1\n" {
		t.Errorf("%s: %q", r.ErrorCode, a)
	}
	end := payloadOf[struct{ Artifacts []struct{ Path string } }](t, events(t, project, "r"), ledger.ToolFailed)
	if len(end.Artifacts) != 1 || end.Artifacts[0].Path != "data/a" {
		t.Errorf("recorded %+v", end)
	}
}

// A file can be read and written: two descriptors, one name.
func TestProgramInPlace(t *testing.T) {
	for _, level := range levels {
		project := canonical(t)
		write(t, project, "data/a", "b\na\n")
		program(t, project, "tools/p.sh", `case $(cat) in *'"p":{"access":"write","path":"data/a","kind":"file","size":4,"fd":3,"read_fd":4,'*) ;; *) exit 9;; esac
sort <&4 >&3 && echo '{}'`)
		x := served(t, project, level, map[string]string{"p": `{"operation":"write","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"],"payload":[],
			"targets":[{"param":"p","access":"read"},{"param":"p","access":"write"}]}`}, nil)
		r := x.Exec(context.Background(), callOf("p", map[string]any{"p": "data/a"}), "r")
		if data, _ := os.ReadFile(project + "/data/a"); r.ErrorCode != "" || string(data) != "a\nb\n" {
			t.Errorf("%s: %s %s %v: %q", level, r.ErrorCode, r.ErrorMessage, r.Output, data)
		}
	}
}
