package policy_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/golden"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// TestRegoTraps holds the traps of Rego in which a rule that reads well stays
// silent: as rules of a site they refuse to load, or deny.
//
// Not here: P35 (no partial evaluation anywhere: the decision is evaluated whole
// each time) and P39 (one engine only, OPA's own in Go).
func TestRegoTraps(t *testing.T) {
	shipped(t)
	t.Run("P24 a rule about a path that is missing, null or a list", func(t *testing.T) {
		refuses(t, overlay(map[string]string{siteRule: denyIf("path", `not startswith(lower(input.path), "/w/")`)}),
			"load policies/runlens/rules/site/site.rego:10: undefined ref: input.path")
		rule := denyIf("path", `not startswith(lower(input.call.arguments.path), "/w/")`)
		calls := map[string]string{
			think(`{"path":"/w/x","amount":1}`):   "allow allowed",
			think(`{"path":"/etc/x","amount":1}`): "deny site_refused",
			think(`{"amount":1}`):                 "deny input_validation_failed",
			think(`{"path":null,"amount":1}`):     "deny input_validation_failed",
			think(`{"path":["/etc"],"amount":1}`): "deny input_validation_failed",
		}
		open(t, withSite(t, rule), strict).answers(t, calls)
		// A tool without a schema of its own: another type is an error, and with
		// rego.v2 what is missing is not silent either.
		free2 := strings.Replace(rule, "import data.runlens.lib\n", "import data.runlens.lib\nimport rego.v2\n", 1)
		open(t, withSite(t, free2), free).answers(t, map[string]string{
			think(`{"path":"/w/x"}`):   "allow allowed",
			think(`{}`):                "deny site_refused",
			think(`{"path":null}`):     "deny policy_error",
			think(`{"path":["/etc"]}`): "deny policy_error",
		})
	})
	t.Run("P25 a built-in meets another type", func(t *testing.T) {
		refuses(t, overlay(map[string]string{siteRule: siteHead + "allow := false if lower(input.call.tool) == \"rm\"\n"}),
			`load policies/runlens/rules/site/site.rego:5: rule "allow" would never be asked for`)
		open(t, withSite(t, denyIf("cmd", `lower(input.call.arguments.cmd) == "rm"`)), free).answers(t, map[string]string{
			think(`{"cmd":"RM"}`):   "deny site_refused",
			think(`{"cmd":["rm"]}`): "deny policy_error",
		})
	})
	t.Run("P27 P28 numbers, null, false and nothing compare", func(t *testing.T) {
		g := open(t, withSite(t, denyIf("amount", "not input.call.arguments.amount <= 100")), strict)
		g.answers(t, map[string]string{
			think(`{"path":"","amount":100}`): "allow allowed",
			think(`{"path":"","amount":101}`): "deny site_refused",
		})
		for _, value := range []string{"null", "true", "false", `"1"`, "[99]", "{}"} {
			g.answers(t, map[string]string{think(`{"path":"","amount":` + value + `}`): "deny input_validation_failed"})
		}
		refuses(t, overlay(map[string]string{siteRule: denyIf("x", `input.tool.max_bytes == "100"`)}), "load policies/runlens/rules/site/site.rego:10: match error")
		refuses(t, overlay(map[string]string{siteRule: denyIf("x", `input.targets[_].nlink == null`)}), "load policies/runlens/rules/site/site.rego:10: match error")
	})
	t.Run("P30 every holds of an empty list", func(t *testing.T) {
		g := open(t, withSite(t, denyIf("x", "not _inside")+"_inside if every target in input.targets {\n\ttarget.in_project\n}\n"), reads, "file ws/f.txt")
		in := altered(t, g.ask(t, read("ws/f.txt")).Input, "/targets", "[]")
		if got := golden.Told(g.e.Decide(t.Context(), in)); got != "deny invalid_path:absent" {
			t.Error(got)
		}
	})
	t.Run("P31 data is misspelt", func(t *testing.T) {
		for ref, want := range map[string]string{
			"data.polcy.blocked[input.call.tool]":            `nothing defines "data.polcy`,
			"data.runlens.limit.read_bytes > 1":              `nothing defines "data.runlens.limit`,
			"data.runlens.names.refused.exat[_] == \"x\"":    `nothing defines "data.runlens.names.refused.exat`,
			"data.runlens.approvals.tool[input.call.tool]":   `nothing defines "data.runlens.approvals.tool`,
			"data.runlens.rules.paths.dney[_].code == \"x\"": `nothing defines "data.runlens.rules.paths.dney`,
		} {
			refuses(t, overlay(map[string]string{siteRule: denyIf("x", ref)}), "load policies/runlens/rules/site/site.rego:10: "+want)
		}
	})
	t.Run("P32 a decision that is a bare true", func(t *testing.T) {
		for _, value := range []string{"true", `"allow"`, `["allow"]`, `{"allow": true}`, "1"} {
			e := load(t, changed(t, "runlens/decision.rego", `decision := {"verdict": "deny", "reasons": _reasons, "grant": {}} if {`,
				"decision := "+value+" if {\n\tinput.tool.declared\n} else := {\"verdict\": \"deny\", \"reasons\": _reasons, \"grant\": {}} if {"))
			open(t, e, reads, "file ws/f.txt").answers(t, map[string]string{read("ws/f.txt"): "deny policy_bad_result"})
		}
	})
	t.Run("P33 words that YAML takes for truth values", func(t *testing.T) {
		refuses(t, overlay(map[string]string{"runlens/site/data.yaml": "country: no\n"}), "load policies/runlens/site/data.yaml: data must be in a file named data.json")
		for _, word := range []string{"yes", "on", "y", "Off"} {
			text := "schema_version: 1\ntools:\n  read_file:\n    operation: read\n    absolute: " + word + "\n"
			_, err := manifest.Load([]manifest.Source{{Name: "tools.yaml", Data: []byte(text)}}, declared())
			if err == nil || !strings.HasPrefix(err.Error(), "load tools.yaml:5") {
				t.Errorf("absolute: %s: %v", word, err)
			}
		}
	})
	t.Run("P34 a byte order mark", func(t *testing.T) {
		refuses(t, overlay(map[string]string{siteRule: "\ufeff" + denyIf("x", "input.run.read_only")}), "load policies/runlens/rules/site/site.rego:1: starts with a byte order mark")
		refuses(t, overlay(map[string]string{"runlens/site/data.json": "\ufeff{}"}), "load policies/runlens/site/data.json:1: starts with a byte order mark")
		if _, err := loadTools("\ufeff" + reads); err == nil || !strings.Contains(err.Error(), "byte order mark") {
			t.Errorf("manifest: %v", err)
		}
		open(t, shipped(t), free).answers(t, map[string]string{"\ufeff" + think("{}"): "deny malformed_call"})
	})
	t.Run("P36 rules that the index may lose", func(t *testing.T) {
		g := open(t, withSite(t, denyIf(
			"in", `input.call.tool in {"a", input.call.arguments.y}`,
			"glob", `glob.match(concat("", [input.call.arguments.g, "*"]), ["/"], input.call.tool)`,
			"equal", "input.call.arguments.n == 1",
			"member", "input.call.arguments.n in {1, 3}",
			"key", "{1: true}[input.call.arguments.n]",
			"first", "input.call.arguments.n == 1\n\tinput.call.tool == \"think\"",
		)), free)
		for call, want := range map[string]string{
			`{"y":"think","g":"th","n":1}`:   "equal first glob in key member",
			`{"y":"think","g":"th","n":1.0}`: "equal first glob in key member",
			`{"y":"think","g":"th","n":1e0}`: "equal first glob in key member",
			`{"y":"x","g":"x","n":3.0}`:      "member",
			`{"y":"x","g":"x","n":2}`:        "",
			`{"n":10e-1}`:                    "equal first key member",
		} {
			if got := strings.Join(params(g.ask(t, think(call)).Verdict), " "); got != want {
				t.Errorf("%s\n got  %s\n want %s", call, got, want)
			}
		}
	})
	t.Run("P37 groups asked for twice", func(t *testing.T) {
		open(t, withSite(t, denyIf("x", "_of(\"a\") == {\"x\", \"y\"}\n\t_of(\"b\") == {\"z\"}\n\t_of(input.call.arguments.group) == set()")+
			"_of(group) := {name | some name, g in {\"x\": \"a\", \"y\": \"a\", \"z\": \"b\"}; g == group}\n"), free).answers(t, map[string]string{
			think(`{"group":"c"}`): "deny site_refused",
			think(`{"group":"a"}`): "allow allowed",
		})
	})
	t.Run("P38 print changes no decision", func(t *testing.T) {
		open(t, withSite(t, denyIf("x", "print(\"seen\", input.call.tool)\n\tinput.call.arguments.n == 1\n\tprint(\"more\", input.call.arguments.nope)")), free).answers(t, map[string]string{
			think(`{"n":1}`): "deny site_refused",
			think(`{"n":2}`): "allow allowed",
		})
	})
}

