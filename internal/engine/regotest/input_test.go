package regotest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/schemas"
)

// site is a family of a project, over the shipped tree.
func site(test string) engine.Source {
	return engine.Source{
		FS: os.DirFS("../../../policies"), Name: "policies", OverName: "mine", Schemas: schemas.FS,
		Overlay: fstest.MapFS{
			"runlens/rules/site/site.rego": {Data: []byte(`package runlens.rules.site

import data.runlens.lib

# METADATA
# title: no python
# custom:
#   code: no_python
deny contains lib.reason(rego.metadata.rule(), {}) if input.call.tool == "python"

# METADATA
# title: no perl
# custom:
#   code: no_perl
deny contains lib.reason(rego.metadata.rule(), {}) if input.call.tool == "perl"

# METADATA
# title: no perl by another name
# custom:
#   code: no_perl
deny contains lib.reason(rego.metadata.rule(), {}) if input.call.tool == "perl5"
`)},
			"runlens/rules/site/site_test.rego": {Data: []byte("package runlens.rules.site_test\n\nimport data.runlens.lib.testing\nimport data.runlens.rules.site\n\n" + test)},
		},
	}
}

// TestInputsOfTests shows what breaks the schema, by line and pointer. The tests
// pass: their rules are quiet because of the very mistake.
func TestInputsOfTests(t *testing.T) {
	for body, want := range map[string]string{
		`site.deny == set() with input as testing.base`: "",
		`site.deny == set()`:                            "",
		`site.deny == set() with input.call.tool as "ruby" with input as testing.base`:            "",
		`site.deny == set() with input as testing.with_call({"toool": "python"})`:                 `mine/runlens/rules/site/site_test.rego:7: data.runlens.rules.site_test.test_it: input /call/toool is no field of the input (did you mean "tool"?)`,
		`site.deny == set() with input as json.remove(testing.with_call({"to~o/l": 1}), ["now"])`: "/call/to~0o~1l /now",
		`site.deny == set() with input as testing.base with input.call.tols as "x"`:               "/call/tols",
		`site.deny == set() with input as {"call": {"tool": "ruby"}}`:                             "/approvals /call/arguments",
		`site.deny == set() with input as "python"`:                                               " expected object",
		`site.deny == set() with input as testing.with_target({"access": "unheard_of"})`:          "/targets/0/access",
		`site.deny == set() with input as testing.with_target({"segments": {"a"}})`:               "/targets/0/segments is a set",
		`every x in ["a", "b"] { site.deny == set() with input as testing.with_call({x: 1}) }`:    "/call/a /call/b",
		`helper == set() with input as testing.with_call({"toool": 1})`:                           "/call/toool",
		`own with input as {"any": 1}`:                                                            "", // no rule outside the tests sees it
		`site.deny == set() with data.runlens.limits as {}`:                                       "",
		`count([x | some x in site.deny with input as testing.with_call({"toool": 1})]) == 0`:     "/call/toool",
	} {
		t.Run(body, func(t *testing.T) {
			report, err := Run(t.Context(), site("test_it if {\n\t"+body+"\n}\n\nhelper := site.deny\n\nown if input.any\n"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Results) != 1 || !report.Results[0].Pass {
				t.Errorf("results %+v", report.Results)
			}
			var got strings.Builder
			for _, p := range report.Problems {
				got.WriteString(p.String() + "\n")
				if p.Place.Line != 7 {
					t.Errorf("line of %v", p)
				}
			}
			for _, part := range strings.Split(want, " /") {
				if !strings.Contains(got.String(), strings.TrimPrefix(part, " ")) {
					t.Errorf("problems\n%swant %s", got.String(), part)
				}
			}
			if want == "" && got.Len() > 0 {
				t.Errorf("problems\n%s", got.String())
			}
		})
	}
}

func TestCoverage(t *testing.T) {
	src := site("test_python if count(site.deny) == 1 with input as testing.with_call({\"tool\": \"python\"})\n\ntest_fails if {\n\tcount(site.deny) == 1 with input as testing.with_call({\"tool\": \"perl5\"})\n\tfalse\n}\n")
	report, err := Run(t.Context(), src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Failed()) != 1 || len(report.Results) != 2 {
		t.Errorf("results %+v", report.Results) // the shipped tests are not run
	}
	if want := []Package{{"data.runlens.rules.site", 3, 2, 100 * 2.0 / 3}}; !slices.Equal(report.Packages, want) {
		t.Errorf("packages %v, want %v", report.Packages, want)
	}
	if len(report.Codes) != 2 || report.Codes[0].Code != "no_perl" || report.Codes[0].Percent != 50 || report.Codes[1].Percent != 100 {
		t.Errorf("codes %+v", report.Codes)
	}
	left := report.Uncovered()
	if len(left) != 1 || left[0].Place != (Place{"mine/runlens/rules/site/site.rego", 15}) || !slices.Contains(report.Missing, left[0].Place) {
		t.Errorf("uncovered %v, missing %v", left, report.Missing)
	}

	// An input counts as a test does, also where no test runs.
	in := &facts.Input{V: facts.Version, Call: facts.Call{Tool: "perl"}, Tool: &facts.Tool{}}
	if report, err = Run(t.Context(), src, Options{None: true, Inputs: []*facts.Input{in}}); err != nil {
		t.Fatal(err)
	}
	left = report.Uncovered()
	if len(report.Results)+len(report.Problems) != 0 || len(left) != 2 || left[0].Place.Line != 9 || left[1].Place.Line != 21 {
		t.Errorf("uncovered %v, results %v, problems %v", left, report.Results, report.Problems)
	}
}

func TestKindsOfTests(t *testing.T) {
	report, err := Run(t.Context(), site("test_c[note] if {\n\tsome note, n in {\"one\": 1, \"two\": 2}\n\tprint(\"saw\", note)\n\tn == 1\n}\n\ntest_same if true\n\ntest_same if false\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 3 {
		t.Fatalf("results %+v", report.Results)
	}
	cases := report.Results[0]
	if cases.Pass || !slices.Equal(cases.Cases, []Case{{"one", true}, {"two", false}}) || !strings.Contains(cases.Print, "saw one") {
		t.Errorf("%+v", cases)
	}
	if a, b := report.Results[1], report.Results[2]; !a.Pass || b.Pass || a.Name+"#01" != b.Name {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestRunRefuses(t *testing.T) {
	for body, want := range map[string]string{
		"test_a if {\n":                     "load mine/runlens/rules/site/site_test.rego:",
		"test_a if undefined_function(1)\n": "load mine/runlens/rules/site/site_test.rego:6: ",
	} {
		_, err := Run(t.Context(), site(body), Options{})
		if load, ok := errors.AsType[*engine.LoadError](err); !ok || !strings.HasPrefix(load.Error(), want) {
			t.Errorf("%q: %v", body, err)
		}
	}
	src := site("test_a if true\n")
	if _, err := Run(t.Context(), src, Options{Pattern: "("}); err == nil {
		t.Error("takes what is no pattern")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, src, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	src.Schemas = fs.FS(fstest.MapFS{})
	if _, err := Run(t.Context(), src, Options{}); err == nil {
		t.Error("runs without a schema")
	}
}
