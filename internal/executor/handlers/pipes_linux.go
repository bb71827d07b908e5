package handlers

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipes carry a command's two streams to one reader, which takes what is in them in
// the order in which it came: as true as that can be told of two pipes, since what
// stands in both when it looks has no order. Reading them never waits for a process
// that outlived the command and holds them open.
type pipes struct {
	read  [2]int // -1: none
	write [2]*os.File
	ready *os.File      // an epoll on the read ends, so that the runtime can wait for them, and with a deadline
	ended chan struct{} // closed when both streams are at their end, or were given up
}

// newPipes copies what is written to the first pipe into stdout, to the second
// into stderr, one piece after the other.
func newPipes(stdout, stderr io.Writer) (*pipes, error) {
	p := &pipes{read: [2]int{-1, -1}, ended: make(chan struct{})}
	err := p.open()
	if err != nil {
		close(p.ended)
		p.close()
		return nil, err
	}
	go p.copy([2]io.Writer{stdout, stderr})
	return p, nil
}

func (p *pipes) open() error {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(epoll, true); err != nil {
		unix.Close(epoll)
		return err
	}
	p.ready = os.NewFile(uintptr(epoll), "output")
	if err := p.ready.SetReadDeadline(time.Time{}); err != nil {
		return err // the runtime would not wait for it
	}
	for i := range p.read {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		p.read[i], p.write[i] = ends[0], os.NewFile(uintptr(ends[1]), "output")
		if err := unix.SetNonblock(ends[0], true); err != nil {
			return err
		}
		if err := p.watch(unix.EPOLL_CTL_ADD, i); err != nil {
			return err
		}
	}
	return nil
}

// watch asks to be told of what comes into a stream from now on, and of what is in
// it. Each is told once (EPOLLET), so that the streams are told in the order in
// which something came, and a full one stands no longer first.
func (p *pipes) watch(op, stream int) (err error) {
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(stream)}
	ctlErr := p.control(func(epoll int) { err = unix.EpollCtl(epoll, op, p.read[stream], &ev) })
	if err == nil {
		err = ctlErr
	}
	return err
}

func (p *pipes) control(fn func(epoll int)) error {
	conn, err := p.ready.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { fn(int(fd)) })
}

// copy ends with both streams, or with the deadline.
func (p *pipes) copy(to [2]io.Writer) {
	defer close(p.ended)
	buf := make([]byte, 32<<10)
	for open := 2; open > 0; {
		events, err := p.wait()
		if err != nil {
			return
		}
		for _, ev := range events {
			i := int(ev.Fd)
			n, err := unix.Read(p.read[i], buf)
			switch {
			case n > 0:
				to[i].Write(buf[:n])
				if n == len(buf) || ev.Events&^unix.EPOLLIN != 0 { // there may be more, or the end
					err = p.watch(unix.EPOLL_CTL_MOD, i)
				}
			case err == unix.EINTR:
				err = p.watch(unix.EPOLL_CTL_MOD, i)
			case err == unix.EAGAIN: // it was taken with what came before
				err = nil
			default:
				open--
				err = p.watch(unix.EPOLL_CTL_DEL, i)
			}
			if err != nil {
				return
			}
		}
	}
}

// wait returns the streams that have something, in order.
func (p *pipes) wait() ([]unix.EpollEvent, error) {
	conn, err := p.ready.SyscallConn()
	if err != nil {
		return nil, err
	}
	var events [2]unix.EpollEvent
	n := 0
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		n, failed = unix.EpollWait(int(fd), events[:], 0)
		return n > 0 || failed != nil && failed != unix.EINTR
	})
	if err == nil {
		err = failed
	}
	return events[:max(n, 0)], err
}

// started lets go of the ends that are the child's now.
func (p *pipes) started() {
	for _, f := range p.write {
		f.Close()
	}
}

// drain waits for what is still in the pipes, for so long.
func (p *pipes) drain(wait time.Duration) {
	p.ready.SetReadDeadline(time.Now().Add(wait))
	<-p.ended
}

// close ends the reading, if it goes on, and gives back all descriptors.
func (p *pipes) close() {
	if p.ready != nil {
		p.ready.SetReadDeadline(time.Unix(1, 0))
	}
	<-p.ended
	for i := range p.read {
		if p.read[i] >= 0 {
			unix.Close(p.read[i])
			p.write[i].Close()
		}
		p.read[i] = -1
	}
	if p.ready != nil {
		p.ready.Close()
	}
}
