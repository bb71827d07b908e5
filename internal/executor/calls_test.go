package executor

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/runlens/runlens/internal/ledger"
)

// TestCallIndex holds the index against a map through operations and snapshots
// in random order.
func TestCallIndex(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		id := func() string { return fmt.Sprintf("call-%d", random.IntN(300)) }
		digest := func() string { return fmt.Sprintf("sha256:%d", random.IntN(4)) }
		want, have := map[string]string{}, callIndex{}
		for step := range 3000 {
			switch random.IntN(8) {
			case 0, 1, 2:
				id, digest := id(), digest()
				want[id] = digest
				have.add(id, digest)
			case 3:
				if random.IntN(20) > 0 {
					continue
				}
				snapshot := have.appendTo([]byte("head"))
				if !bytes.HasPrefix(snapshot, []byte("head")) {
					t.Fatalf("seed %d, step %d: what stood before the snapshot is gone", seed, step)
				}
				have = callIndex{}
				have.add("left over", "")
				if err := have.restore(snapshot[4:]); err != nil {
					t.Fatalf("seed %d, step %d: %v", seed, step, err)
				}
			default:
				id, digest := id(), digest()
				stands, wantUsed := want[id]
				used, same := have.matches(id, digest)
				if used != wantUsed || same != (wantUsed && stands == digest) || have.has(id) != wantUsed {
					t.Fatalf("seed %d, step %d: %s is used %t, same %t; it stands for %q", seed, step, id, used, same, stands)
				}
			}
		}
		if have.len() != len(want) || have.has("left over") {
			t.Errorf("seed %d: %d ids, want %d", seed, have.len(), len(want))
		}
	}
}

// TestCallIndexSnapshot: equal indexes have equal snapshots, however they came
// about, and a snapshot is left alone by what is added after it was taken over.
func TestCallIndexSnapshot(t *testing.T) {
	var a, b callIndex
	for i := range 100 {
		a.add(fmt.Sprint(i), "d")
		b.add(fmt.Sprint(99-i), "other")
		if i%10 == 0 {
			b.appendTo(nil)
		}
	}
	for i := range 100 {
		b.add(fmt.Sprint(i), "d")
	}
	snapshot := a.appendTo(nil)
	if !bytes.Equal(snapshot, b.appendTo(nil)) || len(snapshot) != 100*callRecord {
		t.Fatalf("%d and %d bytes", len(snapshot), b.len()*callRecord)
	}
	before := bytes.Clone(snapshot)
	if err := b.restore(snapshot); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		b.add(fmt.Sprint(i), "e")
	}
	if b.len() != 200 || !bytes.Equal(before, snapshot) {
		t.Errorf("%d ids; the snapshot is the same: %t", b.len(), bytes.Equal(before, snapshot))
	}
	if _, same := b.matches("7", "e"); !same {
		t.Error("a later digest does not replace an earlier one")
	}
	for _, cut := range []int{1, callRecord - 1, callRecord + 1} {
		if err := b.restore(snapshot[:cut]); err == nil {
			t.Errorf("%d bytes are taken for a snapshot", cut)
		}
	}
	if err := b.restore(nil); err != nil || b.len() != 0 || b.has("7") {
		t.Errorf("restored from nothing: %d ids, %v", b.len(), err)
	}
}

// TestStateSnapshot: a state that was stored and taken over goes on as the one
// that was not, and what is no snapshot leaves a state as it was.
func TestStateSnapshot(t *testing.T) {
	apply := func(s *State, from, to int64) {
		t.Helper()
		for seq := from; seq <= to; seq++ {
			payload := fmt.Appendf(nil, `{"call_id":"id-%d","digest":"sha256:%d","after":0}`, seq, seq)
			if err := s.Apply(&ledger.Event{Seq: seq, Type: ledger.ModelProposed, Payload: payload}); err != nil {
				t.Fatal(err)
			}
		}
	}
	snapshot := func(s *State) []byte {
		t.Helper()
		data, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	straight, stored := NewState(), NewState()
	apply(straight, 1, 20)
	apply(stored, 1, 10)
	data := snapshot(stored)
	if err := stored.Restore(data); err != nil {
		t.Fatal(err)
	}
	apply(stored, 11, 20)
	if !bytes.Equal(snapshot(stored), snapshot(straight)) {
		t.Error("the two differ")
	}
	if used, same := stored.calls.matches("id-7", "sha256:7"); !used || !same {
		t.Errorf("a call id from before: used %t, same %t", used, same)
	}
	if used, same := stored.calls.matches("id-7", "sha256:8"); !used || same {
		t.Errorf("with another call: used %t, same %t", used, same)
	}
	if stored.calls.has("id-21") {
		t.Error("an id that nobody used is used")
	}
	before := snapshot(stored)
	for _, bad := range [][]byte{{}, []byte("{}{}"), data[:len(data)-1], append([]byte("x"), data...)} {
		if err := stored.Restore(bad); err == nil {
			t.Errorf("%.20q is taken for a snapshot", bad)
		}
	}
	if !bytes.Equal(before, snapshot(stored)) {
		t.Error("what is no snapshot changed the state")
	}
	if err := stored.Restore(nil); err != nil || stored.Seq != 0 || stored.calls.has("id-7") {
		t.Errorf("restored from nothing: event %d, %v", stored.Seq, err)
	}
}

func bigIndex(n int) *callIndex {
	var c callIndex
	for i := range n {
		c.add(fmt.Sprintf("call-%06d", i), "sha256:d")
	}
	return &c
}

// BenchmarkCallIndexRestore is what a process pays that asks about one call.
func BenchmarkCallIndexRestore(b *testing.B) {
	for _, n := range []int{25, 25_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			snapshot := bigIndex(n).appendTo(nil)
			for b.Loop() {
				var c callIndex
				if err := c.restore(snapshot); err != nil {
					b.Fatal(err)
				}
				if used, same := c.matches("call-000017", "sha256:d"); !used || !same {
					b.Fatal("it is not there")
				}
			}
		})
	}
}

// BenchmarkCallIndexSnapshot is a snapshot of 25,000 ids, 64 of them new.
func BenchmarkCallIndexSnapshot(b *testing.B) {
	c := bigIndex(25_000)
	for i := 0; b.Loop(); i++ {
		for j := range 64 {
			c.add(fmt.Sprint(j), "sha256:d")
		}
		c.appendTo(nil)
	}
}
