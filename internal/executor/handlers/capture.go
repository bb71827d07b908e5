package handlers

import (
	"slices"
	"sync"
)

// capture keeps the head and the tail of what is written to it, and counts all
// of it: a flood costs time, not memory. It is safe for concurrent use.
type capture struct {
	mu    sync.Mutex
	limit int // of head and tail together
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64
}

func newCapture(limit int) *capture { return &capture{limit: max(limit, 2)} }

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	if room := c.limit - c.limit/2 - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	ring := c.limit / 2
	if len(p) > ring {
		p = p[len(p)-ring:]
	}
	for len(p) > 0 {
		var took int
		if len(c.tail) < ring {
			took = min(ring-len(c.tail), len(p))
			c.tail = append(c.tail, p[:took]...)
		} else {
			took = copy(c.tail[c.next:], p)
			c.next = (c.next + took) % ring
		}
		p = p[took:]
	}
	return n, nil
}

// text is what was kept, made visible, with a mark where something is missing.
func (c *capture) text() (text string, total int64, cut bool) {
	head, tail, missing := c.kept()
	total = missing + int64(len(head)+len(tail))
	if missing == 0 {
		return visible(string(head) + string(tail)), total, false
	}
	rest := string(tail)
	rest = rest[wholeTail(rest, 0):]
	head = head[:wholeEnd(head)]
	missing = total - int64(len(head)) - int64(len(rest))
	return visible(string(head)) + cutMark(missing, total) + visible(rest), total, true
}

// kept is the head and the tail as they came, and how many bytes between them are
// missing.
func (c *capture) kept() (head, tail []byte, missing int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail = slices.Concat(c.tail[c.next:], c.tail[:c.next])
	return slices.Clone(c.head), tail, c.total - int64(len(c.head)) - int64(len(tail))
}
