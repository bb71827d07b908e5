package call

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestShapes(t *testing.T) {
	type object = map[string]any
	for _, tt := range []struct {
		name, raw string
		want      Call
	}{
		{
			"ours", `{"name":"read_file","arguments":{"path":"a"},"call_id":"c1"}`,
			Call{Name: "read_file", Arguments: object{"path": "a"}, ID: "c1", Shape: Ours, ArgumentsJSON: []byte(`{"path":"a"}`)},
		},
		{
			"ours without an id", `{"arguments":{},"name":"t"}`,
			Call{Name: "t", Arguments: object{}, Shape: Ours, ArgumentsJSON: []byte(`{}`)},
		},
		{
			"ours over lines", "{\n  \"name\": \"t\",\n  \"arguments\": {\n\t\"a\": [1, 2.50, -0],\r\n\"b c\": \" \\\" \\u0041\"\n},\n \"call_id\": \"\"}\n",
			Call{
				Name: "t", Shape: Ours, ArgumentsJSON: []byte(`{"a":[1,2.50,-0],"b c":" \" \u0041"}`),
				Arguments: object{"a": []any{json.Number("1"), json.Number("2.50"), json.Number("-0")}, "b c": ` " A`},
			},
		},
		{
			"every type", ours(`{"s":"é\u00e9\ud83d\ude00\/\b\f\n\r\t","n":null,"t":true,"f":false,"o":{},"l":[],"d":1e2}`),
			Call{
				Name: "t", Shape: Ours, ArgumentsJSON: []byte(`{"s":"é\u00e9\ud83d\ude00\/\b\f\n\r\t","n":null,"t":true,"f":false,"o":{},"l":[],"d":1e2}`),
				Arguments: object{"s": "éé😀/\b\f\n\r\t", "n": nil, "t": true, "f": false, "o": object{}, "l": []any{}, "d": json.Number("1e2")},
			},
		},
		{
			"flat", `{"tool":"read_file","path":"workspace/src/x.py"}`,
			Call{Name: "read_file", Arguments: object{"path": "workspace/src/x.py"}, Shape: Flat, ArgumentsJSON: []byte(`{"path":"workspace/src/x.py"}`)},
		},
		{
			"flat alone", `{"tool":"t"}`,
			Call{Name: "t", Arguments: object{}, Shape: Flat, ArgumentsJSON: []byte(`{}`)},
		},
		{
			"flat with keys of other shapes", `{"name": "bob", "type": "file", "call_id": "c", "tool": "t", "input": 1, "method": "POST", "params": {"x": {}}, "function": "main", "id": 3}`,
			Call{
				Name: "t", ID: "c", Shape: Flat,
				Arguments:     object{"name": "bob", "type": "file", "input": json.Number("1"), "method": "POST", "params": object{"x": object{}}, "function": "main", "id": json.Number("3")},
				ArgumentsJSON: []byte(`{"name":"bob","type":"file","input":1,"method":"POST","params":{"x":{}},"function":"main","id":3}`),
			},
		},
		{
			"OpenAI chat", `{"id":"call_1","type":"function","index":0,"function":{"name":"t","arguments":"{\"path\": \"a\\nb\"}","parsed":{}}}`,
			Call{Name: "t", Arguments: object{"path": "a\nb"}, ID: "call_1", Shape: OpenAIChat, ArgumentsJSON: []byte(`{"path":"a\nb"}`)},
		},
		{
			"OpenAI responses", `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"t","arguments":"{}","status":"completed"}`,
			Call{Name: "t", Arguments: object{}, ID: "call_1", Shape: OpenAIResponses, ArgumentsJSON: []byte(`{}`)},
		},
		{
			"Anthropic", `{"type":"tool_use","id":"toolu_1","name":"t","input":{"a":1},"cache_control":{"type":"ephemeral"}}`,
			Call{Name: "t", Arguments: object{"a": json.Number("1")}, ID: "toolu_1", Shape: Anthropic, ArgumentsJSON: []byte(`{"a":1}`)},
		},
		{
			"MCP", `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"t","arguments":{"a": 1},"_meta":{"progressToken":1}}}`,
			Call{Name: "t", Arguments: object{"a": json.Number("1")}, ClientID: "9007199254740993", Shape: MCP, ArgumentsJSON: []byte(`{"a":1}`)},
		},
		{
			"MCP with an id of text", `{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"t"}}`,
			Call{Name: "t", Arguments: object{}, ClientID: `"1"`, Shape: MCP, ArgumentsJSON: []byte(`{}`)},
		},
		{
			"MCP with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"t"}}`,
			Call{Name: "t", Arguments: object{}, ClientID: `1.5`, Shape: MCP, ArgumentsJSON: []byte(`{}`)},
		},
		{
			"MCP without an id", `{"method":"tools/call","params":{"name":"t"}}`,
			Call{Name: "t", Arguments: object{}, Shape: MCP, ArgumentsJSON: []byte(`{}`)},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw := []byte(tt.raw)
			got, err := Admit(raw)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.digest = got.digest
			if !reflect.DeepEqual(got, &tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, &tt.want)
			}
			again := admitted(t, string(got.JSON()))
			if again.Name != got.Name || again.ID != got.ID || again.Digest() != got.Digest() ||
				!reflect.DeepEqual(again.Arguments, got.Arguments) || string(again.ArgumentsJSON) != string(got.ArgumentsJSON) {
				t.Errorf("JSON reads back as %+v, want %+v", again, got)
			}
			clear(raw)
			if !reflect.DeepEqual(got, &tt.want) {
				t.Errorf("the call changed with the bytes it was read from")
			}
		})
	}
}

func TestShapeString(t *testing.T) {
	for shape, want := range []string{"unknown", "runlens", "flat", "openai_chat", "openai_responses", "anthropic", "mcp", "unknown"} {
		if got := Shape(shape).String(); got != want {
			t.Errorf("Shape(%d) is %q, want %q", shape, got, want)
		}
	}
}

func TestJSONQuotes(t *testing.T) {
	c := admitted(t, `{"name":"a\"b\\c\u00e9\u2028","arguments":{"k" : 1.0},"call_id":"\"\\"}`)
	want := `{"name":"a\"b\\cé` + "\u2028" + `","arguments":{"k":1.0},"call_id":"\"\\"}`
	if got := string(c.JSON()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
