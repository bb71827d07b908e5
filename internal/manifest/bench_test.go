package manifest

import (
	"testing"

	"github.com/runlens/runlens/internal/call"
)

func BenchmarkCheckInputOneField(b *testing.B) {
	set := load(b, "tools.json", `{"schema_version":1,"tools":{"read_file":{"operation":"read"}}}`)
	c := &call.Call{Name: "read_file", Arguments: map[string]any{"path": "workspace/src/app.py"}}
	b.ReportAllocs()
	for b.Loop() {
		if set.Tools["read_file"].CheckInput(c) != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkCheckInputArgv(b *testing.B) {
	set := load(b, "tools.json", `{"schema_version":1,"tools":{"run":{"operation":"execute","commands":[["go","test","./..."]]}}}`)
	c := &call.Call{Name: "run", Arguments: map[string]any{"argv": []any{"go", "test", "./..."}}}
	b.ReportAllocs()
	for b.Loop() {
		if set.Tools["run"].CheckInput(c) != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkLoadShipped(b *testing.B) {
	src := []Source{{Name: "tools.json", Data: readFile(b, "../../manifests/tools.json")}}
	handlers := testHandlers()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(src, handlers); err != nil {
			b.Fatal(err)
		}
	}
}
