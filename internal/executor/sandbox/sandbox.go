// Package sandbox starts a program that sees what a Spec names and nothing else
// of the machine.
//
// The promise, at the one level there is ("full"):
//
//   - Files: a root of its own, made of read roots, write roots, a short fixed
//     list of system directories (read only), a private /tmp and /home, and a /proc
//     with the sandbox's own processes. Roots come from open handles.
//   - Secrets: what has a hidden name below a granted root when the program starts
//     can't be opened, listed, moved or removed, under this name or another; nor
//     can a file of Spec.Objects, under any name. The directories that it is in stay
//     where they are.
//   - Network: none, not even loopback, and no socket of any family; a pair within
//     the sandbox that stays connected is the exception. With Spec.Loopback there are
//     TCP and UDP on a loopback that nobody else is on, and nothing else.
//   - Open files: one of Spec.Open can be read, by its descriptor, and nothing about
//     it changed; the descriptor leads to no directory.
//   - Identity: an ordinary user without capabilities, also when this process is
//     root; set-user-ID programs gain nothing.
//   - Limits: CPU time, file size, open files, processes, temporary space.
//   - Stopping: Kill, or the death of this process, ends every process of the
//     sandbox at once, whatever it did to get away or to take all the time there
//     is. Nothing is left.
//
// Each of these is asked back from the kernel before the program starts. What
// can't be had makes Start fail with ErrUnavailable, and nothing has run: there
// is no weaker level to fall back to.
//
// What it doesn't promise. A hidden name that someone outside creates, or puts in
// place of a masked one, while the program runs is visible to it: a root is the
// very directory, not a copy. What the program itself creates under such a name
// is its own. CPU time and file size count for each process, and memory of the
// whole tree is bounded by nothing but AddressSpace × Processes. The clock, the
// kernel's version and the load of the machine can be seen.
//
// The processes: a Launcher keeps the forker, a small process (forker_linux.go) that
// makes first processes in new namespaces, one ahead of need. Start hands one of
// them its order and the descriptors that go with it (start_linux.go). There Init
// has taken over (stage_linux.go) and goes through its steps in order: mounts,
// masks, opened files, limits, Landlock, capabilities, seccomp, proof. Then it
// starts the program and stays to reap. Read Spec first, then Start, then stage.run.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// Paths that every sandbox has: empty, private, gone with it. They and /dev/shm
// share Limits.Temp. The caller says so in Env (HOME, TMPDIR) if the program is
// to know.
const (
	Home = "/home/sandbox"
	Temp = "/tmp"
)

// Spec is all that a sandboxed program gets. The zero Spec starts nothing. The
// files stay the caller's; Start has no use for them once it has returned.
type Spec struct {
	Program *os.File // what to run, a binary or a script; O_PATH is enough for both
	Argv    []string // argv[0] included
	Env     []string // exactly this

	Dir   Root   // working directory; one that is in no root is the sandbox's own, with nothing in it but the way to roots
	Read  []Root // seen as they are, read only
	Write []Root // seen as they are

	Hidden  []string // paths in the roots, or below /usr, to hide; one that doesn't exist is skipped. A root below one is seen all the same
	Names   Names    // names to hide, wherever they are below a root
	Objects []Object // files to hide, by whatever name they are below a root

	Stdin, Stdout, Stderr *os.File   // nil: /dev/null
	Files                 []*os.File // descriptors 3, 4, …
	Open                  []Root     // regular files, in a root or not; the descriptors after those of Files, opened for reading

	Limits      Limits
	Loopback    bool // a loopback of its own, and sockets of the internet families on it
	UnixSockets bool // lets the program create AF_UNIX sockets (a granted root may hold someone's)
}

// Root is an open file or directory and the path at which the program sees it,
// its canonical path on the host: absolute, clean, without links. It is refused
// with ErrChanged when that path has come to mean another object.
type Root struct {
	Path   string
	Handle *os.File // O_PATH is enough
}

// Object is a file by what it is, on the host.
type Object struct {
	Dev, Ino uint64
	Readable bool // hidden only where it could be written
}

// Names tell hidden names from others, by their folded form (see Init). A name
// that ends in one of Except is not hidden.
type Names struct {
	Exact, Prefix, Suffix, Except []string
}

