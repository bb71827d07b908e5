package resolve

import (
	"crypto/rand"
	"encoding/hex"
)

// tempPrefix starts the names that stand for a moment beside what is written.
// One that is left over after a crash is safe to remove.
const tempPrefix = ".runlens-"

// temp is a new file under a name of ours, written and synced.
type temp struct {
	dir, fd int
	name    string
	st      stat
}

func tempName() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return tempPrefix + hex.EncodeToString(b[:])
}

func newTemp(dir int, data []byte, old stat, created bool) (*temp, error) {
	t := &temp{dir: dir, name: tempName()}
	var err error
	if t.fd, err = createFile(dir, t.name); err != nil {
		return nil, err
	}
	if !created {
		err = keepOwner(t.fd, old)
	}
	if err == nil {
		err = writeAll(t.fd, data)
	}
	if err == nil {
		err = syncFD(t.fd)
	}
	if err == nil {
		t.st, err = statFD(t.fd)
	}
	if err != nil {
		t.remove()
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *temp) close() { closeFD(t.fd) }

// remove takes the temp name away, if it is ours that has it.
func (t *temp) remove() {
	if t.name == "" {
		return
	}
	ours, err1 := statFD(t.fd)
	there, err2 := statAt(t.dir, t.name)
	if err1 == nil && err2 == nil && ours.same(there) {
		_ = unlinkAt(t.dir, t.name, false)
	}
}
