package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func seeds(f *testing.F) {
	_, data := filled(f, 3)
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add(data[:len(data)/2])
	f.Add(append(bytes.Clone(data), "{}\n"...))
	f.Add(append(bytes.Clone(data), 0, '\n'))
	f.Add([]byte("\n"))
	f.Add([]byte{})
}

// FuzzRead: whatever stands in the file, reading ends, what is accepted encodes
// to the same bytes, and the second implementation agrees.
func FuzzRead(f *testing.F) {
	seeds(f)
	dir := filepath.Join(f.TempDir(), "r1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		writeFile(t, dir, data)
		var again []byte
		for ev, err := range Read(dir) {
			if err != nil {
				if !errors.Is(err, ErrTorn) && !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			again = append(ev.AppendLine(again), '\n')
		}
		if !bytes.HasPrefix(data, again) {
			t.Fatal("events encode to other bytes")
		}
		second(t, again)
		rep, err := Verify(dir, nil, nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case rep.Head.RunID != "" && rep.Head.RunID != "r1":
			// Another run's ledger: Verify follows it to say so, Read takes nothing of it.
			if len(again) > 0 || rep.Status != Foreign && rep.Status != Corrupt {
				t.Fatalf("another run's events: %+v", rep)
			}
		case rep.Bytes != int64(len(again)) || rep.Status == Valid:
			t.Fatalf("verify: %+v", rep)
		}
	})
}

// FuzzOpen: Open refuses and changes nothing, or leaves a whole ledger that
// begins with every whole line it found.
func FuzzOpen(f *testing.F) {
	seeds(f)
	base := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := filepath.Join(base, "r1")
		os.RemoveAll(dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, data)
		state := &tally{}
		l, err := Open(dir, Options{State: state, wrap: func(d disk) disk { return unsynced{d} }})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			if !bytes.Equal(readFile(t, dir), data) {
				t.Fatal("refused, and changed")
			}
			return
		}
		defer l.Close()
		if _, err := commit(l, Note, nil); err != nil {
			t.Fatal(err)
		}
		got := readFile(t, dir)
		second(t, got)
		sameFold(t, dir, state)
		whole := data[:bytes.LastIndexByte(data, '\n')+1]
		if bytes.IndexByte(whole, 0) < 0 && !bytes.HasPrefix(got, whole) {
			t.Fatal("a whole line is gone")
		}
	})
}

// FuzzPayload: what Add takes is one compact JSON object without a name twice.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,-2.5e3,true,null,"\u00e9\ud83d\ude00"]}`, ` { "a" : 1 } `, `{"a":1,"\u0061":2}`, `[]`, `{"a":"` + "\xff" + `"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, _, err := encodePayload(json.RawMessage(data))
		if err != nil {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil || !bytes.Equal(compact.Bytes(), raw) || raw[0] != '{' {
			t.Fatalf("%q: %v", raw, err)
		}
		checkNames(t, json.NewDecoder(bytes.NewReader(raw)))
	})
}

// checkNames walks one value and refuses a name that stands twice.
func checkNames(t *testing.T, dec *json.Decoder) {
	tok, err := dec.Token()
	if err != nil {
		t.Fatal(err)
	}
	names := map[any]bool{}
	for delim, _ := tok.(json.Delim); delim != 0 && dec.More(); {
		if delim == '{' {
			name, err := dec.Token()
			if err != nil || names[name] {
				t.Fatalf("name %v again, %v", name, err)
			}
			names[name] = true
		}
		checkNames(t, dec)
	}
	if delim, ok := tok.(json.Delim); ok && (delim == '{' || delim == '[') {
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
	}
}
