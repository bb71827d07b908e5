//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// servers are somebody on the host to be reached: over TCP, UDP, and UNIX sockets
// with and without a path.
func servers(t *testing.T) map[string]string {
	t.Helper()
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go io.Copy(io.Discard, c)
			}
		}()
		return l
	}
	tcp := listen("tcp4", "127.0.0.1:0") // MPTCP reaches it as TCP
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { udp.Close() })
	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path, abstract := dir+"/sock", fmt.Sprintf("@runlens-%d", os.Getpid())
	listen("unix", path)
	listen("unix", abstract)
	return map[string]string{
		"tcp": tcp.Addr().String(), "port": fmt.Sprint(tcp.Addr().(*net.TCPAddr).Port),
		"udp": udp.LocalAddr().String(), "path": path, "abstract": abstract,
	}
}

// TestHostIsOutOfReach tries each way to somebody on the host, who answers outside.
func TestHostIsOutOfReach(t *testing.T) {
	needs(t)
	at := servers(t)
	places, s := lay(t)
	for name, address := range at {
		places[name] = address
	}
	for _, test := range []struct {
		name                         string
		loopback, unix               bool
		tcp, udp, mptcp, path, names string
		listen                       string
	}{
		{"nothing", false, false, "EPERM", "EPERM", "EPERM", "EPERM", "EPERM", "EPERM"},
		{"a loopback", true, false, "ECONNREFUSED", "ok", "EPERM", "EPERM", "EPERM", "ok"}, // UDP is sent to nobody
		{"UNIX sockets", false, true, "EPERM", "EPERM", "EPERM", "ENOENT", "ECONNREFUSED", "EPERM"},
		{"both", true, true, "ECONNREFUSED", "ok", "EPERM", "ENOENT", "ECONNREFUSED", "ok"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.Loopback, s.UnixSockets = test.loopback, test.unix
			tryRows(t, []row{
				{"connect tcp {tcp}", test.tcp, "ok"},
				{"connect udp {udp}", test.udp, "ok"},
				{"mptcp {port}", test.mptcp, mptcpOutside()},
				{"connect unix {path}", test.path, "ok"},
				{"connect unix {abstract}", test.names, "ok"},
				{"listen tcp 127.0.0.1:0", test.listen, "ok"},
				{"netlink", "EPERM", "ok"},
			}, places, s)
		})
	}
}

// mptcpOutside is what MPTCP gives on this machine; "" where there is none.
func mptcpOutside() string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	if err != nil {
		return ""
	}
	unix.Close(fd)
	return "ok"
}

// With Loopback a program serves and connects, by TCP and UDP and nothing else.
func TestLoopback(t *testing.T) {
	needs(t)
	places, s := lay(t)
	s.Loopback = true
	rows := []row{
		{"talk tcp4 127.0.0.1:0", "ok", ""},
		{"talk udp4 127.0.0.1:0", "ok", ""},
		{"connect udp 192.0.2.1:9", "ENETUNREACH", ""},
		{"connect tcp 192.0.2.1:9", "ENETUNREACH", ""},
		{"socketpair 1", "ok", "ok"},
		{"socketpair 2", "EPERM", "ENOTSUP"},
		{"setuid", "EINVAL", ""},
		{"status CapEff CapBnd", "0000000000000000 0000000000000000", ""},
	}
	if _, err := os.Stat("/proc/net/if_inet6"); err == nil {
		rows = append(rows, row{"talk tcp6 [::1]:0", "ok", ""})
	}
	for _, test := range []struct{ words, want string }{
		{"2 1 0", "ok"},
		{"2 2 0", "ok"},
		{"10 1 6", "ok"},
		{"2 2 17", "ok"},
		{"2 0x80801 0", "ok"}, // CLOEXEC, NONBLOCK
		{"2 1 262", "EPERM"},
		{"2 3 0", "EPERM"},
		{"2 3 1", "EPERM"},
		{"2 2 1", "EPERM"},
		{"2 1 132", "EPERM"},
		{"2 5 132", "EPERM"},
		{"2 0x11 0", "EPERM"},
		{"2 0x80000001 0", "EPERM"},
		{"1 1 0", "EPERM"},
		{"16 3 0", "EPERM"},
		{"17 3 0", "EPERM"},
		{"40 1 0", "EPERM"},
		{"38 5 0", "EPERM"},
		{"0x100000002 1 0", "EPERM"},
		{"2 0x100000001 0", "EPERM"},
		{"2 1 0x100000000", "EPERM"},
		{"2 1 0x100000006", "EPERM"},
	} {
		rows = append(rows, row{"socket " + test.words, test.want, ""})
	}
	tryRows(t, rows, places, s)
}

// What runs in the sandbox finds its server by name.
func TestLoopbackPython(t *testing.T) {
	needs(t)
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Skip("there is no python3 on this machine")
	}
	dir := workspace(t, map[string]string{"t.py": `
import http.server, threading, urllib.request
s = http.server.HTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:%d/data.txt" % s.server_port, timeout=5).read().decode())
`, "data.txt": "data"})
	s := spec(t, dir, python, "-B", "t.py")
	s.Loopback = true
	if p := run(t, s); p.ExitCode != 0 || p.stdout != "data\n" {
		t.Errorf("got %+v", p)
	}
	s.Loopback = false
	if p := run(t, s); p.ExitCode == 0 || !strings.Contains(p.stderr, "PermissionError") {
		t.Errorf("without it: got %+v", p)
	}
}
