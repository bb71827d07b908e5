package replay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"

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
//
// One reader follows the chains and cuts them into batches, workers judge batches,
// and what came of them is folded in the order of the record: the Summary does not
// depend on how many workers there are.
func Run(ctx context.Context, dirs []string, opt Options) (*Summary, error) {
	if opt.New == nil {
		return nil, errors.New("replay runs: no policy to judge by")
	}
	workers := opt.Workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	reading, stop := context.WithCancel(ctx)
	r := &reader{work: make(chan *batch), order: make(chan *batch, 2*workers)}
	j := newJudge(opt)
	var busy sync.WaitGroup
	busy.Go(func() { r.read(reading, dirs) })
	for range workers {
		busy.Go(func() {
			for b := range r.work {
				b.judge(ctx, j)
			}
		})
	}
	c := collector{sum: newSummary(), opt: opt}
	if opt.Progress != nil {
		c.total = sizeOf(dirs)
	}
	for b := range r.order {
		if !c.take(ctx, b) {
			break
		}
	}
	stop()
	for range r.order { // so that the reader finds its way out
	}
	busy.Wait()
	return c.sum, ctx.Err()
}

// sizeOf is the size of the ledgers of all runs, as far as they can be looked at.
func sizeOf(dirs []string) (n int64) {
	for _, dir := range dirs {
		if st, err := os.Stat(filepath.Join(dir, eventsName)); err == nil {
			n += st.Size()
		}
	}
	return n
}
