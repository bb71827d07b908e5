package executor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/schemas"
)

// spoiled loads the shipped tree with one text replaced in one file.
func spoiled(t *testing.T, file, old, new string) *engine.Engine {
	t.Helper()
	tree := fstest.MapFS{}
	if err := copyTree(tree); err != nil {
		t.Fatal(err)
	}
	was := tree[file]
	if was == nil {
		t.Fatalf("no %s in the shipped tree", file)
	}
	tree[file] = &fstest.MapFile{Data: replaceOnce(t, was.Data, old, new)}
	e, err := engine.Load(engine.Source{FS: tree, Schemas: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const decisionHead = `decision := {"verdict": "deny", "reasons": _reasons, "grant": {}} if {
	_denied
}`

// TestPolicyTrouble: a decision that is undefined, in conflict, in error, too
// slow or of the wrong shape is a denial of its own, recorded, and nothing runs.
func TestPolicyTrouble(t *testing.T) {
	always := func(decision string) string {
		return "decision := " + decision + " if {\n\tinput.v == 1\n} else := {\"verdict\": \"deny\", \"reasons\": _reasons, \"grant\": {}} if {\n\t_denied\n}"
	}
	allowed := `{"verdict": "allow", "reasons": [{"code": "allowed", "message": "m", "param": "", "detail": {}}], "grant": {}}`
	for code, decisions := range map[string][]string{
		"policy_conflict": {always(allowed) + "\n\ndecision := 1 if input.v == 1\n\n_unused if {\n\t_denied\n}"},
		"policy_error":    {always(`{"verdict": "allow", "reasons": [1 / (input.v - 1)], "grant": {}}`)},
		"policy_timeout":  {always(`{"verdict": "allow", "reasons": [x | some a in numbers.range(1, 3000); some b in numbers.range(1, 3000); x := a * b; x == -1], "grant": {}}`)},
		"policy_bad_result": {
			always(`true`),
			always(`{}`),
			always(`"allow"`),
			always(`{"verdict": "allow"}`),
			always(`{"verdict": "yes", "reasons": [], "grant": {}}`),
			always(`{"verdict": "allow", "reasons": [], "grant": {}}`),
			always(strings.Replace(allowed, `"allowed"`, `"no_such_code"`, 1)),
			always(strings.Replace(allowed, `"allowed"`, `"outside_roots"`, 1)),
			always(strings.Replace(allowed, `"grant": {}`, `"grant": {"max_bytes": -1}`, 1)),
			always(strings.Replace(allowed, `"grant": {}`, `"grant": {"roots": ["/"]}`, 1)),
			always(strings.Replace(allowed, `"grant": {}`, `"grant": {}, "extra": 1`, 1)),
			always(strings.Replace(allowed, `"grant": {}`, `"grant": {"max_bytes": "9"}`, 1)),
		},
	} {
		for i, decision := range decisions {
			t.Run(fmt.Sprintf("%s/%d", code, i), func(t *testing.T) {
				project := canonical(t)
				write(t, project, "data/feedback.txt", "x")
				e := spoiled(t, "runlens/decision.rego", decisionHead, decision)
				x := open(t, project, func(c *executor.Config) { c.Engine = e })
				r := x.Exec(context.Background(), readCall, "r")
				if r.Status != executor.StatusDenied || r.ErrorCode != "policy_failed" || r.Reason != code || r.Retryable || r.Output != nil {
					t.Errorf("%+v", r)
				}
				typ, v := lastVerdict(t, events(t, project, "r"))
				if typ != ledger.ToolDenied || v.Reason != code || len(v.Input) < 100 {
					t.Errorf("recorded %s %+v", typ, v)
				}
			})
		}
	}
}
