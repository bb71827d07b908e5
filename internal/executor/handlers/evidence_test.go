package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
)

// withArgs puts arguments, as JSON, into a grant; they must fit the handler's
// input schema.
func withArgs(t testing.TB, g *Grant, handler, args string) *Grant {
	t.Helper()
	given := decode(t, []byte(args)).(map[string]any)
	g.Args = map[string]any{}
	for name, value := range given {
		g.Args[name] = value
	}
	given["path"] = g.Declared["path"]
	if err := compile(t, handler+".json", builtin(t, handler).Input).Validate(given); err != nil {
		t.Fatalf("arguments of %s: %v", handler, err)
	}
	return g
}

const mixed = "id,lang,text\n" +
	"1,en,\"The app CRASHES, then it says \"\"sorry\"\"\"\n" +
	"2,de,\"Absturz beim Öffnen.\nSchon wieder ein ABSTURZ!\"\n" +
	"3,es,La aplicación no carga\n" +
	"4,ja,アプリが落ちる。ｱﾌﾟﾘは好き\n" +
	"5\n" +
	"6,en,Love it 👩‍💻\n" +
	"7,en,crash crash\n"

func TestExtractEvidence(t *testing.T) {
	for _, c := range []struct{ name, content, args, want string }{
		{
			"in several languages", mixed,
			`{"rules":[{"category":"crash","terms":["crash","absturz","落ちる"],"columns":["text"]},{"category":"app","terms":["アプリ","aplicación"]},{"category":"none","terms":["refund"]}],"id_column":"id"}`,
			`{"path":"f.csv","row_count":6,"truncated":false,
			"problems":[{"line":7,"message":"1 value where the header has 3"}],"problem_count":1,
			"categories":[{"category":"crash","found":4,"listed":4},{"category":"app","found":2,"listed":2},{"category":"none","found":0,"listed":0}],
			"evidence":[
			{"category":"crash","term":"crash","row":1,"line":2,"column":"text","id":"1","quote":"The app CRASHES, then it says \"sorry\"","cut":false,"match":{"start":8,"end":13}},
			{"category":"crash","term":"absturz","row":2,"line":3,"column":"text","id":"2","quote":"Absturz beim Öffnen.\nSchon wieder ein ABSTURZ!","cut":false,"match":{"start":0,"end":7}},
			{"category":"crash","term":"落ちる","row":4,"line":6,"column":"text","id":"4","quote":"アプリが落ちる。ｱﾌﾟﾘは好き","cut":false,"match":{"start":4,"end":7}},
			{"category":"crash","term":"crash","row":6,"line":9,"column":"text","id":"7","quote":"crash crash","cut":false,"match":{"start":0,"end":5}},
			{"category":"app","term":"aplicación","row":3,"line":5,"column":"text","id":"3","quote":"La aplicación no carga","cut":false,"match":{"start":3,"end":13}},
			{"category":"app","term":"アプリ","row":4,"line":6,"column":"text","id":"4","quote":"アプリが落ちる。ｱﾌﾟﾘは好き","cut":false,"match":{"start":0,"end":3}}]}`,
		},
		{
			"the first column, the first place, the longer term", "a,b\nno sync,sync error\nx,the sync error\n",
			`{"rules":[{"category":"c","terms":["error","sync","sync error"]}]}`,
			`{"evidence":[
			{"category":"c","term":"sync","row":1,"line":2,"column":"a","quote":"no sync","cut":false,"match":{"start":3,"end":7}},
			{"category":"c","term":"sync error","row":2,"line":3,"column":"b","quote":"the sync error","cut":false,"match":{"start":4,"end":14}}]}`,
		},
		{
			"columns of the call and of a rule", "a,b\nx,y\ny,x\n",
			`{"columns":["b"],"rules":[{"category":"one","terms":["x"]},{"category":"two","terms":["x"],"columns":["b","a"]}]}`,
			`{"categories":[{"category":"one","found":1,"listed":1},{"category":"two","found":2,"listed":2}]}`,
		},
		{
			"ways to match", "a\nbill\nbilling\nthe bill\n",
			`{"rules":[{"category":"part","terms":["bill"]},{"category":"word","terms":["bill"],"match":"word"},{"category":"cell","terms":["bill"],"match":"cell"}]}`,
			`{"categories":[{"category":"part","found":3,"listed":3},{"category":"word","found":2,"listed":2},{"category":"cell","found":1,"listed":1}]}`,
		},
		{
			"more than are listed", "a\nx1\nx2\nx3\n", `{"rules":[{"category":"c","terms":["x"]}],"max_per_category":2}`,
			`{"categories":[{"category":"c","found":3,"listed":2}],"evidence":[
			{"category":"c","term":"x","row":1,"line":2,"column":"a","quote":"x1","cut":false,"match":{"start":0,"end":1}},
			{"category":"c","term":"x","row":2,"line":3,"column":"a","quote":"x2","cut":false,"match":{"start":0,"end":1}}]}`,
		},
		{
			"five are listed unless told otherwise", "a\n" + strings.Repeat("x\n", 9), `{"rules":[{"category":"c","terms":["x"]}]}`,
			`{"categories":[{"category":"c","found":9,"listed":5}]}`,
		},
		{
			"byte order mark, semicolon, CR LF", "\xef\xbb\xbfa;b\r\n1;\"x,\r\ny\"\r\n", `{"delimiter":";","rules":[{"category":"c","terms":["x, y"]}],"id_column":"a"}`,
			`{"evidence":[{"category":"c","term":"x, y","row":1,"line":2,"column":"b","id":"1","quote":"x,\ny","cut":false,"match":{"start":0,"end":4}}]}`,
		},
		{
			"empty file", "", `{"rules":[{"category":"c","terms":["x"]}]}`,
			`{"row_count":0,"categories":[{"category":"c","found":0,"listed":0}],"evidence":[],"problem_count":0}`,
		},
		{
			"a quote is cut", "a\n" + strings.Repeat("é", 40) + "x" + strings.Repeat("ü", 40) + "\n", `{"rules":[{"category":"c","terms":["x"]}],"quote_chars":21}`,
			`{"evidence":[{"category":"c","term":"x","row":1,"line":2,"column":"a","quote":"[…]ééééééééééxüüüüüüüüüü[…]","cut":true,"match":{"start":13,"end":14}}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(t, map[string]string{"f.csv": c.content})
			g := withArgs(t, p.grant("path", facts.Read, "f.csv"), "extract_evidence", c.args)
			want(t, run(t, "extract_evidence", g).Output, c.want)
		})
	}
}

func TestQuoteAround(t *testing.T) {
	for _, c := range []struct {
		name, cell, part string
		n                int
		quote            string
		start, end       int
	}{
		{"whole", "abc", "b", 3, "abc", 1, 2},
		{"both sides", "aaaabcccc", "b", 5, "[…]aabcc[…]", 5, 6},
		{"at the start", "bccccccc", "b", 5, "bcccc[…]", 0, 1},
		{"at the end", "aaaaaaab", "b", 5, "[…]aaaab", 7, 8},
		{"little before", "abcccccc", "b", 5, "abccc[…]", 1, 2},
		{"match as long", "aabbbbbcc", "bbbbb", 5, "[…]bbbbb[…]", 3, 8},
		{"not between a letter and its mark", "e\u0301e\u0301be\u0301e\u0301", "b", 4, "[…]be\u0301[…]", 3, 4},
		{"not within an emoji", "👩‍💻b👩‍💻👩‍💻", "b", 5, "[…]b[…]", 3, 4},
		{"not before a skin tone", "b👍🏽x", "b", 2, "b[…]", 0, 1},
		{"white space in the match", "a" + strings.Repeat(" ", 1000) + "b", "a" + strings.Repeat(" ", 1000) + "b", 20, "a" + strings.Repeat(" ", 399) + "[…]", 0, 400},
	} {
		from := strings.Index(c.cell, c.part)
		quote, start, end, cut := quoteAround(c.cell, from, from+len(c.part), c.n)
		if quote != c.quote || start != c.start || end != c.end || cut != (c.quote != c.cell) {
			t.Errorf("%s: %q from %d to %d, cut %t; want %q from %d to %d", c.name, quote, start, end, cut, c.quote, c.start, c.end)
		}
	}
}

func TestExtractEvidenceObservation(t *testing.T) {
	p := newProject(t, map[string]string{"f.csv": mixed})
	g := withArgs(t, p.grant("path", facts.Read, "f.csv"), "extract_evidence",
		`{"rules":[{"category":"crash","terms":["crash","absturz"],"columns":["text"]},{"category":"none","terms":["refund"]}],"id_column":"id","max_per_category":2}`)
	const text = `rows: 6

"crash": found 3, quoted 2
- row 1, line 2, id "1", column "text", term "crash": "The app CRASHES, then it says \"sorry\""
- row 2, line 3, id "2", column "text", term "absturz": "Absturz beim Öffnen.\nSchon wieder ein ABSTURZ!"

"none": found 0, quoted 0

rows left out: 1
- line 7: 1 value where the header has 3
`
	if res := run(t, "extract_evidence", g); res.Observation != text {
		t.Errorf("got\n%s\nwant\n%s", res.Observation, text)
	}
	p.put("f.csv", "a\n"+strings.Repeat("\"x\ny\",\n", 14)+"x\n")
	g = withArgs(t, p.grant("path", facts.Read, "f.csv"), "extract_evidence", `{"rules":[{"category":"c","terms":["x"]}]}`)
	g.MaxBytes = 101
	const head = `rows: 0 in the head of the file; it has more

"c": found 0, quoted 0

rows left out: 14
- line 2: 2 values where the header has 1
`
	if res := run(t, "extract_evidence", g); !strings.HasPrefix(res.Observation, head) || !strings.HasSuffix(res.Observation, "- and 4 more\n") {
		t.Errorf("got\n%s", res.Observation)
	}
}

func TestExtractEvidenceOfAHead(t *testing.T) {
	p := newProject(t, map[string]string{"f.csv": "a\nx1\nx2\nx3\n"})
	g := withArgs(t, p.grant("path", facts.Read, "f.csv"), "extract_evidence", `{"rules":[{"category":"c","terms":["x"]}]}`)
	g.MaxBytes = 9
	res := run(t, "extract_evidence", g)
	want(t, res.Output, `{"truncated":true,"row_count":2,"problem_count":0}`)
	if !res.Truncated {
		t.Error("not marked as truncated")
	}
}

// The evidence has no more bytes than the grant lets through, and lists the
// first rows, not the ones that fit.
func TestExtractEvidenceWithinTheGrant(t *testing.T) {
	p := newProject(t, map[string]string{"f.csv": "a\nxxxx\nx" + strings.Repeat("y", 40) + "\nx\n"})
	g := withArgs(t, p.grant("path", facts.Read, "f.csv"), "extract_evidence",
		`{"rules":[{"category":"one","terms":["x"]},{"category":"two","terms":["x","y"]}],"max_per_category":100}`)
	g.MaxBytes = 52
	want(t, run(t, "extract_evidence", g).Output,
		`{"categories":[{"category":"one","found":3,"listed":1},{"category":"two","found":3,"listed":1}],"row_count":3,"truncated":false}`)
}

func TestRulesRefused(t *testing.T) {
	for _, c := range []struct{ name, args, message string }{
		{"same category", `{"rules":[{"category":"Größe","terms":["x"]},{"category":"GRÖSSE","terms":["y"]}]}`, "read rules: rules[1].category: the same as that of rules[0]"},
		{"blank", `{"rules":[{"category":"\u3000","terms":["\u00a0","x"]}]}`, "read rules: rules[0].category: empty\nrules[0].terms[0]: empty"},
		{"no such columns", `{"columns":["z"],"rules":[{"category":"c","terms":["x"],"columns":["a","A"]}]}`, "read rules: columns[0]: the file has no such column; it has \"a\", \"b\\n\"\nrules[0].columns[1]: the file has no such column; it has \"a\", \"b\\n\""},
	} {
		for _, name := range []string{"extract_evidence", "count_categories"} {
			p := newProject(t, map[string]string{"f.csv": "a,\"b\n\"\n1,2\n"})
			_, err := Run(context.Background(), builtin(t, name), withArgs(t, p.grant("path", facts.Read, "f.csv"), name, c.args))
			if e, code := code(t, err); code != CodeFailed || e.Message != c.message {
				t.Errorf("%s, %s: code %q\n got %q\nwant %q", name, c.name, code, e.Message, c.message)
			}
		}
	}
}

func TestExtractEvidenceRefused(t *testing.T) {
	for _, c := range []struct{ name, content, args, message string }{
		{"no such id column", "a\nx\n", `{"rules":[{"category":"c","terms":["x"]}],"id_column":"id"}`, `read rules: id_column: the file has no such column; it has "a"`},
		{"column of an empty file", "", `{"rules":[{"category":"c","terms":["x"]}],"columns":["id"]}`, `read rules: columns[0]: the file has no columns`},
		{"bad header", "a,a\n", `{"rules":[{"category":"c","terms":["x"]}]}`, `read CSV: line 1: columns 1 and 2 are both named "a"`},
	} {
		p := newProject(t, map[string]string{"f.csv": c.content})
		_, err := Run(context.Background(), builtin(t, "extract_evidence"), withArgs(t, p.grant("path", facts.Read, "f.csv"), "extract_evidence", c.args))
		if e, code := code(t, err); code != CodeFailed || e.Message != c.message {
			t.Errorf("%s: code %q\n got %q\nwant %q", c.name, code, e.Message, c.message)
		}
	}
}

// What a schema can say is said there, so that a bad call never starts a tool.
func TestRuleSchemaRefuses(t *testing.T) {
	for _, name := range []string{"extract_evidence", "count_categories"} {
		s := compile(t, name+".json", builtin(t, name).Input)
		for _, args := range []string{
			`{"path":"f.csv"}`,
			`{"path":"f.csv","rules":[]}`,
			`{"path":"f.csv","rules":[{"category":"c"}]}`,
			`{"path":"f.csv","rules":[{"terms":["x"]}]}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":[]}]}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":[""]}]}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":["\n"]}]}`,
			`{"path":"f.csv","rules":[{"category":" ","terms":["x"]}]}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":["x"],"match":"regex"}]}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":["x"],"columns":[]}]}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":["x"],"else":1}]}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":["x"]}],"columns":["a","a"]}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":["x"]}],"delimiter":"|"}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":["x"]}],"max_per_category":0}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":["x"]}],"quote_chars":5000}`,
			`{"path":"f.csv","rules":[{"category":"c","terms":["x"]}],"mode":"some"}`,
			fmt.Sprintf(`{"path":"f.csv","rules":[{"category":"c","terms":[%q]}]}`, strings.Repeat("x", maxTerm+1)),
			`{"path":"f.csv","rules":[` + strings.Repeat(`{"category":"c","terms":["x"]},`, maxRules) + `{"category":"c","terms":["x"]}]}`,
		} {
			if s.Validate(decode(t, []byte(args))) == nil {
				t.Errorf("%s takes %s", name, args)
			}
		}
	}
}

