package executor_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/schemas"
)

// bounded is a policy tree of one's own with other bounds for programs.
func bounded(t *testing.T, from, to string) *engine.Engine {
	t.Helper()
	return amended(t, "runlens/data.json", from, to)
}

// amended is a policy tree of one's own, the shipped one with a change in a file.
func amended(t *testing.T, name, from, to string) *engine.Engine {
	t.Helper()
	tree := fstest.MapFS{}
	if err := copyTree(tree); err != nil {
		t.Fatal(err)
	}
	tree[name].Data = replaceOnce(t, tree[name].Data, from, to)
	e, err := engine.Load(engine.Source{FS: tree, Schemas: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Of policy's bounds and those of the tool the smaller ones hold.
func TestSandboxLimits(t *testing.T) {
	isolated(t)
	own := `"limits":{"cpu_seconds":7,"file_bytes":2097152,"open_files":80,"memory_bytes":4294967296,"temp_bytes":1048576,"processes":20,"output_bytes":20},`
	for _, c := range []struct{ name, limits, from, to, script, stdout string }{
		{"policy's, shipped", "", "", "", `ulimit -t; ulimit -n; ulimit -v; ulimit -f`, "600\n1024\nunlimited\n2097152\n"},
		{"policy's own", "", `"cpu_seconds": 600`, `"cpu_seconds": 60`, `ulimit -t`, "60\n"},
		{"the tool's", own, "", "", `ulimit -t; ulimit -n; ulimit -v; ulimit -f`, "7\n80\n4194304\n4096\n"},
		{"policy's, of both", own, `"open_files": 1024`, `"open_files": 64`, `ulimit -n`, "64\n"},
		{"policy's, of both, where none is no limit", own, `"memory_bytes": 0`, `"memory_bytes": 1073741824`, `ulimit -v`, "1048576\n"},
		{"temporary files", own, "", "", `head -c 1500000 /dev/zero >$TMPDIR/a 2>&1 || echo full`, "full\n"},
		{"temporary files, with room", "", "", "", `head -c 1500000 /dev/zero >$TMPDIR/a 2>&1 || echo full`, ""},
		{"a file", `"limits":{"file_bytes":1024},`, "", "", `trap '' XFSZ; head -c 2000 /dev/zero >$TMPDIR/a 2>/dev/null || wc -c <$TMPDIR/a`, "1024\n"},
		{"processes", own, "", "", `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do sleep 5 & done 2>/dev/null; echo all`, ""},
		{"processes, with room", "", "", "", `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do sleep 5 & done 2>/dev/null; echo all`, "all\n"},
		{"output", own, "", "", `echo 0123456789012345678901234567890`, "0123456789\n[… 12 of 32 bytes cut here …]\n234567890\n"},
	} {
		text := strings.Replace(script("full", c.script, 60000), `"roots"`, c.limits+`"roots"`, 1)
		x := open(t, canonical(t), func(cfg *executor.Config) {
			cfg.Tools, cfg.Stage = tools(t, text), stage()
			if c.from != "" {
				cfg.Engine = bounded(t, c.from, c.to)
			}
		})
		r := x.Exec(context.Background(), toolCall("sh"), "r")
		if stdout, _ := r.Output["stdout"].(string); r.Status != executor.StatusSuccess || strings.ReplaceAll(stdout, " ", "") != strings.ReplaceAll(c.stdout, " ", "") {
			t.Errorf("%s: %s %s %q, output %v", c.name, r.Status, r.ErrorCode, r.ErrorMessage, r.Output)
		}
	}
}

// The bound of the output holds for a program in no sandbox, too.
func TestOutputLimitWithoutSandbox(t *testing.T) {
	text := strings.Replace(script("none", `echo 0123456789012345678901234567890`, 60000), `"roots"`, `"limits":{"output_bytes":20},"roots"`, 1)
	x := open(t, canonical(t), func(c *executor.Config) { c.Tools = tools(t, text) })
	r := x.Exec(context.Background(), toolCall("sh"), "r")
	if want := "0123456789\n[… 12 of 32 bytes cut here …]\n234567890\n"; r.Output["stdout"] != want || !r.Truncated {
		t.Errorf("%s %q, output %v", r.Status, r.ErrorMessage, r.Output)
	}
}

// A private network is a loopback of the program's own: its servers can be reached
// by itself, and the host's can't.
func TestSandboxPrivateNetwork(t *testing.T) {
	isolated(t)
	py := python(t)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		if c, err := server.Accept(); err == nil {
			c.Close()
			t.Error("the sandbox reached a server on the host's loopback")
		}
	}()
	program := fmt.Sprintf(`
import socket
try:
    s = socket.create_server(("127.0.0.1", 0))
    c = socket.create_connection(s.getsockname(), 5)
    s.accept()[0].sendall(b"hello")
    print("own", c.recv(5).decode())
except OSError as e:
    print("own no")
try:
    socket.create_connection(("127.0.0.1", %d), 2)
    print("host yes")
except OSError as e:
    print("host no")
`, server.Addr().(*net.TCPAddr).Port)
	for network, want := range map[string]string{`"network":"private",`: "own hello\nhost no\n", `"network":"none",`: "own no\nhost no\n", "": "own no\nhost no\n"} {
		text := fmt.Sprintf(`{"schema_version":1,"tools":{"py":{"operation":"execute","handler":"run_tests",%s"roots":["out"],"commands":[[%q,"-c",%q]]}}}`, network, py, program)
		x := open(t, canonical(t), func(c *executor.Config) { c.Tools, c.Stage = tools(t, text), stage() })
		r := x.Exec(context.Background(), toolCall("py"), "r")
		if r.Status != executor.StatusSuccess || r.Output["stdout"] != want {
			t.Errorf("%s: %s %q, output %v", network, r.Status, r.ErrorMessage, r.Output)
		}
	}
}
