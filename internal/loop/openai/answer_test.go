package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/loop/provider"
)

// said is a chat completion with this message.
func said(message string) string {
	return `{"id":"x","choices":[{"index":0,"message":` + message + `,"finish_reason":"tool_calls"}],"usage":{"total_tokens":5}}`
}

const one = `{"id":"a1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"x\"}"}}`

// TestAnswer reads messages in all the ways that servers spell them.
func TestAnswer(t *testing.T) {
	earlier := []json.RawMessage{
		json.RawMessage(`{"role":"assistant","tool_calls":[{"id":"old","type":"function","function":{"name":"x","arguments":"{}"}}]}`),
		json.RawMessage(`{"role":"tool","tool_call_id":"old","content":"call00003"}`),
	}
	for _, c := range []struct {
		name, message string
		want          string   // the message as it is kept
		ids           []string // of the calls
		text          string
	}{
		{"text", `{"role":"assistant","content":"hi","refusal":null,"annotations":[],"audio":null,"tool_calls":null}`, `{"role":"assistant","content":"hi"}`, nil, "hi"},
		{"no role", `{"content":"hi","tool_calls":[]}`, `{"role":"assistant","content":"hi"}`, nil, "hi"},
		{"text in parts", `{"role":"assistant","content":[{"type":"text","text":"h"},{"type":"x"},{"type":"text","text":"i"}]}`, `{"role":"assistant","content":[{"type":"text","text":"h"},{"type":"x"},{"type":"text","text":"i"}]}`, nil, "hi"},
		{"a refusal", `{"role":"assistant","content":null,"refusal":"no"}`, `{"role":"assistant","content":null,"refusal":"no"}`, nil, "no"},
		{"nothing", `{"role":"assistant"}`, `{"role":"assistant","content":null}`, nil, ""},
		{"a call", `{"role":"assistant","content":null,"tool_calls":[` + one + `]}`, `{"role":"assistant","content":null,"tool_calls":[` + one + `]}`, []string{"a1"}, ""},
		{"a call beside text", `{ "role" : "assistant", "content": "so < I", "reasoning_content": "hm", "tool_calls":[ ` + one + ` ] }`, `{"role":"assistant","content":"so < I","reasoning_content":"hm","tool_calls":[` + one + `]}`, []string{"a1"}, "so < I"},
		{"two calls", `{"tool_calls":[` + one + `,{"id":"b","type":"function","index":1,"function":{"name":"y","arguments":"{}"}}]}`, `{"role":"assistant","content":null,"tool_calls":[` + one + `,{"id":"b","type":"function","index":1,"function":{"name":"y","arguments":"{}"}}]}`, []string{"a1", "b"}, ""},
		{"one id twice", `{"tool_calls":[` + one + `,` + one + `]}`, `{"role":"assistant","content":null,"tool_calls":[` + one + `,` + strings.Replace(one, "a1", "call00003", 1) + `]}`, []string{"a1", "call00003"}, ""},
		{"an id of before", `{"tool_calls":[{"function":{"name":"y","arguments":"{}"},"type":"function","id":"old"}]}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"call00002","function":{"name":"y","arguments":"{}"},"type":"function"}]}`, []string{"call00002"}, ""},
		{"no id, no type", `{"tool_calls":[{"function":{"name":"y","arguments":"{}"}}]}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"call00002","type":"function","function":{"name":"y","arguments":"{}"}}]}`, []string{"call00002"}, ""},
		{"an id, no type", `{"tool_calls":[{"type":"","id":"q","function":{"name":"y","arguments":"{}"}}]}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"q","type":"function","function":{"name":"y","arguments":"{}"}}]}`, []string{"q"}, ""},
		{
			"ids that are none", `{"tool_calls":[{"id":"","type":"function"},{"id":7,"type":"function"},{"id":null,"type":"function"},{"id":"a\nb","type":"function"},{"id":"a","id":"b","type":"function"},{"id":"` + strings.Repeat("x", 257) + `","type":"function"}]}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"call00002","type":"function"},{"id":"call00003","type":"function"},{"id":"call00004","type":"function"},{"id":"call00005","type":"function"},{"id":"call00006","type":"function"},{"id":"call00007","type":"function"}]}`,
			[]string{"call00002", "call00003", "call00004", "call00005", "call00006", "call00007"},
			"",
		},
		{"an id in capitals", `{"tool_calls":[{"ID":"a","type":"function"},{"id":"b","Id":3,"type":"function"}]}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"call00002","type":"function"},{"id":"call00003","type":"function"}]}`, []string{"call00002", "call00003"}, ""},
		{"an older server's call", `{"content":null,"function_call":{"name":"y","arguments":"{ }"}}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"call00002","type":"function","function":{"name":"y","arguments":"{ }"}}]}`, []string{"call00002"}, ""},
		{"both kinds", `{"function_call":{"name":"y","arguments":"{ }"},"tool_calls":[` + one + `]}`, `{"role":"assistant","content":null,"tool_calls":[` + one + `]}`, []string{"a1"}, ""},
		{"another type of call", `{"tool_calls":[{"id":"c","type":"custom","custom":{"name":"y","input":"z"}}]}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"y","input":"z"}}]}`, []string{"c"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, err := answer([]byte(said(c.message)), earlier)
			if err != nil {
				t.Fatal(err)
			}
			if string(reply.Message) != c.want || !slices.Equal(reply.CallIDs, c.ids) || reply.Text != c.text || reply.Tokens != 5 || reply.Finish != "tool_calls" {
				t.Errorf("%s %q %q\nwant %s %q %q", reply.Message, reply.CallIDs, reply.Text, c.want, c.ids, c.text)
			}
			whole(t, reply)
		})
	}
}