func TestCategoriesHeedTheDeadline(t *testing.T) {
	p := newProject(t, map[string]string{"f.csv": "a\nx\n"})
	for _, name := range []string{"extract_evidence", "count_categories", "read_feedback_csv"} {
		g := p.grant("path", facts.Read, "f.csv")
		if name != "read_feedback_csv" {
			withArgs(t, g, name, `{"rules":[{"category":"c","terms":["x"]}]}`)
		}
		// The file is read under a context that ends right after.
		ctx := &endsAfter{Context: context.Background(), checks: 1}
		_, err := builtin(t, name).Run(ctx, g)
		if _, code := code(t, err); code != CodeTimeout {
			t.Errorf("%s: code %q", name, code)
		}
	}
}

// endsAfter is a context that has ended once it was asked a number of times.
type endsAfter struct {
	context.Context
	checks int
}

func (c *endsAfter) Err() error {
	if c.checks--; c.checks < 0 {
		return context.Canceled
	}
	return nil
}

// The same file and arguments give the same bytes.
func TestCategoriesAreDeterministic(t *testing.T) {
	p := newProject(t, map[string]string{"f.csv": mixed})
	for _, name := range []string{"extract_evidence", "count_categories"} {
		var first []byte
		for range 20 {
			g := withArgs(t, p.grant("path", facts.Read, "f.csv"), name,
				`{"rules":[{"category":"crash","terms":["crash","absturz"]},{"category":"app","terms":["app","アプリ"]}]}`)
			data, err := json.Marshal(run(t, name, g).Output)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = data
			}
			if !bytes.Equal(first, data) {
				t.Fatalf("%s:\n%s\n%s", name, first, data)
			}
		}
	}
}

