package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/golden"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// TestSilenceIsNoPermission holds failures reported against other engines and
// gateways in which what was undefined, empty, absent or broken read as allow.
// The names are those of the reports in the project's notes.
//
// Not here: P17 (documents, not behaviour). P23, P23a, P23b (what a host does
// with a hook's exit code and output; the hook door shows them). P23c is the
// case admission/session.
func TestSilenceIsNoPermission(t *testing.T) {
	shipped(t)
	data, decision := "runlens/data.json", "runlens/decision.rego"

	t.Run("P01 the decision is asked for under another name", func(t *testing.T) {
		refuses(t, changed(t, decision, "decision := {\"verdict\": \"deny\", \"reasons\": _reasons", "decisions := {\"verdict\": \"deny\", \"reasons\": _reasons"),
			"load policies/runlens/decision.rego: no rule decision")
		refuses(t, changed(t, decision, "_denied if some _ in data.runlens.rules[_].deny", "_denied if some _ in data.runlens.rules[_].dney"), `load policies/runlens/decision.rego:*nothing defines "data.runlens.rules[_].dney"`)
		// At run time: the last branch is gone for this call, so nothing is decided.
		e := load(t, changed(t, decision, `"reasons": [_incomplete], "grant": {}}`, `"reasons": [_incomplete], "grant": {}} if input.run.read_only`))
		in := altered(t, open(t, e, reads, "file ws/f.txt").ask(t, read("ws/f.txt")).Input, "/targets/0/kind", `"none"`)
		if got := golden.Told(e.Decide(t.Context(), in)); got != "deny policy_undefined" {
			t.Error(got)
		}
	})
	t.Run("P03 a list that is not there allows nothing", func(t *testing.T) {
		open(t, shipped(t), `{"schema_version":1,"tools":{}}`, "file data/a.txt").answers(t, map[string]string{
			read("data/a.txt"): "deny unknown_tool",
		})
		open(t, shipped(t), `{"schema_version":1,"tools":{"read_file":{"operation":"read"}}}`, "file data/a.txt", "file a.txt").answers(t, map[string]string{
			read("data/a.txt"): "allow allowed",
			read("a.txt"):      "deny outside_roots",
		})
		for text, want := range map[string]string{
			`{"schema_version":1}`: "tools",
			`{"schema_version":1,"tools":{"read_file":{"operation":"read","roots":[]}}}`:                                                                                           "roots",
			`{"schema_version":1,"tools":{"read_file":{"operation":"read","roots":[{"path":"ws","access":[]}]}}}`:                                                                  "access",
			`{"schema_version":1,"tools":{"read_file":{"operation":"read","roots":null}}}`:                                                                                         "roots",
			`{"schema_version":1,"tools":{"run_tests":{"operation":"execute"}}}`:                                                                                                   "commands",
			`{"schema_version":1,"tools":{"run_tests":{"operation":"execute","commands":[]}}}`:                                                                                     "commands",
			`{"schema_version":1,"tools":{"run_tests":{"operation":"execute","commands":[[]]}}}`:                                                                                   "command",
			`{"schema_version":1,"tools":{"grep":{"operation":"search","handler":"external","targets":[]}}}`:                                                                       "target",
			`{"schema_version":1,"tools":{"read_file":{"operation":"read","targets":[{"param":"pth"}],"input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}}}`: "pth",
		} {
			if _, err := loadTools(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "tools.json:1") {
				t.Errorf("%s\n loads, or error %v", text, err)
			}
		}
	})
	t.Run("P04 a package is misspelt", func(t *testing.T) {
		refuses(t, overlay(map[string]string{siteRule: strings.Replace(denyIf("x", "input.run.read_only"), "rules.site", "rule.site", 1)}),
			`load policies/runlens/rules/site/site.rego:1: package "runlens.rule.site" must be runlens.rules.site`)
		refuses(t, overlay(map[string]string{siteRule: strings.Replace(denyIf("x", "input.run.read_only"), "deny contains", "denied contains", 1)}),
			`load policies/runlens/rules/site/site.rego:9: rule "denied" would never be asked for`)
	})
	t.Run("P05 P21 a condition that fails", func(t *testing.T) {
		open(t, withSite(t, denyIf("n", "1 / input.call.arguments.n == 1")), free).answers(t, map[string]string{
			think(`{"n":0}`): "deny policy_error",
			think(`{"n":1}`): "deny site_refused",
			think(`{"n":2}`): "allow allowed",
		})
		// A number that is missing makes any rule about it silent, so the schema
		// that the tool declares must ask for it.
		open(t, withSite(t, denyIf("amount", "input.call.arguments.amount > 5")), strict).answers(t, map[string]string{
			think(`{"path":"a"}`):            "deny input_validation_failed",
			think(`{"path":"a","amount":6}`): "deny site_refused",
			think(`{"path":"a","amount":5}`): "allow allowed",
		})
	})
	t.Run("P07 the policies are gone while it runs", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "policies")
		if err := os.CopyFS(dir, policies.FS); err != nil {
			t.Fatal(err)
		}
		src := engine.Source{FS: os.DirFS(dir), Schemas: schemas.FS}
		g := open(t, load(t, src), reads, "file ws/f.txt")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		// What was loaded goes on judging; what is gone does not load.
		g.answers(t, map[string]string{read("ws/f.txt"): "allow allowed", read("f.txt"): "deny outside_roots not_found:name(ledger)"})
		refuses(t, src, "load policies: cannot be read")
	})
	t.Run("P08 a decision without its key, a pattern that is none, NaN", func(t *testing.T) {
		e := load(t, changed(t, decision, `decision := {"verdict": "deny", "reasons": _reasons, "grant": {}} if {`, "decision := {\"reasons\": [{\"code\": \"allowed\", \"message\": \"allowed\", \"param\": \"\", \"detail\": {}}], \"grant\": {}} if {\n\tinput.tool.declared\n} else := {\"verdict\": \"deny\", \"reasons\": _reasons, \"grant\": {}} if {"))
		open(t, e, reads, "file ws/f.txt").answers(t, map[string]string{read("ws/f.txt"): "deny policy_bad_result"})
		refuses(t, overlay(map[string]string{siteRule: denyIf("x", `regex.match("(", input.call.tool)`)}),
			`load policies/runlens/rules/site/site.rego:10: regex.match: pattern "(" does not compile`)
		refuses(t, changed(t, data, `"read_bytes": 5000000`, `"read_bytes": NaN`), "load policies/runlens/data.json")
		open(t, shipped(t), free).answers(t, map[string]string{
			think(`{"budget":NaN}`):       "deny malformed_call",
			think(`{"budget":-Infinity}`): "deny malformed_call",
			think(`{"budget":"NaN"}`):     "allow allowed",
		})
	})
	t.Run("P10 one of two policy files is broken", func(t *testing.T) {
		refuses(t, overlay(map[string]string{
			siteRule:                       denyIf("x", "input.run.read_only"),
			"runlens/rules/site/more.rego": "package runlens.rules.site\n\nnope nope\n",
		}), "load policies/runlens/rules/site/more.rego:3: ")
	})
	t.Run("P11 no policies at all", func(t *testing.T) {
		refuses(t, engine.Source{FS: os.DirFS(t.TempDir()), Schemas: schemas.FS}, "load policies: holds no policies")
		refuses(t, engine.Source{FS: fstest.MapFS{"runlens/data.json": {Data: []byte("{}")}}, Schemas: schemas.FS}, "load policies: holds no policies")
	})
	t.Run("P12 a tool that nobody declared", func(t *testing.T) {
		open(t, shipped(t), reads, "file ws/f.txt").answers(t, map[string]string{
			`{"name":"foo","arguments":{"path":"ws/f.txt"}}`: "deny unknown_tool",
		})
	})
	t.Run("P14 false as text", func(t *testing.T) {
		// Approvals reach policy typed; a rule's own truth is the exact value.
		var a facts.Approval
		if err := json.Unmarshal([]byte(`{"matches_call":"false"}`), &a); err == nil {
			t.Error("a text passes for a truth value")
		}
		for _, text := range []string{`"absolute":"false"`, `"absolute":1`, `"create_parents":"no"`} {
			if _, err := loadTools(`{"schema_version":1,"tools":{"write_file":{"operation":"write",` + text + `}}}`); err == nil {
				t.Errorf("%s loads", text)
			}
		}
	})
	t.Run("P15 a misspelt path to the policies", func(t *testing.T) {
		refuses(t, engine.Source{FS: os.DirFS(filepath.Join(t.TempDir(), "polices")), Schemas: schemas.FS}, "load policies: cannot be read")
	})
	t.Run("P16 nothing fails open", func(t *testing.T) {
		refuses(t, changed(t, data, `"read_bytes": 5000000,`, `"read_bytes": 5000000, "fail_mode": "open",`), "load policies/runlens/data.json:")
		for _, text := range []string{
			`{"schema_version":1,"fail_mode":"clsoed","tools":{}}`,
			`{"schema_version":1,"tools":{"read_file":{"operation":"read","fail_open":true}}}`,
			`{"schema_version":1,"record":"ful","tools":{}}`,
		} {
			if _, err := loadTools(text); err == nil || !strings.Contains(err.Error(), "tools.json:1") {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
	t.Run("P18 trouble with policy is told from a denial", func(t *testing.T) {
		g := open(t, withSite(t, denyIf("n", "1 / input.call.arguments.n == 1")), free)
		broken, refused := g.ask(t, think(`{"n":0}`)), g.ask(t, think(`{"n":1}`))
		if broken.ErrorCode != "policy_failed" || broken.Verdict.Reasons[0].Gate != "policy" || broken.Verdict.Reasons[0].File == "" {
			t.Errorf("%s %+v", broken.ErrorCode, broken.Verdict.Reasons)
		}
		if refused.ErrorCode != "permission_denied" || refused.Verdict.Reasons[0].File != "policies/"+siteRule {
			t.Errorf("%s %+v", refused.ErrorCode, refused.Verdict.Reasons)
		}
	})
	t.Run("P19 no rules, and a rule on a field that is missing", func(t *testing.T) {
		refuses(t, changed(t, "runlens/rules/kinds/kinds.rego", "target.nlink > 1", "target.nlnk > 1"), "load policies/runlens/rules/kinds/kinds.rego:*undefined ref: target.nlnk")
		tree := shippedTree(t)
		for name := range tree {
			if strings.HasPrefix(name, "runlens/rules/") {
				delete(tree, name)
			}
		}
		refuses(t, engine.Source{FS: tree, Schemas: schemas.FS}, `load policies/runlens/data.json:*required family "approvals" does not exist`)
		refuses(t, changed(t, "runlens/rules/dotenv/dotenv.rego", "package runlens.rules.dotenv", "package runlens.rules.dotenvs"), "load policies/runlens/rules/dotenv/dotenv.rego:")
	})
	t.Run("P22 the environment changes nothing", func(t *testing.T) {
		calls := map[string]string{read("ws/f.txt"): "allow allowed", read("ws/.env"): "deny forbidden_path", `{"name":"foo","arguments":{}}`: "deny unknown_tool"}
		for _, name := range []string{"RUNLENS_FAIL_OPEN", "RUNLENS_POLICIES", "RUNLENS_PROJECT", "RUNLENS_DISABLE", "OPA_DISABLE", "CI", "HOME"} {
			t.Setenv(name, "1")
		}
		open(t, load(t, engine.Source{FS: policies.FS, Schemas: schemas.FS}), reads, "file ws/f.txt ws/.env").answers(t, calls)
	})
}
