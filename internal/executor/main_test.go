package executor_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/resolve"
)

// built is a directory that a test made for others; "" when none did.
var built string

// TestMain runs everything with the collector set as cmd/runlens sets it, so
// that benchmarks measure what users run. The test binary begins sandboxes, too.
func TestMain(m *testing.M) {
	sandbox.Init(resolve.Fold)
	debug.SetGCPercent(400)
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}
