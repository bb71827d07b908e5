package engine

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func one(name, text string) map[string]string { return map[string]string{name: text} }

const goodRule = `package runlens.rules.extra

import data.runlens.lib

# METADATA
# title: extra
# custom:
#   code: forbidden_path
deny contains lib.reason(rego.metadata.rule(), {}) if input.run.read_only
`

// TestRefusesToLoad holds every way in which a rule, a code or a setting could
// be lost without anybody noticing, and says where each is reported.
func TestRefusesToLoad(t *testing.T) {
	names := "runlens/rules/names/names.rego"
	tests := []struct {
		name    string
		changes map[string]string
		want    []string // each is a whole line or its beginning; no other line may come
	}{
		{"family deleted", one(names, ""), []string{
			`load policies/runlens/codes/data.json:3: code "forbidden_path" is not used by any rule`,
			`load policies/runlens/codes/data.json:4: code "approval_required" is not used by any rule`,
			`load policies/runlens/data.json:2: required family "names" does not exist`,
		}},
		{"family emptied", one(names, "package runlens.rules.names\n\n_x if input.run.read_only\n"), []string{
			`load policies/runlens/codes/data.json:3:`, `load policies/runlens/codes/data.json:4:`,
			`load policies/runlens/rules/names/names.rego: family "names" has no deny, block or ask rule`,
		}},
		{"family misplaced", map[string]string{names: "", "runlens/rules/nmaes/names.rego": small()[names]}, []string{
			`load policies/runlens/data.json:2: required family "names" does not exist (did you mean "nmaes"?)`,
			`load policies/runlens/rules/nmaes/names.rego:1: package "runlens.rules.names" must be runlens.rules.nmaes (the folder names the package)`,
		}},
		{"package misnamed", edit(t, names, "package runlens.rules.names", "package runlens.rule.names"), []string{
			`load policies/runlens/rules/names/names.rego:1: package "runlens.rule.names" must be runlens.rules.names`,
		}},
		{"package of another house", one("runlens/rules/extra/extra.rego", strings.Replace(goodRule, "runlens.rules.extra", "acme", 1)), []string{
			`load policies/runlens/rules/extra/extra.rego:1: package "acme" must be runlens.rules.extra`,
		}},
		{"folder too deep", one("runlens/rules/extra/deep/extra.rego", strings.Replace(goodRule, "rules.extra", "rules.extra.deep", 1)), []string{
			`load policies/runlens/rules/extra/deep/extra.rego:1: policy in folder "runlens/rules/extra/deep" would never run`,
		}},
		{"folder beside rules", one("runlens/extra/extra.rego", strings.Replace(goodRule, "rules.extra", "extra", 1)), []string{
			`load policies/runlens/extra/extra.rego:1: policy in folder "runlens/extra" would never run`,
		}},
		{"policy outside runlens", one("extra.rego", goodRule), []string{
			`load policies/extra.rego: policy outside runlens/ would never run`,
		}},
		{"boolean rule", one("runlens/rules/extra/extra.rego", "package runlens.rules.extra\n\ndeny if input.run.read_only\n"), []string{
			`load policies/runlens/rules/extra/extra.rego: family "extra" has no`,
			`load policies/runlens/rules/extra/extra.rego:3: deny must be a partial set`,
		}},
		{"complete rule", one("runlens/rules/extra/extra.rego", "package runlens.rules.extra\n\ndeny := {1}\n"), []string{
			`load policies/runlens/rules/extra/extra.rego: family`,
			`load policies/runlens/rules/extra/extra.rego:3: deny must be a partial set`,
		}},
		{"function", one("runlens/rules/extra/extra.rego", "package runlens.rules.extra\n\nblock(x) if x == 1\n"), []string{
			`load policies/runlens/rules/extra/extra.rego: family`,
			`load policies/runlens/rules/extra/extra.rego:3: block must be a partial set`,
		}},
		{"partial object", one("runlens/rules/extra/extra.rego", "package runlens.rules.extra\n\ndeny.x contains 1 if input.run.read_only\n"), []string{
			`load policies/runlens/rules/extra/extra.rego: family`,
			`load policies/runlens/rules/extra/extra.rego:3: deny must be a partial set`,
		}},
		{"misnamed rule", one("runlens/rules/extra/extra.rego", strings.Replace(goodRule, "deny contains", "dney contains", 1)), []string{
			`load policies/runlens/rules/extra/extra.rego: family`,
			`load policies/runlens/rules/extra/extra.rego:9: rule "dney" would never be asked for (did you mean deny?`,
		}},
		{"public helper", edit(t, names, "# METADATA\n# title: a person", "helper if true\n\n# METADATA\n# title: a person"), []string{
			`load policies/runlens/rules/names/names.rego:15: rule "helper" would never be asked for (helpers start with _`,
		}},
		{"rule in a test file", one("runlens/rules/names/more_test.rego", small()[names]), []string{
			`load policies/runlens/rules/names/more_test.rego:9: deny rule in a test file would never run`,
			`load policies/runlens/rules/names/more_test.rego:19: ask rule in a test file would never run`,
		}},
		{"no annotation", edit(t, names, "# METADATA\n# title: a person must approve\n# custom:\n#   code: approval_required\n", ""), []string{
			`load policies/runlens/codes/data.json:4: code "approval_required" is not used by any rule`,
			`load policies/runlens/rules/names/names.rego:15: ask has no code`,
		}},
		{"annotation without code", edit(t, names, "# custom:\n#   code: approval_required\n", ""), []string{
			`load policies/runlens/codes/data.json:4: code "approval_required" is not used`,
			`load policies/runlens/rules/names/names.rego:17: ask has no code`,
		}},
		{"annotation without title", edit(t, names, "# title: a person must approve\n", ""), []string{
			`load policies/runlens/rules/names/names.rego:18: METADATA of ask has no title`,
		}},
		{"annotation that names a place", edit(t, names, "#   code: approval_required\n", "#   code: approval_required\n#   location: x\n"), []string{
			`load policies/runlens/rules/names/names.rego:15: custom.location is set by the loader`,
		}},
		{"unknown code", edit(t, names, "code: forbidden_path", "code: forbiden_path"), []string{
			`load policies/runlens/codes/data.json:3: code "forbidden_path" is not used`,
			`load policies/runlens/rules/names/names.rego:9: code "forbiden_path" is unknown (did you mean "forbidden_path"?)`,
		}},
		{"code of Go", edit(t, names, "code: forbidden_path", "code: policy_error"), []string{
			`load policies/runlens/codes/data.json:3: code "forbidden_path" is not used`,
			`load policies/runlens/rules/names/names.rego:9: code "policy_error" belongs to RunLens itself`,
		}},
		{"code declared twice in one file", edit(t, "runlens/codes/data.json", `"incomplete": {`, `"unknown_tool": {"gate": "registry", "retryable": true, "remedy": "x"}, "incomplete": {`), []string{
			`load policies/runlens/codes/data.json:5: key "unknown_tool" is set twice, first in line 2`,
		}},
		{"code declared twice in two files", one("runlens/codes/unknown_tool/data.json", `{"gate": "registry"}`), []string{
			`load policies/runlens/codes/unknown_tool/data.json:1: data.runlens.codes.unknown_tool.gate is already set by policies/runlens/codes/data.json:2`,
		}},
		{"code declared in Go too", edit(t, "runlens/codes/data.json", `"incomplete": {`, `"policy_error": {"gate": "policy", "retryable": false, "remedy": "x"}, "incomplete": {`), []string{
			`load policies/runlens/codes/data.json:5: code "policy_error" is declared twice`,
		}},
		{"code half declared", edit(t, "runlens/codes/data.json", `"gate": "policy", "retryable": false, "remedy": "repair"`, `"gate": "policy", "retriable": "no", "remedy": 1`), []string{
			`load policies/runlens/codes/data.json:5: data.runlens.codes.incomplete has an unknown key "retriable" (did you mean "retryable"?)`,
			`load policies/runlens/codes/data.json:5: data.runlens.codes.incomplete has no retryable`,
			`load policies/runlens/codes/data.json:5: data.runlens.codes.incomplete.remedy has the wrong type`,
		}},
		{"gate without place in the order", edit(t, "runlens/codes/data.json", `"gate": "policy"`, `"gate": "polcy"`), []string{
			`load policies/runlens/codes/data.json:5: gate "polcy" of code "incomplete" is not in data.runlens.order (did you mean "policy"?)`,
		}},
		{"order names an unknown code", edit(t, "runlens/data.json", `"codes": ["incomplete"]`, `"codes": ["incomplet"]`), []string{
			`load policies/runlens/data.json:6: data.runlens.order names an unknown code "incomplet" (did you mean "incomplete"?)`,
		}},
		{"decision deleted", one("runlens/decision.rego", ""), []string{
			`load policies/runlens/codes/data.json:5:`, `load policies/runlens/codes/data.json:6:`,
			`load policies/runlens/decision.rego: no rule decision`,
		}},
		{"decision misspelt", edit(t, "runlens/decision.rego", "decision := {", "decisoin := {"), []string{
			`load policies/runlens/decision.rego: no rule decision`,
		}},
		{"root of data misspelt", edit(t, names, "data.runlens.names.refused", "data.polcy.names.refused"), []string{
			`load policies/runlens/rules/names/names.rego:12: nothing defines "data.polcy"`,
		}},
		{"data key misspelt", edit(t, names, "data.runlens.names.refused", "data.runlens.names.refsued"), []string{
			`load policies/runlens/rules/names/names.rego:12: nothing defines "data.runlens.names.refsued" (did you mean "refused"?)`,
		}},
		{"data key behind a variable misspelt", edit(t, names, "name in data.runlens.names.refused.exact", "name == data.runlens.codes[_].gat"), []string{
			`load policies/runlens/rules/names/names.rego:12: nothing defines "data.runlens.codes[_].gat" (did you mean "gate"?)`,
		}},
		{"import misspelt", edit(t, names, "import data.runlens.lib\n", "import data.runlens.lbi as lib\n"), []string{
			`load policies/runlens/rules/names/names.rego:3: nothing defines "data.runlens.lbi" (did you mean "lib"?)`,
		}},
		{"helper misspelt", edit(t, names, "lib.reason(rego.metadata.rule(), {})", "lib.raeson(rego.metadata.rule(), {})"), []string{
			`load policies/runlens/rules/names/names.rego:19: nothing defines "data.runlens.lib.raeson" (did you mean "reason"?)`,
		}},
		{"family rule misspelt", edit(t, "runlens/decision.rego", "data.runlens.rules[_].deny", "data.runlens.rules[_].dney"), []string{
			`load policies/runlens/decision.rego:11: nothing defines "data.runlens.rules[_].dney" (did you mean "deny"?)`,
		}},
		{"input field misspelt", edit(t, names, "target.folded", "target.fodled"), []string{
			`load policies/runlens/rules/names/names.rego:11: undefined ref: target.fodled (did you mean "folded"?)`,
		}},
		{"input field of the call misspelt", edit(t, "runlens/rules/registry/registry.rego", "input.call.tool", "input.call.toool"), []string{
			`load policies/runlens/rules/registry/registry.rego:9: undefined ref: input.call.toool (did you mean "tool"?)`,
		}},
		{"input compared with another type", edit(t, names, `input.tool.operation == "delete"`, `input.tool.max_bytes == "delete"`), []string{
			`load policies/runlens/rules/names/names.rego:19: match error`,
		}},
		{"network", edit(t, names, `input.tool.operation == "delete"`, `http.send({"url": "http://localhost", "method": "get"}).status_code == 200`), []string{
			`load policies/runlens/rules/names/names.rego:19: undefined function http.send (network, clock`,
		}},
		{"clock", edit(t, names, `input.tool.operation == "delete"`, `time.now_ns() > 0`), []string{
			`load policies/runlens/rules/names/names.rego:19: undefined function time.now_ns`,
		}},
		{"environment", edit(t, names, `input.tool.operation == "delete"`, `opa.runtime().env.LOOSE == "1"`), []string{
			`load policies/runlens/rules/names/names.rego:19: undefined function opa.runtime`,
		}},
		{"random", edit(t, names, `input.tool.operation == "delete"`, `rand.intn("x", 2) == 1`), []string{
			`load policies/runlens/rules/names/names.rego:19: undefined function rand.intn`,
		}},
		{"pattern that does not compile", edit(t, names, `input.tool.operation == "delete"`, `regex.match("(", input.tool.operation)`), []string{
			`load policies/runlens/rules/names/names.rego:19: regex.match: pattern "(" does not compile`,
		}},
		{"schemas annotation", edit(t, names, "# title: a person must approve\n", "# title: a person must approve\n# schemas:\n#   - input: schema.any\n"), []string{
			`load policies/runlens/rules/names/names.rego:15: schemas annotations are not allowed`,
		}},
		{"unused variable", edit(t, names, `input.tool.operation == "delete"`, "{\n\tx := 1\n\tinput.run.read_only\n}"), []string{
			`load policies/runlens/rules/names/names.rego:20: assigned var x unused`,
		}},
		{"syntax", edit(t, names, "some name in", "some name on"), []string{
			`load policies/runlens/codes/data.json:3:`, `load policies/runlens/codes/data.json:4:`, `load policies/runlens/data.json:2:`,
			`load policies/runlens/rules/names/names.rego:11: `,
		}},
		{"empty policy file", one("runlens/rules/extra/extra.rego", "\n"), []string{
			`load policies/runlens/rules/extra/extra.rego: `,
		}},
		{"data shadows a rule", one("runlens/lib/data.json", `{"reason": 1}`), []string{
			`load policies/runlens/lib/data.json:1: data.runlens.lib.reason shadows the rule of policies/runlens/lib/lib.rego:3`,
		}},
		{"data shadows a family's rule", one("runlens/rules/names/data.json", "{\n\"deny\": []}"), []string{
			`load policies/runlens/rules/names/data.json:2: data.runlens.rules.names.deny shadows the rule of`,
			`load policies/runlens/rules/names/data.json:2: data.runlens.rules.names.deny would pass for a rule`,
		}},
		{"data passes for a rule", one("runlens/rules/names/data.json", `{"block": []}`), []string{
			`load policies/runlens/rules/names/data.json:1: data.runlens.rules.names.block would pass for a rule`,
		}},
		{"data of a family that is gone", one("runlens/rules/gone/data.json", `{"limit": 1}`), []string{
			`load policies/runlens/rules/gone/data.json:1: data for family "gone", which does not exist`,
		}},
		{"data file with another name", one("runlens/limits.json", `{}`), []string{
			`load policies/runlens/limits.json: data must be in a file named data.json, bundles drop this one`,
		}},
		{"YAML data", one("runlens/data.yaml", `x: 1`), []string{
			`load policies/runlens/data.yaml: data must be in a file named data.json`,
		}},
		{"data outside runlens", one("data.json", `{}`), []string{
			`load policies/data.json: data outside runlens/ would never be seen by a rule`,
		}},
		{"data is no JSON", one("runlens/extra/data.json", "{\n\"a\": 1,\n}"), []string{
			`load policies/runlens/extra/data.json:`,
		}},
		{"data with something behind it", one("runlens/extra/data.json", "{}\n{}"), []string{
			`load policies/runlens/extra/data.json:2: is not JSON: text after the JSON value`,
		}},
		{"data is no object", one("runlens/extra/data.json", "[]"), []string{
			`load policies/runlens/extra/data.json:1: must hold a JSON object`,
		}},
		{"data does not fit its schema", edit(t, "runlens/data.json", `"names": {"refused": {"exact": [".env"], "prefix": [".env."], "suffix": [".env"]}, `, `"names": {`), []string{
			`load policies/runlens/data.json:12: data.runlens.names: missing properties: 'refused'`,
			`load policies: data.runlens.names.refused.exact is missing`,
			`load policies: data.runlens.names.refused.prefix is missing`,
			`load policies: data.runlens.names.refused.suffix is missing`,
			`load policies/runlens/rules/names/names.rego:12: nothing defines`,
		}},
		{"setting missing", edit(t, "runlens/data.json", `"policy_timeout_ms": 2000`, `"policy_timeout": 2000`), []string{
			`load policies: data.runlens.limits.policy_timeout_ms is missing`,
		}},
		{"setting of another type", edit(t, "runlens/data.json", `"policy_timeout_ms": 2000`, `"policy_timeout_ms": "2s"`), []string{
			`load policies/runlens/data.json:9: data.runlens.limits.policy_timeout_ms must be a whole number, 1 or more`,
		}},
		{"time that overflows", edit(t, "runlens/data.json", `"policy_timeout_ms": 2000`, `"policy_timeout_ms": 18446744073710`), []string{
			`load policies/runlens/data.json:9: data.runlens.limits.policy_timeout_ms must be 86400000 at most, which is 24 hours`,
		}},
		{"secret that is no pattern", edit(t, "runlens/data.json", `"AKIA[0-9A-Z]{16}"`, `"AKIA["`), []string{
			`load policies/runlens/data.json:13: data.runlens.secrets.kinds.aws_access_key is not a regular expression`,
		}},
		{"order missing", edit(t, "runlens/data.json", `"order": [`, `"ordre": [`), []string{
			`load policies: data.runlens.order is missing or empty`,
		}},
		{"required missing", edit(t, "runlens/data.json", `"required": ["registry", "names"]`, `"requierd": []`), []string{
			`load policies: data.runlens.required is missing or empty`,
		}},
		{"byte order mark", one("runlens/rules/extra/extra.rego", "\ufeff"+goodRule), []string{
			`load policies/runlens/rules/extra/extra.rego:1: starts with a byte order mark`,
		}},
		{"not UTF-8", one("runlens/rules/extra/extra.rego", goodRule+"# \xff\n"), []string{
			`load policies/runlens/rules/extra/extra.rego:10: is not valid UTF-8`,
		}},
		{"upper-case extension", one("runlens/rules/extra/extra.Rego", goodRule), []string{
			`load policies/runlens/rules/extra/extra.Rego: policy file must be named *.rego`,
		}},
		{"hidden policy", one("runlens/rules/extra/.extra.rego", goodRule), []string{
			`load policies/runlens/rules/extra/.extra.rego: policy file must be named *.rego`,
		}},
		{"policy put aside", one("runlens/rules/extra/extra.rego.off", goodRule), []string{
			`load policies/runlens/rules/extra/extra.rego.off: is neither *.rego nor data.json`,
		}},
		{"data misspelt in a shipped family", edit(t, "runlens/rules/names/names.rego", "data.runlens.names", "data.runlens.naems"), []string{
			`load policies/runlens/rules/names/names.rego:12: nothing defines "data.runlens.naems"`,
		}},
		{"family without a policy", one("runlens/rules/extra/README", "to come\n"), []string{
			`load policies/runlens/rules/extra: holds no policy`,
		}},
		{"rule in a test file, spelt otherwise", one("runlens/rules/names/more_test.rego", "package runlens.rules.names_test\n\n deny\tcontains 1 if true\nblock\n  contains 2 if true\n"), []string{
			`load policies/runlens/rules/names/more_test.rego:3: deny rule in a test file would never run`,
			`load policies/runlens/rules/names/more_test.rego:4: block rule in a test file would never run`,
		}},
		{"reason from an argument", one("runlens/rules/extra/extra.rego", strings.Replace(goodRule, "{}", `{"who": input.call.arguments.who}`, 1)), []string{
			`load policies/runlens/rules/extra/extra.rego:9: deny takes "input.call.arguments.who" for its reason`,
		}},
		{"manifest of other roots", one(".manifest", `{"roots":["foo"]}`), []string{
			`load policies/.manifest: roots leave out the policies`,
		}},
		{"manifest of version 0", one(".manifest", `{"roots":["runlens"],"rego_version":0}`), []string{
			`load policies/.manifest: policies must be Rego v1`,
		}},
		{"version 0 syntax", one("runlens/rules/extra/extra.rego", "package runlens.rules.extra\n\ndeny[x] { x := 1 }\n"), []string{
			`load policies/runlens/rules/extra/extra.rego:3: `, `load policies/runlens/rules/extra/extra.rego:3: `,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(Source{FS: with(test.changes), Schemas: testSchemas(t)})
			matchProblems(t, err, test.want)
		})
	}
}

