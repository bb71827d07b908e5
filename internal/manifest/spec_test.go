package manifest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestSpecs(t *testing.T) {
	set := load(t, "tools.json", `{"schema_version":1,"tools":{
		"write_json_file":{"operation":"write","description":"Write a <value>.","roots":["secret-root"],"max_bytes":4242,"timeout_ms":4343},
		"read_file":{"operation":"read","absolute":true},
		"search":{"operation":"search","handler":"external","targets":[{"param":"dir","access":"read","default":"secret-default"}]}}}`)
	for _, format := range SpecFormats() {
		got, err := set.Specs(format)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("testdata", "specs."+format+".json")
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := readFile(t, name); !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s", name, got)
		}
		// A model never learns of handler, roots or limits.
		for _, hidden := range []string{"secret", "4242", "4343", "external", "handler", "roots", "operation", "targets", "absolute"} {
			if strings.Contains(string(got), hidden) {
				t.Errorf("%s shows %s", format, hidden)
			}
		}
		if !json.Valid(got) {
			t.Errorf("%s is not JSON", format)
		}
	}
}

// TestSpecsOfPrograms: a model learns what it may fill in, and never where it
// may lie, what runs or what that gets.
func TestSpecsOfPrograms(t *testing.T) {
	set := load(t, "tools.json", `{"schema_version":1,"tools":{
		"run":{"operation":"execute","commands":[["secret-word",{"arg":"path","root":"secret-root/a"},{"arg":"mode","values":["fast"]},{"arg":"n","pattern":"[0-9]+"}]],
			"roots":["secret-root"],"dir":"secret-dir","env":{"A":"secret-value"},"network":"private","limits":{"processes":4242}},
		"count":{"operation":"read","handler":"exec:secret-program"}}}`)
	for _, format := range SpecFormats() {
		got, err := set.Specs(format)
		if err != nil {
			t.Fatal(err)
		}
		for _, hidden := range []string{"secret", "4242", "private", "exec:", "roots", "operation"} {
			if strings.Contains(string(got), hidden) {
				t.Errorf("%s shows %s:\n%s", format, hidden, got)
			}
		}
		for _, shown := range []string{`"fast"`, `"^(?:[0-9]+)$"`, "a path, counted from the working directory"} {
			if !strings.Contains(string(got), shown) {
				t.Errorf("%s lacks %s:\n%s", format, shown, got)
			}
		}
	}
}

func TestSpecsOfNothing(t *testing.T) {
	set := load(t, "tools.json", `{"schema_version":1,"tools":{}}`)
	for format, want := range map[string]string{
		"openai":    "[]\n",
		"anthropic": "[]\n",
		"mcp":       "{\n  \"tools\": []\n}\n",
		"json":      "{\n  \"schema_version\": 1,\n  \"tools\": []\n}\n",
	} {
		if got, err := set.Specs(format); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", format, got, err, want)
		}
	}
}

func TestSpecsRefuse(t *testing.T) {
	set := load(t, "tools.json", `{"schema_version":1,"tools":{"a.b":{"operation":"read"}}}`)
	for format, want := range map[string]string{
		"opnai":     `write tool specs: unknown format "opnai" (did you mean "openai"?)`,
		"yaml":      `write tool specs: unknown format "yaml" (known: openai, anthropic, mcp, json)`,
		"openai":    `write tool specs: openai allows no dot in a tool's name: "a.b"`,
		"anthropic": `write tool specs: anthropic allows no dot in a tool's name: "a.b"`,
	} {
		if _, err := set.Specs(format); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := set.Specs("mcp"); err != nil {
		t.Error(err)
	}
}
