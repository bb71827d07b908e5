package manifest

import (
	"regexp"
	"strings"
	"testing"
)

// TestDocs: what docs/tools.md shows loads, and what it says is refused is
// refused in these words.
func TestDocs(t *testing.T) {
	page := string(readFile(t, "../../docs/tools.md"))
	shown := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(shown) != 7 {
		t.Errorf("%d examples", len(shown))
	}
	for _, m := range shown {
		load(t, "tools.json", `{"schema_version":1,"tools":{`+m[1]+`}}`)
	}

	_, table, _ := strings.Cut(page, "| message | what to do |")
	said := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1)
	bad := []string{
		executing(`["a",{"arg":"path","root":"src"}]`),
		executing(`["a",{"arg":"x","pattern":".+"}]`),
		executing(`["a",{"arg":"x","pattern":"[a-z]*"}]`),
		executing(`["a",{"arg":"p","root":"data"}],["a",{"arg":"x","pattern":"[a-z]+"}]`),
		executing(`["a",{"arg":"p","root":"data"}],["a",{"arg":"q","root":"data/b"}]`),
		executing(`["a"]`, `"timeout_ms":18446744073710`),
		tool("t", `"operation":"read","handler":"exec:a","output_schema":{"type":"array"}`),
		executing(`[{"arg":"x","pattern":"a"}]`),
		executing(`["a"]`, `"sandbox":"none"`, `"network":"private"`),
		tool("t", `"operation":"read","dir":"a"`),
		tool("t", `"operation":"read","handler":"exec:python3 x.py"`),
	}
	if len(said) != len(bad) {
		t.Fatalf("%d messages, %d manifests", len(said), len(bad))
	}
	for i, m := range said {
		if got := refusals(t, Source{Name: "tools.json", Data: []byte(bad[i])}); len(got) != 1 || !strings.Contains(got[0], m[1]) {
			t.Errorf("the page says %s, and it is\n%s", m[1], strings.Join(got, "\n"))
		}
	}
	for _, l := range knownLimits() {
		if !strings.Contains(page, "| `"+l.name+"` |") {
			t.Errorf("the page does not say %s", l.name)
		}
	}
	for _, key := range []string{"commands", "handler", "roots", "dir", "env", "network", "limits", "timeout_ms", "sandbox"} {
		if !strings.Contains(page, "| `"+key+"` |") {
			t.Errorf("the page does not say %s", key)
		}
	}
}
