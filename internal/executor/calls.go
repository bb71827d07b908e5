package executor

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
)

// callIndex is what a run knows of its call ids: which call each stands for. A
// run's every process starts by taking it over from a snapshot, so that form is
// also the one it is searched in: one record for each id, of fixed width and
// sorted, found by bisection. Nothing is decoded and nothing allocated for the
// calls that the process never asks about.
//
// Ids and digests are held as half a SHA-256 each. An id chosen so that it
// meets another's half (2^64 tries) gets its own call refused, or one call
// recorded under two ids; neither lets anything run that was not judged.
//
// The zero value is empty. Looking up (matches, has) only reads; all else changes
// it, len and appendTo too.
type callIndex struct {
	base   []byte                // records, ascending by id
	recent map[callHalf]callHalf // that base lacks, or that came later than base's
}

// callHalf is the first half of a SHA-256.
type callHalf [16]byte

// callRecord is the width of a record: the half of the id, then of the digest.
const callRecord = 2 * len(callHalf{})

func halfOf(text string) callHalf {
	sum := sha256.Sum256([]byte(text))
	return callHalf(sum[:len(callHalf{})])
}

// matches tells whether id was used in this run, and if so whether for the call
// of this digest.
func (c *callIndex) matches(id, digest string) (used, same bool) {
	have, used := c.lookup(halfOf(id))
	return used, used && have == halfOf(digest)
}

// has tells whether id was used in this run.
func (c *callIndex) has(id string) bool {
	_, used := c.lookup(halfOf(id))
	return used
}

// add notes that id stands for the call of this digest, whatever it stood for.
func (c *callIndex) add(id, digest string) {
	if c.recent == nil {
		c.recent = map[callHalf]callHalf{}
	}
	c.recent[halfOf(id)] = halfOf(digest)
}

func (c *callIndex) lookup(id callHalf) (digest callHalf, found bool) {
	if digest, found = c.recent[id]; found {
		return digest, true
	}
	low, high := 0, len(c.base)/callRecord
	for low < high {
		mid := int(uint(low+high) / 2)
		record := c.base[mid*callRecord:][:callRecord]
		switch bytes.Compare(record[:len(id)], id[:]) {
		case 0:
			return callHalf(record[len(id):]), true
		case -1:
			low = mid + 1
		default:
			high = mid
		}
	}
	return digest, false
}

// len is the number of ids.
func (c *callIndex) len() int {
	c.merge()
	return len(c.base) / callRecord
}

// appendTo appends the snapshot to dst.
func (c *callIndex) appendTo(dst []byte) []byte {
	c.merge()
	return append(dst, c.base...)
}

// merge moves what is recent into base.
func (c *callIndex) merge() {
	if len(c.recent) == 0 {
		return
	}
	ids := make([]callHalf, 0, len(c.recent))
	for id := range c.recent {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b callHalf) int { return bytes.Compare(a[:], b[:]) })
	// The old base may be the caller's: it is not written to.
	old, merged := c.base, make([]byte, 0, len(c.base)+len(ids)*callRecord)
	for _, id := range ids {
		n := 0
		for n < len(old) && bytes.Compare(old[n:][:len(id)], id[:]) < 0 {
			n += callRecord
		}
		merged, old = append(merged, old[:n]...), old[n:]
		if len(old) > 0 && callHalf(old[:len(id)]) == id {
			old = old[callRecord:]
		}
		digest := c.recent[id]
		merged = append(append(merged, id[:]...), digest[:]...)
	}
	c.base, c.recent = append(merged, old...), nil
}

// restore replaces c by a snapshot, which becomes c's own. That its records are
// in order is not looked at: whoever hands it in has authenticated it.
func (c *callIndex) restore(snapshot []byte) error {
	if len(snapshot)%callRecord != 0 {
		return errors.New("the call ids end in the middle of a record")
	}
	*c = callIndex{base: snapshot}
	return nil
}
