package executor_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain runs everything with the collector set as cmd/runlens sets it, so
// that benchmarks measure what users run.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
