package regotest

import (
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/schemas"
)

func run(t *testing.T, fsys fstest.MapFS, pattern string) (*Report, error) {
	return Run(t.Context(), engine.Source{FS: fsys, Schemas: schemas.FS}, Options{Pattern: pattern})
}

func tree(test string) fstest.MapFS {
	return fstest.MapFS{
		"runlens/data.json": {Data: []byte(`{"limit": 3}`)},
		"runlens/x.rego": {Data: []byte(`package runlens

over if input.n > data.runlens.limit

under if input.n < data.runlens.limit
`)},
		"runlens/x_test.rego": {Data: []byte("package runlens_test\n\nimport data.runlens\n\n" + test)},
	}
}

func TestRun(t *testing.T) {
	report, err := run(t, tree(`test_over if runlens.over with input as {"n": 4}

test_wrong if runlens.over with input as {"n": 3}

test_error if 1 / 0 == 1

todo_test_later if false
`), "")
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, r := range report.Failed() {
		failed = append(failed, r.Name+" "+r.Place.String())
	}
	if want := []string{
		"data.runlens_test.test_wrong policies/runlens/x_test.rego:7",
		"data.runlens_test.test_error policies/runlens/x_test.rego:9",
		"data.runlens_test.todo_test_later policies/runlens/x_test.rego:11",
	}; !slices.Equal(failed, want) {
		t.Errorf("failed %q, want %q", failed, want)
	}
	if want := []Place{{"policies/runlens/x.rego", 5}}; !slices.Equal(report.Missing, want) {
		t.Errorf("missing %v, want %v", report.Missing, want)
	}
	if len(report.Rules) != 2 || !report.Rules[0].Covered || report.Rules[1].Covered {
		t.Errorf("rules %+v", report.Rules)
	}
}

func TestRunSelects(t *testing.T) {
	report, err := run(t, tree("test_a if true\n\ntest_b if true\n"), "test_b$")
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 1 || report.Results[0].Name != "data.runlens_test.test_b" {
		t.Errorf("selected %+v", report.Results)
	}
}

func TestRunRefusesWhatDoesNotCompile(t *testing.T) {
	if _, err := run(t, tree("test_a if undefined_function(1)\n"), ""); err == nil {
		t.Error("no error")
	}
}

func TestUnformatted(t *testing.T) {
	fsys := tree("")
	delete(fsys, "runlens/x_test.rego")
	places, err := Unformatted(fsys)
	if err != nil || len(places) != 0 {
		t.Errorf("%v, %v", places, err)
	}
	fsys["runlens/x.rego"].Data = []byte("package runlens\n\nover   if input.n > 1\n")
	places, err = Unformatted(fsys)
	if err != nil || !slices.Equal(places, []Place{{"runlens/x.rego", 3}}) {
		t.Errorf("%v, %v", places, err)
	}
}

// TestShippedPolicies is the gate: every Rego test passes, every rule is
// reached by one, every file is formatted.
func TestShippedPolicies(t *testing.T) {
	fsys := os.DirFS("../../../policies")
	report, err := Run(t.Context(), engine.Source{FS: fsys, Schemas: schemas.FS}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) == 0 {
		t.Error("no tests")
	}
	for _, r := range report.Failed() {
		t.Errorf("%s: %s does not pass %s", r.Place, r.Name, r.Error)
	}
	for _, p := range report.Problems {
		t.Error(p)
	}
	for _, p := range report.Missing {
		t.Errorf("%s: no test reaches this line", p)
	}
	places, err := Unformatted(fsys)
	if err != nil {
		t.Error(err)
	}
	for _, p := range places {
		t.Errorf("%s: not formatted, run opa fmt", p)
	}
}
