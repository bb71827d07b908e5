package replay

import (
	"context"
	"path/filepath"
	"strings"
)

// maxNames bounds what a Summary tells apart by a name that the record gives:
// revisions and codes. All beyond these are one.
const (
	maxNames = 1000
	others   = "(others)"
)

// maxNote bounds what is told of an example, in bytes.
const maxNote = 1000

// collector folds what came of batches, in the order of the record.
type collector struct {
	sum   *Summary
	opt   Options
	total int64 // bytes of all ledgers
}

// take waits for a batch and folds it. It returns false when the replay was
// cancelled before all of it was judged.
func (c *collector) take(ctx context.Context, b *batch) bool {
	select {
	case <-b.done:
	case <-ctx.Done():
		select {
		case <-b.done:
		default:
			return false
		}
	}
	for i := range b.outcomes {
		c.fold(b.dir, &b.outcomes[i])
	}
	if len(b.outcomes) < len(b.jobs) {
		return false
	}
	c.sum.Events += b.events
	if b.ended {
		c.end(b)
	}
	if c.opt.Progress != nil {
		c.opt.Progress(b.behind, max(c.total, b.behind))
	}
	return true
}

func (c *collector) end(b *batch) {
	switch {
	case b.broken != nil:
		c.sum.Broken = append(c.sum.Broken, Broken{b.dir, b.broken})
	case b.torn:
		c.sum.Torn = append(c.sum.Torn, b.dir)
		c.sum.Runs++
	default:
		c.sum.Runs++
	}
}

func (c *collector) fold(dir string, o *outcome) {
	s := c.sum
	if o.apart != "" {
		s.Apart[bounded(s.Apart, o.apart)]++
		return
	}
	at := Example{Where: dir, File: ledgerOf(dir), Line: int(o.seq), Seq: o.seq, Tool: cut(o.tool, maxText), Note: cut(o.note, maxNote)}
	if o.revision != "" {
		c.revision(o)
	}
	if o.mismatch != nil {
		s.Mismatches.Add(*o.mismatch)
	}
	if o.cause != "" {
		count(s.Causes, o.cause, at)
		return
	}
	s.Judged++
	if o.assumed {
		s.Assumed++
	}
	if o.trouble != "" {
		count(s.Trouble, o.trouble, at)
	}
	if o.flip == nil {
		s.Same++
		return
	}
	s.Groups.Add(*o.flip)
	if c.opt.Flip != nil {
		c.opt.Flip(*o.flip)
	}
}

// revision counts for the policy that gave a verdict.
func (c *collector) revision(o *outcome) {
	name := o.revision
	if !o.known { // of those at hand there are few
		name = bounded(c.sum.Recorded, name)
	}
	r := c.sum.Recorded[name]
	if r == nil {
		r = &Revision{Known: o.known}
		c.sum.Recorded[name] = r
	}
	r.Count++
	if o.again {
		r.Judged++
	}
	if o.same {
		r.Same++
	}
}

// bounded is name, or the name of all that there is no room for.
func bounded[V any](m map[string]V, name string) string {
	if _, has := m[name]; !has && (len(m) >= maxNames || len(name) > maxText) {
		return others
	}
	return name
}

func count[K comparable](m map[K]*Example, key K, at Example) {
	if m[key] == nil {
		m[key] = &at
	}
	m[key].Count++
}

// cut is the beginning of s, in whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func ledgerOf(dir string) string { return filepath.Join(dir, eventsName) }
