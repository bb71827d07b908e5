package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// faulty makes chosen steps fail. The zero value lets everything through.
type faulty struct {
	disk
	short    int   // bytes of the next write that reach the file; -1: off
	err      error // of that write
	truncate error
	save     error
	failed   func() // called at the failing write, unless nil
}

func (f *faulty) Write(p []byte) (int, error) {
	if f.err == nil {
		return f.disk.Write(p)
	}
	err := f.err
	f.err = nil
	if f.failed != nil {
		f.failed()
	}
	if f.short == 0 {
		return 0, err
	}
	n, _ := f.disk.Write(p[:min(f.short, len(p))])
	return n, err
}

func openFaulty(t testing.TB, dir string, state State) (*Log, *faulty) {
	t.Helper()
	f := &faulty{}
	return open(t, dir, Options{State: state, wrap: func(d disk) disk { f.disk = d; return cutter{f} }}), f
}

// cutter lets faulty hold a field named like the method it overrides.
type cutter struct{ *faulty }

func (c cutter) truncate(size int64) error {
	if c.faulty.truncate != nil {
		return c.faulty.truncate
	}
	return c.disk.truncate(size)
}

func (c cutter) save(name string, r io.Reader) error {
	if c.faulty.save != nil {
		return c.faulty.save
	}
	return c.disk.save(name, r)
}

// TestShortWrite: a write that fails half way leaves nothing behind, State is
// that of the file, and the same Log goes on once there is room.
func TestShortWrite(t *testing.T) {
	full := errors.New("no space left on device")
	for _, n := range []int{0, 1, 100, 1 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := runDir(t)
			var state tally
			l, f := openFaulty(t, dir, &state)
			mustCommit(t, l, ToolAllowed, nil)
			before, had := readFile(t, dir), state
			f.short, f.err = n, full
			err := l.Commit(ctx, func(tx *Tx) error {
				tx.Add(ToolStarted, started(1))
				_, err := tx.Add(Note, nil)
				return err
			})
			if !errors.Is(err, full) || errors.Is(err, ErrBroken) {
				t.Fatalf("commit: %v", err)
			}
			if !bytes.Equal(readFile(t, dir), before) || state.N != had.N || state.Sum != had.Sum {
				t.Fatal("something was left behind")
			}
			mustCommit(t, l, ToolStarted, started(1))
			checkWhole(t, dir)
			sameFold(t, dir, &state)
		})
	}
}