// Whatever the file and the term: each reference points to the cell that holds
// it, no row is quoted twice, and a row that is not quoted does not hold it.
func FuzzEvidence(f *testing.F) {
	for _, s := range []string{mixed, "a\nx\n", "a;b\n\"x\ny\";z\n", "a,b\n1\nx,x\n", "\xef\xbb\xbfa\r\nｘ  Ｘ\r\n", "a\n\"x", "x,x\n", ""} {
		f.Add([]byte(s), "x", "a  b", uint8(0), uint16(20))
	}
	f.Fuzz(func(t *testing.T, data []byte, one, two string, mode uint8, limit uint16) {
		if !utf8.ValidString(one) || !utf8.ValidString(two) {
			return
		}
		comma := []rune{',', ';', '\t'}[mode%3]
		match := []string{matchPart, matchWord, matchCell}[mode/3%3]
		file, whole := headOf(data, comma, int(limit))
		if file == nil {
			return
		}
		res, err := extractFrom(context.Background(), file, &Grant{MaxBytes: int64(limit), Args: map[string]any{
			"max_per_category": json.Number("100"), "quote_chars": json.Number("20"),
			"rules": []any{map[string]any{"category": "c", "match": match, "terms": []any{one, two}}},
		}})
		if err == nil {
			checkReferences(t, res.Output, whole, []string{one, two}, match)
		}
	})
}

