package manifest

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

// executing is an execute tool with these commands and other keys, in the form
// of tool: the first command stands in line 4.
func executing(commands string, more ...string) string {
	return tool("t", strings.Join(append([]string{`"operation":"execute","commands":[` + "\n" + commands + `]`}, more...), ",\n"))
}

// holdRefusals loads each file, which must refuse with exactly these lines; that
// of the file is put before each.
func holdRefusals(t *testing.T, cases []struct{ name, data, want string }) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := refusals(t, Source{Name: "tools.json", Data: []byte(c.data)})
			want := strings.Split(c.want, "\n")
			for i := range want {
				line, message, _ := strings.Cut(want[i], ": ")
				want[i] = "load tools.json:" + line + `: tool "t": ` + message
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestPatterns(t *testing.T) {
	got := load(t, "tools.json", executing(`
		["make"],
		["python3","-m","unittest",{"arg":"path","root":"runs/{run_id}/artifacts/tests"}],
		["fmt",{"arg":"mode","values":["-w","a b"]},{"arg":"path","root":"./out","access":"write"}],
		["go",{"arg":"name","pattern":"a|b"},"--",{"arg":"rest","pattern":".+"}]`,
		`"roots":["out",{"path":"runs/{run_id}/artifacts","access":["read"]}]`)).Tools["t"]
	if want := [][]string{{"make"}}; !reflect.DeepEqual(got.Commands, want) {
		t.Errorf("commands %q, want %q", got.Commands, want)
	}
	word := func(s string) facts.Part { return facts.Part{Kind: "word", Word: s} }
	want := [][]facts.Part{
		{word("python3"), word("-m"), word("unittest"), {Kind: "path", Arg: "path", Root: "runs/{run_id}/artifacts/tests", Access: "read"}},
		{word("fmt"), {Kind: "choice", Arg: "mode", Values: []string{"-w", "a b"}}, {Kind: "path", Arg: "path", Root: "./out", Access: "write"}},
		{word("go"), {Kind: "text", Arg: "name", Pattern: "^(?:a|b)$"}, word("--"), {Kind: "text", Arg: "rest", Pattern: "^(?:.+)$"}},
	}
	if !reflect.DeepEqual(got.Patterns, want) {
		t.Errorf("patterns\n%+v, want\n%+v", got.Patterns, want)
	}
}

// TestDefaultRootsTakePaths: a path may lie in a root that nobody wrote down.
func TestDefaultRootsTakePaths(t *testing.T) {
	load(t, "tools.json", executing(`["a",{"arg":"x","root":"data/tests"},{"arg":"y","root":"runs/{run_id}/artifacts"}]`))
	load(t, "tools.json", executing(`["a",{"arg":"x","root":"/srv/x"}]`, `"absolute":true,"roots":["/srv"]`))
}

func TestCommandRefusals(t *testing.T) {
	arg := func(s string) string { return executing(`["a",{"arg":"x",` + s + `}]`) }
	holdRefusals(t, []struct{ name, data, want string }{
		{"program filled in", executing(`[{"arg":"x","values":["ls"]}]`), `4: the program of a command must be a string: a call must not choose it (write it out)`},
		{"part null", executing(`["a",null]`), `4: a part of a command must be a string or an object, not null`},
		{"unknown key", arg(`"rot":"data"`), `4: argument: unknown key "rot" (did you mean "root"?)`},
		{"key of another thing", arg(`"template":"data/{x}"`), `4: argument: unknown key "template"`},
		{"no name", executing(`["a",` + "\n" + `{"root":"data"}]`), `5: an argument's arg is missing (add "arg": its name)`},
		{"name number", executing(`["a",{"arg":1,"root":"data"}]`), `4: arg must be a string, not a number`},
		{"name empty", executing(`["a",{"arg":"","root":"data"}]`), `4: bad argument name "" (a letter or _, then letters, digits, _, at most 64 in all)`},
		{"name with a dash", executing(`["a",{"arg":"x-y","root":"data"}]`), `4: bad argument name "x-y" (a letter or _, then letters, digits, _, at most 64 in all)`},
		{"name argv", executing(`["a",{"arg":"argv","root":"data"}]`), `4: an argument is named "argv", which is the whole command (choose another name)`},
		{"name twice", executing(`["a",{"arg":"x","root":"data"},` + "\n" + `{"arg":"x","pattern":"b"}]`), `5: a command has two arguments named "x" (choose another name)`},
		{"names but for case", executing(`["a",{"arg":"p","root":"data"},` + "\n" + `{"arg":"P","pattern":"b"}]`), `5: a command has arguments named "p" and "P", which differ only in case (choose another name)`},
		{"name argv but for case", executing(`["a",` + "\n" + `{"arg":"ArgV","root":"data"}]`), `5: an argument is named "ArgV", which differs only in case from "argv", the whole command (choose another name)`},
		{"a payload of that name but for case", executing(`["c"],`+"\n"+`["a",{"arg":"x","root":"data"}]`, `"payload":["X"]`), `5: argument "x": a target or payload is named "X", which differs only in case (choose another name)`},
		{"a target of that name but for case", executing(`["a",{"arg":"x","root":"data"}]`, `"targets":[{"param":"X","access":"read"}]`), `4: argument "x": a target or payload is named "X", which differs only in case (choose another name)`},
		{"targets but for case", executing(`["a"]`, `"targets":[{"param":"p","access":"read"},{"param":"P","access":"read"}]`), `5: parameters "p" and "P" differ only in case (choose another name)`},
		{"a payload and a target but for case", executing(`["a"]`, `"targets":[{"param":"p","access":"read"}]`, `"payload":["P"]`), `6: parameters "p" and "P" differ only in case (choose another name)`},
		{"a payload named argv but for case", executing(`["a"]`, `"payload":["ARGV"]`), `5: parameters "ARGV" and "argv" differ only in case (choose another name)`},
		{"nothing said", executing(`["a",` + "\n" + `{"arg":"x"}]`), `5: argument "x": nothing says what it may be (add "root" for a path, "values" or "pattern")`},
		{"two things said", arg(`"root":"data","pattern":"b"`), `4: argument "x": root and pattern are both set (keep one)`},
		{"the same twice", executing(`["a",{"arg":"x","pattern":"b"}],` + "\n" + `["a",{"pattern":"b","arg":"x"}]`), `5: commands holds the same command twice`},
		{"the same path twice", executing(`["a",{"arg":"x","root":"data"}],` + "\n" + `["a",{"arg":"x","access":"read","root":"data"}]`), `5: commands holds the same command twice`},

		// paths
		{"root number", arg(`"root":1`), `4: argument "x": root must be a string, not a number`},
		{"root empty", arg(`"root":""`), `4: argument "x": root "" is empty ("." is the project)`},
		{"root ..", arg(`"root":"data/../.."`), `4: argument "x": root "data/../.." holds ".."`},
		{"root pattern", arg(`"root":"data/*"`), `4: argument "x": root "data/*" is a pattern (a root is a directory; everything below it is inside)`},
		{"root placeholder", arg(`"root":"runs/{run}"`), `4: argument "x": root "runs/{run}" has a placeholder other than {run_id}`},
		{"root absolute", arg(`"root":"/srv"`), `4: argument "x": root "/srv" is absolute (add "absolute": true, or name it from the project directory)`},
		{"root beside the tool's", arg(`"root":"database"`), `4: argument "x": root "database" lies in none of the tool's roots for access "read" (add {"path": "database", "access": ["read"]} to roots)`},
		{"root above the tool's", arg(`"root":"."`), `4: argument "x": root "." lies in none of the tool's roots for access "read" (add {"path": ".", "access": ["read"]} to roots)`},
		{"root of another run", arg(`"root":"runs/r/artifacts"`), `4: argument "x": root "runs/r/artifacts" lies in none of the tool's roots for access "read" (add {"path": "runs/r/artifacts", "access": ["read"]} to roots)`},
		{"root for reading alone", executing(`["a"],` + "\n" + `["a",{"arg":"x","root":"data","access":"write"}]`), `5: argument "x": root "data" lies in none of the tool's roots for access "write" (add {"path": "data", "access": ["write"]} to roots)`},
		{"access list", arg(`"root":"data","access":"list"`), `4: argument "x": unknown access "list" (known: read, write)`},
		{"access of text", arg(`"pattern":"b",` + "\n" + `"access":"read"`), `5: argument "x": access is for an argument with root (leave it out)`},
		{"a target of that name", executing(`["a",{"arg":"x","root":"data"}]`, `"targets":[{"param":"x","access":"read"}]`), `4: argument "x": a target or payload has the same name (choose another name)`},
		{"a payload of that name", executing(`["a",{"arg":"x","root":"data"}]`, `"payload":["x"]`), `4: argument "x": a target or payload has the same name (choose another name)`},

		// values
		{"values text", arg(`"values":"b"`), `4: argument "x": values must be a list, not a string`},
		{"values empty", arg(`"values":[]`), `4: argument "x": values is empty, so nothing would fit`},
		{"a value empty", arg(`"values":["b",""]`), `4: argument "x": an item of values is empty`},
		{"a value twice", arg(`"values":["b","b"]`), `4: argument "x": values names "b" twice`},
		{"a value with NUL", arg(`"values":["b\u0000"]`), `4: argument "x": an item of values holds NUL`},
		{"a value number", arg(`"values":[1]`), `4: argument "x": an item of values must be a string, not a number`},

		// input schemas of the manifest's own
		{"neither argv nor names", executing(`["a",{"arg":"x","values":["b"]},{"arg":"y","values":["b"]}]`, `"input_schema":{"type":"object","properties":{"x":{"type":"string"}}}`), `5: input_schema has neither argv nor argument "y" of the command (add it with "type": "string", or add argv)`},
		{"name that is no string", executing(`["a",{"arg":"x","values":["1"]}]`, `"input_schema":{"type":"object","properties":{"x":{"type":"integer"},"argv":{"type":"array"}}}`), `5: argument "x" is not declared as a string in input_schema (its schema must say "type": "string")`},
		{"no argv to choose by", executing(`["a",{"arg":"x","values":["b"]}],["c"]`, `"input_schema":{"type":"object","properties":{"x":{"type":"string"}}}`), `5: input_schema has no argv to choose one of the commands`},
	})
}

// TestPatternTrouble: what an expression takes beyond what its author can have
// meant refuses to load.
func TestPatternTrouble(t *testing.T) {
	const (
		fine   = ""
		option = `takes what begins with "-", which programs read as an option`
		empty  = "takes the empty string"
		lines  = "is matched line by line, so that one line of many would do"
		open   = "does not end where it seems to"
	)
	for expr, want := range map[string]string{
		"a|b": fine, "^a|b$": fine, "(?i)a+": fine, "(?s)a.+": fine, "[a-z][a-z-]*": fine, `\w+`: fine, `[^-].*`: fine,
		"--level=[0-9]+": fine, "--?[0-9]+": fine, "--fix|--check": fine, "-.+": fine, "(?i)-A|[-]b": fine, "-*-a": fine, "(?:-a|--b)[-c]": fine, "-v{1,3}": fine, `\Q-a.b\E`: fine, `\x2d+a`: fine,
		"a(?:-a|b)[-c]": fine, "[+,.]a": fine, `\bb.*`: fine, "[!-~]{0}a": fine, "[^\\x00-\\x{10FFFF}]|a": fine,

		".+": option, ".*a": option, "[a-z-]+": option, "[!-~]+": option, "[^/]+": option, `\S+`: option, `\W+`: option, "(?s).+": option,
		"a?[b-]+": option, "(?:a|[b-])c": option, "a|[b-]": option, "(?:[-+]a){2}": option, "^[-+][0-9]": option, `\B.a`: option,
		"(?:a|b?)[-c]": option, "(a*)(.)": option, "[a-z-]{0,3}x": option, "(?:a?){2}[-b]": option, "a{0,2}[b-]": option,

		"[a-z]*-[a-z]+": option, "[a-z]?-rf": option, "a?-": option, "-?[0-9]+": option, "(?:-a|b)[-c]": option, "a|-b": option, "(?:a|)(-)": option, "a*(?:b*(?:-|c))": option,
		"(?i)a?-B": option, `\b-|a`: option, `a*$-|^b?(?:^-c)`: option, `[a-z]*\Q-rf\E`: option, `\Qa\E?-`: option, "(?:a{0,2}-)+": option, "(?:a?){2}-b": option, "--fix|check": option, "[-a]": option, "(?:-|[^-])x": option, "(?:a{0}|b)-|-?a": option,

		"": empty, "a*": empty, "a?": empty, "a|": empty, ".*": empty, "(?:)": empty, "a{0,2}": empty, "$": empty,

		"(?m)^a$": lines, "(?m:a$)": lines, "(?im)a|^b": lines,

		`\Qa`: open, `\Qa)|(?:b`: open, `a\Q`: open,

		"(": `is no regular expression: missing closing ) "("`, "a)|(?:b": `is no regular expression: unexpected ) "a)|(?:b"`,
		"[a": `is no regular expression: missing closing ] "[a"`, "(?=a)": `is no regular expression: invalid or unsupported Perl syntax "(?="`,
		`a\`: `is no regular expression: trailing backslash at end of expression ""`, "a{1001}": `is no regular expression: invalid repeat count "{1001}"`,
		"(?x)a": `is no regular expression: invalid or unsupported Perl syntax "(?x"`, `(a)\1`: `is no regular expression: invalid escape sequence "\\1"`,
	} {
		if got, _ := patternTrouble(expr, false); got != want {
			t.Errorf("%q: %q, want %q", expr, got, want)
		}
		if got, _ := patternTrouble(expr, true); got != want && want != option || want == option && got != "" {
			t.Errorf("%q after --: %q", expr, got)
		}
	}
	holdRefusals(t, []struct{ name, data, want string }{
		{"with its fix", executing(`["a",{"arg":"x",` + "\n" + `"pattern":".+"}]`), `5: argument "x": pattern ".+" takes what begins with "-", which programs read as an option (say what it begins with, as in [A-Za-z0-9_][a-z-]*; or, where options are meant, begin every match with a dash; or put "--" before it)`},
		{"after -- of another command", executing(`["a","--"],` + "\n" + `["a",{"arg":"x","pattern":".+"},"--"]`), `5: argument "x": pattern ".+" takes what begins with "-", which programs read as an option (say what it begins with, as in [A-Za-z0-9_][a-z-]*; or, where options are meant, begin every match with a dash; or put "--" before it)`},
		{"look-around", executing(`["a",{"arg":"x","pattern":"(?!-).+"}]`), `4: argument "x": pattern "(?!-).+" is no regular expression: invalid or unsupported Perl syntax "(?!" (RE2 reads it: no look-around, no back-references)`},
		{"number", executing(`["a",{"arg":"x","pattern":1}]`), `4: argument "x": pattern must be a string, not a number`},
	})
}

// TestBeginnings: over many expressions, no match begins with what is not among
// its beginnings, and none that loads takes both what begins with a dash and what
// does not.
func TestBeginnings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	loaded := 0
	for range 4000 {
		expr := anExpression(r, 3)
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatalf("%q: %v", expr, err)
		}
		if holdDashes(t, expr) {
			loaded++
		}
		first, whole := beginningsOf(tree), regexp.MustCompile(anchored(expr))
		for _, s := range shortTexts() {
			if whole.MatchString(s) && !(s == "" && first.empty || strings.HasPrefix(s, "-") && first.dash || s != "" && s[0] != '-' && first.other) {
				t.Errorf("%q takes %q, and begins with %+v", expr, s, first)
			}
		}
	}
	if loaded < 400 {
		t.Errorf("%d expressions would load", loaded)
	}
}

func FuzzPatternDash(f *testing.F) {
	for _, expr := range []string{"[a-z]*-[a-z]+", "a?-", "-.+", "(?i)k?-B", `a*\Q-\E`, "(?:-|a{0,2}){2}b", "[^a]-|(?s:.)"} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) { holdDashes(t, expr) })
}

// holdDashes holds an expression that would load to what its matches begin with.
func holdDashes(t *testing.T, expr string) (loads bool) {
	t.Helper()
	if cause, _ := patternTrouble(expr, false); cause != "" {
		return false
	}
	whole := regexp.MustCompile(anchored(expr))
	var with, without string
	for _, s := range shortTexts() {
		switch {
		case !whole.MatchString(s):
		case strings.HasPrefix(s, "-"):
			with = s
		default:
			without = s
		}
	}
	if with != "" && without != "" {
		t.Errorf("%q loads, and takes %q and %q", expr, with, without)
	}
	return true
}

// shortTexts are all texts of up to four characters of these.
func shortTexts() []string {
	texts := []string{""}
	for from, n := 0, 0; n < 4; n++ {
		end := len(texts)
		for _, s := range texts[from:end] {
			for _, c := range []string{"-", "a", "B", "\n"} {
				texts = append(texts, s+c)
			}
		}
		from = end
	}
	return texts
}

// anExpression makes one up, of at most so many levels.
func anExpression(r *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{"-", "a", "b", ".", "[-a]", "[^-]", "[a-z]", `\Q-a\E`, `\x2d`, "^", "$", `\b`, `\B`, "", "[-]", `[^\x00-\x{10FFFF}]`}[r.IntN(16)]
	}
	sub := func() string { return anExpression(r, depth-1) }
	switch r.IntN(5) {
	case 0:
		return "(" + sub() + ")" + []string{"*", "+", "?", "{0}", "{0,2}", "{2}", "{1,}", "*?"}[r.IntN(8)]
	case 1:
		return "(?:" + sub() + "|" + sub() + ")"
	case 2:
		return "(?is:" + sub() + ")" + sub()
	}
	return sub() + sub()
}

// TestNeverCounting: of two commands of which both take a call, the first counts.
func TestNeverCounting(t *testing.T) {
	const (
		path   = `["a",{"arg":"p","root":"data"}]`
		other  = `["a",{"arg":"q","root":"runs/{run_id}/artifacts"}]`
		text   = `["a",{"arg":"t","pattern":"[a-z]+"}]`
		same   = `["a",{"arg":"u","pattern":"[a-z]+"}]`
		more   = `["a",{"arg":"u","pattern":"[a-z]+"},"b"]`
		values = `["a",{"arg":"v","values":["x","y"]}]`
		fewer  = `["a",{"arg":"w","values":["y"]}]`
		two    = `["a",{"arg":"v","values":["x","y"]},{"arg":"p","root":"data"}]`
		mixed  = `["a","x",{"arg":"t","pattern":"[a-z]+"}]`
		split  = `["a",{"arg":"p","root":"data"},"x"]`
	)
	list := func(commands ...string) string { return executing(strings.Join(commands, ",\n")) }
	for _, fine := range []string{
		list(text, path), list(values, path), list(fewer, values, text, path), list(path, more), list(mixed, two), list(split, mixed), list(mixed, split),
		list(path, `["a","x"]`), list(text, `["b",{"arg":"t","pattern":"[a-z]+"}]`), list(text, `["a",{"arg":"t","pattern":"[a-y]+"}]`), list(`["a","x"]`, values),
	} {
		load(t, "tools.json", fine)
	}
	const narrower, root = "put the narrower first", "use one root that holds both, or leave one out"
	holdRefusals(t, []struct{ name, data, want string }{
		{"text after a path", list(path, text), `5: command "a {t like [a-z]+}" can never count: "a {p in data}" in line 4 stands before it and takes all that it takes (` + narrower + `)`},
		{"values after a path", list(`["b"]`, path, values), `6: command "a {v: x|y}" can never count: "a {p in data}" in line 5 stands before it and takes all that it takes (` + narrower + `)`},
		{"two roots", list(path, other), `5: command "a {q in runs/{run_id}/artifacts}" can never count: "a {p in data}" in line 4 stands before it and takes all that it takes (` + root + `)`},
		{"values after text", list(text, values), `5: command "a {v: x|y}" can never count: "a {t like [a-z]+}" in line 4 stands before it and takes all that it takes (` + narrower + `)`},
		{"fewer values after more", list(values, fewer), `5: command "a {w: y}" can never count: "a {v: x|y}" in line 4 stands before it and takes all that it takes (` + narrower + `)`},
		{"the same by another name", list(text, more, same), `6: command "a {u like [a-z]+}" can never count: "a {t like [a-z]+}" in line 4 stands before it and takes all that it takes (` + root + `)`},
		{"the first of two before it is named", list(text, path, values), `6: command "a {v: x|y}" can never count: "a {t like [a-z]+}" in line 4 stands before it and takes all that it takes (` + narrower + `)`},
		{"part by part", list(two, mixed), `5: command "a x {t like [a-z]+}" can never count: "a {v: x|y} {p in data}" in line 4 stands before it and takes all that it takes (` + narrower + `)`},
		{"written out", list(fewer, `["a","y"]`), `4: command "a {w: y}" can never count: the same command written out takes all that it takes (leave one of the two out)`},
	})
}
