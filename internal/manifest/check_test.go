package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/call"
)

// issuesOf checks arguments given as JSON.
func issuesOf(tool *Tool, args string) []Issue {
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		panic(err)
	}
	return tool.CheckInput(&call.Call{Name: tool.Name, Arguments: m})
}

// withInput is a tool with this input schema.
func withInput(t testing.TB, schema string) *Tool {
	t.Helper()
	return load(t, "tools.json", `{"schema_version":1,"tools":{"t":{"operation":"compute","handler":"external","input_schema":`+schema+`}}}`).Tools["t"]
}

// closed is a closed object schema with these properties.
func closed(properties string) string {
	return `{"type":"object","additionalProperties":false,"properties":{` + properties + `}}`
}

func TestCheckInput(t *testing.T) {
	for _, c := range []struct {
		name, schema, args string
		want               []string
	}{
		{"fits", closed(`"path":{"type":"string"}`), `{"path":"x"}`, nil},
		{"required", `{"type":"object","required":["path","content"],"properties":{"path":{},"content":{}}}`, `{"path":1}`, []string{"arguments.content: field is required"}},
		{"all that is required", `{"type":"object","required":["a","b"]}`, `{}`, []string{"arguments.a: field is required", "arguments.b: field is required"}},
		{"type", closed(`"path":{"type":"string"}`), `{"path":7}`, []string{"arguments.path: must be a string, not a number"}},
		{"type null", closed(`"path":{"type":"string"}`), `{"path":null}`, []string{"arguments.path: must be a string, not null"}},
		{"type list", closed(`"path":{"type":"string"}`), `{"path":["secret"]}`, []string{"arguments.path: must be a string, not an array"}},
		{"types", closed(`"n":{"type":["integer","null"]}`), `{"n":true}`, []string{"arguments.n: must be an integer or null, not a boolean"}},
		{"fraction", closed(`"n":{"type":"integer"}`), `{"n":1.5}`, []string{"arguments.n: must be an integer, not a fraction"}},
		{"1.0 is an integer", closed(`"n":{"type":"integer"}`), `{"n":1.0}`, nil},
		{"1e2 is an integer", closed(`"n":{"type":"integer"}`), `{"n":1e2}`, nil},
		{"big integer", closed(`"n":{"type":"integer","maximum":9007199254740993}`), `{"n":9007199254740993}`, nil},
		{"bigger integer", closed(`"n":{"type":"integer","maximum":9007199254740993}`), `{"n":9007199254740994}`, []string{"arguments.n: must be at most 9007199254740993"}},
		{"number as text", closed(`"n":{"type":"integer"}`), `{"n":"10"}`, []string{"arguments.n: must be an integer, not a string"}},
		{"unknown, near", closed(`"path":{}`), `{"pth":1}`, []string{`arguments.pth: unknown field (did you mean "path"?)`}},
		{"unknown, in another case", closed(`"path":{}`), `{"Path":1}`, []string{`arguments.Path: unknown field (did you mean "path"?)`}},
		{"unknown, far", closed(`"path":{},"limit":{}`), `{"extra":"secret"}`, []string{`arguments.extra: unknown field (known: "limit", "path")`}},
		{"unknown, none known", closed(``), `{"extra":1}`, []string{`arguments.extra: unknown field`}},
		{"several", closed(`"a":{"type":"string"},"b":{"minimum":3}`), `{"a":1,"b":2,"c":3}`, []string{"arguments.a: must be a string, not a number", "arguments.b: must be at least 3", `arguments.c: unknown field (known: "a", "b")`}},
		{"odd name", closed(`"a":{}`), `{"x y\"":1}`, []string{`arguments["x y\""]: unknown field (known: "a")`}},
		{"slash and percent in names", `{"type":"object","properties":{"a/b~c%":{"type":"object","properties":{"d":{"type":"string"}}}}}`, `{"a/b~c%":{"d":1}}`, []string{`arguments["a/b~c%"].d: must be a string, not a number`}},
		{"digits as a name", `{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"string"}}}`, `{"a":{"0":1}}`, []string{`arguments.a["0"]: must be a string, not a number`}},
		{"item", closed(`"items":{"type":"array","items":{"type":"string"}}`), `{"items":["a","b","c",4]}`, []string{"arguments.items[3]: must be a string, not a number"}},
		{"below an item", closed(`"edits":{"type":"array","items":{"type":"object","required":["old"],"properties":{"old":{"type":"string"}}}}`), `{"edits":[{"old":"a"},{}]}`, []string{"arguments.edits[1].old: field is required"}},
		{"enum", closed(`"m":{"enum":["fast","slow",1]}`), `{"m":"secret"}`, []string{`arguments.m: must be one of "fast", "slow", 1`}},
		{"long enum", closed(`"m":{"enum":[1,2,3,4,5,6,7,8,9,10,11,12]}`), `{"m":0}`, []string{`arguments.m: must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, … (12 in all)`}},
		{"const", closed(`"m":{"const":"<x>"}`), `{"m":"secret"}`, []string{`arguments.m: must be "<x>"`}},
		{"pattern", closed(`"m":{"pattern":"^a/"}`), `{"m":"secret"}`, []string{`arguments.m: must match the pattern "^a/"`}},
		{"lengths", closed(`"a":{"minLength":1},"b":{"maxLength":2}`), `{"a":"","b":"日本語"}`, []string{"arguments.a: must be at least 1 character long", "arguments.b: must be at most 2 characters long"}},
		{"characters, not bytes", closed(`"b":{"maxLength":3}`), `{"b":"日本語"}`, nil},
		{"bounds", closed(`"a":{"exclusiveMinimum":0},"b":{"exclusiveMaximum":1.5},"c":{"multipleOf":0.1}`), `{"a":0,"b":1.5,"c":0.25}`, []string{"arguments.a: must be more than 0", "arguments.b: must be less than 1.5", "arguments.c: must be a multiple of 0.1"}},
		{"items", closed(`"a":{"minItems":1},"b":{"maxItems":1},"c":{"uniqueItems":true}`), `{"a":[],"b":[1,2],"c":[1,1.0]}`, []string{"arguments.a: must have at least 1 item", "arguments.b: must have at most 1 item", "arguments.c: must not hold an item twice"}},
		{"fields", closed(`"a":{"minProperties":2},"b":{"maxProperties":1}`), `{"a":{},"b":{"x":1,"y":1}}`, []string{"arguments.a: must have at least 2 fields", "arguments.b: must have at most 1 field"}},
		{"format", closed(`"d":{"type":"string","format":"date"}`), `{"d":"secret"}`, []string{"arguments.d: must be a valid date"}},
		{"any of types", closed(`"a":{"anyOf":[{"type":"string"},{"type":"null"}]}`), `{"a":1}`, []string{"arguments.a: must be a string or null, not a number"}},
		{"any of, one meant", closed(`"a":{"anyOf":[{"type":"string","minLength":2},{"type":"null"}]}`), `{"a":""}`, []string{"arguments.a: must be at least 2 characters long"}},
		{"one of, one named", closed(`"a":{"oneOf":[{"type":"object","properties":{"k":{"const":"x"},"v":{"type":"string"}}},{"type":"object","properties":{"k":{"const":"y"},"v":{"type":"number"}}}]}`), `{"a":{"k":"y","v":"secret"}}`, []string{"arguments.a.v: must be a number, not a string"}},
		{"any of, unclear", closed(`"a":{"anyOf":[{"minimum":3},{"multipleOf":2}]}`), `{"a":1}`, []string{"arguments.a: must have one of 2 forms"}},
		{"one of, several", closed(`"a":{"oneOf":[{"minimum":3},{"multipleOf":2}]}`), `{"a":4}`, []string{"arguments.a: must have exactly one of the allowed forms, and has several"}},
		{"not", closed(`"a":{"not":{"type":"null"}}`), `{"a":null}`, []string{"arguments.a: has a form that is not allowed"}},
		{"all of", closed(`"a":{"allOf":[{"minimum":3},{"type":"integer"}]}`), `{"a":1.5}`, []string{"arguments.a: must be an integer, not a fraction", "arguments.a: must be at least 3"}},
		{"said twice", `{"type":"object","allOf":[{"required":["a"]},{"required":["a"]}]}`, `{}`, []string{"arguments.a: field is required"}},
		{"if then", `{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, []string{"arguments.b: field is required"}},
		{"known by pattern", `{"type":"object","patternProperties":{"^x-":{}},"additionalProperties":false}`, `{"x-a":1,"y":1}`, []string{"arguments.y: unknown field"}},
		{"content", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"b":{"contentEncoding":"base64"}}}`, `{"b":"%%secret"}`, []string{"arguments.b: does not hold the declared content"}},
		{"draft-07 dependency", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":["b"]}}`, `{"a":1}`, []string{"arguments.b: field is required beside the others"}},
		{"a field called dependentRequired", `{"type":"object","properties":{"dependentRequired":{"type":"object","properties":{"x":{"type":"array","items":{"type":"string"}}}}}}`, `{"dependentRequired":{"x":[1]}}`, []string{"arguments.dependentRequired.x[0]: must be a string, not a number"}},
		{"fields called as keywords", `{"type":"object","properties":{"required":{"type":"string"},"anyOf":{"enum":[1]},"propertyNames":{"type":"integer"}}}`, `{"required":1,"anyOf":2,"propertyNames":"x"}`, []string{"arguments.anyOf: must be one of 1", "arguments.propertyNames: must be an integer, not a string", "arguments.required: must be a string, not a number"}},
		{"dependent", `{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":1}`, []string{"arguments.b: field is required beside the others"}},
		{"names", `{"type":"object","propertyNames":{"maxLength":2}}`, `{"abc":1}`, []string{"arguments.abc: the field's name must be at most 2 characters long"}},
		{"false", `{"type":"object","properties":{"old":false}}`, `{"old":1}`, []string{"arguments.old: is not allowed"}},
		{"unevaluated", `{"type":"object","properties":{"path":{}},"unevaluatedProperties":false}`, `{"pathh":1}`, []string{`arguments.pathh: unknown field (did you mean "path"?)`}},
		{"tuple", closed(`"a":{"prefixItems":[{}],"items":false}`), `{"a":[1,2]}`, []string{"arguments.a[1]: is one item too many"}},
		{"contains", closed(`"a":{"contains":{"type":"string"}}`), `{"a":[1,2]}`, []string{"arguments.a: holds too few or too many items of the wanted kind"}},
		{"ref", `{"type":"object","properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`, `{"a":1}`, []string{"arguments.a: must be a string, not a number"}},
		{"recursion", `{"type":"object","properties":{"n":{"$ref":"#"},"v":{"type":"string"}},"additionalProperties":false}`, `{"n":{"n":{"v":1}}}`, []string{"arguments.n.n.v: must be a string, not a number"}},
		{"draft-07 tuple", `{"$schema":"http://json-schema.org/draft-07/schema","type":"object","properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"a":[1,2]}`, []string{"arguments.a: has too many items", "arguments.a[0]: must be a string, not a number"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool := withInput(t, c.schema)
			// The library walks maps: the order must not depend on it.
			for range 5 {
				var got []string
				for _, i := range issuesOf(tool, c.args) {
					if i.Malformed {
						t.Errorf("malformed: %v", i)
					}
					if strings.Contains(i.String(), "secret") {
						t.Errorf("echoes a value: %v", i)
					}
					got = append(got, i.String())
				}
				if !slices.Equal(got, c.want) {
					t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
				}
			}
		})
	}
}

func TestCaseVariants(t *testing.T) {
	const open = `{"type":"object","properties":{"path":{"type":"string"},"edit":{"type":"object","properties":{"old":{}}},"free":{"type":"object"}}}`
	for _, c := range []struct {
		name, schema, args, want string
	}{
		{"open schema", open, `{"path":"a","Path":"b"}`, `[arguments: keys "Path" and "path" differ only in case]`},
		{"neither declared", open, `{"x":"a","X":"b"}`, `[arguments: keys "X" and "x" differ only in case]`},
		{"Kelvin sign", open, `{"k":1,"\u212a":1}`, "[arguments: keys \"k\" and \"\u212a\" differ only in case]"},
		{"below", open, `{"edit":{"old":1,"OLD":1}}`, `[arguments.edit: keys "OLD" and "old" differ only in case]`},
		{"object without declared properties", open, `{"free":{"a":1,"A":2}}`, `[]`},
		{"one of the two alone", open, `{"Path":"b"}`, `[]`},
		{"closed schema", closed(`"path":{"type":"string"}`), `{"path":"a","Path":"b"}`, `[arguments: keys "Path" and "path" differ only in case arguments.Path: unknown field (did you mean "path"?)]`},
		{"in an item", closed(`"l":{"type":"array","items":{"type":"object","properties":{"a":{}}}}`), `{"l":[{"a":1},{"a":1,"A":1}]}`, `[arguments.l[1]: keys "A" and "a" differ only in case]`},
		{"by a branch that does not hold", `{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"additionalProperties":false},{}]}`, `{"a":1,"A":1}`, `[arguments: keys "A" and "a" differ only in case]`},
		{"in a tuple", closed(`"l":{"type":"array","prefixItems":[{"properties":{"a":{}}}]}`), `{"l":[{"a":1,"A":1}]}`, `[arguments.l[0]: keys "A" and "a" differ only in case]`},
		{"in a draft-07 tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"l":{"items":[{"properties":{"a":{}}}]}}}`, `{"l":[{"a":1,"A":1}]}`, `[arguments.l[0]: keys "A" and "a" differ only in case]`},
		{"by a dependency", `{"type":"object","dependentSchemas":{"a":{"properties":{"a":{}}}}}`, `{"a":1,"A":1}`, `[arguments: keys "A" and "a" differ only in case]`},
		{"by a draft-07 dependency", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":{"properties":{"a":{}}}}}`, `{"a":1,"A":1}`, `[arguments: keys "A" and "a" differ only in case]`},
		{"by a pattern", `{"type":"object","patternProperties":{"^x":{"properties":{"a":{}}}}}`, `{"x1":{"a":1,"A":1}}`, `[arguments.x1: keys "A" and "a" differ only in case]`},
		{"behind a ref to an odd place", closed(`"x":{"$ref":"#/x-odd"}},"x-odd":{"properties":{"a":{}}`), `{"x":{"a":1,"A":1}}`, `[arguments.x: keys "A" and "a" differ only in case]`},
		{"behind a ref", `{"type":"object","additionalProperties":{"$ref":"#/$defs/o"},"$defs":{"o":{"properties":{"a":{}}}}}`, `{"x/y":{"a":1,"A":1}}`, `[arguments["x/y"]: keys "A" and "a" differ only in case]`},
		{"draft-07 ignores beside a ref", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"x":{"$ref":"#/definitions/o","properties":{"a":{}},"additionalProperties":false}},"additionalProperties":false,"definitions":{"o":{"properties":{"a":{}}}}}`, `{"x":{"a":1,"A":1}}`, `[arguments.x: keys "A" and "a" differ only in case]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := issuesOf(withInput(t, c.schema), c.args)
			if fmt.Sprint(got) != c.want && !(got == nil && c.want == "[]") {
				t.Errorf("got  %v\nwant %s", got, c.want)
			}
			for i, issue := range got {
				if issue.Malformed != (i == 0) {
					t.Errorf("%v: malformed is %t", issue, issue.Malformed)
				}
			}
		})
	}
}

