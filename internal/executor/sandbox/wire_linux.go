//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"syscall"
)

const (
	firstName = "runlens-sandbox" // argv[0] of the sandbox's first process
	controlFD = 3                 // its socket to the process that gives it its order
)

// wireVersion changes with order: a first process built from other sources than
// the one that starts it could leave out what it doesn't know.
const wireVersion = 5

// order is what the first process is told, after the descriptors (handRights),
// which it counts from 1. Text that comes from the host is
// bytes, since JSON would bend what is not UTF-8.
type order struct {
	Version    int
	Probe      bool              // go through all the steps, start nothing
	Namespaces map[string]string // of the process that started it
	UID, GID   int               // inside

	Argv, Env []byte
	Program   *place // nil: a probe
	Stdio     [3]int // descriptors; 0: /dev/null
	Files     []int
	Open      []place // opened for reading; after Files
	Count     int     // descriptors handed over

	Dir     place
	OwnDir  bool     // Dir is in no root
	Covers  [][]byte // of Hidden, those with a root or Dir below; sorted
	Roots   []place  // sorted by path
	Hidden  [][]byte
	Names   Names
	Objects []Object

	Limits      Limits
	UnixSockets bool
	Loopback    bool
}

// place is a Root on its way.
type place struct {
	Path     []byte
	Write    bool
	Mount    int // descriptor of a detached mount of it; 0: open Path and compare
	Dev, Ino uint64
	Kind     uint32 // S_IFMT
	Folder   bool
}

// report is what the first process tells.
type report struct {
	Running bool     `json:",omitempty"`
	Failed  *failure `json:",omitempty"`
	Ended   *ending  `json:",omitempty"`
}

type failure struct {
	Kind, Step, Note string
	Errno            int
}

type ending struct{ Exit, Signal int }

var kinds = map[string]error{
	"unavailable": ErrUnavailable, "walk": ErrWalkCut, "changed": ErrChanged, "program": ErrProgram, "spec": ErrSpec,
}

func (f *failure) err() error {
	kind := kinds[f.Kind]
	if kind == nil {
		kind = ErrUnavailable
	}
	return &Error{Kind: kind, Step: f.Step, Errno: syscall.Errno(f.Errno), Note: f.Note}
}

func asFailure(err error) *failure {
	var e *Error
	if !errors.As(err, &e) {
		return &failure{Kind: "unavailable", Step: "set up", Note: err.Error()}
	}
	for name, kind := range kinds {
		if e.Kind == kind {
			return &failure{Kind: name, Step: e.Step, Note: e.Note, Errno: int(e.Errno)}
		}
	}
	return &failure{Kind: "unavailable", Step: e.Step, Note: e.Note, Errno: int(e.Errno)}
}

const maxMessage = 64 << 20

func send(w io.Writer, v interface{}) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

func receive(r io.Reader, v interface{}) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > maxMessage {
		return errors.New("a message is too long")
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// pack and unpack carry strings that hold no NUL.
func pack(list []string) (packed []byte) {
	for _, s := range list {
		packed = append(append(packed, s...), 0)
	}
	return packed
}

func unpack(packed []byte) []string {
	list := strings.Split(string(packed), "\x00")
	return list[:len(list)-1]
}