// matchProblems expects exactly the wanted lines, each given by its beginning.
func matchProblems(t *testing.T, err error, want []string) {
	t.Helper()
	if _, ok := errors.AsType[*LoadError](err); !ok {
		t.Fatalf("error is %T: %v", err, err)
	}
	got := strings.Split(err.Error(), "\n")
	for _, w := range want {
		i := slices.IndexFunc(got, func(line string) bool { return strings.HasPrefix(line, w) })
		if i < 0 {
			t.Errorf("no problem %q in:\n%s", w, err)
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	if len(got) > 0 {
		t.Errorf("more problems than expected:\n%s", strings.Join(got, "\n"))
	}
}

// TestLoadTakesWhatSitesWrite holds that strictness does not hit ordinary trees.
func TestLoadTakesWhatSitesWrite(t *testing.T) {
	for name, changes := range map[string]map[string]string{
		"rego.v2":            one("runlens/rules/extra/extra.rego", strings.Replace(goodRule, "import data.runlens.lib", "import rego.v2\n\nimport data.runlens.lib", 1)),
		"data of a family":   {"runlens/rules/extra/extra.rego": strings.Replace(goodRule, "input.run.read_only", "input.call.tool in data.runlens.rules.extra.refused", 1), "runlens/rules/extra/data.json": `{"refused": ["x"]}`},
		"empty data":         {"runlens/rules/extra/extra.rego": strings.Replace(goodRule, "if input.run.read_only", "if {\n\tsome x in data.runlens.site.refused\n\tx == input.call.tool\n}", 1), "runlens/site/data.json": `{"refused": {}}`},
		"looked-up data":     {"runlens/rules/extra/extra.rego": strings.Replace(goodRule, "input.run.read_only", "data.runlens.site.refused[input.call.tool]", 1), "runlens/site/data.json": `{"refused": {}}`},
		"private rules":      one("runlens/rules/extra/extra.rego", goodRule+"\n_helper(x) := y if y := x + 1\n\n_flag := true\n\n_map[k] := v if some k, v in input.call.arguments\n"),
		"two files":          {"runlens/rules/extra/extra.rego": goodRule, "runlens/rules/extra/more.rego": goodRule},
		"helper in a folder": one("runlens/lib/net/net.rego", "package runlens.lib.net\n\nlocal if input.run.door == \"cli\"\n"),
		"README and backup":  {"README.md": "x", "runlens/README.md": "x", "runlens/decision.rego~": "x", "runlens/.decision.rego.swp": "x", "policies.go": "package policies"},
	} {
		if _, err := Load(Source{FS: with(changes), Schemas: testSchemas(t)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoadReportsEverythingAtOnce(t *testing.T) {
	changes := map[string]string{
		"runlens/limits.json":            "{}",
		"runlens/rules/extra/extra.rego": strings.Replace(goodRule, "deny contains", "dney contains", 1),
		"runlens/extra/data.json":        "[]",
	}
	maps.Copy(changes, edit(t, "runlens/rules/names/names.rego", "data.runlens.names.refused", "data.polcy.names"))
	_, err := Load(Source{FS: with(changes), Schemas: testSchemas(t)})
	matchProblems(t, err, []string{
		"load policies/runlens/extra/data.json:1:",
		"load policies/runlens/limits.json:",
		"load policies/runlens/rules/extra/extra.rego:",
		"load policies/runlens/rules/extra/extra.rego:9:",
		"load policies/runlens/rules/names/names.rego:12:",
	})
}

func TestLoadRefusesWhatIsNoTree(t *testing.T) {
	dir := t.TempDir()
	for name, text := range small() {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "runlens/rules/linked")
	if err := os.Symlink(filepath.Join(dir, "runlens/rules/names"), link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	_, err := Load(Source{FS: os.DirFS(dir), Schemas: testSchemas(t)})
	matchProblems(t, err, []string{"load policies/runlens/rules/linked: is not a regular file"})

	_, err = Load(Source{FS: fstest.MapFS{}, Schemas: testSchemas(t)})
	if err == nil || !strings.Contains(err.Error(), "load policies: holds no policies") {
		t.Errorf("empty tree: %v", err)
	}
	_, err = Load(Source{FS: os.DirFS(filepath.Join(dir, "polices")), Schemas: testSchemas(t)})
	matchProblems(t, err, []string{"load policies: cannot be read: no such file or directory"})
	_, err = Load(Source{FS: with(nil)})
	matchProblems(t, err, []string{"load schemas/data.json: is missing", "load schemas/input.json: is missing"})
	if _, err = Load(Source{}); err == nil {
		t.Error("nothing at all loads")
	}
}

func TestOverlay(t *testing.T) {
	base := with(nil)
	load := func(files map[string]string) (*Engine, error) {
		over := fstest.MapFS{}
		for name, text := range files {
			over[name] = &fstest.MapFile{Data: []byte(text)}
		}
		var fsys fs.FS = over
		return Load(Source{FS: base, Overlay: fsys, Schemas: testSchemas(t)})
	}
	e, err := load(map[string]string{
		"runlens/rules/extra/extra.rego": strings.Replace(goodRule, "code: forbidden_path", "code: extra_code", 1),
		"runlens/codes/data.json":        `{"extra_code": {"gate": "paths", "retryable": false, "remedy": "x"}}`,
		"runlens/site/data.json":         `{"blocked": ["x"]}`,
		"runlens/data.json":              `{"required": ["registry", "names"]}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(e.Codes(), func(c Code) bool { return c.Code == "extra_code" }) {
		t.Error("the overlay's code is not in the catalogue")
	}
	plain := loadWith(t, nil)
	if e.Revision() == plain.Revision() {
		t.Error("an overlay leaves the revision as it was")
	}
	refused := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{
			"decision", one("runlens/decision.rego", "package runlens\n\ndecision := 1\n"),
			"load policies/runlens/decision.rego: an overlay can only add families",
		},
		{
			"helper", one("runlens/lib/more.rego", "package runlens.lib\n\nx := 1\n"),
			"load policies/runlens/lib/more.rego: an overlay can only add families",
		},
		{
			"shipped family", one("runlens/rules/names/more.rego", strings.Replace(goodRule, "rules.extra", "rules.names", 1)),
			`load policies/runlens/rules/names/more.rego: family "names" is a shipped one`,
		},
		{
			"changed value", one("runlens/data.json", "{\n\"limits\": {\"read_bytes\": 1}}"),
			"load policies/runlens/data.json:2: data.runlens.limits.read_bytes is set by the shipped tree (an overlay can only add keys)",
		},
		{
			"key added to a shipped object", one("runlens/data.json", "{\n\"limits\": {\"more_bytes\": 1}}"),
			`load policies/runlens/data.json:2: data.runlens.limits is an object of the shipped tree, "more_bytes" cannot be added to it`,
		},
		{
			"changed list", one("runlens/data.json", `{"required": ["registry"]}`),
			"load policies/runlens/data.json:1: data.runlens.required is set by the shipped tree",
		},
		{
			"changed code", one("runlens/codes/data.json", `{"unknown_tool": {"gate": "allow"}}`),
			"load policies/runlens/codes/data.json:1: data.runlens.codes.unknown_tool.gate is set by the shipped tree",
		},
		{
			"data of a shipped family", one("runlens/rules/names/data.json", `{"x": 1}`),
			`load policies/runlens/rules/names/data.json:1: family "names" is a shipped one`,
		},
		{
			"data of lib", one("runlens/lib/data.json", `{"x": 1}`),
			"load policies/runlens/lib/data.json:1: data.runlens.lib belongs to the shipped tree",
		},
	}
	for _, test := range refused {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(test.files)
			matchProblems(t, err, []string{test.want})
		})
	}
}
