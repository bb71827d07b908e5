package call

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// smallCall is 200 bytes, as a model spells a call.
const smallCall = `{"name": "write_json_file", "arguments": {"artifact_name": "triage.json", "content": {"issue": 4711, "labels": ["bug", "parser"], "open": true, "score": 0.75}}, "call_id": "call_9f2c61d07b3a44e8bb01"}`

func bigCall() []byte {
	content, err := json.Marshal(strings.Repeat("func main() {\n\tprintln(\"hello, wörld\")\n}\n", 100<<10/41))
	if err != nil {
		panic(err)
	}
	return []byte(`{"name":"write_file","arguments":{"path":"src/main.go","content":` + string(content) + `}}`)
}

func BenchmarkAdmit(b *testing.B) {
	chat, err := json.Marshal(map[string]any{
		"type": "function", "id": "call_1",
		"function": map[string]any{"name": "read_file", "arguments": `{"path": "workspace/src/app.py", "max_bytes": 65536}`},
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, in := range []struct {
		name string
		raw  []byte
	}{
		{"200B", []byte(smallCall)},
		{"flat", []byte(`{"tool":"read_file","path":"workspace/src/app.py"}`)},
		{"chat", chat},
		{"mcp", []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"workspace/src/app.py"}}}`)},
		{"100KiB", bigCall()},
	} {
		b.Run(in.name+"/admit", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in.raw)))
			for b.Loop() {
				if _, err := Admit(in.raw); err != nil {
					b.Fatal(err)
				}
			}
		})
		// The baseline decodes and does nothing else: no rules, no digest.
		b.Run(in.name+"/encoding_json", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in.raw)))
			for b.Loop() {
				dec := json.NewDecoder(bytes.NewReader(in.raw))
				dec.UseNumber()
				var v any
				if err := dec.Decode(&v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDigest(b *testing.B) {
	c, err := Admit([]byte(smallCall))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		digest(c.Name, c.Arguments, nil)
	}
}
