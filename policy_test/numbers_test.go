package policy_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/golden"
)

// TestNumbersAndText holds what happens to numbers, bytes and characters on
// their way from the wire to a rule: kept exactly, or refused.
//
// P45 and P48 are the case admission/malformed, P50 is paths/case_and_form.
func TestNumbersAndText(t *testing.T) {
	t.Run("P40 P54 a whole number beyond 2^53 keeps its last digit", func(t *testing.T) {
		g := open(t, withSite(t, denyIf("id", "input.call.arguments.id in {9007199254740993, 1917043659912705297}")), free)
		g.answers(t, map[string]string{
			think(`{"id":9007199254740993}`):    "deny site_refused",
			think(`{"id":9007199254740992}`):    "allow allowed",
			think(`{"id":1917043659912705297}`): "deny site_refused",
			think(`{"id":1917043659912705296}`): "allow allowed",
		})
		out := g.ask(t, think(`{"id":1917043659912705296}`))
		if !bytes.Contains(out.InputJSON(), []byte(`"id":1917043659912705296`)) || string(out.Call.ArgumentsJSON) != `{"id":1917043659912705296}` {
			t.Errorf("recorded as %s, forwarded as %s", out.InputJSON(), out.Call.ArgumentsJSON)
		}
	})
	t.Run("P41 numbers that some reader would round", func(t *testing.T) {
		open(t, shipped(t), free).answers(t, map[string]string{
			think(`{"wei":115792089237316195423570985008687907853269984665640564039457584007913129639935}`): "deny malformed_call",
			think(`{"n":18446744073709551615}`): "allow allowed",
			think(`{"n":18446744073709551616}`): "deny malformed_call",
			think(`{"n":-9223372036854775809}`): "deny malformed_call",
			think(`{"n":0.12345678901234567}`):  "allow allowed",
			think(`{"n":0.123456789012345678}`): "deny malformed_call",
			think(`{"n":1e400}`):                "deny malformed_call",
			think(`{"n":1e-400}`):               "deny malformed_call",
			think(`{"wei":"115792089237316195423570985008687907853269984665640564039457584007913129639935"}`): "allow allowed",
		})
	})
	t.Run("P42 P44 spellings of one number, and of zero", func(t *testing.T) {
		g := open(t, withSite(t, denyIf("hundred", "input.call.arguments.n == 100", "zero", "input.call.arguments.n == 0", "small", "input.call.arguments.n < 1")), free)
		for spelling, want := range map[string]string{
			"100": "hundred", "100.0": "hundred", "1e2": "hundred", "1E+2": "hundred", "1000e-1": "hundred",
			"0": "small zero", "-0": "small zero", "0.0": "small zero", "-0.0": "small zero", "0e5": "small zero", "0.0e-3": "small zero",
			`"0"`: "", `"100"`: "",
		} {
			if got := strings.Join(params(g.ask(t, think(`{"n":`+spelling+`}`)).Verdict), " "); got != want {
				t.Errorf("%s: %q, want %q", spelling, got, want)
			}
		}
		same := [][]string{{"100", "100.0", "1e2", "1000e-1"}, {"0", "-0", "0.0", "0e5"}, {"true"}, {`"100"`}, {"1"}, {`"1"`}, {"null"}, {"false"}, {"9007199254740993"}, {"9007199254740992"}}
		seen := map[string]string{}
		for _, group := range same {
			first := admit(t, think(`{"n":`+group[0]+`}`)).Digest()
			for _, spelling := range group {
				if d := admit(t, think(`{"n":`+spelling+`}`)).Digest(); d != first {
					t.Errorf("%s has another digest than %s", spelling, group[0])
				}
			}
			if other, twice := seen[first]; twice {
				t.Errorf("%s and %s have one digest", group[0], other)
			}
			seen[first] = group[0]
		}
	})
	t.Run("P49 bytes that are no text", func(t *testing.T) {
		for raw, rule := range map[string]string{
			think("{\"a\":\"a\xffb\"}"):                         "bad_utf8",
			think("{\"a\xff\":1}"):                              "bad_utf8",
			think("{\"a\":\"\xed\xa0\x80\"}"):                   "bad_utf8", // a surrogate in UTF-8
			think("{\"a\":\"\xc0\xae\"}"):                       "bad_utf8", // a dot, too long
			think(`{"a":"\ud800"}`):                             "lone_surrogate",
			think(`{"a":"\udfff\ud800"}`):                       "lone_surrogate",
			think(`{"a\ud800":1}`):                              "lone_surrogate",
			think(`{"a":1}`) + ` {"a":2}`:                       "trailing_data",
			think(`{"path":"/etc/shadow","p\u0061th":"/w/ok"}`): "duplicate_key",
			think(`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`): "too_deep",
			think(`{"a":"` + strings.Repeat("x", 16<<20) + `"}`):                     "too_large",
		} {
			_, err := call.Admit([]byte(raw))
			bad, ok := errors.AsType[*call.Malformed](err)
			if !ok || bad.Rule != rule {
				t.Errorf("%.60q: %v, want %s", raw, err, rule)
			}
		}
		open(t, shipped(t), free).answers(t, map[string]string{
			think("{\"a\":\"a\xffb\"}"):   "deny malformed_call",
			think("{\"a\":\"a\ufffdb\"}"): "allow allowed",
		})
	})
	t.Run("P50 two spellings of a letter are two calls", func(t *testing.T) {
		if admit(t, think(`{"p":"caf\u00e9"}`)).Digest() == admit(t, think(`{"p":"cafe\u0301"}`)).Digest() {
			t.Error("one digest for two names")
		}
	})
	t.Run("P51 signs that map to letters", func(t *testing.T) {
		open(t, shipped(t), strict).answers(t, map[string]string{
			"{\"name\":\"think\",\"arguments\":{\"path\":\"\",\"amount\":1,\"k\":1,\"\u212a\":2}}": "deny malformed_call",
			think(`{"path":"","amount":1,"K":1,"k":2}`):                                            "deny malformed_call",
			think("{\"path\":\"\",\"amount\":1,\"k\":\"\u212aill\"}"):                              "allow allowed",
			"{\"name\":\"thin\u212a\",\"arguments\":{}}":                                           "deny unknown_tool",
		})
		// A rule that lowers its input meets the sign as the letter, never the other way.
		open(t, withSite(t, denyIf("cmd", `lower(input.call.arguments.cmd) == "kill"`)), free).answers(t, map[string]string{
			think(`{"cmd":"\u212aill"}`): "deny site_refused",
			think(`{"cmd":"KILL"}`):      "deny site_refused",
		})
	})
	t.Run("P52 what is told shows what does not show", func(t *testing.T) {
		g := open(t, shipped(t), reads, "file ws/f.txt")
		for _, text := range []string{`ws/alice\u202Egro.live`, `ws/a\udb40\udc41`, `ws/\u001b[2Ja`, `ws/a\u200b`, `ws/a\u0085b`, `ws/a\u2028b`} {
			out := g.ask(t, read(text))
			if out.Verdict.Reasons[0].Code != "invalid_path" {
				t.Errorf("%s: %s", text, golden.Told(out.Verdict))
			}
			for _, r := range out.Verdict.Reasons {
				hidden := func(c rune) bool { return unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp) }
				if strings.ContainsFunc(r.Message, hidden) {
					t.Errorf("%s: message %q", r.Code, r.Message)
				}
			}
		}
	})
	t.Run("P55 P56 ids are text", func(t *testing.T) {
		seen := map[string]bool{}
		for _, id := range []string{"9007199254740992", "9007199254740993", "1", "1.5", `"f:00"`, `"1"`} {
			c := admit(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"think","arguments":{}}}`)
			if c.ClientID != id || seen[c.ClientID] {
				t.Errorf("id %s is %q", id, c.ClientID)
			}
			seen[c.ClientID] = true
		}
		open(t, shipped(t), free).answers(t, map[string]string{
			`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"think","arguments":{}}}`: "deny malformed_call",
			`{"jsonrpc":"2.0","id":[1],"method":"tools/call","params":{"name":"think","arguments":{}}}`:  "deny malformed_call",
		})
	})
	t.Run("P58 lists and objects reach policy whole", func(t *testing.T) {
		g := open(t, withSite(t, denyIf("paths", `"/etc/shadow" in input.call.arguments.paths`, "n", "input.call.arguments.n > 100", "deep", `input.call.arguments.o.list[1].x == true`)), free)
		out := g.ask(t, think(`{"paths":["/ok","/etc/shadow"],"n":101,"o":{"list":[0,{"x":true}]}}`))
		if got := strings.Join(params(out.Verdict), " "); got != "deep n paths" {
			t.Error(got)
		}
	})
}

func admit(t *testing.T, raw string) *call.Call {
	t.Helper()
	c, err := call.Admit([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
