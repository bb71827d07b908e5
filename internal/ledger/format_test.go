package ledger

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestGolden fixes the bytes. The hashes were made with sha256sum.
func TestGolden(t *testing.T) {
	dir := runDir(t)
	l := open(t, dir, Options{Now: clock()})
	mustCommit(t, l, RunStarted, map[string]any{"door": "exec", "a": "<&> é \u2028"})
	mustCommit(t, l, Note, json.RawMessage(`{"n":1e400,"big":9007199254740993,"s":"\u0061/"}`))
	mustCommit(t, l, Note, nil)
	want := `{"v":1,"run_id":"r1","seq":1,"ts":"2026-03-01T12:00:00.124456Z","type":"run_started","payload":{"a":"<&> é \u2028","door":"exec"},"prev":"0000000000000000000000000000000000000000000000000000000000000000"}
{"v":1,"run_id":"r1","seq":2,"ts":"2026-03-01T12:00:00.125456Z","type":"note","payload":{"n":1e400,"big":9007199254740993,"s":"\u0061/"},"prev":"1980946e48e291ed8a3690adaa0210bf8b3aa96494e53632b9731bb01ebab05a"}
{"v":1,"run_id":"r1","seq":3,"ts":"2026-03-01T12:00:00.126456Z","type":"note","payload":{},"prev":"c2a01252bdbe959b27a30fd861208fff5e4fe27cf9114ae19328ac68816f32b6"}
`
	if got := string(readFile(t, dir)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	checkWhole(t, dir)
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes on windows")
	}
	dir := runDir(t)
	open(t, dir, Options{})
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, eventsName): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

func TestCheckRunID(t *testing.T) {
	for _, id := range []string{"a", "demo-001", "0", "A.b_c-9", strings.Repeat("x", 64)} {
		if err := CheckRunID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"", ".", "..", ".a", "-a", "_a", "a/b", "a\\b", "a b", "a\n", "é", "a\x00", strings.Repeat("x", 65)} {
		if CheckRunID(id) == nil {
			t.Errorf("%q is accepted", id)
		}
		if _, err := Open(filepath.Join(t.TempDir(), "x"), Options{RunID: id, Create: true}); id != "" && err == nil {
			t.Errorf("Open accepts run id %q", id)
		}
	}
}

// TestTimePrecision: what is hashed is what is stored (Containarium#1326).
func TestTimePrecision(t *testing.T) {
	for _, now := range []time.Time{
		time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.FixedZone("", 3600)),
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 1, 0, 0, 0, 100, time.UTC),
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
	} {
		dir := runDir(t)
		l := open(t, dir, Options{Now: func() time.Time { return now }})
		mustCommit(t, l, Note, nil)
		mustCommit(t, l, Note, nil)
		evs := checkWhole(t, dir)
		if got := evs[0].Time(); !got.Equal(now.Truncate(time.Microsecond)) || len(evs[0].TS) != 27 {
			t.Errorf("%v became %s", now, evs[0].TS)
		}
	}
	l := open(t, runDir(t), Options{Now: func() time.Time { return time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }})
	if _, err := commit(l, Note, nil); err == nil {
		t.Error("a five-digit year is accepted")
	}
}

