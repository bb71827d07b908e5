package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// TestSummaryIsBounded: a record may tell of as many revisions, codes and tools as it
// likes; what is held of them has a bound, and all are counted.
func TestSummaryIsBounded(t *testing.T) {
	const n = 20_000
	told := 0
	c := collector{sum: newSummary(), opt: Options{Flip: func(Flip) { told++ }}}
	long := strings.Repeat("é", 5000)
	flip := func(i int, class Class) *Flip {
		return &Flip{
			Class: class, Where: "runs/r", Name: fmt.Sprint(i), Seq: int64(i), Tool: fmt.Sprintf("tool_%d", i), Declared: true,
			Old: Verdict{Effect: engine.Deny, Codes: []string{fmt.Sprintf("code_%d", i)}}, New: Verdict{Effect: engine.Allow, Codes: []string{"allowed"}},
		}
	}
	c.fold("runs/r", &outcome{apart: long})
	for i := range n {
		name := fmt.Sprintf("%d", i)
		c.fold("runs/r", &outcome{seq: int64(i), apart: "apart_" + name})
		c.fold("runs/r", &outcome{seq: int64(i), revision: "revision_" + name, judged: true, flip: flip(i, DenyToAllow)})
		c.fold("runs/r", &outcome{seq: int64(i), cause: Unreadable, note: long + name, tool: long + name})
		// All in one group.
		same := flip(0, AskToAllow)
		same.Seq = int64(i)
		c.fold("runs/r", &outcome{seq: int64(i), judged: true, flip: same})
	}
	for i := range n {
		c.fold("runs/r", &outcome{seq: int64(i), revision: "known", known: true, again: true, cause: Mismatch, mismatch: flip(i, AllowToDeny)})
	}
	s := c.sum
	if s.Judged != 2*n || s.Same != 0 || told != 2*n || s.Unreplayable() != 2*n {
		t.Errorf("judged %d, the same %d, told of %d, not judged %d", s.Judged, s.Same, told, s.Unreplayable())
	}
	total := 0
	for code, count := range s.Apart {
		if total += count; len(code) > maxText {
			t.Errorf("a code of %d bytes is held", len(code))
		}
	}
	if total != n+1 || len(s.Apart) != maxNames || s.Apart[others] != n-maxNames+2 {
		t.Errorf("apart: %d in %d codes, %d of others", total, len(s.Apart), s.Apart[others])
	}
	total = 0
	for _, r := range s.Recorded {
		total += r.Count
	}
	if total != 2*n || len(s.Recorded) > maxNames+2 {
		t.Errorf("%d verdicts of %d revisions", total, len(s.Recorded))
	}
	// What is at hand keeps its name, whatever came before.
	if r := s.Recorded["known"]; r == nil || *r != (Revision{Count: n, Known: true, Judged: n}) {
		t.Errorf("of the revision at hand: %+v", r)
	}
	if r := s.Recorded[others]; r == nil || r.Known || r.Judged > 0 {
		t.Errorf("of the others: %+v", r)
	}
	if e := s.Causes[Unreadable]; len(e.Note) > maxNote+len("…") || len(e.Tool) > maxText+len("…") || !strings.HasSuffix(e.Note, "é…") || e.Seq != 0 || e.Count != n {
		t.Errorf("an example holds %d and %d bytes, seq %d", len(e.Note), len(e.Tool), e.Seq)
	}
	for what, g := range map[string]*Groups{"flips": &s.Groups, "mismatches": &s.Mismatches} {
		count, calls := 0, 0
		list := g.List()
		for _, group := range list {
			count += group.Count
			calls = max(calls, len(group.Calls))
		}
		want := map[string]int{"flips": 2 * n, "mismatches": n}[what]
		if count != want || len(list) > maxGroups+len(Classes()) || calls > maxCalls {
			t.Errorf("%s: %d in %d groups, up to %d calls", what, count, len(list), calls)
		}
	}
	counts := s.Groups.Counts()
	if counts[DenyToAllow] != n || counts[AskToAllow] != n || s.Groups.Loosened() != 2*n {
		t.Errorf("by class: %v", counts)
	}
	// The first calls of a group stand in it, in the order of the record.
	for _, group := range s.Groups.List() {
		if group.Class == AskToAllow && (group.Calls[0].Seq != 0 || group.Calls[maxCalls-1].Seq != maxCalls-1) {
			t.Errorf("calls from %d to %d", group.Calls[0].Seq, group.Calls[maxCalls-1].Seq)
		}
	}
}

// TestReasonsAreBounded: lists of reasons are kept for those that come again, but not
// as many as a record may hold, and none that is long.
func TestReasonsAreBounded(t *testing.T) {
	var r reasonsReader
	for i := range 20_000 {
		raw := fmt.Appendf(nil, `[{"code":"code_%d"}]`, i)
		if list := r.read(raw); len(list) != 1 || list[0].Code != fmt.Sprintf("code_%d", i) {
			t.Fatalf("%s is read as %+v", raw, list)
		}
		if len(r.known) > maxReasons {
			t.Fatalf("%d lists are kept", len(r.known))
		}
	}
	before := len(r.known)
	if list := r.read([]byte(`[{"code":"` + strings.Repeat("x", maxReasonsText) + `"}]`)); len(list) != 1 || len(r.known) != before {
		t.Errorf("%d reasons, %d lists are kept, %d before", len(list), len(r.known), before)
	}
}