// Match says whether a name, already folded, is hidden.
func (n Names) Match(folded string) bool {
	return (any(n.Exact, folded, func(s, rule string) bool { return s == rule }) ||
		any(n.Prefix, folded, strings.HasPrefix) || any(n.Suffix, folded, strings.HasSuffix)) &&
		!any(n.Except, folded, strings.HasSuffix)
}

func any(rules []string, s string, holds func(s, rule string) bool) bool {
	for _, rule := range rules {
		if rule != "" && holds(s, rule) {
			return true
		}
	}
	return false
}

func (n Names) empty() bool { return len(n.Exact)+len(n.Prefix)+len(n.Suffix) == 0 }

// Limits bound a sandbox. Zero means the default.
type Limits struct {
	CPU          time.Duration // of each process, whole seconds; 10 minutes
	FileSize     int64         // of each file written, in bytes; 1 GiB
	OpenFiles    int           // of each process; 1024
	Processes    int           // and threads, of the whole sandbox; 512
	AddressSpace int64         // of each process, in bytes; not limited
	Temp         int64         // of all temporary files together, in bytes; 256 MiB
	Entries      int           // directory entries looked at for hidden names and objects; 200,000
}

func (l Limits) withDefaults() Limits {
	if l.CPU == 0 {
		l.CPU = 10 * time.Minute
	}
	if l.FileSize == 0 {
		l.FileSize = 1 << 30
	}
	if l.OpenFiles == 0 {
		l.OpenFiles = 1024
	}
	if l.Processes == 0 {
		l.Processes = 512
	}
	if l.Temp == 0 {
		l.Temp = 256 << 20
	}
	if l.Entries == 0 {
		l.Entries = 200_000
	}
	return l
}

func (l Limits) valid() bool {
	return l.CPU >= 0 && l.FileSize >= 0 && l.OpenFiles >= 0 && l.Processes >= 0 &&
		l.AddressSpace >= 0 && l.Temp >= 0 && l.Entries >= 0
}

// Result is how a sandbox ended.
type Result struct {
	ExitCode int            // of the program; -1 when a signal ended it
	Signal   syscall.Signal // that ended it, or 0
	Killed   bool           // the sandbox was ended from outside, before the program
}

// Kinds of failure, for errors.Is. After each of them nothing runs.
var (
	// ErrUnavailable: this machine can't do it, or not for these roots.
	ErrUnavailable = errors.New("the sandbox is not available")
	// ErrWalkCut: the roots hold more entries than Limits.Entries, so that hidden
	// names could be left.
	ErrWalkCut = errors.New("the roots are too large to be searched for hidden names")
	// ErrChanged: a root or the directory is not what its path names any more.
	ErrChanged = errors.New("a root has changed")
	// ErrProgram: the sandbox stood, but the kernel would not run the program.
	ErrProgram = errors.New("the program can't be run")
	// ErrSpec: the Spec is wrong.
	ErrSpec = errors.New("the sandbox is asked for something that it can't mean")
)

// Error says at which step a sandbox failed, in words, and why.
type Error struct {
	Kind  error         // one of the above
	Step  string        // "mount /usr"
	Errno syscall.Errno // 0 when there is none
	Note  string        // in place of Errno
}

func (e *Error) Error() string {
	cause := e.Note
	if e.Errno != 0 {
		cause = strings.TrimPrefix(fmt.Sprintf("%s: %v", e.Note, e.Errno), ": ")
	}
	return fmt.Sprintf("start sandbox: %s: %s", e.Step, cause)
}

func (e *Error) Unwrap() []error {
	if e.Errno != 0 {
		return []error{e.Kind, e.Errno}
	}
	return []error{e.Kind}
}

// Levels of Support.
const (
	Full    = "full"    // Start works
	Partial = "partial" // some of it would be in force; Start refuses
	None    = "none"
)

// Support is what this machine can do. Only Full lets Start succeed.
type Support struct {
	Filesystem, Network, Secrets, Limits bool
	Level                                string
	Landlock                             int      // the kernel's ABI version; 0: none
	Missing                              []string // in words, one line each
}
