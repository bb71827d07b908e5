package engine

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

var update = flag.Bool("update", false, "write generated files")

const capabilitiesFile = "../../schemas/capabilities.json"

// TestCapabilitiesFile holds schemas/capabilities.json, which people hand to
// stock opa, equal to what the engine compiles with.
func TestCapabilitiesFile(t *testing.T) {
	caps := capabilities()
	for i, b := range caps.Builtins {
		caps.Builtins[i] = b.Minimal()
	}
	want, err := json.MarshalIndent(caps, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(capabilitiesFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(capabilitiesFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: go test ./internal/engine -run TestCapabilitiesFile -update", capabilitiesFile)
	}
}

func TestCapabilitiesLeaveOutWhatChanges(t *testing.T) {
	left := map[string]bool{}
	for _, b := range capabilities().Builtins {
		left[b.Name] = true
		if b.Nondeterministic {
			t.Errorf("%s is not deterministic", b.Name)
		}
	}
	for _, name := range []string{
		"http.send", "net.lookup_ip_addr", "opa.runtime", "rand.intn", "time.now_ns", "uuid.rfc4122",
	} {
		if left[name] {
			t.Errorf("%s can be called", name)
		}
		if !slices.ContainsFunc(ast.CapabilitiesForThisVersion().Builtins, func(b *ast.Builtin) bool { return b.Name == name }) {
			t.Errorf("OPA has no %s: this test shows nothing", name)
		}
	}
	for _, name := range []string{"startswith", "regex.match", "object.get", "rego.metadata.rule"} {
		if !left[name] {
			t.Errorf("%s cannot be called", name)
		}
	}
}
