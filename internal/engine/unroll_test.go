package engine

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// TestUnrollChangesNothing judges with the rules of the decision as they were
// written and as they are spelt out.
func TestUnrollChangesNothing(t *testing.T) {
	src := Source{FS: os.DirFS("../../policies"), Schemas: os.DirFS("../../schemas")}
	with := shipped(t)
	src.asWritten = true
	without, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	if n, m := len(with.compiler.Modules["policies/runlens/decision.rego"].Rules), len(without.compiler.Modules["policies/runlens/decision.rego"].Rules); n <= m {
		t.Fatalf("%d rules spelt out, %d as written: this test shows nothing", n, m)
	}
	for i, in := range corpus() {
		if a, b := with.Decide(t.Context(), in), without.Decide(t.Context(), in); !reflect.DeepEqual(a, b) {
			t.Errorf("input %d: %+v, as written %+v", i, a, b)
		}
	}
}

func TestUnrollTakesOnlyTheOneQuestion(t *testing.T) {
	tests := []struct{ rule, kind string }{
		{"_x if some _ in data.runlens.rules[_].deny", "deny"},
		{"_x if some _ in data.runlens.rules[_].ask", "ask"},
		{"_x if some y in data.runlens.rules[_].deny", ""},
		{"_x if { some f; data.runlens.rules[f].deny }", ""},
		{"_x := 1 if some _ in data.runlens.rules[_].deny", ""},
		{"_x := false if some _ in data.runlens.rules[_].deny", ""},
		{"_x if not data.runlens.rules[_].deny", ""},
		{"_x if { some _ in data.runlens.rules[_].deny; input.v == 1 }", ""},
		{"_x if some _ in data.runlens.rules[_].deny with input as {}", ""},
		{"_x(y) if some _ in data.runlens.rules[_].deny", ""},
		{"_x if { some _ in data.runlens.rules[_].deny } else := false", ""},
		{"_x contains true if some _ in data.runlens.rules[_].deny", ""},
		{"_x if [1 | data.runlens.rules[_].deny] == []", ""},
		{"_x if every r in data.runlens.rules[_].deny { r == 1 }", ""},
		{"_x if some _ in data.runlens.rules.paths.deny", ""},
		{"_x if some _ in data.acme.rules[_].deny", ""},
		{"_x if some _, _ in data.runlens.rules[_].deny", ""},
	}
	for _, test := range tests {
		m, err := ast.ParseModuleWithOpts("x.rego", "package runlens\n\n"+strings.ReplaceAll(test.rule, "; ", "\n"), ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			t.Fatalf("%s: %v", test.rule, err)
		}
		if got := asksAll(m.Rules[0]); got != test.kind {
			t.Errorf("%s: asks all families for %q, want %q", test.rule, got, test.kind)
		}
	}
}