// TestNoAnswer reads what could be taken in two ways, or in none.
func TestNoAnswer(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"choices":[{}]}`, "choices[0].message: not an object"},
		{`{"choices":[{"message":null}]}`, "choices[0].message: not an object"},
		{`{"choices":[{"message":"hi"}]}`, "choices[0].message: not an object"},
		{`{"choices":[7]}`, "no choices"},
		{`{"choices":7}`, "no choices"},
		{`{}`, "no choices"},
		{said(`{"role":"user","content":"x"}`), "choices[0].message: the role is not assistant"},
		{said(`{"content":"a","content":"b"}`), `choices[0].message: key "content" is there twice`},
		{said(`{"tool_calls":[],"tool_\u0063alls":[` + one + `]}`), `choices[0].message: key "tool_calls" is there twice`},
		{said(`{"Tool_Calls":[` + one + `]}`), `choices[0].message: key "Tool_Calls" is spelt like "tool_calls"`},
		{said(`{"tool_calls":{}}`), "choices[0].message: tool_calls: not a list"},
		{said(`{"tool_calls":[` + one + `,"x"]}`), "choices[0].message: tool_calls[1]: not an object"},
		{said("{\"content\":\"\xff\"}"), "not JSON"},
		{said(`{}`) + "{}", "not JSON"},
	} {
		if reply, err := answer([]byte(c.body), nil); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s; message %s", c.body, err, c.want, reply.Message)
		}
	}
}

// What is wrong inside a call is for the gate to see.
func TestCallsComeAsSpelt(t *testing.T) {
	for _, spelt := range []string{
		`"{\"path\":\"a\",\"path\":\"b\"}"`,
		`"{\"path\": \"a\" , "`,
		`"\u007b\"path\"\u003a\"\\ud800\"}"`,
		`"\ud800"`,
		`"{\"n\":1e400,\"m\":1.0,\"z\":-0}"`,
		`""`,
		`{"path":"an object"}`,
		`null`,
		`"{}","arguments":"{\"path\":\"/etc/passwd\"}"`,
		`"{}","Arguments":"{\"path\":\"/etc/passwd\"}"`,
	} {
		raw := `{"id":"i","type":"function","function":{"name":"read_file","arguments":` + spelt + `}}`
		reply, err := answer([]byte(said(`{"tool_calls":[`+raw+`]}`)), nil)
		if err != nil || len(reply.Calls) != 1 || string(reply.Calls[0]) != raw {
			t.Errorf("%s: %s, %v", raw, reply.Calls, err)
		}
	}
	_, err := call.Admit([]byte(`{"id":"i","type":"function","function":{"name":"x","arguments":"{\"a\":1,\"a\":2}"}}`))
	if err == nil {
		t.Error("the gate takes a key that is there twice")
	}
}

func TestTokens(t *testing.T) {
	for usage, want := range map[string]int64{
		`{"total_tokens":9,"prompt_tokens":1}`:       9,
		`{"prompt_tokens":4,"completion_tokens":3}`:  7,
		`{"prompt_tokens":-4,"completion_tokens":3}`: 3,
		`{"total_tokens":-1}`:                        0,
		`{}`:                                         0,
		`null`:                                       0,
		`{"total_tokens":"many"}`:                    0,
		`{"prompt_tokens":9223372036854775807,"completion_tokens":1}`: 9223372036854775807,
	} {
		reply, err := answer([]byte(`{"choices":[{"message":{}}],"usage":`+usage+`}`), nil)
		if err != nil || reply.Tokens != want {
			t.Errorf("%s: %d, %v, want %d", usage, reply.Tokens, err, want)
		}
	}
}

// whole holds a reply to what the loop builds on.
func whole(t *testing.T, reply provider.Reply) {
	t.Helper()
	if !json.Valid(reply.Message) || bytes.ContainsAny(reply.Message, "\n\r") {
		t.Errorf("message %q is not one line of JSON", reply.Message)
	}
	if len(reply.Calls) != len(reply.CallIDs) || !slices.Equal(provider.CallIDs(reply.Message), reply.CallIDs) && len(reply.CallIDs) > 0 {
		t.Fatalf("%d calls with the ids %q, in the message %q", len(reply.Calls), reply.CallIDs, provider.CallIDs(reply.Message))
	}
	seen := map[string]bool{"": true}
	for i, id := range reply.CallIDs {
		if seen[id] {
			t.Errorf("id %q of call %d is empty or there twice", id, i)
		}
		seen[id] = true
		if !bytes.Contains(reply.Message, reply.Calls[i]) {
			t.Errorf("call %s is another in the message %s", reply.Calls[i], reply.Message)
		}
		if c, err := call.Admit(reply.Calls[i]); err == nil && c.ID != id {
			t.Errorf("call %s is admitted as %q, not %q", reply.Calls[i], c.ID, id)
		}
	}
}

// FuzzAnswer: no server makes it panic, and what comes out is whole.
func FuzzAnswer(f *testing.F) {
	for _, m := range []string{`{"content":"hi"}`, `{"tool_calls":[` + one + `,` + one + `]}`, `{"function_call":{"name":"x","arguments":"{}"}}`, `{"content":[{"type":"text","text":"x"}],"refusal":"no"}`} {
		f.Add([]byte(said(m)))
	}
	f.Add([]byte(`{"error":{"message":"x"}}`))
	f.Add([]byte(`{"choices":[{"message":{"tool_calls":[{"id":"a","id":"b","ID":1}]}}],"choices":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, err := answer(body, nil)
		if err != nil {
			return
		}
		whole(t, reply)
		again, err := answer([]byte(said(string(reply.Message))), nil)
		if err != nil || !bytes.Equal(again.Message, reply.Message) {
			t.Errorf("%s read again is %s, %v", reply.Message, again.Message, err)
		}
	})
}

// FuzzArguments: whatever stands for the arguments comes through as it is spelt.
func FuzzArguments(f *testing.F) {
	for _, spelt := range []string{`"{}"`, `"{\"a\":1,\"a\":2}"`, `"\u007b\ud800"`, `null`, `{"a":1}`, `"{}","arguments":"{}"`, `"é\u2028<>&"`} {
		f.Add(spelt)
	}
	f.Fuzz(func(t *testing.T, spelt string) {
		raw := fmt.Sprintf(`{"id":"i","type":"function","function":{"name":"x","arguments":%s}}`, spelt)
		var line bytes.Buffer
		if json.Compact(&line, []byte(raw)) != nil {
			return
		}
		var keys map[string]json.RawMessage
		if json.Unmarshal(line.Bytes(), &keys) != nil || len(keys) != 3 {
			return // it closed the call and opened something else
		}
		reply, err := answer([]byte(said(`{"tool_calls":[`+raw+`]}`)), nil)
		if err != nil {
			if strings.ToValidUTF8(raw, "") != raw {
				return
			}
			t.Fatalf("%s: %v", raw, err)
		}
		if got := string(reply.Calls[0]); got != line.String() {
			t.Errorf("%s comes out as %s", line.String(), got)
		}
	})
}
