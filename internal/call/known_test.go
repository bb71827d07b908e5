package call

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// TestKnownFailures holds inputs on which other gates, decoders and engines
// went wrong: refused by a rule, or kept exactly as they are.
func TestKnownFailures(t *testing.T) {
	type object = map[string]any
	number := func(s string) any { return json.Number(s) }
	for _, tt := range []struct {
		name, arguments string
		rule            string
		want            object
	}{
		// The last or the first of two keys wins elsewhere (microsoft/vscode#235306).
		{"key twice", `{"path":"/etc/shadow","path":"/w/ok"}`, "duplicate_key", nil},
		{"key twice, nested", `{"x":{"path":"/etc/shadow","path":"/w/ok"}}`, "duplicate_key", nil},
		{"key twice, escaped", `{"path":"a","p\u0061th":"b"}`, "duplicate_key", nil},
		// Whether the tool's schema declares properties is for the manifest to
		// know; it asks CaseVariant.
		{"case variant", `{"path":"a","Path":"b"}`, "", object{"path": "a", "Path": "b"}},
		{"trailing comma", `{"a":1,}`, "syntax", nil},
		{"deep", `{"a":` + strings.Repeat(`[`, 64) + strings.Repeat(`]`, 64) + `}`, "too_deep", nil},
		// Decoders turn these into U+FFFD, and two inputs into one (open-policy-agent/opa#9321).
		{"half a pair", `{"a":"\ud800"}`, "lone_surrogate", nil},
		{"not UTF-8", "{\"a\":\"a\xffb\"}", "bad_utf8", nil},
		// Rounded in transit (anthropics/claude-code#78762, mark3labs/mcp-go#913).
		{"2^53+1", `{"id":9007199254740993}`, "", object{"id": number("9007199254740993")}},
		{"snowflake", `{"id":1917043659912705296}`, "", object{"id": number("1917043659912705296")}},
		{"256 bits", `{"wei":115792089237316195423570985008687907853269984665640564039457584007913129639935}`, "number_range", nil},
		{"1e400", `{"n":1e400}`, "number_range", nil},
		{"spellings of 100", `{"n":[1e2,100.0,100]}`, "", object{"n": []any{number("1e2"), number("100.0"), number("100")}}},
		// A panic when compared (open-policy-agent/opa#9098).
		{"zeros", `{"n":[0.0,-0.0,0e5,-0]}`, "", object{"n": []any{number("0.0"), number("-0.0"), number("0e5"), number("-0")}}},
		{"integer as a decimal", `{"n":1.0}`, "", object{"n": number("1.0")}},
		// Text is not normalised: the resolver finds out what the names are.
		{"composed", `{"p":"caf\u00e9.txt"}`, "", object{"p": "caf\u00e9.txt"}},
		{"decomposed", `{"p":"cafe\u0301.txt"}`, "", object{"p": "cafe\u0301.txt"}},
		{"Kelvin sign in a value", `{"cmd":"\u212aill"}`, "", object{"cmd": "\u212aill"}},
		{"override and tag characters", `{"to":"alice\u202Egro.live\udb40\udc41"}`, "", object{"to": "alice\u202egro.live\U000e0041"}},
		{"zero byte in a value", `{"p":"f.txt\u0000.png"}`, "", object{"p": "f.txt\x00.png"}},
		{"list", `{"paths":["/ok","/etc/shadow"],"n":101}`, "", object{"paths": []any{"/ok", "/etc/shadow"}, "n": number("101")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chat, err := json.Marshal(map[string]any{"type": "function", "function": map[string]string{"name": "t", "arguments": tt.arguments}})
			if err != nil {
				t.Fatal(err)
			}
			shapes := map[string]string{
				"ours":      ours(tt.arguments),
				"Anthropic": `{"type":"tool_use","name":"t","input":` + tt.arguments + `}`,
				"MCP":       `{"method":"tools/call","params":{"name":"t","arguments":` + tt.arguments + `}}`,
			}
			if tt.rule != "bad_utf8" { // Marshal would repair it
				shapes["chat"] = string(chat)
			}
			for shape, raw := range shapes {
				c, err := Admit([]byte(raw))
				var bad *Malformed
				switch {
				case tt.rule != "" && (!errors.As(err, &bad) || bad.Rule != tt.rule):
					t.Errorf("%s: got %v, %v; want %s", shape, c, err, tt.rule)
				case tt.rule == "" && (err != nil || !reflect.DeepEqual(c.Arguments, tt.want)):
					t.Errorf("%s: got %+v, %v; want %v", shape, c, err, tt.want)
				}
			}
		})
	}
}

// TestClientIDsStayApart: ids that collide or vanish when decoded as numbers
// (modelcontextprotocol/go-sdk#1253, envoyproxy/ai-gateway#2376).
func TestClientIDsStayApart(t *testing.T) {
	for _, id := range []string{"9007199254740992", "9007199254740993", "1", "1.0", "1.5", `"1"`, `"f:00"`, `"\u0031"`, "-0"} {
		c := admitted(t, `{"jsonrpc":"2.0","id": `+id+` ,"method":"tools/call","params":{"name":"t"}}`)
		if c.ClientID != id || c.ID != "" {
			t.Errorf("id %s: ClientID %q, ID %q", id, c.ClientID, c.ID)
		}
	}
}
