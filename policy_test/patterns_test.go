package policy_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/policies"
)

// TestPatternsAndPaths holds how patterns over paths go wrong, and that a rule
// here meets no path as text: containment is decided on canonical paths, names
// on folded segments.
//
// Not here: P64 and P65 in full (fetch is not supported yet: the case
// operation/fetch). P67's memory (a pattern made of input is evaluated with a
// bounded cache inside OPA; a gate shows only that a bad one denies).
func TestPatternsAndPaths(t *testing.T) {
	t.Run("P59 P60 globs with their own idea of a separator", func(t *testing.T) {
		// The shipped rules use neither globs nor patterns, but for those of the
		// manifest's own commands, which it anchors at both ends.
		err := fs.WalkDir(policies.FS, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".rego") {
				return err
			}
			text, err := fs.ReadFile(policies.FS, name)
			if name == "runlens/lib/command.rego" {
				own := "regex.match(part.pattern, _given(index))"
				if strings.Count(string(text), own) != 1 {
					t.Errorf("%s does not hold %s once", name, own)
				}
				text = []byte(strings.Replace(string(text), own, "", 1))
			}
			for _, word := range []string{"glob.", "regex."} {
				if strings.Contains(string(text), word) {
					t.Errorf("%s uses %s", name, word)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		// A site's glob that cannot be is trouble, not silence.
		open(t, withSite(t, denyIf("x", `glob.match("[", [], input.call.arguments.s)`)), free).answers(t, map[string]string{think(`{"s":"a"}`): "deny policy_error"})
		open(t, withSite(t, denyIf("x", `glob.match("a::*", ["::"], input.call.arguments.s)`)), free).answers(t, map[string]string{think(`{"s":"a::b"}`): "deny policy_error"})
	})
	t.Run("P61 a rule never meets a dot, an empty name or a way back", func(t *testing.T) {
		g := open(t, withSite(t, denyIf("inside", `glob.match("**/ws/**", ["/"], input.targets[_].path)`)), reads, "file ws/f.txt ws/d/f.txt other.txt")
		for path, want := range map[string]string{
			"ws/f.txt":                       "ws f.txt",
			"ws//d/./f.txt":                  "ws d f.txt",
			"ws/d/../f.txt":                  "ws f.txt",
			"ws/d/..":                        "ws",
			"ws/../other.txt":                "other.txt",
			"ws/../../project/ws/d/../f.txt": "ws f.txt",
		} {
			out := g.ask(t, read(path))
			target := out.Input.Targets[0]
			if got := strings.Join(target.Segments, " "); got != want {
				t.Errorf("%s: segments %q, want %q", path, got, want)
			}
			if strings.Contains(target.Path+"/", "/../") || strings.Contains(target.Path, "//") || strings.Contains(target.Path, "/./") {
				t.Errorf("%s: path %q", path, target.Path)
			}
		}
		g.answers(t, map[string]string{
			read("ws/../other.txt"):                       "deny outside_roots",
			read("ws/../../../../../../../../etc/passwd"): "deny outside_roots",
			read("ws/d/../f.txt"):                         "deny site_refused",
		})
	})
	t.Run("P63 suffixes", func(t *testing.T) {
		g := open(t, withSite(t, denyIf("key", "some name in input.targets[_].folded\n\tendswith(name, \".pem\")")), reads,
			`file ws/k.pem ws/K2.PEM "ws/k3.pem " "ws/k4.pem." ws/k5.pem:s ws/k6.ｐｅｍ`, "link ws/notes -> k.pem", "dir ws/d.pem", "file ws/d.pem/x ws/pem.txt")
		g.answers(t, map[string]string{
			read("ws/k.pem"):           "deny site_refused",
			read("ws/K2.PEM"):          "deny site_refused",
			read("ws/k.pem/"):          "deny site_refused not_a_directory",
			read("ws/k3.pem "):         "deny site_refused invalid_path:trailing_dot_space",
			read("ws/k4.pem."):         "deny site_refused invalid_path:trailing_dot_space",
			read("ws/k5.pem:s"):        "deny site_refused invalid_path:stream_name",
			read("ws/k6.ｐｅｍ"):          "deny site_refused",
			read("ws/notes"):           "deny site_refused",
			read("ws/d.pem/x"):         "deny site_refused",
			read("ws/pem.txt"):         "allow allowed",
			read(`ws/k.pem\u0000.txt`): "deny invalid_path:nul outside_roots",
		})
	})
	t.Run("P65 addresses that are none", func(t *testing.T) {
		g := open(t, withSite(t, denyIf("ip", `net.cidr_contains("10.0.0.0/8", input.call.arguments.ip)`)), free)
		g.answers(t, map[string]string{
			think(`{"ip":"10.1.2.3"}`):        "deny site_refused",
			think(`{"ip":"010.1.2.3"}`):       "deny policy_error",
			think(`{"ip":"2130706433"}`):      "deny policy_error",
			think(`{"ip":"fe80::1%eth0"}`):    "deny policy_error",
			think(`{"ip":"::ffff:10.1.2.3"}`): "deny site_refused",
			think(`{"ip":"11.1.2.3"}`):        "allow allowed",
		})
	})
	t.Run("P67 P68 patterns and offsets made of input", func(t *testing.T) {
		open(t, withSite(t, denyIf("p", "regex.match(input.call.arguments.p, input.call.tool)")), free).answers(t, map[string]string{
			think(`{"p":"^th"}`): "deny site_refused",
			think(`{"p":"("}`):   "deny policy_error",
		})
		open(t, withSite(t, denyIf("s", `substring(input.call.tool, input.call.arguments.at, 1) == "t"`)), free).answers(t, map[string]string{
			think(`{"at":0}`):                   "deny site_refused",
			think(`{"at":9223372036854775807}`): "allow allowed",
			think(`{"at":-1}`):                  "deny policy_error",
			think(`{"at":0.5}`):                 "deny policy_error",
		})
	})
}

// TestRulesApply holds the ways in which deny rules of other agents did not
// apply: spelt for another place, dropped beside a broken one, void by a
// trailing slash.
func TestRulesApply(t *testing.T) {
	t.Run("a root spelt in another way is the same root", func(t *testing.T) {
		for _, root := range []string{"ws", "ws/", "./ws", "ws/.", "ws//", "x/../ws"} {
			tools := strings.Replace(reads, `"ws"`, `"`+root+`"`, 1)
			set, err := loadTools(tools)
			if err != nil {
				if !strings.Contains(err.Error(), "tools.json:1") {
					t.Errorf("root %s: %v", root, err)
				}
				continue // refused at load is no inert rule
			}
			_ = set
			open(t, shipped(t), tools, "file ws/f.txt ws-copy/s.txt x/f.txt").answers(t, map[string]string{
				read("ws/f.txt"):      "allow allowed",
				read("ws-copy/s.txt"): "deny outside_roots",
				read("x/f.txt"):       "deny outside_roots",
			})
		}
	})
	t.Run("a root is anchored, not found at any depth", func(t *testing.T) {
		open(t, shipped(t), reads, "file ws/f.txt x/ws/f.txt").answers(t, map[string]string{read("x/ws/f.txt"): "deny outside_roots"})
	})
	t.Run("a root that is a link, and one outside the project", func(t *testing.T) {
		open(t, shipped(t), reads, "file real/f.txt other/f.txt", "link ws -> real").answers(t, map[string]string{
			read("ws/f.txt"):               "allow allowed",
			read("real/f.txt"):             "allow allowed",
			read("ws/../other/f.txt"):      "deny outside_roots",
			read("ws/../real/../ws/f.txt"): "allow allowed",
		})
	})
	t.Run("an environment file anywhere in a root elsewhere", func(t *testing.T) {
		tools := `{"schema_version":1,"tools":{"read_file":{"operation":"read","roots":["$BESIDE/lib"],"absolute":true,"max_bytes":65536}}}`
		open(t, shipped(t), tools, "file ../lib/a/.env ../lib/a/f.txt").answers(t, map[string]string{
			read("../lib/a/f.txt"):      "allow allowed",
			read("../lib/a/.env"):       "deny forbidden_path",
			read("$BESIDE/lib/a/.env"):  "deny forbidden_path",
			read("$BESIDE/lib/a/f.txt"): "allow allowed",
			read("$BESIDE/libs/f.txt"):  "deny outside_roots not_found:parent(ledger)",
		})
	})
	t.Run("one broken rule among ten refuses the tree and is named", func(t *testing.T) {
		rules := []string{}
		for _, n := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
			rules = append(rules, n, `input.call.tool == "`+n+`"`)
		}
		refuses(t, overlay(map[string]string{siteRule: denyIf(append(rules, "j", "input.call.tol == \"j\"")...)}),
			"load policies/runlens/rules/site/site.rego:82: undefined ref: input.call.tol")
	})
	t.Run("a policy of one deny", func(t *testing.T) {
		open(t, withSite(t, denyIf("x", `input.call.tool == "read_file"`)), reads, "file ws/f.txt").answers(t, map[string]string{read("ws/f.txt"): "deny site_refused"})
	})
	t.Run("each entry of a listing is judged as if it had been asked for", func(t *testing.T) {
		tools := `{"schema_version":1,"tools":{"list_files":{"operation":"list","roots":["."]}}}`
		g := open(t, shipped(t), tools, "file d/a.txt d/.env d/.env.example d/b.ENV", "link d/out -> /etc/passwd", "fifo d/pipe", "file d/runs/x")
		r := g.x.Exec(t.Context(), []byte(`{"name":"list_files","arguments":{"path":"d"}}`), "listing")
		var names []string
		entries, _ := r.Output["entries"].([]any)
		for _, e := range entries {
			if entry, ok := e.(map[string]any); ok {
				name, _ := entry["name"].(string)
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != ".env.example a.txt runs" {
			t.Errorf("%s: %q of %v", r.Status, got, r.Output)
		}
	})
}
