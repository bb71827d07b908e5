package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/runlens/runlens/internal/facts"
)

// nativeInput is the input as somebody who embeds OPA would hand it over.
func nativeInput(t testing.TB, in *facts.Input) map[string]any {
	t.Helper()
	line, _, err := facts.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// BenchmarkDecide is the decision as the product makes it.
func BenchmarkDecide(b *testing.B) {
	e := shipped(b)
	in := readCall()
	b.ReportAllocs()
	for b.Loop() {
		if v := e.Decide(b.Context(), in); v.Effect != Allow {
			b.Fatal(v)
		}
	}
}

// BenchmarkEvalInputDefault is the same policy, data and input through package
// rego with default options: the baseline for BenchmarkDecide.
func BenchmarkEvalInputDefault(b *testing.B) {
	query, err := rego.New(rego.Query("data.runlens.decision"), rego.Load([]string{"../../policies"}, nil)).PrepareForEval(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	input := nativeInput(b, readCall())
	b.ReportAllocs()
	for b.Loop() {
		rs, err := query.Eval(b.Context(), rego.EvalInput(input))
		if err != nil || rs[0].Expressions[0].Value.(map[string]any)["verdict"] != "allow" {
			b.Fatal(rs, err)
		}
	}
}

// BenchmarkBareEval is the evaluation alone: input prebuilt, result not read.
func BenchmarkBareEval(b *testing.B) {
	e := shipped(b)
	input, err := e.encoder.encode(readCall())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.evaluate(b.Context(), input); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncodeInput is the conversion of the input alone.
func BenchmarkEncodeInput(b *testing.B) {
	e := newEncoder()
	in := readCall()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.encode(in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecideSiteRules adds families whose rules the index can tell apart.
func BenchmarkDecideSiteRules(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e, err := Load(Source{FS: os.DirFS("../../policies"), Overlay: siteRules(n), Schemas: os.DirFS("../../schemas")})
			if err != nil {
				b.Fatal(err)
			}
			in := readCall()
			b.ReportAllocs()
			for b.Loop() {
				if v := e.Decide(b.Context(), in); v.Effect != Allow {
					b.Fatal(v)
				}
			}
		})
	}
}

// siteRules is an overlay of one family with n rules.
func siteRules(n int) fstest.MapFS {
	var text strings.Builder
	text.WriteString("package runlens.rules.site\n\nimport data.runlens.lib\n")
	for i := range n {
		fmt.Fprintf(&text, `
# METADATA
# title: tool %[1]d is not for this site
# custom:
#   code: site_refused
deny contains lib.reason(rego.metadata.rule(), {}) if input.call.tool == "tool_%[1]d"
`, i)
	}
	return fstest.MapFS{
		"runlens/rules/site/site.rego": {Data: []byte(text.String())},
		"runlens/codes/data.json":      {Data: []byte(`{"site_refused": {"gate": "registry", "retryable": false, "remedy": "use another"}}`)},
	}
}

// BenchmarkLoad is what every start of the program pays.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		shipped(b)
	}
}
