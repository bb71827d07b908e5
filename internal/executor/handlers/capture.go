package handlers

import "sync"

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
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := string(c.tail[c.next:]) + string(c.tail[:c.next])
	missing := c.total - int64(len(c.head)) - int64(len(tail))
	if missing == 0 {
		return visible(string(c.head) + tail), c.total, false
	}
	head := string(c.head[:wholeEnd(c.head)])
	tail = tail[wholeTail(tail, 0):]
	missing = c.total - int64(len(head)) - int64(len(tail))
	return visible(head) + cutMark(missing, c.total) + visible(tail), c.total, true
}
