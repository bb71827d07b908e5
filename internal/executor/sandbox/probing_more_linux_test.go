//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// descriptors are things to try on an open file, by its number.
var descriptors = map[string]func(w []string) error{
	"fdwrite":   func(w []string) error { _, err := unix.Write(int(long(w[0])), []byte("x")); return err },
	"fdtrunc":   func(w []string) error { return unix.Ftruncate(int(long(w[0])), 0) },
	"fdchmod":   func(w []string) error { return unix.Fchmod(int(long(w[0])), 0o777) },
	"fdchown":   func(w []string) error { return unix.Fchown(int(long(w[0])), unix.Getuid(), unix.Getgid()) },
	"fdxattr":   func(w []string) error { return unix.Fsetxattr(int(long(w[0])), "user.x", []byte("x"), 0) },
	"fdunxattr": func(w []string) error { return unix.Fremovexattr(int(long(w[0])), "user.x") },
	"fdpunch":   func(w []string) error { return unix.Fallocate(int(long(w[0])), 0, 0, 100) },
	"fdflags":   func(w []string) error { return unix.IoctlSetPointerInt(int(long(w[0])), unix.FS_IOC_SETFLAGS, 0x40) },
	"xattr":     func(w []string) error { return unix.Setxattr(w[0], "user.x", []byte("x"), 0) },
	"fdutime": func(w []string) error {
		times := [2]unix.Timespec{{Sec: 1}, {Sec: 1}}
		return raw6(unix.SYS_UTIMENSAT, long(w[0]), 0, uintptr(unsafe.Pointer(&times)), 0)
	},
	"fdparent": func(w []string) error {
		_, err := unix.Openat(int(long(w[0])), "..", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		return err
	},
	"fdlink": func(w []string) error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+w[0], unix.AT_FDCWD, w[1], unix.AT_SYMLINK_FOLLOW)
	},
	"fdmap": func(w []string) error {
		_, err := unix.Mmap(int(long(w[0])), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		return err
	},
}

func raw6(number, a, b, c, d uintptr) error {
	if _, _, errno := unix.Syscall6(number, a, b, c, d, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// connections are ways to reach somebody.
var connections = map[string]func(w []string) error{
	// A network and an address, as package net has them; something is sent.
	"connect": func(w []string) error {
		c, err := net.DialTimeout(w[0], w[1], 3*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte("x"))
		return err
	},
	"mptcp": func(w []string) error { // a port of 127.0.0.1
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrInet4{Port: int(long(w[0])), Addr: [4]byte{127, 0, 0, 1}})
	},
	"listen": func(w []string) error {
		l, err := net.Listen(w[0], w[1])
		if err != nil {
			return err
		}
		return l.Close()
	},
	// A server and a client of its own.
	"talk": func(w []string) error {
		if strings.HasPrefix(w[0], "udp") {
			return talkUDP(w[0], w[1])
		}
		l, err := net.Listen(w[0], w[1])
		if err != nil {
			return err
		}
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				c.Write([]byte("hello"))
				c.Close()
			}
		}()
		c, err := net.DialTimeout(w[0], l.Addr().String(), 3*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		return expect(c)
	},
	"netlink": func([]string) error {
		_, err := syscall.NetlinkRIB(syscall.RTM_GETLINK, syscall.AF_UNSPEC)
		return err
	},
}

func talkUDP(network, address string) error {
	server, err := net.ListenPacket(network, address)
	if err != nil {
		return err
	}
	defer server.Close()
	go func() {
		if _, from, err := server.ReadFrom(make([]byte, 10)); err == nil {
			server.WriteTo([]byte("hello"), from)
		}
	}()
	c, err := net.Dial(network, server.LocalAddr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	return expect(c)
}

func expect(c net.Conn) error {
	c.SetDeadline(time.Now().Add(3 * time.Second))
	buf := make([]byte, 10)
	n, err := c.Read(buf)
	if err == nil && !bytes.Equal(buf[:n], []byte("hello")) {
		err = errors.New("something else came")
	}
	return err
}