// TestPolicyData holds that policy data does what it says, and that a value
// that could never match refuses to load instead of being inert.
func TestPolicyData(t *testing.T) {
	data := "runlens/data.json"
	t.Run("a person approves", func(t *testing.T) {
		e := load(t, changed(t, data, `"approvals": {"tools": {}, "operations": {}}`, `"approvals": {"tools": {"read_file": true}, "operations": {"compute": true}}`))
		g := open(t, e, reads, "file ws/f.txt")
		g.answers(t, map[string]string{
			read("ws/f.txt"): "ask approval_required",
			read("ws/.env"):  "deny forbidden_path not_found:name approval_required",
		})
		open(t, e, free).answers(t, map[string]string{think("{}"): "ask approval_required"})
		out := g.ask(t, read("ws/f.txt"))
		for _, test := range []struct{ approval, want string }{
			{`{"seq":7,"by":"ada","remaining":1,"matches_call":true,"expired":false}`, "allow allowed"},
			{`{"seq":7,"by":"ada","remaining":0,"matches_call":true,"expired":false}`, "ask approval_required"},
			{`{"seq":7,"by":"ada","remaining":1,"matches_call":false,"expired":false}`, "ask approval_required"},
			{`{"seq":7,"by":"ada","remaining":1,"matches_call":true,"expired":true}`, "ask approval_required"},
		} {
			in := altered(t, out.Input, "/approvals", "["+test.approval+"]")
			if got := golden.Told(e.Decide(t.Context(), in)); got != test.want {
				t.Errorf("%s\n got  %s\n want %s", test.approval, got, test.want)
			}
		}
	})
	t.Run("hard links refused for reads", func(t *testing.T) {
		e := load(t, changed(t, data, `"refuse_reads": false`, `"refuse_reads": true`))
		open(t, e, reads, "file ws/f.txt ws/a.txt", "hard ws/b.txt -> ws/a.txt").answers(t, map[string]string{
			read("ws/f.txt"): "allow allowed",
			read("ws/b.txt"): "deny hard_link",
		})
	})
	t.Run("an oddity left alone", func(t *testing.T) {
		e := load(t, changed(t, data, `"backslash": true`, `"backslash": false`))
		open(t, e, reads, `file "ws/a\\b.txt"`, `file "ws/.env\\b.txt"`).answers(t, map[string]string{
			read(`ws/a\\b.txt`):    "allow allowed",
			read(`ws/.env\\b.txt`): "deny forbidden_path",
		})
	})
	t.Run("parents refused", func(t *testing.T) {
		e := load(t, changed(t, data, `"parent_escape": false`, `"parent_escape": true`))
		open(t, e, reads, "file ws/f.txt").answers(t, map[string]string{
			read("ws/../ws/f.txt"):            "allow allowed",
			read("../project/ws/f.txt"):       "deny invalid_path:parent_escape",
			read("ws/../../project/ws/f.txt"): "deny invalid_path:parent_escape",
		})
	})
	t.Run("a name that could never match", func(t *testing.T) {
		for _, name := range []string{".SECRET", "secrets/", "a/b", `a\\b`, "id_rsa.", " key", "\u212aey", "", "x:y"} {
			src := changed(t, data, `"exact": [".env", ".envrc"]`, `"exact": [".env", ".envrc", "`+name+`"]`)
			e, err := engine.Load(src)
			if err == nil {
				t.Errorf("refused name %q loads (%s), and no folded name equals it", name, e.Revision()[:14])
			}
		}
	})
}