func TestParseRefuses(t *testing.T) {
	_, data := filled(t, 1)
	good := strings.TrimSuffix(string(data), "\n")
	if _, _, err := parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	payload := `{"i":1}`
	for _, swap := range [][2]string{
		{`{"v":1`, `{"v":2`},
		{`{"v":1`, `{ "v":1`},
		{`{"v":1`, `{"v":1.0`},
		{`{"v":1`, `{"v":1,"v":1`},
		{`"r1"`, `""`},
		{`"r1"`, `"\u00721"`},
		{`"r1"`, `"../x"`},
		{`"run_id"`, `"Run_id"`},
		{`"seq":1`, `"seq":01`},
		{`"seq":1`, `"seq":+1`},
		{`"seq":1`, `"seq":0`},
		{`"seq":1`, `"seq":-1`},
		{`"seq":1`, `"seq":1.0`},
		{`"seq":1`, `"seq":"1"`},
		{`"seq":1`, `"seq":9223372036854775808`},
		{`124456Z`, `124456+00:00`},
		{`124456Z`, `1244567Z`},
		{`124456Z`, `12445Z`},
		{`.124456Z`, `,124456Z`},
		{`2026-03-01`, `2026-02-30`},
		{`"note"`, `"Note"`},
		{`"note"`, `"verdict"`},
		{payload, `[1]`},
		{payload, `1`},
		{payload, `null`},
		{payload, ``},
		{payload, `{"i":1},"x":1`},
		{payload, `{"i": 1}`},
		{payload, `{"i":1,"i":1}`},
		{payload, `{"i":1,"\u0069":1}`},
		{payload, `{"i":01}`},
		{payload, `{"i":"\ud800"}`},
		{payload, `{"i":"\udc00\ud800"}`},
		{payload, "{\"i\":\"\xff\"}"},
		{payload, "{\"i\":\"\t\"}"},
		{payload, `{"i":"\x"}`},
		{payload, `{"i":tru}`},
		{payload, `{"i":1}}`},
		{payload, `{"i":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `}`},
		{`"prev":"0`, `"prev":"A`},
		{`"prev":"0`, `"prev":"`},
		{`"prev":"0`, `"prev":"00`},
		{`0"}`, `0"} `},
		{`0"}`, `0",}`},
		{`"type":"note","payload":{"i":1}`, `"payload":{"i":1},"type":"note"`},
	} {
		bad := strings.Replace(good, swap[0], swap[1], 1)
		if bad == good {
			t.Fatalf("%q is not in the line", swap[0])
		}
		if _, _, err := parse([]byte(bad)); err == nil {
			t.Errorf("%s for %s is accepted", swap[1], swap[0])
		}
	}
	for _, swap := range []string{
		`{}`, `{"i":"\ud83d\ude00"}`, `{"i":-0.5e+10}`, `{"i":[],"j":{}}`, `{"i":{"i":1}}`, `{"":null,"a":true,"b":false}`,
		`{"prev":"` + strings.Repeat("0", 64) + `"}`, `{"i":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`,
	} {
		line := strings.Replace(good, payload, swap, 1)
		ev, _, err := parse([]byte(line))
		if err != nil || string(ev.Payload) != swap || string(ev.AppendLine(nil)) != line {
			t.Errorf("payload %s: %v, %s", swap, err, ev.Payload)
		}
	}
}

// TestStrings puts each byte at each place of the eight that are looked at
// together.
func TestStrings(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			for _, filler := range []string{"x", "\x7f", "é"} {
				text := strings.Repeat(filler, at) + string([]byte{byte(c)}) + strings.Repeat(filler, 20-at)
				_, err := scanPayload([]byte(`{"a":"` + text + `"}`))
				if want := c >= 0x20 && c != '"' && c != '\\' && c < 0x80; (err == nil) != want {
					t.Fatalf("byte %#x behind %d × %q: %v", c, at, filler, err)
				}
			}
		}
	}
}

// TestEncoded: made ahead, it is the same event.
func TestEncoded(t *testing.T) {
	dir := runDir(t)
	l := open(t, dir, Options{})
	enc, err := Encode(started(1))
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, l, ToolAllowed, nil)
	mustCommit(t, l, ToolStarted, enc)
	if evs := checkWhole(t, dir); string(evs[1].Payload) != `{"verdict_seq":1}` {
		t.Errorf("%s", evs[1].Payload)
	}
	if _, err := commit(l, Note, Encoded{}); err == nil {
		t.Error("the zero Encoded is accepted")
	}
	if _, err := Encode(json.RawMessage(`[]`)); err == nil {
		t.Error("an array is encoded")
	}
}

// TestWideObjects: the search for a second name changes its method at 32.
func TestWideObjects(t *testing.T) {
	for _, n := range []int{2, 31, 32, 33, 200} {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf(`"k%d":{"k0":1}`, i)
		}
		object := func(names []string) []byte { return []byte("{" + strings.Join(names, ",") + "}") }
		if _, err := scanPayload(object(names)); err != nil {
			t.Errorf("%d members: %v", n, err)
		}
		for _, twice := range []int{0, n / 2, n - 1} {
			if _, err := scanPayload(object(append(slices.Clone(names), names[twice]))); err != errTwice {
				t.Errorf("%d members and number %d again: %v", n, twice, err)
			}
		}
	}
}

func TestAddPayloads(t *testing.T) {
	dir := runDir(t)
	l := open(t, dir, Options{Now: clock()})
	for _, tc := range []struct {
		payload any
		want    string // "" means refused
	}{
		{nil, `{}`},
		{struct {
			B string `json:"b"`
			A int    `json:"a"`
		}{"<x>", 1}, `{"b":"<x>","a":1}`},
		{json.RawMessage(`{"a":"\u003c"}`), `{"a":"\u003c"}`},
		{[]byte(`{"a":1}`), `{"a":1}`},
		{json.RawMessage(" {\n\t\"a\" : [ 1 , 2 ] }\r\n"), `{"a":[1,2]}`},
		{map[string]any{"raw": json.RawMessage(`{"x": 1.50}`)}, `{"raw":{"x":1.50}}`},
		{"text", ""},
		{[]int{1}, ""},
		{1, ""},
		{true, ""},
		{json.RawMessage(`{"a":1,"a":2}`), ""},
		{json.RawMessage(`{"a":1}{}`), ""},
		{json.RawMessage(``), ""},
		{json.RawMessage(`{"a":1`), ""},
		{json.RawMessage("{\"a\":\"\n\"}"), ""},
		{json.RawMessage("{\"\xff\":1}"), ""},
		{map[string]any{"a": math.NaN()}, ""},
		{func() {}, ""},
		{map[string]any{"a": json.RawMessage(`{"b":1,"b":1}`)}, ""},
	} {
		before := len(events(t, dir))
		_, err := commit(l, Note, tc.payload)
		evs := checkWhole(t, dir)
		switch {
		case tc.want == "" && (err == nil || len(evs) != before):
			t.Errorf("%v is accepted", tc.payload)
		case tc.want != "" && (err != nil || string(evs[len(evs)-1].Payload) != tc.want):
			t.Errorf("%v: %v, want %s", tc.payload, err, tc.want)
		}
	}
	if _, err := commit(l, "verdict", nil); err == nil {
		t.Error("a type outside the set is accepted")
	}
}

// TestErrorsEchoNothing: refusals name places, not values.
func TestErrorsEchoNothing(t *testing.T) {
	l := open(t, runDir(t), Options{})
	for _, payload := range []string{`{"k":"s3cret"`, `{"s3cret":1,"s3cret":2}`, "{\"s3cret\":\"\x01\"}"} {
		if _, err := commit(l, Note, json.RawMessage(payload)); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", payload, err)
		}
	}
	_, err := commit(l, strings.Repeat("t\x1b", 300), nil)
	if err == nil || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 1100 {
		t.Errorf("foreign type: %v", err)
	}
}
