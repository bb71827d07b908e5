package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tally is a State that depends on every byte of every event, so that two
// folds are equal only when they saw the same.
type tally struct {
	N        int64
	Sum      string
	restored int // snapshots taken over
	applied  int
}

func (t *tally) Apply(ev *Event) error {
	if ev.Seq != t.N+1 {
		return fmt.Errorf("event %d after %d", ev.Seq, t.N)
	}
	if bytes.Contains(ev.Payload, []byte(`"refuse":true`)) {
		return errors.New("refused by the fold")
	}
	t.applied++
	t.N++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s %s", t.Sum, ev.Seq, ev.Type, ev.Payload))
	t.Sum = hex.EncodeToString(sum[:])
	return nil
}

func (t *tally) Snapshot() ([]byte, error) { return json.Marshal([]any{t.N, t.Sum}) }

func (t *tally) Restore(snapshot []byte) error {
	if snapshot == nil {
		t.N, t.Sum = 0, ""
		return nil
	}
	t.restored++
	return json.Unmarshal(snapshot, &[]any{&t.N, &t.Sum})
}

// clock gives fixed, rising times.
func clock() func() time.Time {
	now := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	return func() time.Time { now = now.Add(time.Millisecond); return now }
}

func runDir(t testing.TB) string { return filepath.Join(t.TempDir(), "runs", "r1") }

func open(t testing.TB, dir string, opt Options) *Log {
	t.Helper()
	opt.Create = true
	l, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// commit adds one event and returns its seq.
func commit(l *Log, typ string, payload any) (seq int64, err error) {
	err = l.Commit(context.Background(), func(tx *Tx) error {
		seq, err = tx.Add(typ, payload)
		return err
	})
	return seq, err
}

func mustCommit(t testing.TB, l *Log, typ string, payload any) int64 {
	t.Helper()
	seq, err := commit(l, typ, payload)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func numbered(i int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"i":%d}`, i)) }

// filled closes a ledger of n notes and returns its directory and its bytes.
func filled(t testing.TB, n int) (dir string, data []byte) {
	t.Helper()
	dir = runDir(t)
	l := open(t, dir, Options{Now: clock()})
	for i := range n {
		mustCommit(t, l, Note, numbered(i+1))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, readFile(t, dir)
}

func readFile(t testing.TB, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, eventsName))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, dir string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, eventsName), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// events reads everything; the ledger must be whole.
func events(t testing.TB, dir string) []*Event {
	t.Helper()
	var out []*Event
	for ev, err := range Read(dir) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out
}

func types(evs []*Event) string {
	var out []string
	for _, ev := range evs {
		out = append(out, ev.Type)
	}
	return strings.Join(out, " ")
}

// checkWhole holds what must be true of every ledger after every step: the
// second implementation accepts it, and so does Verify but for the anchor.
func checkWhole(t testing.TB, dir string) []*Event {
	t.Helper()
	second(t, readFile(t, dir))
	rep, err := Verify(dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Status != Unanchored || len(rep.Problems) > 0 || len(rep.Torn) > 0 {
		t.Fatalf("verify: %+v", rep)
	}
	return events(t, dir)
}

// second is the format written down a second time, from the package comment
// and with other means: it decodes with encoding/json and encodes with Sprintf.
func second(t testing.TB, data []byte) {
	t.Helper()
	prev := strings.Repeat("0", 64)
	lines := strings.SplitAfter(string(data), "\n")
	for i, text := range lines {
		if i == len(lines)-1 {
			if text != "" {
				t.Fatalf("line %d does not end", i+1)
			}
			return
		}
		text = strings.TrimSuffix(text, "\n")
		var ev struct {
			V       int             `json:"v"`
			RunID   string          `json:"run_id"`
			Seq     int             `json:"seq"`
			TS      string          `json:"ts"`
			Type    string          `json:"type"`
			Payload json.RawMessage `json:"payload"`
			Prev    string          `json:"prev"`
		}
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&ev); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		want := fmt.Sprintf(`{"v":1,"run_id":"%s","seq":%d,"ts":"%s","type":"%s","payload":%s,"prev":"%s"}`,
			ev.RunID, i+1, ev.TS, ev.Type, ev.Payload, prev)
		if text != want {
			t.Fatalf("line %d is\n%s, want\n%s", i+1, text, want)
		}
		if when, err := time.Parse(time.RFC3339, ev.TS); err != nil || when.UTC().Format("2006-01-02T15:04:05.000000Z") != ev.TS {
			t.Fatalf("line %d: ts %q", i+1, ev.TS)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, ev.Payload); err != nil || compact.String() != string(ev.Payload) || ev.Payload[0] != '{' {
			t.Fatalf("line %d: payload is not one compact object", i+1)
		}
		sum := sha256.Sum256([]byte(text))
		prev = fmt.Sprintf("%x", sum)
	}
}
