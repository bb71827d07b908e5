package engine_test

import (
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// TestData holds that what comes back is what the files say, and nothing of the
// loader's own.
func TestData(t *testing.T) {
	e, err := engine.Load(engine.Source{FS: policies.FS, Schemas: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	data, err := e.Data()
	if err != nil {
		t.Fatal(err)
	}
	for key := range data {
		if key == "" || key[0] < ' ' {
			t.Errorf("data holds %q", key)
		}
	}
	limits, _ := data["limits"].(map[string]any)
	if limits["read_bytes"] == nil {
		t.Fatalf("limits are %v", data["limits"])
	}
	delete(data, "limits")
	if again, err := e.Data(); err != nil || again["limits"] == nil {
		t.Errorf("a caller's change is seen by others: %v", err)
	}
}
