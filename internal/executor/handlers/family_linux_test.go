package handlers

import (
	"fmt"
	"os"
	"sort"
	"testing"

	"golang.org/x/sys/unix"
)

// Each way to belong to a family is enough by itself, and nothing else is. The
// processes here don't exist, so none carries a marker.
func TestFamilyClaim(t *testing.T) {
	own, _ := unix.Getsid(0)
	self := os.Getpid()
	const never = 1 << 30 // no process has such a number
	at := func(pid, parent, session int) process {
		return process{id: id{pid: never + pid, start: 1}, parent: parent, group: session, session: session}
	}
	below := map[int]process{}
	for _, p := range []struct{ pid, parent, session int }{
		{1, self, never + 1},      // the leader
		{2, never + 1, never + 2}, // by its parent
		{3, never + 2, never + 2}, // by its parent's parent
		{4, self, never + 1},      // an orphan in the leader's session
		{5, self, never + 2},      // an orphan in a session of the family
		{6, never + 5, never + 6}, // its child
		{7, self, never + 7},      // of unknown origin
		{8, self, own},            // in this process' session
		{9, never + 8, own},       // and its child
	} {
		below[never+p.pid] = at(p.pid, p.parent, p.session)
	}
	leader := below[never+1].id
	f := &family{leader: leader, marker: []byte("RUNLENS_COMMAND=x"), known: map[id]struct{}{leader: {}}}
	// One that is gone and whose number another has now.
	f.known[id{pid: never + 7, start: 0}] = struct{}{}
	f.claim(below)
	var got []int
	for p := range f.known {
		if p.start == 1 {
			got = append(got, p.pid-never)
		}
	}
	sort.Ints(got)
	if fmt.Sprint(got) != "[1 2 3 4 5 6]" {
		t.Errorf("claimed %v", got)
	}
}
