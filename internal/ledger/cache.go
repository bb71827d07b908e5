package ledger

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"
)

// The fold cache is one line with a MAC (hex HMAC-SHA256 over cacheDomain and
// the rest), then a JSON object. It is written under the run's lock and never
// synced. No error about it is reported: the worst case is a slower Open.
const (
	cacheName   = "fold"
	cacheDomain = "runlens fold v1\n"
	cacheMax    = 64 << 20 // bytes that are read
	// A cache is written every everyEvents events of a running Log and, when
	// it would spare that many, on Close.
	everyEvents, onClose = 1024, 64
)

type cache struct {
	RunID string  `json:"run_id"`
	Seq   int64   `json:"seq"`
	Hash  string  `json:"hash"`   // of the line Seq
	Start int64   `json:"start"`  // where it begins
	End   int64   `json:"offset"` // behind its newline
	Open  []start `json:"open"`
	State []byte  `json:"state"`
}

func (l *Log) mac(body []byte) []byte {
	h := hmac.New(sha256.New, l.opt.Key)
	h.Write([]byte(cacheDomain))
	h.Write(body)
	return h.Sum(nil)
}

func (l *Log) caches() bool { return len(l.opt.Key) > 0 && l.opt.State != nil }

// loadCache moves a reset Log to where the cache stands, if its MAC holds and
// the line that it names is still in its place.
func (l *Log) loadCache() {
	if !l.caches() {
		return
	}
	f, err := os.OpenFile(filepath.Join(l.dir, cacheName), os.O_RDONLY|noFollow, 0)
	if err != nil {
		return
	}
	defer f.Close()
	// A FIFO that somebody holds open would be waited for.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	}
	data, err := io.ReadAll(io.LimitReader(f, cacheMax))
	if err != nil {
		return
	}
	sum, body, _ := bytes.Cut(data, []byte("\n"))
	have, err := hex.DecodeString(string(sum))
	if err != nil || !hmac.Equal(have, l.mac(body)) {
		return
	}
	var c cache
	if json.Unmarshal(body, &c) != nil || c.RunID != l.opt.RunID || !l.hasLine(&c) {
		return
	}
	if l.opt.State.Restore(c.State) != nil {
		// reset stays in force: it restored the state before the first
		// event, and does so again here. An error of it shows in begin.
		_ = l.reset()
		return
	}
	l.head.Seq, l.head.Hash = c.Seq, c.Hash
	l.lastAt, l.end, l.cached = c.Start, c.End, c.Seq
	l.pairs = pairs{open: make(map[int64]start, len(c.Open))}
	for _, s := range c.Open {
		l.pairs.open[s.Seq] = s
	}
}

// hasLine reads the one line that c stands on, with the newline before it.
func (l *Log) hasLine(c *cache) bool {
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
	if n, _ := l.disk.ReadAt(into, from); n < len(into) {
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
	body, err := json.Marshal(cache{
		RunID: l.head.RunID, Seq: l.head.Seq, Hash: l.head.Hash, Start: l.lastAt, End: l.end,
		Open: l.pairs.list(), State: state,
	})
	if err != nil {
		return
	}
	data := append([]byte(hex.EncodeToString(l.mac(body))+"\n"), body...)
	_ = l.disk.replace(cacheName, data)
}

func (l *Log) cacheOften() {
	if l.caches() && l.head.Seq-l.cached >= everyEvents {
		l.saveCache()
	}
}

func (l *Log) cacheOnClose() {
	if !l.caches() || l.head.Seq-l.cached < onClose {
		return
	}
	// A single try: nobody waits for a cache.
	if l.lock(context.Background(), time.Time{}) == nil {
		l.saveCache()
		_ = l.unlock()
	}
}
