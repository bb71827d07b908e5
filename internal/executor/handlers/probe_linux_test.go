package handlers

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// probeName is the argv[0] by which this test program is a probe: a command that
// behaves as its arguments say.
const probeName = "runlens-probe"

// lifetime bounds a probe that nothing kills, so that a failing test leaves
// nothing for good either.
const lifetime = 90 * time.Second

func probe(mode []string) {
	switch mode[0] {
	case "print":
		fmt.Fprint(os.Stdout, mode[1])
		fmt.Fprint(os.Stderr, mode[2])
		code, _ := strconv.Atoi(mode[3])
		os.Exit(code)
	case "hex":
		os.Stdout.Write(hexBytes(mode[1]))
	case "signal":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(lifetime)
	case "surroundings":
		surroundings()
	case "hang":
		fmt.Println("ready")
		time.Sleep(lifetime)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		fmt.Println("ready")
		time.Sleep(lifetime)
	case "stopped":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(lifetime)
	case "headless": // the first thread ends, the others run on
		for range 1000 {
			go func() {
				runtime.LockOSThread()
				if syscall.Gettid() == syscall.Getpid() {
					fmt.Println("ready")
					syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
				}
				time.Sleep(time.Millisecond)
			}()
		}
		time.Sleep(lifetime)
	case "closed":
		fmt.Println("ready")
		os.Stdout.Close()
		os.Stderr.Close()
		time.Sleep(lifetime)
	case "flood":
		line := []byte(strings.Repeat("flood ", 1000) + "\n")
		for end := time.Now().Add(lifetime); time.Now().Before(end); {
			os.Stdout.Write(line)
		}
	case "fork": // n children, then hang
		n, _ := strconv.Atoi(mode[1])
		for range n {
			spawn(mode[2:], os.Stdout)
		}
		fmt.Println("ready")
		time.Sleep(lifetime)
	case "leave": // a child that is ready, and go
		r, w, _ := os.Pipe()
		spawn(mode[1:], w)
		w.Close()
		line := make([]byte, 6)
		io.ReadFull(r, line)
		os.Stdout.Write(line)
	case "bomb": // two of itself at a time, each going at once; bounded
		fmt.Println("ready")
		depth := 0
		if len(mode) > 1 {
			depth, _ = strconv.Atoi(mode[1])
		}
		if depth < 400 {
			spawn([]string{"bomb", strconv.Itoa(depth + 1)}, os.Stdout)
			if depth%40 == 0 {
				spawn([]string{"bomb", strconv.Itoa(depth + 1)}, os.Stdout)
			}
		}
		time.Sleep(lifetime / 10)
	}
}

// spawn starts a probe; the words session and bare before its mode put it into a
// session of its own and take its environment.
func spawn(mode []string, stdout *os.File) {
	c := exec.Cmd{Path: "/proc/self/exe", Stdout: stdout, SysProcAttr: &syscall.SysProcAttr{}}
	for ; mode[0] == "session" || mode[0] == "bare"; mode = mode[1:] {
		if mode[0] == "session" {
			c.SysProcAttr.Setsid = true
		} else {
			c.Env = []string{"BARE=1"}
		}
	}
	c.Args = append([]string{probeName, os.Args[1]}, mode...)
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// surroundings prints what a command finds around itself.
func surroundings() {
	dir, _ := os.Getwd()
	stdin, _ := io.ReadAll(os.Stdin)
	fmt.Printf("env: %s\ndirectory: %s\nstdin: %d bytes\nargv0: %s\n", strings.Join(os.Environ(), " "), dir, len(stdin), os.Args[0])
	var open []string
	for fd := range 64 {
		// Go's own runtime opens its poller and its CPU limits.
		link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && !strings.HasPrefix(link, "anon_inode:") && !strings.HasPrefix(link, "/sys/fs/cgroup/") {
			open = append(open, strconv.Itoa(fd))
		}
	}
	fmt.Printf("descriptors: %s\n", strings.Join(open, " "))
	stat, _ := readProcess(os.Getpid())
	for name, n := range map[string]int{"session": stat.session, "group": stat.group} {
		if n == os.Getpid() {
			fmt.Printf("%s: own\n", name)
		}
	}
}
