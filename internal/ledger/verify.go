package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Status is what Verify found, the worst that applies.
type Status string

// From worst to best. Only Valid means that nothing is left to ask.
const (
	Corrupt      Status = "corrupt"      // a line is no event, or does not continue the chain
	Foreign      Status = "foreign"      // the events are those of another run than the directory's
	Rewritten    Status = "rewritten"    // a signed head names another event than stands there
	Cut          Status = "cut"          // a signed head covers more events than there are
	Inconsistent Status = "inconsistent" // the chain holds, but an event claims what cannot be
	Torn         Status = "torn"         // the last line is not whole; the next Open repairs it
	Unanchored   Status = "unanchored"   // no signed head covers the last event: later ones may have been cut, all may be rewritten
	Unfinished   Status = "unfinished"   // anchored, but there is no run_stopped: the run goes on, or it was left
	Valid        Status = "valid"
)

// Problem is one thing that is wrong.
type Problem struct {
	Line    int64 // from 1; 0 when it is not about a line
	Offset  int64 // of the line
	Message string
}

// Report is what Verify found out.
type Report struct {
	Status   Status
	Head     Head      // of the good events: run id, number, hash of the last
	Bytes    int64     // of the good events
	Size     int64     // of the file
	Anchored int64     // how many events the newest matching head covers
	Heads    int       // how many of the heads given are good ones of this run
	Stopped  bool      // run_stopped is there, and only notes and repairs follow
	Open     []int64   // seqs of tool_started without end, ascending
	Torn     []string  // files with torn tails that no ledger_recovered names
	Problems []Problem // in file order, then those of heads
}

// Verify reads the whole ledger of the run in dir, which the directory's name
// tells, and compares it with signed heads (SignHead). Those without a signature
// by known count as problems and anchor nothing; those of other runs say
// nothing about this one. It changes nothing and takes no lock. An error means
// that the file could not be read; a missing file is one only when no good head
// of the run says that it was there.
func Verify(dir string, heads [][]byte, known note.Verifiers) (Report, error) {
	v := verifier{hashes: map[int64]string{0: Genesis}, used: map[int64]int64{}, allowed: map[int64]bool{}}
	name := filepath.Join(dir, eventsName)
	id, err := RunIDOf(dir)
	if err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", name, err)
	}
	v.id, v.Head = id, Head{RunID: id, Hash: Genesis}
	v.openHeads(heads, known)
	f, size, err := openWhole(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(v.heads) > 0:
		v.problem(line{}, 0, "events.jsonl is missing")
	case err != nil:
		return Report{}, fmt.Errorf("verify %s: %w", name, cause(err))
	default:
		defer f.Close()
		if err := v.read(f, size); err != nil {
			return Report{}, fmt.Errorf("verify %s: %w", name, cause(err))
		}
		v.Size = size
	}
	for _, s := range v.pairs.list() {
		v.Open = append(v.Open, s.Seq)
	}
	v.compareHeads()
	if err := v.findTorn(dir); err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", name, cause(err))
	}
	v.Status = v.status()
	return v.Report, nil
}

type verifier struct {
	Report
	id      string // of the run that should be there
	heads   []Head
	hashes  map[int64]string // of the events that heads name
	pairs   pairs
	used    map[int64]int64 // verdict seq → its tool_started
	allowed map[int64]bool  // seqs of tool_allowed
	named   []string        // files that ledger_recovered names

	corrupt, foreign, inconsistent, torn, rewritten, cut bool
}

func (v *verifier) problem(ln line, seq int64, format string, args ...any) {
	v.Problems = append(v.Problems, Problem{Line: seq, Offset: ln.off, Message: fmt.Sprintf(format, args...)})
}

