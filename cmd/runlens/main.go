// Command runlens is the command line of RunLens, a gate for the tool calls of
// AI agents: a call comes in as JSON, policy decides, and only what was allowed
// runs, from the verdict, with every step in a ledger.
//
// Each command is one file. What they share is small: world is everything
// outside the process, project.go decides where policies and manifests come
// from, args.go reads the words of the command line, exit.go turns whatever
// happened into one exit code. stdout holds the result and nothing else;
// everything said to a person goes to stderr.
//
// Read run first, then world.open in project.go, then check.go.
package main

import (
	"os"
	"runtime/debug"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/resolve"
)

// gcPercent lets the heap grow to a few times its size between collections. A
// command lives for some tens of milliseconds, most of them in parsing and
// compiling policy, which makes garbage that is not worth collecting: with the
// default of 100 the collector runs five times in a `runlens check` and takes a
// third of its CPU time, to save 3 MiB.
// softLimit brings it back before a process that handles much gets large.
const (
	gcPercent = 400
	softLimit = 256 << 20
)

func main() {
	sandbox.Init(resolve.Fold) // doesn't return in the first process of a sandbox
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(softLimit)
	outlivePipes()
	os.Exit(run(os.Args[1:], system()))
}
