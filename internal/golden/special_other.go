//go:build !linux

package golden

import (
	"fmt"
	"os"
)

// special makes no special files here.
func special(kind string, _ *os.File, _ string) error {
	return fmt.Errorf("%w: a %s is made on Linux alone", ErrUnable, kind)
}

// Skip says why this process can't lay the case out; "" when it may try.
func (c *Case) Skip() string {
	for _, l := range c.layout {
		switch kind, _, _ := words(l.text); kind {
		case "fifo", "socket", "device":
			return "a " + kind + " is made on Linux alone"
		}
	}
	return ""
}
