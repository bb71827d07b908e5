// Command runlens-sandbox is the first process of a sandbox: runlens starts it from
// beside itself, and it confines itself before it starts the program that a tool
// runs. It does nothing when anybody else starts it.
//
// It is a program of its own because it is small: runlens could do the same, and
// does where this program is missing, but takes several times as long to start.
package main

import (
	"fmt"
	"os"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/resolve"
)

func main() {
	sandbox.Init(resolve.Fold)
	fmt.Fprintln(os.Stderr, "runlens-sandbox: error: runlens starts this program, for the tools that run programs")
	os.Exit(2)
}
