package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Recovered is the payload of ledger_recovered.
type Recovered struct {
	DroppedBytes int64  `json:"dropped_bytes"`
	SHA256       string `json:"sha256"` // hex, of the dropped bytes
	Offset       int64  `json:"offset"` // where they stood
	File         string `json:"file"`   // in the run's directory; "" when nothing was dropped
	Completed    bool   `json:"completed"`
}

const tornPrefix = eventsName + ".torn."

// recoverTail repairs the bytes behind the last good line (package comment,
// "After a crash"). It runs under the lock, and each step leaves what the next
// run of it, or finishRecovery, takes up.
func (l *Log) recoverTail(tail line) error {
	l.repaired = true
	keep := int64(wholeEvent(l.head, tail))
	size := int64(len(tail.bytes))
	if tail.ended {
		size++
	}
	rec := Recovered{DroppedBytes: size - keep, Offset: l.end + keep, Completed: keep > 0}
	seq := l.head.Seq + 1
	if rec.Completed {
		seq++
	}
	dropped := func() io.Reader { return io.NewSectionReader(l.disk, rec.Offset, rec.DroppedBytes) }
	sum := sha256.New()
	if _, err := io.Copy(sum, dropped()); err != nil {
		return fmt.Errorf("read %s: %w", l.name, cause(err))
	}
	rec.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if rec.DroppedBytes > 0 {
		var err error
		if rec.File, err = l.saveTorn(seq, rec.SHA256, dropped); err != nil {
			return fmt.Errorf("save torn tail of %s: %w", l.name, cause(err))
		}
		// True now: the tail is in the file and, durable, in its copy. A
		// crash leaves both; the next writer finds the copy the same.
		if err := l.disk.truncate(rec.Offset); err != nil {
			return fmt.Errorf("cut %s: %w", l.name, cause(err))
		}
	}
	if rec.Completed {
		// True now: the last line is an event without newline. A crash
		// leaves it so; the next writer comes here again.
		if n, err := l.disk.Write([]byte("\n")); err != nil {
			return fmt.Errorf("append to %s (%d bytes): %w", l.name, n, cause(err))
		}
		if err := l.fold(rec.Offset + 1); err != nil {
			return err
		}
	}
	// True now: the file holds whole events only. A crash leaves the copy
	// with the seq of the event that is missing; finishRecovery adds it.
	l.syncer.wrote(l.end)
	if rec.File == "" {
		return l.addRecovered(rec)
	}
	return l.finishRecovery(rec)
}

func (l *Log) addRecovered(rec Recovered) error {
	err := l.appendNow(func(tx *Tx) error {
		_, err := tx.Add(LedgerRecovered, rec)
		return err
	})
	l.unfinished = err != nil
	return err
}

// wholeEvent returns the length of the event that tail starts with and that
// continues the chain, 0 when there is none: what was lost is its newline only.
func wholeEvent(head Head, tail line) int {
	end := []byte(`,"prev":"` + head.Hash + `"}`)
	for from := 0; ; {
		i := bytes.Index(tail.bytes[from:], end)
		if i < 0 {
			return 0
		}
		from += i + len(end)
		if _, _, err := follow(head, line{bytes: tail.bytes[:from], off: tail.off}); err == nil {
			return from
		}
	}
}

// saveTorn keeps dropped in a file that is named after the ledger_recovered to
// come. A file of that name with the same bytes was left by an attempt that
// came no further; one with other bytes waits for an event of its own, so that
// this one's is the next.
func (l *Log) saveTorn(seq int64, sum string, dropped func() io.Reader) (string, error) {
	for ; ; seq++ {
		name := tornName(seq)
		err := l.disk.save(name, dropped())
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		if _, have, err := sumFile(filepath.Join(l.dir, name)); err == nil && have == sum {
			return name, nil
		}
	}
}

func tornName(seq int64) string { return tornPrefix + strconv.FormatInt(seq, 10) }

func sumFile(path string) (size int64, sum string, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// finishRecovery appends ledger_recovered as long as there is a copy of a tail
// that is named after the next seq: rec for its own, and for those that crashes
// within recoverTail left without one, what the copy tells.
func (l *Log) finishRecovery(rec Recovered) error {
	for {
		name := tornName(l.head.Seq + 1)
		size, sum, err := sumFile(filepath.Join(l.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			l.unfinished = false
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", filepath.Join(filepath.Dir(l.name), name), cause(err))
		}
		l.repaired = true
		next := Recovered{DroppedBytes: size, SHA256: sum, Offset: l.end, File: name}
		if name == rec.File {
			next = rec
		}
		if err := l.addRecovered(next); err != nil {
			return err
		}
	}
}

// settleStarts writes tool_unknown for each start whose process is gone.
func (l *Log) settleStarts() error {
	var gone []start
	for _, s := range l.pairs.list() {
		if s.Detached {
			continue
		}
		alive, err := l.disk.held(slotStarted + s.Seq)
		if err != nil {
			return fmt.Errorf("lock %s: %w", l.name, err)
		}
		if !alive {
			gone = append(gone, s)
		}
	}
	if gone == nil {
		return nil
	}
	l.repaired = true
	return l.appendNow(func(tx *Tx) error {
		for _, s := range gone {
			if _, err := tx.Add(ToolUnknown, Unknown{StartedSeq: s.Seq, VerdictSeq: s.Verdict}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Unknown is the payload of tool_unknown: the process that wrote the start is
// gone and its effect may have happened.
type Unknown struct {
	StartedSeq int64 `json:"started_seq"`
	VerdictSeq int64 `json:"verdict_seq"`
}