// TestOverlayOnlyTightens: a project's own policies may add what the shipped
// tree lacks, never what makes a shipped rule milder.
func TestOverlayOnlyTightens(t *testing.T) {
	for name, text := range map[string]string{
		"runlens/budget/doors/data.json":    `{"cli": {"in_row": -1, "total": -1, "malformed": -1}}`,
		"runlens/ledger_only/data.json":     `{"roots": true, "forbidden": true}`,
		"runlens/hard_links/data.json":      `{"refuse_reads": true}`,
		"runlens/mounts/data.json":          `{"allowed": ["/"]}`,
		"runlens/limits/data.json":          `{"read_bytes": 9000000}`,
		"runlens/approvals/tools/data.json": `{"read_file": false}`,
		"runlens/rules/paths/more.rego":     "package runlens.rules.paths\n\n_declared(_) := true\n",
		"runlens/decision.rego":             "package runlens\n\ndecision := 1\n",
		"runlens/lib/more.rego":             "package runlens.lib\n\noutside(_) := false\n",
	} {
		_, err := engine.Load(engine.Source{FS: policies.FS, Overlay: fstest.MapFS{name: {Data: []byte(text)}}, Schemas: schemas.FS})
		if err == nil {
			t.Errorf("%s %s loads as an overlay", name, text)
		} else if !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(l string) bool { return strings.HasPrefix(l, "load policies/"+name) }) {
			t.Errorf("%s: no line names it:\n%v", name, err)
		}
	}
}