func (v *verifier) openHeads(heads [][]byte, known note.Verifiers) {
	if known == nil {
		known = note.VerifierList()
	}
	for i, signed := range heads {
		h, err := OpenHead(signed, known)
		if err != nil {
			v.problem(line{}, 0, "head %d: %v", i+1, err)
			continue
		}
		if h.RunID != v.id {
			continue
		}
		v.heads = append(v.heads, h)
		v.Heads++
		if _, ok := v.hashes[h.Seq]; !ok {
			v.hashes[h.Seq] = ""
		}
	}
}

// read follows the chain as far as it holds.
func (v *verifier) read(r io.ReaderAt, size int64) error {
	from := newLines(r, 0, size)
	for {
		ln, err := from.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !ln.ended && ln.last {
			v.torn = true
			v.problem(ln, v.Head.Seq+1, "%v", ErrTorn)
			return nil
		}
		ev, found, err := chained(&v.Head, ln)
		if err != nil {
			v.corrupt = true
			v.problem(ln, v.Head.Seq+1, "%v", err)
			return nil
		}
		if ev.Seq == 1 && ev.RunID != v.id {
			v.foreign = true
			v.problem(ln, ev.Seq, "%v", errForeign(ev.RunID, v.id))
		}
		v.Bytes = from.behind()
		if _, ok := v.hashes[ev.Seq]; ok {
			v.hashes[ev.Seq] = ev.Hash
		}
		v.event(ln, ev, found)
	}
}

// event looks at what the ledger itself can know about an event's meaning.
func (v *verifier) event(ln line, ev *Event, found links) {
	if _, err := v.pairs.add(ev, found); err != nil {
		v.claim(ln, ev, "%s: %v", ev.Type, err)
	}
	switch ev.Type {
	case ToolAllowed:
		v.allowed[ev.Seq] = true
	case ToolStarted:
		if first := v.used[found.verdict]; first > 0 {
			v.claim(ln, ev, "tool_started: verdict %d was started at %d already", found.verdict, first)
		} else if !v.allowed[found.verdict] {
			v.claim(ln, ev, "tool_started: event %d is no tool_allowed", found.verdict)
		} else {
			v.used[found.verdict] = ev.Seq
		}
	case LedgerRecovered:
		v.named = append(v.named, found.file)
	}
	switch ev.Type {
	case RunStopped:
		v.Stopped = true
	case Note, LedgerRecovered, ToolUnknown:
	default:
		v.Stopped = false
	}
}

func (v *verifier) claim(ln line, ev *Event, format string, args ...any) {
	v.inconsistent = true
	v.problem(ln, ev.Seq, format, args...)
}

func (v *verifier) compareHeads() {
	for _, h := range v.heads {
		hash := v.hashes[h.Seq]
		switch {
		case h.Seq > v.Head.Seq && v.corrupt:
			// Its event may stand behind the bad line.
		case h.Seq > v.Head.Seq:
			v.cut = true
			v.problem(line{}, 0, "head of event %d: the ledger ends at event %d", h.Seq, v.Head.Seq)
		case h.Hash != hash:
			v.rewritten = true
			v.problem(line{}, h.Seq, "head of event %d: another event stands there", h.Seq)
		default:
			v.Anchored = max(v.Anchored, h.Seq)
		}
	}
}

// findTorn lists saved tails that the ledger does not know of.
func (v *verifier) findTorn(dir string) error {
	if v.corrupt {
		return nil // a ledger_recovered may stand behind the bad line
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tornPrefix) && !slices.Contains(v.named, e.Name()) {
			v.Torn = append(v.Torn, e.Name())
		}
	}
	return err
}

func (v *verifier) status() Status {
	switch {
	case v.corrupt:
		return Corrupt
	case v.foreign:
		return Foreign
	case v.rewritten:
		return Rewritten
	case v.cut:
		return Cut
	case v.inconsistent:
		return Inconsistent
	case v.torn:
		return Torn
	case v.Anchored < v.Head.Seq || v.Head.Seq == 0:
		return Unanchored
	case !v.Stopped:
		return Unfinished
	}
	return Valid
}
