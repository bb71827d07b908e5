package golden

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

const (
	head  = "A story.\n-- call.json --\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"ws/a\"}}\n"
	tools = `{"schema_version":1,"tools":{"read_file":{"operation":"read","roots":["ws"],"max_bytes":65536}}}`
)

// TestParseProblems: each mistake is named, by the line it stands in.
func TestParseProblems(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "f/c.txtar:1: no story"},
		{"a story alone", "A story.\n", "f/c.txtar: no section says what is wanted"},
		{"no story", strings.TrimPrefix(head, "A story.\n") + "-- want --\nallow allowed\n", "f/c.txtar:1: no story"},
		{"a byte order mark", "\ufeff" + head + "-- want --\nallow allowed\n", "f/c.txtar:1: starts with a byte order mark"},
		{"UTF-16", "\xff\xfeA\x00", "f/c.txtar:1: is UTF-16"},
		{"too long", head + strings.Repeat("#\n", maxCase/2) + "-- want --\n", "f/c.txtar: longer than 4 MiB"},
		{"binary", "A story.\n-- layout --\nfile \xff\n", `f/c.txtar:3: section "layout" is not text`},
		{"NUL", head + "-- want --\nallow \x00\n", `f/c.txtar:5: section "want" is not text`},
		{"unknown section", head + "-- wants --\nallow allowed\n", `f/c.txtar:4: unknown section "wants" (did you mean "want"?`},
		{"section twice", head + "-- want --\nallow\n-- want --\ndeny\n", `f/c.txtar:6: section "want" is there twice, first in line 4`},
		{"two that want", head + "-- want --\nallow\n-- calls --\n", "f/c.txtar:6: a case has one of want, table, patches and calls"},
		{"want without call", "A story.\n-- want --\nallow\n", "f/c.txtar:2: section want needs call.json"},
		{"calls with call", head + "-- calls --\n{} => deny\n", "f/c.txtar:2: the calls of a calls section"},
		{"empty calls", "A story.\n-- calls --\n", `f/c.txtar:2: section "calls" has no rows`},
		{"comments alone", "A story.\n-- calls --\n# none\n\n", `f/c.txtar:2: section "calls" has no rows`},
		{"call without arrow", "A story.\n-- calls --\n{} deny\n", "f/c.txtar:3: row without"},
		{"arrow without call", "A story.\n-- calls --\n=> deny\n", "f/c.txtar:3: row without"},
		{"verdict", head + "-- want --\n\ndney x\n", `unknown verdict "dney" (did you mean "deny"?)`},
		{"table without path", head + "-- table --\n\"a\" deny\n", `f/c.txtar:2: call.json of a table names no "$PATH"`},
		{"row of a table", strings.Replace(head, "ws/a", "$PATH", 1) + "-- table --\nws/a deny\n", "f/c.txtar:5: row of a table: no JSON string"},
		{"times nothing", strings.Replace(head, "ws/a", "$PATH", 1) + "-- table --\n\"a\"*x deny\n", "f/c.txtar:5: row of a table: no number"},
		{"times too much", strings.Replace(head, "ws/a", "$PATH", 1) + "-- table --\n\"a\"*999999999 deny\n", "f/c.txtar:5: row of a table: the path is longer"},
		{"manifests", head + "-- tools.json --\n{}\n-- tools.yaml --\n{}\n-- want --\nallow\n", "f/c.txtar:6: a case has tools.json or tools.yaml"},
		{"empty manifest", head + "-- tools.json --\n-- want --\nallow\n", `f/c.txtar:4: section "tools.json" is empty`},
		{"door", head + "-- door --\nclii\n-- want --\nallow\n", `f/c.txtar:4: unknown door "clii" (did you mean "cli"?)`},
		{"layout", head + "-- layout --\nlink a b\n-- want --\nallow\n", "f/c.txtar:5: layout: want link NAME -> TARGET"},
		{"layout out", head + "-- layout --\nfile ../../x\n-- want --\nallow\n", `f/c.txtar:5: layout: "../../x": only the project`},
		{"layout absolute", head + "-- layout --\nfile /x\n-- want --\nallow\n", `f/c.txtar:5: layout: "/x": names count from the project`},
		{"hard link out", head + "-- layout --\nhard a -> ../../x\n-- want --\nallow\n", `f/c.txtar:5: layout: "../../x": only`},
		{"layout string", head + "-- layout --\nfile \"a\n-- want --\nallow\n", "f/c.txtar:5: layout: "},
		{"layout mode", head + "-- layout --\nmode a 7777\n-- want --\nallow\n", "f/c.txtar:5: layout: want mode NAME BITS"},
		{"file out", head + "-- ../../x --\n-- want --\nallow\n", `f/c.txtar:4: section "../../x": only the project`},
		{"events", head + "-- events --\nrun_started\n-- want --\nallow\n", "f/c.txtar:5: events: want TYPE JSON"},
		{"events with calls", "A story.\n-- events --\nx {}\n-- calls --\n{} => deny\n", "f/c.txtar:2: section \"events\" goes with a want section"},
		{"ledger with patches", head + "-- patches --\na: => deny\n-- ledger --\nx\n", "f/c.txtar:6: section \"ledger\" goes with a want section"},
		{"facts", head + "-- facts --\n/a: 1\n-- want --\nallow\n", "f/c.txtar:5: facts: want /POINTER = JSON value"},
		{"facts pointer", head + "-- facts --\n/a~2 = 1\n-- want --\nallow\n", `f/c.txtar:5: facts: pointer "/a~2" has "~"`},
		{"patch twice", head + "-- patches --\na: => deny\na: => deny\n", `f/c.txtar:6: patch "a" is there twice`},
		{"patch without name", head + "-- patches --\n/a = 1 => deny\n", "f/c.txtar:5: row of patches: want NAME"},
		{"patch without arrow", head + "-- patches --\na: /id = 1 deny\n", `f/c.txtar:5: patch "a": want ";"`},
		{"patch without value", head + "-- patches --\na: /id = => deny\n", `f/c.txtar:5: patch "a": "/id": no JSON value`},
		{"patch of nothing", head + "-- patches --\na: /x/y = 1 => deny\n", `f/c.txtar:5: patch "a": "/x/y": the call has no "x" there`},
		{"patch below a string", head + "-- patches --\na: /name/y = 1 => deny\n", `f/c.txtar:5: patch "a": "/name/y": nothing lies below`},
		{"patch of no object", "A story.\n-- call.json --\n[1]\n-- patches --\na: => deny\n", "f/c.txtar:2: patches need a call"},
		{"patch of a key twice", "A story.\n-- call.json --\n{\"a\":1,\"a\":2}\n-- patches --\na: => deny\n", "f/c.txtar:2: patches need a call"},
	} {
		c, err := Parse("f/c.txtar", []byte(test.text))
		found, ok := errors.AsType[*Problems](err)
		if !ok || c != nil {
			t.Errorf("%s: %v, want problems", test.name, err)
			continue
		}
		if !strings.Contains(found.Error(), test.want) {
			t.Errorf("%s\n got  %v\n want %s", test.name, found, test.want)
		}
	}
}

