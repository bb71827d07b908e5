package ledger

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"
)

// The fold cache is a line with a MAC (hex HMAC-SHA256 over cacheDomain and all
// that follows), a line with a JSON object, and the state's snapshot as it is.
// It is written under the run's lock and never synced. No error about it is
// reported: the worst case is a slower Open, and Log.Folded tells of that.
const (
	cacheName   = "fold"
	cacheDomain = "runlens fold v2\n"
	cacheMax    = 64 << 20 // bytes that are written and read
	// A cache of a short run is written every everyEvents events of a running
	// Log and, when it would spare that many, on Close.
	everyEvents, onClose = 1024, 64
)

// sparesEnough tells whether a cache is worth its writing that lets the next
// Open start at seq and not at an event so many earlier; least is that number
// in a short run. Writing takes time in proportion to the run (3.5 ms for one of
// 100,000 events), and each event that is not in the cache takes its time in
// every Open (10 µs with 1 to 2 KB). Of processes that add four events each, the
// two together cost least when the number grows with the root of the run's
// length: 64 for 100,000 events, which makes half a millisecond a process, 200
// for a million.
func sparesEnough(seq, events, least int64) bool {
	return events >= max(least, least*int64(math.Sqrt(float64(seq)))/(5*onClose))
}

// cache is the head of a fold cache, and the state behind it.
type cache struct {
	RunID string  `json:"run_id"`
	Seq   int64   `json:"seq"`
	Hash  string  `json:"hash"`   // of the line Seq
	Start int64   `json:"start"`  // where it begins
	End   int64   `json:"offset"` // behind its newline
	Open  []start `json:"open"`

	state []byte
}

// cacheMAC authenticates a head line, without its newline, and a state.
func cacheMAC(key, head, state []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(cacheDomain))
	h.Write(head)
	h.Write([]byte("\n"))
	h.Write(state)
	return h.Sum(nil)
}

// caches tells whether there may be a cache.
func (o *Options) caches() bool { return len(o.Key) > 0 && o.State != nil }

// readCache returns the cache of the run in dir, nil unless its MAC holds, it
// is this run's, and the line that it stands on is in its place in events.
func readCache(dir string, opt *Options, events io.ReaderAt) *cache {
	if !opt.caches() {
		return nil
	}
	data := cacheFile(filepath.Join(dir, cacheName))
	sum, body, _ := bytes.Cut(data, []byte("\n"))
	head, state, _ := bytes.Cut(body, []byte("\n"))
	have, err := hex.DecodeString(string(sum))
	if err != nil || !hmac.Equal(have, cacheMAC(opt.Key, head, state)) {
		return nil
	}
	c := cache{state: state}
	if json.Unmarshal(head, &c) != nil || c.RunID != opt.RunID || !c.standsIn(events) {
		return nil
	}
	return &c
}

// cacheFile returns what the file at path holds, nil when it is none that
// saveCache could have written. It is as large as the run is long, so that it
// is read into one buffer of its size.
func cacheFile(path string) []byte {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	// A FIFO that somebody holds open would be waited for.
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > cacheMax {
		return nil
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil
	}
	return data
}

// standsIn reads the one line that c stands on, with the newline before it.
func (c *cache) standsIn(events io.ReaderAt) bool {
	size := c.End - c.Start
	if c.Seq < 1 || c.Start < 0 || size < 1 || size > MaxLine+1 {
		return false
	}
	buf := make([]byte, size+1)
	buf[0] = '\n'
	from, into := c.Start-1, buf
	if c.Start == 0 {
		from, into = 0, buf[1:]
	}
	if n, _ := events.ReadAt(into, from); n < len(into) {
		return false
	}
	text := buf[1 : len(buf)-1]
	if buf[0] != '\n' || buf[len(buf)-1] != '\n' || hashLine(text) != c.Hash {
		return false
	}
	ev, _, err := parse(text)
	return err == nil && ev.Seq == c.Seq && ev.RunID == c.RunID
}

// saveCache is called by the holder of the run's lock.
func (l *Log) saveCache() {
	l.cached = l.head.Seq // also when it fails: tried again after as many events
	state, err := l.opt.State.Snapshot()
	if err != nil || state == nil {
		return
	}
	head, err := json.Marshal(cache{
		RunID: l.head.RunID, Seq: l.head.Seq, Hash: l.head.Hash, Start: l.lastAt, End: l.end,
		Open: l.pairs.list(),
	})
	if err != nil {
		return
	}
	data := make([]byte, 0, 2*sha256.Size+len(head)+len(state)+2)
	data = append(hex.AppendEncode(data, cacheMAC(l.opt.Key, head, state)), '\n')
	data = append(append(append(data, head...), '\n'), state...)
	if len(data) <= cacheMax {
		_ = l.disk.replace(cacheName, data)
	}
}

func (l *Log) cacheOften() {
	if l.opt.caches() && sparesEnough(l.head.Seq, l.head.Seq-l.cached, everyEvents) {
		l.saveCache()
	}
}

func (l *Log) cacheOnClose() {
	if !l.opt.caches() || !sparesEnough(l.head.Seq, l.head.Seq-l.cached, onClose) {
		return
	}
	// A single try: nobody waits for a cache.
	if l.lock(context.Background(), time.Time{}) == nil {
		l.saveCache()
		_ = l.unlock()
	}
}
