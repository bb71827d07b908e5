package replay

import (
	"context"
	"crypto/sha256"
	"hash"
	"slices"
	"sync"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
)

// memo keeps verdicts by what rules can read of an input, so that a call that was
// made again and again is judged once. What they can't read is left out of the
// key: mostly when the call came, and under which name. It is safe for concurrent
// use.
type memo struct {
	unread  []string // texts of an input that no rule of any tree of the replay can read, as "call.id"
	mu      sync.RWMutex
	held    map[memoKey]engine.Verdict
	retired map[memoKey]engine.Verdict // what was held before; it goes when held is full again
}

// digest names what rules can read of an input; the zero digest is none.
type digest [sha256.Size]byte

type memoKey struct {
	tree  int
	input digest
}

const (
	maxMemo      = 4096     // verdicts in held
	maxMemoInput = 64 << 10 // bytes of an input that gets a key
)

// newMemo looks which of the texts that differ from call to call count at all.
func newMemo(engines []*engine.Engine) memo {
	unread := []string{"now", "call.id", "call.digest", "run.id"}
	for _, e := range engines {
		unread = slices.DeleteFunc(unread, e.MayRead)
	}
	return memo{unread: unread}
}

// key is the digest of what rules can read. An input so long that its length could
// decide has none.
func (m *memo) key(line []byte, r *facts.Recorded) (sum digest) {
	if len(line) > maxMemoInput {
		return sum
	}
	h := sha256.New()
	for i, name := range facts.PartNames() {
		m.write(h, name, r.Parts[i])
	}
	h.Sum(sum[:0])
	return sum
}

// write adds a part: JSON without white space, so that no zero byte is in it.
func (m *memo) write(h hash.Hash, name string, part []byte) {
	add := func(name string, value []byte) {
		if !slices.Contains(m.unread, name) {
			h.Write(value)
		}
		h.Write([]byte{0})
	}
	if name != "call" && name != "run" {
		add(name, part)
		return
	}
	facts.Members(part, func(member, value []byte) bool {
		add(name+"."+string(member), value)
		return true
	})
}

// decide is t's verdict on in; key is that of in.
func (j *judge) decide(ctx context.Context, t *tree, in *facts.Input, key digest) engine.Verdict {
	if key == (digest{}) {
		return t.Decide(ctx, in)
	}
	k := memoKey{t.number, key}
	v, ok := j.memo.get(k)
	if ok {
		return v
	}
	v = t.Decide(ctx, in)
	if v.Reasons[0].Code != timedOut { // the clock's verdict is about one moment
		j.memo.put(k, v)
	}
	return v
}

func (m *memo) get(k memoKey) (engine.Verdict, bool) {
	m.mu.RLock()
	v, ok := m.held[k]
	old, was := m.retired[k]
	m.mu.RUnlock()
	if ok || !was {
		return v, ok
	}
	m.put(k, old)
	return old, true
}

func (m *memo) put(k memoKey, v engine.Verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil || len(m.held) >= maxMemo {
		m.held, m.retired = make(map[memoKey]engine.Verdict, maxMemo), m.held
	}
	m.held[k] = v
}
