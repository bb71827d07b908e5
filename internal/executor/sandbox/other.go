//go:build !linux || !(amd64 || arm64)

package sandbox

import "context"

const why = "there is none for this operating system or processor: it needs Linux on amd64 or arm64"

// Init does nothing here.
func Init(fold func(string) string) {}

// Launcher begins no sandboxes here.
type Launcher struct{}

// Open makes a Launcher.
func Open(stage string) *Launcher { return &Launcher{} }

// Close does nothing.
func (l *Launcher) Close() {}

// Start fails with ErrUnavailable.
func (l *Launcher) Start(ctx context.Context, spec Spec) (*Child, error) {
	return nil, &Error{Kind: ErrUnavailable, Step: "look for a sandbox", Note: why}
}

// Probe says that nothing is there.
func (l *Launcher) Probe(ctx context.Context, roots ...Root) Support {
	return Support{Level: None, Missing: []string{"sandbox: " + why}}
}

// Shows says whether a path lies in what every sandbox has of the system.
func Shows(p string) bool { return false }

// Forks holds for no process.
func Forks(pid int) bool { return false }

// Child is a running sandbox; there is none here.
type Child struct{ PID int }

// Done is closed when the sandbox has ended.
func (c *Child) Done() <-chan struct{} { return nil }

// Wait says how it ended.
func (c *Child) Wait() Result { return Result{ExitCode: -1, Killed: true} }

// Kill ends it.
func (c *Child) Kill() {}
