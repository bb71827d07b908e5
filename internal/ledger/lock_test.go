//go:build unix

package ledger

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLocks holds both kinds of locks to the same duties.
func TestLocks(t *testing.T) {
	for name, make := range map[string]func(f *os.File) (locks, error){
		"the system's": newLocks,
		"flock":        func(f *os.File) (locks, error) { return newFlocks(f.Name()), nil },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), eventsName)
			opened := func() (*os.File, locks) {
				f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				l, err := make(f)
				if err != nil {
					t.Fatal(err)
				}
				return f, l
			}
			fa, a := opened()
			fb, b := opened()
			defer fb.Close()
			slots := []int64{slotTurn, slotCommit, slotStarted + 1, slotStarted + 2, slotStarted + 1<<40}
			for i, slot := range slots {
				if got, err := a.held(slot); got || err != nil {
					t.Fatalf("slot %d is held at first: %v", slot, err)
				}
				if ok, err := a.try(slot); !ok || err != nil {
					t.Fatalf("take slot %d: %v", slot, err)
				}
				if ok, err := a.try(slot); !ok || err != nil {
					t.Errorf("take slot %d again: %v", slot, err)
				}
				for j, other := range slots {
					if got, err := b.held(other); got != (j <= i) || err != nil {
						t.Errorf("slot %d seen as held: %v, %v", other, got, err)
					}
				}
				if got, _ := a.held(slot); got {
					t.Errorf("slot %d: one's own lock counts as somebody else's", slot)
				}
				if ok, err := b.try(slot); ok || err != nil {
					t.Errorf("take slot %d twice: %v, %v", slot, ok, err)
				}
			}
			if err := a.drop(slots[2]); err != nil {
				t.Fatal(err)
			}
			if ok, err := b.try(slots[2]); !ok || err != nil {
				t.Errorf("after drop: %v, %v", ok, err)
			}
			if got, err := b.held(slots[3]); !got || err != nil {
				t.Errorf("a drop let a neighbour go: %v", err)
			}
			// Closing another descriptor of the file loses nothing.
			fc, c := opened()
			c.close()
			fc.Close()
			if got, _ := b.held(slots[1]); !got {
				t.Error("closing another descriptor lost the lock")
			}
			a.close()
			fa.Close()
			for _, slot := range []int64{slots[0], slots[1], slots[3]} {
				if ok, err := b.try(slot); !ok || err != nil {
					t.Errorf("slot %d after its holder closed: %v, %v", slot, ok, err)
				}
			}
			b.close()
		})
	}
}

// TestFlockLedger runs the whole ledger on the stand-in.
func TestFlockLedger(t *testing.T) {
	dir := runDir(t)
	stand := func(d disk) disk { return &standIn{d, newFlocks(filepath.Join(dir, eventsName))} }
	l := open(t, dir, Options{wrap: stand})
	mustCommit(t, l, ToolAllowed, nil)
	mustCommit(t, l, ToolStarted, started(1))
	busy := open(t, dir, Options{wrap: stand, Wait: 20 * time.Millisecond})
	l.Commit(ctx, func(*Tx) error {
		if _, err := commit(busy, Note, nil); err == nil {
			t.Error("two at once")
		}
		return nil
	})
	if evs := checkWhole(t, dir); types(evs) != "tool_allowed tool_started" {
		t.Fatal(types(evs))
	}
	l.Close()
	open(t, dir, Options{wrap: stand})
	if evs := checkWhole(t, dir); types(evs) != "tool_allowed tool_started tool_unknown" {
		t.Fatal(types(evs))
	}
}

type standIn struct {
	disk
	flocks *flocks
}

func (s *standIn) try(slot int64) (bool, error)  { return s.flocks.try(slot) }
func (s *standIn) drop(slot int64) error         { return s.flocks.drop(slot) }
func (s *standIn) held(slot int64) (bool, error) { return s.flocks.held(slot) }
func (s *standIn) close() error                  { s.flocks.close(); return s.disk.close() }