// verdictOf is the event of a verdict as RunLens writes it.
func verdictOf(t testing.TB, e *engine.Engine, in *facts.Input) (payload []byte, kind string) {
	t.Helper()
	in.V = facts.Version
	line, sum, err := facts.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	v := e.Decide(t.Context(), in)
	reasons, err := json.Marshal(v.Reasons)
	if err != nil {
		t.Fatal(err)
	}
	payload = fmt.Appendf(nil, `{"verdict":%q,"reason":%q,"max_bytes":%d,"call_id":"c2","policy_revision":%q,"manifest_revision":"sha256:00","input_digest":%q,"reasons":%s,"input":%s}`,
		v.Effect, v.Reasons[0].Code, Of(v, in.Tool.MaxBytes).MaxBytes, e.Revision(), sum, reasons, line)
	return payload, effects[v.Effect.String()].kind
}

// allowedInput is one that the shipped policies allow.
func allowedInput() *facts.Input {
	in := &facts.Input{V: facts.Version, Tool: &facts.Tool{Declared: true, Name: "count", Operation: facts.Compute, Handler: "external"}, Now: "2020-01-02T03:04:05.000000Z"}
	in.Call.Tool, in.Call.Digest, in.Run.ID, in.Run.Door = "count", "sha256:00", "r", "cli"
	in.Plan.Status, in.Sandbox.Level = "none", "none"
	in.Run.Limits = facts.RunLimits{InRow: -1, Total: -1, Malformed: -1}
	return facts.Total(in)
}

// FuzzJudge: no payload panics, and none comes out as the same unless the policy
// says of its very input, read by other code, what it says.
func FuzzJudge(f *testing.F) {
	e := load(f, nil)
	kinds := []string{ledger.ToolDenied, ledger.ToolAllowed, ledger.ToolBlocked, ledger.ToolStarted}
	judging := newJudge(Options{New: e})
	same := 0
	undeclared := allowedInput()
	undeclared.Tool = facts.TotalTool(&facts.Tool{Name: "count"})
	for _, in := range []*facts.Input{allowedInput(), undeclared, filled()} {
		payload, kind := verdictOf(f, e, in)
		b := &batch{dir: "runs/r", jobs: []job{{seq: 3, kind: kind, payload: payload}}, done: make(chan struct{})}
		b.judge(f.Context(), judging)
		if o := b.outcomes[0]; o.judged && o.same && o.flip == nil {
			same++
		} else {
			f.Errorf("%s: %+v", payload, o)
		}
		f.Add(payload, byte(slices.Index(kinds, kind)))
		f.Add(bytes.Replace(payload, []byte(`"in_row":`), []byte(`"in_row":1`), 1), byte(slices.Index(kinds, kind)))
		f.Add(bytes.Replace(payload, []byte(`"input_digest":"`), []byte(`"input_digest":"","x":"`), 1), byte(slices.Index(kinds, kind)))
		f.Add(bytes.Replace(payload, []byte(e.Revision()), []byte("sha256:00"), 1), byte(slices.Index(kinds, kind)))
	}
	if same != 3 {
		f.Errorf("%d of the samples come out as the same", same)
	}
	f.Fuzz(func(t *testing.T, payload []byte, kind byte) {
		j := job{seq: 3, kind: kinds[int(kind)%len(kinds)], payload: payload, allowed: payload}
		b := &batch{dir: "runs/r", jobs: []job{j}, done: make(chan struct{})}
		b.judge(t.Context(), judging)
		o := b.outcomes[0]
		if o.cause != "" && o.judged || o.apart != "" && (o.judged || o.cause != "") {
			t.Errorf("counted twice: %+v", o)
		}
		if !o.judged || o.flip != nil || !json.Valid(payload) { // the ledger lets nothing else in
			return
		}
		var rec struct {
			Verdict string
			Max     int64           `json:"max_bytes"`
			Digest  string          `json:"input_digest"`
			Input   json.RawMessage `json:"input"`
			Reasons []struct{ Code string }
		}
		var in facts.Input
		dec := json.NewDecoder(bytes.NewReader(payload))
		if err := dec.Decode(&rec); err != nil {
			t.Fatal(err)
		}
		dec = json.NewDecoder(bytes.NewReader(rec.Input))
		dec.UseNumber()
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			t.Fatalf("judged by what is no input: %v", err)
		}
		line, sum, err := facts.Encode(&in)
		if err != nil || !bytes.Equal(line, rec.Input) || sum != rec.Digest && j.kind != ledger.ToolStarted {
			t.Fatalf("not the input that was recorded: %v", err)
		}
		v := Of(e.Decide(t.Context(), &in), in.Tool.MaxBytes)
		var codes []string
		for _, r := range rec.Reasons {
			if !slices.Contains(codes, r.Code) {
				codes = append(codes, r.Code)
			}
		}
		if v.Effect.String() != rec.Verdict || !slices.Equal(v.Codes, codes) || v.Effect == engine.Allow && v.MaxBytes != rec.Max {
			t.Errorf("%s %v %d counts as the same, %+v is said", rec.Verdict, codes, rec.Max, v)
		}
	})
}
