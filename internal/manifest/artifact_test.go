package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCheckArtifact(t *testing.T) {
	const summary = `{"type":"object","required":["total"],"properties":{"total":{"type":"integer","minimum":1},"rows":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}`
	for _, c := range []struct{ schema, data, want string }{
		{summary, `{"total":3,"rows":["a"]}` + "\n", `[]`},
		{summary, `{}`, `[content.total: field is required]`},
		{summary, `{"total":0,"rows":["a",7],"x":1}`, `[content.*: unknown field (known: "rows", "total") content.rows[1]: must be a string, not a number content.total: must be at least 1]`},
		{summary, `[1]`, `[content: must be an object, not an array]`},
		{summary, `null`, `[content: must be an object, not null]`},
		{summary, `{"total":1,"total":2}`, `[content: line 1: a key appears twice, first in line 1]`},
		{summary, "{\"total\":1}\n{}", `[content: line 2: not valid JSON]`},
		{summary, ``, `[content: line 1: the file is empty]`},
		{summary, "# Report\n", `[content: line 1: not valid JSON]`},
		{summary, "{\"total\":1}\xff", `[content: line 1: the file is not valid UTF-8]`},
		{summary, "\xef\xbb\xbf{}", `[content: line 1: the file starts with a byte order mark]`},
		{summary, `{"total":1e999}`, `[content: line 1: a number has an exponent beyond ±308]`},
		{summary, strings.Repeat("[", 70), `[content: line 1: not valid JSON]`},
		{summary, strings.Repeat("[", 70) + strings.Repeat("]", 70), `[content: line 1: more than 64 levels deep]`},
		{`{"type":"object","properties":{"total":{}}}`, `{"total":1,"Total":2}`, `[content: two keys differ only in case]`},
		{`{"type":"object","properties":{"total":{}}}`, "{\"a\u007f\":1}", `[content: line 1: a key holds a control character]`},
		{`{"type":"array","items":{"type":"object","required":["n"]}}`, `[{"n":1},{}]`, `[content[1].n: field is required]`},
		{`{"type":"string","minLength":2}`, `"a"`, `[content: must be at least 2 characters long]`},
		{`{}`, `7`, `[]`},
		// What nobody can check does not fit.
		{``, `{}`, `[content: cannot be checked: its schema does not compile]`},
		{`true`, `{}`, `[content: cannot be checked: its schema does not compile]`},
		{`{"$ref":"other.json"}`, `{}`, `[content: cannot be checked: its schema does not compile]`},
		{`{"type":"object","type":"array"}`, `{}`, `[content: cannot be checked: its schema does not compile]`},
	} {
		if got := fmt.Sprint(CheckArtifact(json.RawMessage(c.schema), []byte(c.data))); got != c.want {
			t.Errorf("%.60s against %s:\n got %s\nwant %s", c.data, c.schema, got, c.want)
		}
	}
	if got := CheckArtifact(nil, []byte("# any")); got != nil {
		t.Errorf("without a schema: %v", got)
	}
	if got := CheckArtifact(json.RawMessage(`{}`), make([]byte, maxArtifact+1)); len(got) != 1 {
		t.Errorf("too large: %v", got)
	}
}

func BenchmarkCheckArtifact(b *testing.B) {
	schema := json.RawMessage(`{"type":"object","required":["total"],"properties":{"total":{"type":"integer"},"rows":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"},"text":{"type":"string"}},"required":["n"]}}}}`)
	data := []byte(`{"total":3,"rows":[` + strings.TrimSuffix(strings.Repeat(`{"n":1,"text":"some words of a customer"},`, 100), ",") + `]}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if CheckArtifact(schema, data) != nil {
			b.Fatal("refused")
		}
	}
}