// headOf is the head of a file, and its table read apart; nil when it has none.
func headOf(data []byte, comma rune, limit int) (*csvFile, tableRead) {
	over := len(data) > limit
	head := data[:min(len(data), limit)]
	opened, err := openTable(head, comma, over)
	if err != nil {
		return nil, tableRead{}
	}
	whole, _ := readTable(head, comma, over)
	return &csvFile{table: opened, path: "f.csv", size: int64(len(data)), over: over}, whole
}

func checkReferences(t *testing.T, output map[string]any, whole tableRead, terms []string, match string) {
	t.Helper()
	if output["row_count"] != len(whole.rows) {
		t.Fatalf("%v rows of %d", output["row_count"], len(whole.rows))
	}
	holding := 0
	for _, row := range whole.rows {
		if slot, _ := place(row, terms, match); slot >= 0 {
			holding++
		}
	}
	if found := output["categories"].([]any)[0].(map[string]any)["found"]; found != holding {
		t.Fatalf("found %v rows, %d hold a term", found, holding)
	}
	last := 0
	for _, item := range output["evidence"].([]any) {
		e := item.(map[string]any)
		row := e["row"].(int)
		if row <= last || e["line"] != whole.lines[row-1] {
			t.Fatalf("row %d after %d, line %v", row, last, e["line"])
		}
		last = row
		column, _ := place(whole.rows[row-1], terms, match)
		if column < 0 || e["column"] != whole.columns[column] {
			t.Fatalf("row %d: column %v, the term is in %d", row, e["column"], column)
		}
		quote, in := e["quote"].(string), e["match"].(map[string]any)
		characters := []rune(quote)
		part := string(characters[in["start"].(int):in["end"].(int)])
		if want := strings.Trim(fold(e["term"].(string)).text, " "); fold(part).text != want && !e["cut"].(bool) {
			t.Fatalf("quote %q: %q stands where %q should", quote, part, want)
		}
		if !strings.Contains(whole.rows[row-1][column], part) {
			t.Fatalf("row %d, column %d does not hold %q", row, column, part)
		}
	}
}

// place finds the first cell of a row that holds a term.
func place(row, terms []string, match string) (column int, term string) {
	for i, cell := range row {
		f := fold(cell)
		for _, term := range terms {
			if _, _, ok := f.find(strings.Trim(fold(term).text, " "), match); ok {
				return i, term
			}
		}
	}
	return -1, ""
}