// env judges by the shipped policies.
func env(t *testing.T) Env {
	t.Helper()
	e, err := engine.Load(engine.Source{FS: policies.FS, Schemas: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	return Env{
		Engine: e, Manifest: []manifest.Source{{Name: "tools.json", Data: []byte(tools)}},
		Handlers: handlers.Builtin(), TempDir: t.TempDir(), Log: t.Logf,
	}
}

func parsed(t *testing.T, text string) *Case {
	t.Helper()
	c, err := Parse("f/c.txtar", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// left fails for whatever is still in the directory that cases were laid out in.
func left(t *testing.T, env Env) {
	t.Helper()
	list, err := os.ReadDir(env.TempDir)
	if err != nil || len(list) > 0 {
		t.Errorf("left behind: %v %v", list, err)
	}
}

// TestPatches: what the patches make of the call.
func TestPatches(t *testing.T) {
	c := parsed(t, `A story.
-- call.json --
{"name": "t", "arguments": {"list": [1, {"a b": 1.50}], "x~/y": null, "big": 12345678901234567890}}
-- patches --
same: => allow
value: /arguments/list/0 = {"k":"; => "} => allow
two: /arguments/list/- = 2; /arguments/big removed => allow
escaped: /arguments/x~0~1y = true=> allow
spaces: "/arguments/list/1/a b" removed => allow
new: /arguments/n = "<&>" => allow
first: /arguments/list/0 removed; /arguments/list/0 removed => allow
`)
	for i, want := range []string{
		`{"name": "t", "arguments": {"list": [1, {"a b": 1.50}], "x~/y": null, "big": 12345678901234567890}}` + "\n",
		`{"arguments":{"big":12345678901234567890,"list":[{"k":"; => "},{"a b":1.50}],"x~/y":null},"name":"t"}`,
		`{"arguments":{"list":[1,{"a b":1.50},2],"x~/y":null},"name":"t"}`,
		`{"arguments":{"big":12345678901234567890,"list":[1,{"a b":1.50}],"x~/y":true},"name":"t"}`,
		`{"arguments":{"big":12345678901234567890,"list":[1,{}],"x~/y":null},"name":"t"}`,
		`{"arguments":{"big":12345678901234567890,"list":[1,{"a b":1.50}],"n":"<&>","x~/y":null},"name":"t"}`,
		`{"arguments":{"big":12345678901234567890,"list":[],"x~/y":null},"name":"t"}`,
	} {
		if r := c.Rows[i]; r.Call != want || r.Want != "allow" || r.Line != 5+i {
			t.Errorf("%s (line %d)\n got  %s\n want %s", r.Name, r.Line, r.Call, want)
		}
	}
}

// TestUpdate: what is wanted is written, and every other byte stays.
func TestUpdate(t *testing.T) {
	e := env(t)
	for name, test := range map[string][2]string{
		"a want section": {
			"A story.\n-- ws/a --\nx\n" + head[len("A story.\n"):] + "-- want --\n# first\ndeny outside_roots\n\n# last\n-- door --\ncli\n",
			"A story.\n-- ws/a --\nx\n" + head[len("A story.\n"):] + "-- want --\n# first\nallow allowed\npath = \"ws/a\"\n\n# last\n-- door --\ncli\n",
		},
		"an empty one at the end": {
			head + "-- want --", head + "-- want --\ndeny not_found:parent\n",
		},
		"too many lines": {
			head + "-- want --\nallow allowed\npath = \"ws/a\"", head + "-- want --\ndeny not_found:parent\n",
		},
		"lines that end in CR LF": {
			strings.ReplaceAll(head, "\n", "\r\n") + "-- want --\r\nallow allowed\r\n# end\r\n",
			strings.ReplaceAll(head, "\n", "\r\n") + "-- want --\r\ndeny not_found:parent\r\n# end\r\n",
		},
		"rows": {
			"A story.\n-- calls --\n\t{\"name\":\"x\",\"arguments\":{}}  =>  allow  allowed  \r\n#\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"ws/a\"}} => deny not_found:parent\n[] =>",
			"A story.\n-- calls --\n\t{\"name\":\"x\",\"arguments\":{}}  =>  deny unknown_tool\r\n#\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"ws/a\"}} => deny not_found:parent\n[] => deny malformed_call",
		},
		"a row as it is wanted, spaced": {
			"A story.\n-- ws/a  b --\n" + strings.Replace(head, "ws/a", "$PATH", 1)[len("A story.\n"):] + "-- table --\n\"ws/a  b\"   allow   allowed   \"ws/a  b\"  \n",
			"A story.\n-- ws/a  b --\n" + strings.Replace(head, "ws/a", "$PATH", 1)[len("A story.\n"):] + "-- table --\n\"ws/a  b\"   allow   allowed   \"ws/a  b\"  \n",
		},
		"a patch": {
			head + "-- patches --\n  gone: /arguments removed   =>   allow allowed\n",
			head + "-- patches --\n  gone: /arguments removed   =>   deny malformed_call\n",
		},
		"a ledger": {
			head + "-- want --\ndeny not_found:parent\n-- ledger --\n# the run\nrun_started\n",
			head + "-- want --\ndeny not_found:parent\n-- ledger --\n# the run\nrun_started\nmodel_proposed\ntool_denied not_found \".\"\n",
		},
	} {
		c := parsed(t, test[0])
		judged, err := c.Judge(t.Context(), e)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.HasLedger() {
			recorded, err := c.Record(t.Context(), e)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			judged = append(judged, *recorded)
		}
		got := c.Update(judged)
		if string(got) != test[1] {
			t.Errorf("%s\n got  %q\n want %q", name, got, test[1])
		}
		// What has been written is what is wanted.
		again, err := parsed(t, string(got)).Judge(t.Context(), e)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, j := range again {
			if !j.AsWanted() {
				t.Errorf("%s: after the update: got %s, want %s", name, j.Got, j.Want)
			}
		}
	}
	left(t, e)
}

// TestJudgeProblems are those that show when the case is laid out.
func TestJudgeProblems(t *testing.T) {
	e := env(t)
	for name, test := range map[string][2]string{
		"a file in the way":     {head + "-- layout --\nfile ws\nfile ws/a\n-- want --\nallow\n", `f/c.txtar:6: lay out "file ws/a"`},
		"a link out":            {head + "-- layout --\nlink ws/up -> ../../..\nfile ws/up/evil\n-- want --\nallow\n", `f/c.txtar:6: lay out "file ws/up/evil"`},
		"a hard link out":       {head + "-- layout --\nlink ws/up -> /etc\nhard ws/b -> ws/up/passwd\n-- want --\nallow\n", `f/c.txtar:6: lay out`},
		"a mode out":            {head + "-- layout --\nlink ws/up -> /etc\nmode ws/up/passwd 777\n-- want --\nallow\n", `f/c.txtar:6: lay out`},
		"a fact that is not":    {head + "-- facts --\n/run/read_onli = true\n-- want --\nallow\n", `f/c.txtar:4: facts: /run/read_onli: no fact "read_onli" (did you mean "read_only"?)`},
		"a fact of a call":      {"A story.\n-- facts --\n/run/read_only = true\n-- calls --\n[] => deny\n", "f/c.txtar:2: the call does not reach policy"},
		"a manifest":            {head + "-- tools.json --\n{\"schema_version\":1,\n\"tolls\":{}}\n-- want --\nallow\n", `f/c.txtar:6: tools.json: `},
		"events that can't be":  {head + "-- events --\ntool_started {}\n-- want --\nallow\n", "f/c.txtar:5: events: "},
		"events of no call":     {"A story.\n-- call.json --\n[]\n-- events --\nx {}\n-- want --\ndeny\n", "f/c.txtar:2: events need a call"},
		"a policy to be judged": {head + "-- tools.json --\n{\"schema_version\":1,\"tools\":{\"w\":{\"operation\":\"write\",\"roots\":[\"policies\"]}}}\n-- layout --\ndir policies/runlens\n-- want --\nallow\n", "policy_writable"},
	} {
		_, err := parsed(t, test[0]).Judge(t.Context(), e)
		found, ok := errors.AsType[*Problems](err)
		if !ok || !strings.Contains(found.Error(), test[1]) {
			t.Errorf("%s\n got  %v\n want %s", name, err, test[1])
		}
	}
	none := e
	none.Manifest = nil
	if _, err := parsed(t, head+"-- want --\nallow\n").Judge(t.Context(), none); err == nil || !strings.Contains(err.Error(), "the case has no manifest") {
		t.Errorf("no manifest: %v", err)
	}
	left(t, e)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := parsed(t, head+"-- want --\nallow\n").Judge(ended, e); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	left(t, e)
}

// TestClosed: what nobody may look into is removed, too.
func TestClosed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	dir := t.TempDir()
	p, err := Make(dir, "file ws/closed/in/f ../closed/f", "mode ws/closed/in 000", "mode ws/closed 000", "mode ../closed 000")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	left(t, Env{TempDir: dir})
}

// TestCheckCodes: a code that is in no catalogue is named by its line.
func TestCheckCodes(t *testing.T) {
	e := env(t).Engine
	c := parsed(t, head+"-- want --\n# why\ndeny outside_roots not_found:name(ledger) outsider_roots\npath = \"ws/x\"\n")
	err := c.CheckCodes(e)
	if want := `read f/c.txtar:6: no rule can emit code "outsider_roots" (did you mean "outside_roots"?)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := parsed(t, "A story.\n-- calls --\n[] => deny malformed_call\n{} => allow allowed \"no_code\"\n").CheckCodes(e); err != nil {
		t.Error(err)
	}
}

// TestFind: cases in order, and whatever is none named.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/two.txtar", "b/one.txtar", "a/x.txtar", "README.md", "go_test.go", ".git/x", "a/.x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Find(dir)
	var shown []string
	for _, name := range files {
		shown = append(shown, filepath.ToSlash(strings.TrimPrefix(name, dir)))
	}
	if got := strings.Join(shown, " "); err != nil || got != "/a/x.txtar /b/one.txtar /b/two.txtar" {
		t.Errorf("%s, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b", "three.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	files, err = Find(dir)
	if found, ok := errors.AsType[*Problems](err); len(files) != 3 || !ok || len(found.List) != 1 || found.List[0].File != filepath.Join(dir, "b", "three.txt") {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// FuzzParse: no text makes Parse panic, and a case that it takes comes out of an
// update that changes nothing byte for byte.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		head + "-- want --\nallow allowed\npath = \"ws/a\"\n",
		strings.Replace(head, "ws/a", "$PATH", 1) + "-- table --\n\"a\"*3+\"b\" deny x\n",
		head + "-- patches --\na: /arguments/path = 1; /id removed => deny x\n",
		"A story.\n-- calls --\n{} => deny x\n-- layout --\nlink a -> b\nmode a 000\nfile \"\\xff\"\n-- facts --\n/a/0 = 1\n",
		head + "-- events --\nx {}\n-- want --\n-- ledger --\nx\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f/c.txtar", data)
		if err != nil {
			if _, ok := errors.AsType[*Problems](err); !ok {
				t.Errorf("%T %v", err, err)
			}
			return
		}
		var same, other []Judged
		for i := range c.Rows {
			same = append(same, Judged{Row: i, Got: c.Rows[i].Want, Want: c.Rows[i].Want})
			other = append(other, Judged{Row: i, Got: "deny other_code", Want: c.Rows[i].Want})
		}
		if got := c.Update(same); !bytes.Equal(got, data) {
			t.Errorf("%q becomes %q", data, got)
		}
		again, err := Parse("f/c.txtar", c.Update(other))
		if err != nil {
			t.Fatalf("the update of %q: %v", data, err)
		}
		for i := range again.Rows {
			if again.Rows[i].Want != "deny other_code" || again.Rows[i].Call != c.Rows[i].Call {
				t.Errorf("row %d of %q: %+v", i, data, again.Rows[i])
			}
		}
	})
}
