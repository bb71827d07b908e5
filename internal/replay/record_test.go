package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/ledger"
)

const sampleVerdict = `{"verdict":"deny","reason":"outside_roots","path":"/p/x","max_bytes":7,"call_id":"c\u00e9","proposal":2,` +
	`"policy_revision":"sha256:aa","manifest_revision":"sha256:bb","input_digest":"sha256:cc",` +
	`"reasons":[{"code":"outside_roots","message":"m","param":"path","detail":{"input":{"x":1},"verdict":"allow"},"file":"a.rego","line":3,"gate":"roots","remedy":"r","retryable":true},` +
	`{"code":"not_found","message":"m","param":"","detail":{},"file":"b.rego","line":4,"gate":"resolution","remedy":"r","retryable":true}],` +
	`"objects":[],"input":{"v":1}}`

func TestReadVerdict(t *testing.T) {
	rec, note := readRecord(&job{seq: 3, kind: ledger.ToolDenied, payload: []byte(sampleVerdict)}, &reasonsReader{})
	if note != "" {
		t.Fatal(note)
	}
	if rec.verdict.Effect != engine.Deny || strings.Join(rec.verdict.Codes, " ") != "outside_roots not_found" || rec.verdict.MaxBytes != 7 {
		t.Errorf("verdict: %+v", rec.verdict)
	}
	if rec.callID != "cé" || rec.revision != "sha256:aa" || rec.digest != "sha256:cc" || rec.primary != "outside_roots" || string(rec.input) != `{"v":1}` {
		t.Errorf("record: %+v", rec)
	}
	if first := rec.reasons[0]; first.File != "a.rego" || first.Line != 3 || first.Param != "path" || !rec.policyOwn() {
		t.Errorf("reason: %+v", first)
	}
}

func TestReadVerdictRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, note string }{
		{"another type", `"verdict":"deny"`, `"verdict":"allow"`, "verdict and type don't belong together"},
		{"no such verdict", `"verdict":"deny"`, `"verdict":"maybe"`, "verdict and type don't belong together"},
		{"no text", `"verdict":"deny"`, `"verdict":3`, "verdict and type don't belong together"},
		{"no verdict", `"verdict":"deny",`, ``, "verdict and type don't belong together"},
		{"limit", `"max_bytes":7`, `"max_bytes":-7`, "max_bytes isn't a limit"},
		{"limit with a fraction", `"max_bytes":7`, `"max_bytes":7.5`, "max_bytes isn't a limit"},
		{"no limit", `"max_bytes":7,`, ``, "max_bytes isn't a limit"},
		{"no reasons", `"reasons":[{"code"`, `"others":[{"code"`, "reasons is missing, or no list of reasons"},
		{"another reason first", `"reason":"outside_roots"`, `"reason":"not_found"`, "reason isn't the first of reasons"},
		{"no input", `,"input":{"v":1}`, ``, "input is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(sampleVerdict, c.old) == 0 {
				t.Fatal("the sample has nothing like it")
			}
			payload := strings.Replace(sampleVerdict, c.old, c.new, 1)
			if c.name == "no input" {
				payload = strings.TrimSuffix(sampleVerdict, c.old+"}") + "}"
			}
			if !json.Valid([]byte(payload)) {
				t.Fatalf("no JSON: %s", payload)
			}
			_, note := readRecord(&job{kind: ledger.ToolDenied, payload: []byte(payload)}, &reasonsReader{})
			if note != c.note {
				t.Errorf("note %q, want %q", note, c.note)
			}
		})
	}
}

