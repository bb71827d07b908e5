package policy_test

import (
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// layOut makes the case's project and returns its canonical path.
func (c *golden) layOut(t testing.TB) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(top, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(c.files))
	for name := range c.files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		writeFile(t, filepath.Join(project, name), c.files[name])
	}
	for _, line := range c.layout {
		lay(t, project, line)
	}
	return project
}

func writeFile(t testing.TB, at string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// lay makes one thing of a layout section. A name is a word, or a Go string
// ("\xff" is a byte) when it holds spaces or worse; "$PROJECT" in it is the
// project directory.
//
//	file NAME...             dir NAME...            size NAME BYTES
//	link NAME -> TARGET      hard NAME -> FILE      chain NAME N -> TARGET
//	fifo NAME                socket NAME            device NAME
//	mode NAME BITS
//
// `file` puts a line of text into each name, `chain` makes links NAME1 to NAMEN,
// each leading to the one before and the first to TARGET.
func lay(t testing.TB, project, line string) {
	t.Helper()
	kind, args := words(t, line)
	for i := range args {
		args[i] = placed(args[i], project)
	}
	if len(args) == 0 {
		t.Fatalf("layout %q: want a kind and a name", line)
	}
	at := func(i int) string { return project + "/" + args[i] }
	if err := os.MkdirAll(filepath.Dir(at(0)), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	switch arrow := len(args) > 2 && args[len(args)-2] == "->"; {
	case kind == "file":
		for i := range args {
			writeFile(t, at(i), []byte("text\n"))
		}
	case kind == "dir":
		for i := range args {
			if err == nil {
				err = os.MkdirAll(at(i), 0o755)
			}
		}
	case kind == "link" && arrow && len(args) == 3:
		err = os.Symlink(args[2], at(0))
	case kind == "hard" && arrow && len(args) == 3:
		err = os.Link(at(2), at(0))
	case kind == "chain" && arrow && len(args) == 4:
		err = chain(at(0), args[1], args[3])
	case kind == "fifo":
		err = makeFIFO(at(0))
	case kind == "socket":
		err = makeSocket(at(0))
	case kind == "device":
		err = makeDevice(at(0))
	case kind == "size" && len(args) == 2:
		var n int64
		if n, err = strconv.ParseInt(args[1], 10, 64); err == nil {
			writeFile(t, at(0), nil)
			err = os.Truncate(at(0), n)
		}
	case kind == "mode" && len(args) == 2:
		var bits uint64
		if bits, err = strconv.ParseUint(args[1], 8, 32); err == nil {
			err = os.Chmod(at(0), os.FileMode(bits))
		}
	default:
		t.Fatalf("layout %q: unknown", line)
	}
	if err != nil {
		t.Fatalf("layout %q: %v", line, err)
	}
}

// words splits a line of a layout.
func words(t testing.TB, line string) (kind string, args []string) {
	t.Helper()
	kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		if rest[0] != '"' {
			var word string
			word, rest, _ = strings.Cut(rest, " ")
			args = append(args, word)
			continue
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			t.Fatalf("layout %q: %v", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("layout %q: %v", line, err)
		}
		args, rest = append(args, word), rest[len(quoted):]
	}
	return kind, args
}

func chain(at, count, target string) error {
	n, err := strconv.Atoi(count)
	for i := 1; err == nil && i <= n; i++ {
		name := at + strconv.Itoa(i)
		err = os.Symlink(target, name)
		target = filepath.Base(name)
	}
	return err
}