func TestManyIssues(t *testing.T) {
	tool := withInput(t, closed(`"l":{"type":"array","items":{"type":"string"}}`))
	got := issuesOf(tool, `{"l":[`+strings.Repeat("1,", 999)+`1]}`)
	if len(got) != maxIssues+1 || got[maxIssues].String() != "arguments: and 950 more" {
		t.Errorf("%d issues, the last %v", len(got), got[len(got)-1])
	}
}

func TestForeignNamesAreCut(t *testing.T) {
	tool := withInput(t, closed(`"a":{}`))
	got := issuesOf(tool, `{"`+strings.Repeat("é", 5000)+`":1}`)
	if len(got) != 1 || len(got[0].Pointer) > 2*foreignCut || !strings.Contains(got[0].Pointer, "…") {
		t.Errorf("%d bytes of pointer", len(got[0].Pointer))
	}
}

func TestCheckOutput(t *testing.T) {
	tool := load(t, "tools.json", `{"schema_version":1,"tools":{"read_file":{"operation":"read"},"rename_file":{"operation":"rename"}}}`).Tools["read_file"]
	for _, c := range []struct {
		name string
		out  map[string]any
		want string
	}{
		{"fits", map[string]any{"path": "a", "size": int64(3)}, "[]"},
		{"nil", nil, "[output.path: field is required]"},
		{"extra", map[string]any{"path": "a", "secret": 1}, `[output.*: unknown field (known: "path", "rows", "size")]`},
		{"typed rows", map[string]any{"path": "a", "rows": []map[string]int{{"n": 1}}}, "[]"},
		{"typed rows that do not fit", map[string]any{"path": "a", "rows": []map[string]string{{"n": "1"}}}, "[output.rows[0].n: must be an integer, not a string]"},
		{"odd number types", map[string]any{"path": "a", "size": uint16(3)}, "[]"},
		{"not JSON", map[string]any{"path": "a", "size": math.NaN()}, "[output: holds a value that JSON cannot carry]"},
		{"no function", map[string]any{"path": func() {}}, "[output: holds a value that JSON cannot carry]"},
		{"broken number", map[string]any{"path": "a", "size": json.Number("x")}, "[output: cannot be checked against the schema]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fmt.Sprint(tool.CheckOutput(c.out)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if got := (&Tool{}).CheckOutput(map[string]any{"x": 1}); got != nil {
		t.Errorf("a tool without output schema: %v", got)
	}
}

// What is said of an output repeats nothing of it: no value, and no key but those
// that the schema names. All of it is recorded.
func TestOutputIsNotRepeated(t *testing.T) {
	const jane = "Jane Roe 555-1234"
	for _, c := range []struct{ schema, out, want string }{
		{`"additionalProperties":false`, `{"Jane Roe 555-1234":1}`, "output.*: unknown field"},
		{`"additionalProperties":false,"properties":{"n":{}}`, `{"Jane Roe 555-1234":1,"jane roe 555-1234":2}`, `output: two keys differ only in case`},
		{`"unevaluatedProperties":false`, `{"Jane Roe 555-1234":1}`, "output.*: "},
		{`"additionalProperties":{"type":"string"}`, `{"Jane Roe 555-1234":1}`, "output.*: must be a string, not a number"},
		{`"patternProperties":{"^J":{"type":"object","properties":{"n":{"type":"array","items":{"type":"string"}}}}}`, `{"Jane Roe 555-1234":{"n":["a",1]}}`, "output.*.n[1]: must be a string"},
		{`"properties":{"list":{"items":{"additionalProperties":{"enum":["a"]}}}}`, `{"list":[{"Jane Roe 555-1234":"Jane Roe 555-1234"}]}`, `output.list[0].*: must be one of "a"`},
		{`"propertyNames":{"pattern":"^[a-z]$"}`, `{"Jane Roe 555-1234":1}`, "the field's name must match"},
		{`"propertyNames":{"enum":["a"]}`, `{"Jane Roe 555-1234":1}`, "the field's name must be one of"},
		{`"properties":{"s":{"enum":["a","b"]}}`, `{"s":"Jane Roe 555-1234"}`, `output.s: must be one of "a", "b"`},
		{`"properties":{"s":{"const":"a"}}`, `{"s":"Jane Roe 555-1234"}`, `output.s: must be "a"`},
		{`"properties":{"s":{"pattern":"^a$"}}`, `{"s":"Jane Roe 555-1234"}`, `output.s: must match the pattern`},
		{`"properties":{"s":{"format":"date"}}`, `{"s":"Jane Roe 555-1234"}`, `output.s: must be a valid date`},
		{`"properties":{"s":{"not":{"const":"Jane"}}}`, `{"s":"Jane"}`, `output.s: has a form that is not allowed`},
		{`"properties":{"s":{"uniqueItems":true}}`, `{"s":["Jane Roe 555-1234","Jane Roe 555-1234"]}`, `output.s: must not hold an item twice`},
		{`"properties":{"s":{"anyOf":[{"const":1},{"type":"object","additionalProperties":false}]}}`, `{"s":{"Jane Roe 555-1234":1}}`, `output.s`},
		{`"dependentRequired":{"a":["b"]}`, `{"a":"Jane Roe 555-1234"}`, `output.b: field is required`},
		{`"maxProperties":1`, `{"Jane Roe 555-1234":1,"b":2}`, `at most 1 field`},
	} {
		tool := load(t, "tools.json", `{"schema_version":1,"tools":{"p":{"operation":"compute","handler":"exec:p","output_schema":{"type":"object",`+c.schema+`}}}}`).Tools["p"]
		var out map[string]any
		if err := json.Unmarshal([]byte(c.out), &out); err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{fmt.Sprint(tool.CheckOutput(out)), fmt.Sprint(CheckArtifact(tool.Output.JSON(), []byte(c.out)))} {
			want := c.want
			if strings.HasPrefix(got, "[content") {
				want = strings.ReplaceAll(want, "output", "content")
			}
			if !strings.Contains(got, want) || strings.Contains(got, jane) || strings.Contains(got, "Roe") {
				t.Errorf("%s of %s:\n got %s\nwant %s", c.out, c.schema, got, want)
			}
		}
	}
}

func TestDeclares(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object"}`: false,
		`{"type":"object","additionalProperties":{"type":"integer"}}`:                false,
		`{"type":"object","patternProperties":{"^n$":{}}}`:                           false,
		`{"type":"object","properties":{"m":{"properties":{"n":{}}}}}`:               false,
		`{"type":"object","properties":{"n":{"type":"integer"}}}`:                    true,
		`{"type":"object","$ref":"#/$defs/d","$defs":{"d":{"properties":{"n":{}}}}}`: true,
	} {
		tool := load(t, "tools.json", `{"schema_version":1,"tools":{"p":{"operation":"compute","handler":"exec:p","output_schema":`+schema+`}}}`).Tools["p"]
		if got := tool.Declares("n"); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
	if (&Tool{}).Declares("n") {
		t.Error("a tool without output schema declares")
	}
}