// TestShortWriteFailsItsBatch: commits that share a write share its error.
func TestShortWriteFailsItsBatch(t *testing.T) {
	dir := runDir(t)
	var state tally
	f := &faulty{}
	g := &gated{entered: make(chan struct{}, 100), goOn: make(chan error, 100)}
	l := open(t, dir, Options{State: &state, wrap: func(d disk) disk { f.disk = d; g.disk = cutter{f}; return g }})
	first := make(chan error, 1)
	go func() { _, err := commit(l, Note, nil); first <- err }()
	<-g.entered
	// A sync is running, so the next commits collect, until the write of the
	// batch lets all syncs go.
	full := errors.New("no space left on device")
	f.failed = func() { close(g.goOn) }
	errs := make(chan error, 8)
	err := l.Commit(ctx, func(tx *Tx) error {
		for range cap(errs) {
			go func() { _, err := commit(l, Note, nil); errs <- err }()
		}
		for queued := 0; queued < cap(errs); runtime.Gosched() {
			l.gate.mu.Lock()
			queued = len(l.gate.queue)
			l.gate.mu.Unlock()
		}
		l.batch.since = time.Now() // however long that took
		f.short, f.err = 200, full
		_, err := tx.Add(Note, nil)
		return err
	})
	if !errors.Is(err, full) {
		t.Errorf("the first of the batch: %v", err)
	}
	// Whoever shared the write failed; a batch ends when it takes long, and
	// who came after that did not.
	failed := 0
	for range cap(errs) {
		if err := <-errs; errors.Is(err, full) {
			failed++
		} else if err != nil {
			t.Error(err)
		}
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	if evs := checkWhole(t, dir); len(evs) != 1+cap(errs)-failed {
		t.Errorf("%d events, %d failed", len(evs), failed)
	}
	sameFold(t, dir, &state)
}

// TestCutFails: half a line that cannot be taken back ends the Log; the next
// Open repairs it.
func TestCutFails(t *testing.T) {
	dir := runDir(t)
	l, f := openFaulty(t, dir, nil)
	mustCommit(t, l, Note, nil)
	f.short, f.err, f.truncate = 50, errors.New("file too large"), errors.New("input/output error")
	if _, err := commit(l, Note, nil); !errors.Is(err, ErrBroken) {
		t.Fatalf("commit: %v, want ErrBroken", err)
	}
	f.truncate = nil
	if _, err := commit(l, Note, nil); !errors.Is(err, ErrBroken) {
		t.Errorf("later commit: %v, want ErrBroken", err)
	}
	l.Close()
	mustCommit(t, open(t, dir, Options{}), RunStopped, nil)
	if evs := checkWhole(t, dir); types(evs) != "note ledger_recovered run_stopped" {
		t.Error(types(evs))
	}
}

// TestOthersRepair: a writer that was open all the time repairs what another
// one left, before its fn sees anything.
func TestOthersRepair(t *testing.T) {
	dir := runDir(t)
	var state tally
	alive := open(t, dir, Options{State: &state})
	dies, f := openFaulty(t, dir, nil)
	mustCommit(t, dies, Note, nil)
	f.short, f.err, f.truncate = 50, errors.New("file too large"), errors.New("input/output error")
	commit(dies, Note, nil)
	err := alive.Commit(ctx, func(tx *Tx) error {
		if state.N != 2 || tx.Seq() != 2 {
			t.Errorf("judged at %d with %d folded", tx.Seq(), state.N)
		}
		_, err := tx.Add(Note, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if evs := checkWhole(t, dir); types(evs) != "note ledger_recovered note" {
		t.Error(types(evs))
	}
}

// TestCutEverywhere cuts a ledger at every byte. Whole events survive, the rest
// is kept aside and said, and the run goes on.
func TestCutEverywhere(t *testing.T) {
	_, data := filled(t, 2)
	base := t.TempDir()
	for cut := range len(data) + 1 {
		dir := filepath.Join(base, fmt.Sprint(cut), "r1")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		part := data[:cut]
		writeFile(t, dir, part)
		whole := bytes.Count(part, []byte("\n"))
		tail := part[bytes.LastIndexByte(part, '\n')+1:]
		lacksNewline := len(tail) > 0 && data[cut] == '\n'

		rep, err := Verify(dir, nil, nil)
		want := Unanchored
		if len(tail) > 0 {
			want = Torn
		}
		if err != nil || rep.Status != want || rep.Head.Seq != int64(whole) {
			t.Fatalf("cut at %d: verify says %s after %d, %v", cut, rep.Status, rep.Head.Seq, err)
		}
		checkReadEnds(t, dir, whole, len(tail) > 0)

		state := &tally{}
		l, err := Open(dir, Options{State: state, wrap: func(d disk) disk { return unsynced{d} }})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		mustCommit(t, l, Note, nil)
		sameFold(t, dir, state)
		l.Close()
		evs := checkWhole(t, dir)
		recovered := evs[max(len(evs)-2, 0)]
		switch {
		case len(tail) == 0:
			if len(evs) != whole+1 {
				t.Fatalf("cut at %d: %s", cut, types(evs))
			}
			continue
		case lacksNewline:
			whole++
			tail = nil
		}
		var rec Recovered
		if err := json.Unmarshal(recovered.Payload, &rec); err != nil || recovered.Type != LedgerRecovered || len(evs) != whole+2 {
			t.Fatalf("cut at %d: %s", cut, types(evs))
		}
		sum := sha256.Sum256(tail)
		if rec.DroppedBytes != int64(len(tail)) || rec.SHA256 != hex.EncodeToString(sum[:]) || rec.Completed != lacksNewline || rec.Offset != int64(cut-len(tail)) {
			t.Fatalf("cut at %d: %+v", cut, rec)
		}
		if len(tail) == 0 {
			continue
		}
		if kept, err := os.ReadFile(filepath.Join(dir, rec.File)); err != nil || !bytes.Equal(kept, tail) {
			t.Fatalf("cut at %d: kept %q, %v", cut, kept, err)
		}
	}
}

// checkReadEnds: Read gives the whole events, then ErrTorn if there is a tail.
func checkReadEnds(t *testing.T, dir string, whole int, torn bool) {
	t.Helper()
	n, last := 0, error(nil)
	for _, err := range Read(dir) {
		if last = err; err == nil {
			n++
		}
	}
	if n != whole || torn != errors.Is(last, ErrTorn) {
		t.Fatalf("read %d events, then %v; want %d, torn %v", n, last, whole, torn)
	}
}

// TestFlipEverywhere flips bits of every byte. No whole line is ever repaired
// away: Open refuses, or finds the same events.
func TestFlipEverywhere(t *testing.T) {
	dir, data := filled(t, 3)
	lastLine := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	keys, sign := testKeys(t), headOf(t, dir)
	signed := sign(keys)
	for at := range data {
		for _, bit := range []byte{0x01, 0x20, 0x80} {
			bad := bytes.Clone(data)
			bad[at] ^= bit
			os.RemoveAll(dir)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, dir, bad)
			rep, err := Verify(dir, [][]byte{signed}, keys.known())
			if err != nil || rep.Status == Valid || rep.Status == Unfinished || rep.Status == Unanchored {
				t.Fatalf("byte %d ^ %#x: verify says %s, %v", at, bit, rep.Status, err)
			}
			l, err := Open(dir, Options{wrap: func(d disk) disk { return unsynced{d} }})
			if err == nil {
				l.Close()
				// Nothing follows the last line, so only a head tells
				// when another line of the right form stands there.
				want := "note note note"
				if at == len(data)-1 {
					want += " ledger_recovered"
				}
				if got := types(events(t, dir)); got != want || at < lastLine {
					t.Fatalf("byte %d ^ %#x: opened with %s", at, bit, got)
				}
				continue
			}
			if !errors.Is(err, ErrCorrupt) || !bytes.Equal(readFile(t, dir), bad) {
				t.Fatalf("byte %d ^ %#x: %v", at, bit, err)
			}
		}
	}
}

// TestLastNewlineFlipped: with the last newline turned into something else the
// event before it is still kept.
func TestLastNewlineFlipped(t *testing.T) {
	dir, data := filled(t, 3)
	data[len(data)-1] = '\v'
	writeFile(t, dir, data)
	open(t, dir, Options{})
	evs := checkWhole(t, dir)
	if types(evs) != "note note note ledger_recovered" {
		t.Fatal(types(evs))
	}
	var rec Recovered
	json.Unmarshal(evs[3].Payload, &rec)
	if kept, err := os.ReadFile(filepath.Join(dir, rec.File)); err != nil || string(kept) != "\v" || !rec.Completed {
		t.Errorf("%+v, %q, %v", rec, kept, err)
	}
}

// TestBadTails is the rest of the fault table: what stands behind three good
// events, what Verify says, and what reopening makes of it.
func TestBadTails(t *testing.T) {
	_, four := filled(t, 4)
	lines := bytes.SplitAfter(four, []byte("\n"))
	fourth := lines[3]
	welded := append(bytes.Clone(fourth[:len(fourth)/2]), fourth...)
	utf8Cut := append(bytes.Clone(fourth[:20]), 0xe2, 0x82) // two of three bytes of a sign
	for _, tc := range []struct {
		name   string
		tail   []byte
		verify Status
		after  string // types after Open, "" when it refuses
	}{
		{"nothing", nil, Unanchored, "note note note"},
		{"half a line", fourth[:30], Torn, "note note note ledger_recovered"},
		{"no newline", fourth[:len(fourth)-1], Torn, "note note note note ledger_recovered"},
		{"whole line, then junk", append(bytes.Clone(fourth[:len(fourth)-1]), "xx"...), Torn, "note note note note ledger_recovered"},
		{"cut in a character", utf8Cut, Torn, "note note note ledger_recovered"},
		{"zeros", make([]byte, 512), Torn, "note note note ledger_recovered"},
		{"zeros, then newline", append(make([]byte, 512), '\n'), Corrupt, "note note note ledger_recovered"},
		{"zeros, then a line", append(append(make([]byte, 512), '\n'), fourth...), Corrupt, ""},
		{"empty line", []byte("\n"), Corrupt, ""},
		{"welded", welded, Corrupt, ""},
		{"welded, no newline", welded[:len(welded)-1], Torn, "note note note ledger_recovered"},
		{"text", []byte("hello\n"), Corrupt, ""},
		{"event twice", lines[2], Corrupt, ""},
		{"event of the middle", lines[1], Corrupt, ""},
		{"bad line in the middle", append([]byte("{}\n"), fourth...), Corrupt, ""},
		{"carriage return", append(bytes.Clone(fourth[:len(fourth)-1]), "\r\n"...), Corrupt, ""},
		{"torn, then an event", append([]byte("{\"v\":1,\"run\n"), fourth...), Corrupt, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := runDir(t)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			three := bytes.Join(lines[:3], nil)
			writeFile(t, dir, append(three, tc.tail...))
			rep, err := Verify(dir, nil, nil)
			if err != nil || rep.Status != tc.verify || rep.Head.Seq != 3 {
				t.Errorf("verify: %s after %d, %v; want %s", rep.Status, rep.Head.Seq, err, tc.verify)
			}
			state := &tally{}
			l, err := Open(dir, Options{State: state})
			if tc.after == "" {
				if !errors.Is(err, ErrCorrupt) || !bytes.Equal(readFile(t, dir), append(three, tc.tail...)) {
					t.Errorf("open: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			mustCommit(t, l, RunStopped, nil)
			if got := types(checkWhole(t, dir)); got != tc.after+" run_stopped" {
				t.Error(got)
			}
			sameFold(t, dir, state)
		})
	}
}

// TestLongTail: a line beyond the limit is corruption and is not held in memory.
func TestLongTail(t *testing.T) {
	dir, data := filled(t, 1)
	writeFile(t, dir, append(data, bytes.Repeat([]byte("x"), MaxLine+10)...))
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
	if rep, err := Verify(dir, nil, nil); err != nil || rep.Status != Corrupt || rep.Head.Seq != 1 {
		t.Errorf("verify: %s, %v", rep.Status, err)
	}
}

// TestLongestLine: the limit itself is reached.
func TestLongestLine(t *testing.T) {
	dir := runDir(t)
	l := open(t, dir, Options{wrap: func(d disk) disk { return unsynced{d} }})
	empty := mustCommit(t, l, Note, json.RawMessage(`{"a":""}`))
	room := MaxLine - int(events(t, dir)[0].Size)
	if _, err := commit(l, Note, json.RawMessage(`{"a":"`+strings.Repeat("x", room+1)+`"}`)); err == nil {
		t.Error("one byte too many is accepted")
	}
	mustCommit(t, l, Note, json.RawMessage(`{"a":"`+strings.Repeat("x", room)+`"}`))
	mustCommit(t, l, Note, nil)
	l.Close()
	if l = open(t, dir, Options{}); l.head.Seq != empty+2 {
		t.Errorf("%d events", l.head.Seq)
	}
}

// TestSaveFails: a tail that cannot be kept aside is not cut either.
func TestSaveFails(t *testing.T) {
	dir, data := filled(t, 2)
	torn := append(data, "half"...)
	writeFile(t, dir, torn)
	full := errors.New("no space left on device")
	_, err := Open(dir, Options{wrap: func(d disk) disk { return cutter{&faulty{disk: d, save: full}} }})
	if !errors.Is(err, full) || !bytes.Equal(readFile(t, dir), torn) {
		t.Errorf("open: %v", err)
	}
}

// TestRecoveryInterrupted: the disk fills up between cutting the tail and
// saying so. The next Open, or the same Log, says it.
func TestRecoveryInterrupted(t *testing.T) {
	full := errors.New("no space left on device")
	t.Run("next Open", func(t *testing.T) {
		dir, data := filled(t, 2)
		writeFile(t, dir, append(data, "half"...))
		_, err := Open(dir, Options{wrap: func(d disk) disk { return cutter{&faulty{disk: d, err: full, short: 10}} }})
		if !errors.Is(err, full) || !bytes.Equal(readFile(t, dir), data) {
			t.Fatalf("open: %v", err)
		}
		if rep, _ := Verify(dir, nil, nil); len(rep.Torn) != 1 {
			t.Errorf("verify names %q", rep.Torn)
		}
		open(t, dir, Options{}).Close()
		open(t, dir, Options{}).Close()
		if evs := checkWhole(t, dir); types(evs) != "note note ledger_recovered" {
			t.Error(types(evs))
		}
	})
	t.Run("same Log", func(t *testing.T) {
		dir, data := filled(t, 2)
		l, f := openFaulty(t, dir, &tally{})
		writeFile(t, dir, append(data, "half"...))
		f.err, f.short = full, 10
		if _, err := commit(l, Note, nil); !errors.Is(err, full) {
			t.Fatalf("commit: %v", err)
		}
		mustCommit(t, l, Note, nil)
		if evs := checkWhole(t, dir); types(evs) != "note note ledger_recovered note" {
			t.Error(types(evs))
		}
	})
}

// TestTwoTornTails: an older copy of the same name is not overwritten, and both
// get their event.
func TestTwoTornTails(t *testing.T) {
	dir, data := filled(t, 1)
	old := filepath.Join(dir, tornPrefix+"2")
	if err := os.WriteFile(old, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, append(data, "newer"...))
	open(t, dir, Options{}).Close()
	open(t, dir, Options{}).Close()
	if evs := events(t, dir); types(evs) != "note ledger_recovered ledger_recovered" {
		t.Error(types(evs))
	}
	for path, want := range map[string]string{old: "older", filepath.Join(dir, tornPrefix+"3"): "newer"} {
		if got, err := os.ReadFile(path); string(got) != want {
			t.Errorf("%s holds %q, %v", path, got, err)
		}
	}
	checkWhole(t, dir)
}

// TestRecoveryIsDurable: what Open adds is synced before it returns, and an Open
// that adds nothing syncs nothing.
func TestRecoveryIsDurable(t *testing.T) {
	dir, data := filled(t, 2)
	for _, tc := range []struct {
		data  []byte
		syncs int
	}{{data, 0}, {append(bytes.Clone(data), "half"...), 1}} {
		writeFile(t, dir, tc.data)
		g := &gated{entered: make(chan struct{}, 9), goOn: make(chan error)}
		close(g.goOn)
		l, err := Open(dir, Options{wrap: func(d disk) disk { g.disk = d; return g }})
		if err != nil || g.syncs != tc.syncs {
			t.Fatalf("%d syncs, %v; want %d", g.syncs, err, tc.syncs)
		}
		l.Close()
	}
}

// TestShrunk: a file that got shorter under an open Log is no ledger any more.
func TestShrunk(t *testing.T) {
	dir := runDir(t)
	l := open(t, dir, Options{})
	mustCommit(t, l, Note, nil)
	mustCommit(t, l, Note, nil)
	data := readFile(t, dir)
	if err := os.Truncate(filepath.Join(dir, eventsName), int64(len(data)/2)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := commit(l, Note, nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("commit: %v, want ErrCorrupt", err)
		}
	}
}
