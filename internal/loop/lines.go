package loop

import (
	"context"
	"errors"
	"io"

	"github.com/runlens/runlens/internal/executor"
)

// Causes of an end, as executor.Stop records them.
const (
	CauseInputEnded  = "input_ended"
	CauseInterrupted = "interrupted"
)

// Lines answers calls that come as JSON lines, in any call shape, one a line.
func (r *Run) Lines(ctx context.Context, in io.Reader, out func(*executor.ToolResult) error) (cause string, err error) {
	return "", errors.New("read calls: not there yet")
}
