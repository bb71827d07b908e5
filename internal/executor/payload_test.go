package executor

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/runlens/runlens/internal/ledger"
)

// TestMembers walks a payload as encoding/json would.
func TestMembers(t *testing.T) {
	payload := `{"a":"x\"}]","b":[1,{"c":"]"},[]],"d":-1.5e3,"e":true,"f":{},"g":null,"h":""}`
	var names, values []string
	if err := members([]byte(payload), func(name string, value []byte) bool {
		names, values = append(names, name), append(values, string(value))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "d", "e", "f", "g", "h"}; !slices.Equal(names, want) {
		t.Errorf("names %v, want %v", names, want)
	}
	if want := []string{`"x\"}]"`, `[1,{"c":"]"},[]]`, "-1.5e3", "true", "{}", "null", `""`}; !slices.Equal(values, want) {
		t.Errorf("values %q, want %q", values, want)
	}
	for _, bad := range []string{"", "[]", `{"a"}`, `{"a":}`, `{"a":1`, `{a:1}`, `{"a":"x}`, `"x"`} {
		if err := members([]byte(bad), func(string, []byte) bool { return true }); err == nil {
			t.Errorf("%s was walked", bad)
		}
	}
}

// TestSpliced gives the same document as encoding the member with the rest.
func TestSpliced(t *testing.T) {
	got, err := spliced(toolStartedEvent{Verdict: 3, CallID: "<c>", Tool: "t"}, "input", []byte(`{"x":[1]}`))
	if want := `{"verdict_seq":3,"call_id":"<c>","tool":"t","input":{"x":[1]}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	got, err = spliced(toolStartedEvent{}, "input", nil)
	if err != nil || !json.Valid(got) || string(got[len(got)-len(`"input":null}`):]) != `"input":null}` {
		t.Errorf("%s, %v", got, err)
	}
}

// TestStartsOnce: no event can start a verdict twice, or start what is no allow.
func TestStartsOnce(t *testing.T) {
	event := func(seq int64, typ, payload string) *ledger.Event {
		return &ledger.Event{Seq: seq, Type: typ, Payload: json.RawMessage(payload)}
	}
	s := NewState()
	for _, ev := range []*ledger.Event{
		event(1, ledger.ModelProposed, `{"call_id":"c1","digest":"d","after":0}`),
		event(2, ledger.ToolAllowed, `{"verdict":"allow","reason":"allowed","proposal":1}`),
		event(3, ledger.ToolStarted, `{"verdict_seq":2}`),
		event(4, ledger.ModelProposed, `{"call_id":"c4","digest":"d","after":0}`),
		event(5, ledger.ToolDenied, `{"verdict":"deny","reason":"x","proposal":4}`),
	} {
		if err := s.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	for _, verdict := range []string{"2", "5", "4", "0", "99"} {
		if err := s.Apply(event(6, ledger.ToolStarted, `{"verdict_seq":`+verdict+`}`)); err == nil {
			t.Errorf("verdict %s was started", verdict)
		}
	}
}
