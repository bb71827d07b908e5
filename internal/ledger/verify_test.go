package ledger

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

func testKeys(t testing.TB) *Keys {
	t.Helper()
	k, err := OpenKeys(filepath.Join(t.TempDir(), "keys"), "runlens-test")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *Keys) known() note.Verifiers { return note.VerifierList(k.Verifier) }

// headOf signs what the ledger in dir ends with now.
func headOf(t testing.TB, dir string) func(k *Keys) []byte {
	t.Helper()
	rep, err := Verify(dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(k *Keys) []byte {
		signed, err := SignHead(rep.Head, k.Signer)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
}

func TestHeadForm(t *testing.T) {
	k := testKeys(t)
	h := Head{RunID: "demo-001", Seq: 12, Hash: strings.Repeat("ab", 32)}
	signed, err := SignHead(h, k.Signer)
	if err != nil {
		t.Fatal(err)
	}
	root, _ := hex.DecodeString(h.Hash)
	want := "runlens/demo-001\n12\n" + base64.StdEncoding.EncodeToString(root) + "\n\n— runlens-test "
	if !strings.HasPrefix(string(signed), want) {
		t.Errorf("got %s", signed)
	}
	if got, err := OpenHead(signed, k.known()); err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := OpenHead(signed, testKeys(t).known()); err == nil {
		t.Error("another key's signature is accepted")
	}
	for _, swap := range [][2]string{{"12", "13"}, {"demo-001", "demo-002"}, {"q6ur", "q6us"}, {"runlens/", "other/"}} {
		if _, err := OpenHead(bytes.Replace(signed, []byte(swap[0]), []byte(swap[1]), 1), k.known()); err == nil {
			t.Errorf("%s for %s is accepted", swap[1], swap[0])
		}
	}
	for _, text := range []string{
		"", "x\n", "runlens/a\n1\n", "runlens/a\n01\n" + base64.StdEncoding.EncodeToString(root) + "\n", "other/a\n1\n" + base64.StdEncoding.EncodeToString(root) + "\n",
		"runlens/a\n-1\n" + base64.StdEncoding.EncodeToString(root) + "\n", "runlens/../a\n1\n" + base64.StdEncoding.EncodeToString(root) + "\n", "runlens/a\n1\nAAAA\n",
	} {
		signed, err := note.Sign(&note.Note{Text: text}, k.Signer)
		if err != nil {
			continue
		}
		if _, err := OpenHead(signed, k.known()); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for _, bad := range []Head{{}, {RunID: "a", Seq: 1, Hash: "00"}, {RunID: "..", Seq: 1, Hash: Genesis}, {RunID: "a", Seq: -1, Hash: Genesis}} {
		if _, err := SignHead(bad, k.Signer); err == nil {
			t.Errorf("signs %+v", bad)
		}
	}
}

func TestKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "runlens")
	a, err := OpenKeys(dir, "one")
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenKeys(dir, "two")
	if err != nil || b.Signer.Name() != "one" || !bytes.Equal(a.Fold, b.Fold) || len(a.Fold) != 32 {
		t.Errorf("the second time: %+v, %v", b, err)
	}
	signed, err := SignHead(Head{RunID: "a", Seq: 1, Hash: Genesis}, a.Signer)
	if err != nil {
		t.Fatal(err)
	}
	known, err := ReadVerifiers(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenHead(signed, known); err != nil {
		t.Error(err)
	}
	if _, err := ReadVerifiers(t.TempDir()); err == nil {
		t.Error("a key where there is none")
	}
	if key, err := ReadFoldKey(dir); err != nil || !bytes.Equal(key, a.Fold) {
		t.Errorf("the fold key: %d bytes, %v", len(key), err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFoldKey(empty); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a fold key where there is none: %v", err)
	}
	if err := os.WriteFile(filepath.Join(empty, foldName), make([]byte, 31), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFoldKey(empty); err == nil {
		t.Error("a fold key of 31 bytes")
	}
	if _, err := OpenKeys(filepath.Join(t.TempDir(), "x"), "a b+c"); err == nil {
		t.Error("a name that no note can carry")
	}
	if runtime.GOOS == "windows" {
		return
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 3 {
		t.Errorf("%d files are left", len(entries))
	}
	for _, e := range entries {
		if info, _ := e.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKeys(dir, "one"); err == nil {
		t.Error("a directory that the group may enter")
	}
	if _, err := ReadFoldKey(dir); err == nil {
		t.Error("a fold key in a directory that the group may enter")
	}
}

func TestSaveHead(t *testing.T) {
	k, path := testKeys(t), filepath.Join(t.TempDir(), "heads", "r1")
	first, other := strings.Repeat("0", 64), strings.Repeat("1", 64)
	for _, step := range []struct {
		head    Head
		want    int64
		refused string
	}{
		{Head{"r1", 3, first}, 3, ""},
		{Head{"r1", 5, first}, 5, ""},
		{Head{"r1", 5, first}, 5, ""},
		{Head{"r1", 4, first}, 5, "holds another head, of event 5"},
		{Head{"r1", 5, other}, 5, "holds another head, of event 5"},
		{Head{"r2", 9, first}, 5, `holds the head of run "r1"`},
	} {
		err := k.SaveHead(path, step.head)
		if (err == nil) != (step.refused == "") || err != nil && !strings.Contains(err.Error(), step.refused) {
			t.Errorf("%+v: %v", step.head, err)
		}
		if h, err := k.SavedHead(path); err != nil || h.Seq != step.want || h.RunID != "r1" || h.Hash != first {
			t.Errorf("after %+v: %+v, %v", step.head, h, err)
		}
	}
	if err := testKeys(t).SaveHead(path, Head{"r1", 9, first}); err == nil {
		t.Error("a head that another machine signed is written over")
	}
	if err := os.WriteFile(path, []byte("minutes of the meeting"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.SaveHead(path, Head{"r1", 9, first}); err == nil {
		t.Error("a file that is no head is written over")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "minutes of the meeting" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestVerify: each way to change a ledger after the fact, with a head kept
// outside and without. No report says valid unless a head covers the end.
func TestVerify(t *testing.T) {
	k := testKeys(t)
	dir := runDir(t)
	l := open(t, dir, Options{Now: clock()})
	mustCommit(t, l, RunStarted, nil)
	mustCommit(t, l, ToolAllowed, map[string]any{"verdict": "allow", "reason": "allowed"})
	early := headOf(t, dir)(k)
	mustCommit(t, l, ToolStarted, started(2))
	mustCommit(t, l, ToolSucceeded, ended(3))
	running := headOf(t, dir)(k)
	mustCommit(t, l, RunStopped, nil)
	l.Close()
	signed, good := headOf(t, dir)(k), readFile(t, dir)
	lines := bytes.SplitAfter(good, []byte("\n"))
	bare := signed[:bytes.Index(signed, []byte("\n\n"))+1]

	forged := func(reason string) []byte { // the chain made anew
		fake := filepath.Join(t.TempDir(), "r1")
		l := open(t, fake, Options{Now: clock()})
		mustCommit(t, l, RunStarted, nil)
		mustCommit(t, l, ToolAllowed, map[string]any{"verdict": "allow", "reason": reason})
		mustCommit(t, l, ToolStarted, started(2))
		mustCommit(t, l, ToolSucceeded, ended(3))
		mustCommit(t, l, RunStopped, nil)
		return readFile(t, fake)
	}
	for _, tc := range []struct {
		name  string
		data  []byte
		heads [][]byte
		want  Status
		plain Status // without heads
	}{
		{"untouched", good, [][]byte{signed}, Valid, Unanchored},
		{"heads of all ages", good, [][]byte{early, signed, running}, Valid, Unanchored},
		{"head of the middle", good, [][]byte{early}, Unanchored, Unanchored},
		{"head without signature", good, [][]byte{bare}, Unanchored, Unanchored},
		{"head that is none", good, [][]byte{[]byte("x")}, Unanchored, Unanchored},
		{"still running", bytes.Join(lines[:4], nil), [][]byte{running}, Unfinished, Unanchored},
		{"last two cut", bytes.Join(lines[:3], nil), [][]byte{signed}, Cut, Unanchored},
		{"all cut", nil, [][]byte{signed}, Cut, Unanchored},
		{"content edited", bytes.Replace(good, []byte(`"allowed"`), []byte(`"permitted"`), 1), [][]byte{signed}, Corrupt, Corrupt},
		{"middle deleted", append(bytes.Clone(lines[0]), bytes.Join(lines[2:], nil)...), [][]byte{signed}, Corrupt, Corrupt},
		{"first deleted", bytes.Join(lines[1:], nil), [][]byte{signed}, Corrupt, Corrupt},
		{"order changed", bytes.Join([][]byte{lines[1], lines[0]}, nil), [][]byte{signed}, Corrupt, Corrupt},
		{"chain made anew", forged("else"), [][]byte{signed}, Rewritten, Unanchored},
		{"anew behind an early head", forged("else"), [][]byte{early}, Rewritten, Unanchored},
	} {
		t.Run(tc.name, func(t *testing.T) {
			writeFile(t, dir, tc.data)
			for _, c := range []struct {
				heads [][]byte
				want  Status
			}{{tc.heads, tc.want}, {nil, tc.plain}} {
				rep, err := Verify(dir, c.heads, k.known())
				if err != nil || rep.Status != c.want {
					t.Errorf("%d heads: %s, %v; want %s (%+v)", len(c.heads), rep.Status, err, c.want, rep.Problems)
				}
			}
		})
	}
	if err := os.Remove(filepath.Join(dir, eventsName)); err != nil {
		t.Fatal(err)
	}
	if rep, err := Verify(dir, [][]byte{signed}, k.known()); err != nil || rep.Status != Cut {
		t.Errorf("deleted, with a head: %s, %v", rep.Status, err)
	}
	if _, err := Verify(dir, nil, nil); err == nil {
		t.Error("deleted, without a head: no error")
	}
}

// TestVerifyAnotherRun: a head of one run does not anchor another, and says
// nothing against it.
func TestVerifyAnotherRun(t *testing.T) {
	k := testKeys(t)
	dir, _ := filled(t, 3)
	h := Head{RunID: "r2"}
	rep, _ := Verify(dir, nil, nil)
	h.Seq, h.Hash = rep.Head.Seq, rep.Head.Hash
	signed, _ := SignHead(h, k.Signer)
	if rep, err := Verify(dir, [][]byte{signed}, k.known()); err != nil || rep.Status != Unanchored || rep.Anchored != 0 || rep.Heads != 0 || len(rep.Problems) != 0 {
		t.Errorf("%s, %v", rep.Status, err)
	}
}

// TestAnotherRunsLedger: a ledger belongs to the directory it was written in. A
// copy is read, verified and opened as what it is.
func TestAnotherRunsLedger(t *testing.T) {
	k := testKeys(t)
	dir, good := filled(t, 3)
	victims := headOf(t, dir)(k)
	dst := filepath.Join(t.TempDir(), "dst")
	if err := os.Mkdir(dst, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dst, good)
	for _, heads := range [][][]byte{nil, {victims}} {
		rep, err := Verify(dst, heads, k.known())
		if err != nil || rep.Status != Foreign || len(rep.Problems) != 1 || rep.Problems[0].Line != 1 {
			t.Errorf("%d heads: %s, %v (%+v)", len(heads), rep.Status, err, rep.Problems)
		}
	}
	seen := 0
	var failed error
	for _, err := range Read(dst) {
		if err != nil {
			failed = err
			break
		}
		seen++
	}
	if seen != 0 || !errors.Is(failed, ErrCorrupt) || !strings.Contains(failed.Error(), `events.jsonl:1: `) || !strings.Contains(failed.Error(), `"dst"`) {
		t.Errorf("%d events, then %v", seen, failed)
	}
	// The name counts, not how the directory is reached.
	t.Chdir(dir)
	if rep, err := Verify(".", nil, nil); err != nil || rep.Status != Unanchored {
		t.Errorf("from within: %s, %v", rep.Status, err)
	}
	for _, err := range Read(".") {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestVerifyClaims: a chain that holds may still claim what cannot be.
func TestVerifyClaims(t *testing.T) {
	for _, tc := range []struct {
		name string
		add  []any // type, payload, …
		open []int64
		want string // in the only problem; "" for none
	}{
		{"start without end", []any{ToolAllowed, nil, ToolStarted, started(1)}, []int64{2}, ""},
		{"end", []any{ToolAllowed, nil, ToolStarted, started(1), ToolFailed, ended(2)}, nil, ""},
		{"verdict used twice", []any{ToolAllowed, nil, ToolStarted, started(1), ToolStarted, started(1)}, []int64{2, 3}, "started at 2 already"},
		{"started a denial", []any{ToolDenied, nil, ToolStarted, started(1)}, []int64{2}, "no tool_allowed"},
		{"started a proposal", []any{ModelProposed, nil, ToolAllowed, nil, ToolStarted, started(1)}, []int64{3}, "no tool_allowed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := runDir(t)
			l := open(t, dir, Options{})
			for i := 0; i < len(tc.add); i += 2 {
				mustCommit(t, l, tc.add[i].(string), tc.add[i+1])
			}
			rep, err := Verify(dir, nil, nil)
			if err != nil || !slices.Equal(rep.Open, tc.open) {
				t.Errorf("open %v, %v; want %v", rep.Open, err, tc.open)
			}
			if tc.want == "" {
				if rep.Status != Unanchored || len(rep.Problems) > 0 {
					t.Errorf("%s %+v", rep.Status, rep.Problems)
				}
				return
			}
			if rep.Status != Inconsistent || len(rep.Problems) != 1 || !strings.Contains(rep.Problems[0].Message, tc.want) {
				t.Errorf("%s %+v", rep.Status, rep.Problems)
			}
		})
	}
}

// TestVerifyHandMade: ends that no start explains are refused by a writer, so
// the ledger is made by hand.
func TestVerifyHandMade(t *testing.T) {
	dir := runDir(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var data []byte
	prev := Genesis
	for i, typ := range []string{RunStarted, ToolSucceeded} {
		ev := Event{V: 1, RunID: "r1", Seq: int64(i + 1), TS: "2026-01-01T00:00:00.000000Z", Type: typ, Payload: []byte(`{"started_seq":1}`), Prev: prev}
		line := ev.AppendLine(nil)
		prev, data = hashLine(line), append(append(data, line...), '\n')
	}
	writeFile(t, dir, data)
	if rep, err := Verify(dir, nil, nil); err != nil || rep.Status != Inconsistent {
		t.Errorf("%s, %v", rep.Status, err)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("open folds an end without a start")
	}
}

func TestStopped(t *testing.T) {
	for after, want := range map[string]bool{"": true, Note: true, LedgerRecovered: true, RunStopped: true, ModelProposed: false} {
		dir := runDir(t)
		l := open(t, dir, Options{})
		mustCommit(t, l, RunStopped, nil)
		if after != "" {
			mustCommit(t, l, after, nil)
		}
		if rep, err := Verify(dir, nil, nil); err != nil || rep.Stopped != want {
			t.Errorf("run_stopped, then %q: stopped %v, %v", after, rep.Stopped, err)
		}
	}
}

func ExampleVerify() {
	dir, _ := os.MkdirTemp("", "ledger")
	defer os.RemoveAll(dir)
	keys, _ := OpenKeys(filepath.Join(dir, "keys"), "example")
	run := filepath.Join(dir, "runs", "demo-001")
	log, _ := Open(run, Options{Create: true})
	log.Commit(ctx, func(tx *Tx) error { _, err := tx.Add(RunStarted, nil); return err })
	log.Commit(ctx, func(tx *Tx) error { _, err := tx.Add(RunStopped, nil); return err })
	log.Close()

	rep, _ := Verify(run, nil, nil)
	fmt.Println(rep.Status, rep.Head.Seq)
	signed, _ := SignHead(rep.Head, keys.Signer)
	rep, _ = Verify(run, [][]byte{signed}, note.VerifierList(keys.Verifier))
	fmt.Println(rep.Status, rep.Anchored)
	// Output:
	// unanchored 2
	// valid 2
}