// TestReadStart: a start that was judged again has the input itself, and its verdict
// with the event that it names.
func TestReadStart(t *testing.T) {
	allow := strings.NewReplacer(`"verdict":"deny"`, `"verdict":"allow"`).Replace(sampleVerdict)
	start := job{kind: ledger.ToolStarted, payload: []byte(`{"verdict_seq":3,"call_id":"c2","tool":"read_file","input":{"v":1,"now":"x"}}`), allowed: []byte(allow)}
	rec, note := readRecord(&start, &reasonsReader{})
	if note != "" || string(rec.input) != `{"v":1,"now":"x"}` || rec.digest != "" || rec.verdict.Effect != engine.Allow || rec.revision != "sha256:aa" {
		t.Errorf("%q %+v", note, rec)
	}
	start.allowed = nil
	if _, note := readRecord(&start, &reasonsReader{}); note != "the verdict that it carries out is not among those before it" {
		t.Errorf("without its verdict: %q", note)
	}
	start.allowed = []byte(sampleVerdict)
	if _, note := readRecord(&start, &reasonsReader{}); note != "the verdict that it carries out: verdict and type don't belong together" {
		t.Errorf("a denial that was started: %q", note)
	}
}

// TestWaitingAllows: what nothing starts is held up to a bound, the oldest go.
func TestWaitingAllows(t *testing.T) {
	start := func(seq string) *ledger.Event {
		return &ledger.Event{Seq: 1 << 40, Type: ledger.ToolStarted, Payload: []byte(`{"verdict_seq":` + seq + `,"input":{}}`)}
	}
	var a allows
	for seq := range int64(5 * maxWaiting) {
		if j, is := a.job(&ledger.Event{Seq: seq + 1, Type: ledger.ToolAllowed, Payload: []byte(`{}`)}); !is || j.seq != seq+1 {
			t.Fatal("an allow is no job")
		}
	}
	if len(a.payloads) != maxWaiting || len(a.seqs) > 2*maxWaiting || a.bytes != 2*maxWaiting {
		t.Errorf("%d allows, %d numbers, %d bytes are held", len(a.payloads), len(a.seqs), a.bytes)
	}
	if j, _ := a.job(start("4001")); j.allowed == nil {
		t.Error("the oldest of the latest is gone")
	}
	if j, _ := a.job(start("4001")); j.allowed != nil {
		t.Error("a verdict was started twice")
	}
	if j, _ := a.job(start("4000")); j.allowed != nil {
		t.Error("an older one is still held")
	}
	big := make([]byte, maxWaitingBytes/2)
	for seq := range int64(4) {
		a.job(&ledger.Event{Seq: 10_000 + seq, Type: ledger.ToolAllowed, Payload: big})
	}
	if a.bytes > maxWaitingBytes || len(a.payloads) != 2 {
		t.Errorf("%d bytes in %d allows are held", a.bytes, len(a.payloads))
	}
	if _, is := a.job(&ledger.Event{Type: ledger.ToolStarted, Payload: []byte(`{"verdict_seq":3,"call_id":"c","tool":"t"}`)}); is {
		t.Error("a start without an input is judged")
	}
}

// FuzzRecord: no payload panics, and what is taken for a verdict says what it is.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(sampleVerdict), byte(0))
	f.Add([]byte(`{"verdict":"allow","reason":"allowed","max_bytes":0,"reasons":[{"code":"allowed"}],"input":null}`), byte(1))
	f.Add([]byte(`{"verdict_seq":9223372036854775807,"input":{}}`), byte(3))
	f.Add([]byte(`{"verdict":"\ud800","reasons":[{}],"input":`), byte(2))
	kinds := []string{ledger.ToolDenied, ledger.ToolAllowed, ledger.ToolBlocked, ledger.ToolStarted}
	f.Fuzz(func(t *testing.T, payload []byte, kind byte) {
		j := job{kind: kinds[int(kind)%len(kinds)], payload: payload, allowed: payload}
		rec, note := readRecord(&j, &reasonsReader{})
		if note != "" {
			return
		}
		if len(rec.reasons) == 0 || rec.reasons[0].Code != rec.primary || len(rec.verdict.Codes) == 0 {
			t.Errorf("a verdict without reasons: %+v", rec)
		}
		if (rec.verdict.Effect == engine.Allow) != (j.kind == ledger.ToolAllowed || j.kind == ledger.ToolStarted) {
			t.Errorf("%s is recorded as %s", rec.verdict.Effect, j.kind)
		}
		rec.policyOwn()
	})
}
