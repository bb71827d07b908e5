//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxRights is how many descriptors the kernel takes in one message (SCM_MAX_FD).
const maxRights = 253

// sendRights sends a message and descriptors with it.
func sendRights(fd int, text []byte, rights []int) error {
	var oob []byte
	if len(rights) > 0 {
		oob = unix.UnixRights(rights...)
	}
	for {
		if err := unix.Sendmsg(fd, text, oob, nil, unix.MSG_NOSIGNAL); err != unix.EINTR {
			return err
		}
	}
}

// receiveRights receives a message and at most so many descriptors. The end of
// the socket is io.EOF; what doesn't fit is an error.
func receiveRights(fd int, text []byte, most int) (n int, rights []int, err error) {
	oob := make([]byte, unix.CmsgSpace(4*most))
	n, oobn, flags, _, err := unix.Recvmsg(fd, text, oob, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR {
		n, oobn, flags, _, err = unix.Recvmsg(fd, text, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for i := range messages {
		more, _ := unix.ParseUnixRights(&messages[i])
		rights = append(rights, more...)
	}
	switch {
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = errors.New("a message was cut")
	case err == nil && n == 0:
		err = io.EOF
	}
	if err != nil {
		closeAll(rights)
		return 0, nil, err
	}
	return n, rights, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// whenReady calls do on a descriptor that doesn't block, again after each EAGAIN
// when there is something to read from it or room to write to it.
func whenReady(f *os.File, write bool, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	wait := raw.Read
	if write {
		wait = raw.Write
	}
	var result error
	if err := wait(func(fd uintptr) bool {
		result = do(int(fd))
		return result != unix.EAGAIN
	}); err != nil {
		return err
	}
	return result
}

// handRights sends descriptors over a stream: so many to each byte, which tells
// whether more follow.
func handRights(f *os.File, rights []int) error {
	for {
		part := rights[:min(len(rights), maxRights)]
		rights = rights[len(part):]
		more := []byte{0}
		if len(rights) > 0 {
			more[0] = 1
		}
		if err := whenReady(f, true, func(fd int) error { return sendRights(fd, more, part) }); err != nil {
			return err
		}
		if len(rights) == 0 {
			return nil
		}
	}
}

// takeRights receives what handRights sends.
func takeRights(fd int) (rights []int, err error) {
	for {
		var more [1]byte
		_, part, err := receiveRights(fd, more[:], maxRights)
		if err != nil {
			return nil, err
		}
		if rights = append(rights, part...); more[0] == 0 {
			return rights, nil
		}
	}
}
