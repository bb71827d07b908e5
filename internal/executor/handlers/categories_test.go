package handlers

import (
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
)

func TestCountCategories(t *testing.T) {
	for _, c := range []struct{ name, content, args, want string }{
		{
			"first", mixed,
			`{"rules":[{"category":"crash","terms":["crash","Absturz"]},{"category":"app","terms":["app","アプリ","aplicación"]}]}`,
			`{"path":"f.csv","row_count":6,"mode":"first","truncated":false,
			"problems":[{"line":7,"message":"1 value where the header has 3"}],"problem_count":1,
			"counts":[{"category":"crash","count":3,"share":0.5},{"category":"app","count":2,"share":0.3333}],
			"uncategorised":{"count":1,"share":0.1667}}`,
		},
		{
			"all", mixed,
			`{"mode":"all","rules":[{"category":"crash","terms":["crash","Absturz"]},{"category":"app","terms":["app","アプリ","aplicación"]}]}`,
			`{"mode":"all","counts":[{"category":"crash","count":3,"share":0.5},{"category":"app","count":3,"share":0.5}],"uncategorised":{"count":1,"share":0.1667}}`,
		},
		{
			"the order of the rules decides", "a\nx y\ny x\n",
			`{"rules":[{"category":"y","terms":["y"]},{"category":"x","terms":["x"]}]}`,
			`{"counts":[{"category":"y","count":2,"share":1},{"category":"x","count":0,"share":0}],"uncategorised":{"count":0,"share":0}}`,
		},
		{
			"by a column's value", "rating,text\n1,5 stars\n5,bad\n15,5\n",
			`{"rules":[{"category":"five","terms":["5"],"columns":["rating"],"match":"cell"}]}`,
			`{"counts":[{"category":"five","count":1,"share":0.3333}],"uncategorised":{"count":2,"share":0.6667}}`,
		},
		{
			"empty cells", "a,b\n,\n\" \",x\n", `{"columns":["b"],"rules":[{"category":"c","terms":["x"]}]}`,
			`{"counts":[{"category":"c","count":1,"share":0.5}]}`,
		},
		{
			"no rows", "a\n", `{"rules":[{"category":"c","terms":["x"]}]}`,
			`{"row_count":0,"counts":[{"category":"c","count":0,"share":0}],"uncategorised":{"count":0,"share":0}}`,
		},
		{
			"tab and byte order mark", "\xef\xbb\xbfa\tb\n1\tx\n", `{"delimiter":"\t","columns":["a"],"rules":[{"category":"c","terms":["1"]}]}`,
			`{"counts":[{"category":"c","count":1,"share":1}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(t, map[string]string{"f.csv": c.content})
			g := withArgs(t, p.grant("path", facts.Read, "f.csv"), "count_categories", c.args)
			want(t, run(t, "count_categories", g).Output, c.want)
		})
	}
}

func TestCountCategoriesOfAHead(t *testing.T) {
	p := newProject(t, map[string]string{"f.csv": "a\nx\ny\n\"x\nx\"\nx\n"})
	g := withArgs(t, p.grant("path", facts.Read, "f.csv"), "count_categories", `{"rules":[{"category":"c","terms":["x"]}]}`)
	g.MaxBytes = 9
	res := run(t, "count_categories", g)
	want(t, res.Output, `{"truncated":true,"row_count":2,"problem_count":0,"counts":[{"category":"c","count":1,"share":0.5}]}`)
	if !res.Truncated {
		t.Error("not marked as truncated")
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		part, whole int
		want        string
	}{
		{0, 0, "0"},
		{0, 7, "0"},
		{7, 7, "1"},
		{1, 2, "0.5"},
		{1, 3, "0.3333"},
		{2, 3, "0.6667"},
		{1, 100, "0.01"},
		{1, 8, "0.125"},
		{1, 20_000, "0.0001"},
		{1, 20_001, "0"},
		{19_999, 20_000, "1"},
		{1001, 10_000, "0.1001"},
	} {
		got := share(c.part, c.whole)
		if string(got) != c.want {
			t.Errorf("%d of %d: %s, want %s", c.part, c.whole, got, c.want)
		}
		number, err := got.Float64()
		if again, _ := json.Marshal(number); err != nil || string(again) != c.want {
			t.Errorf("%s is written as %s after it was read", got, again)
		}
	}
}

// Whatever the file: counts and what has no category add up to the rows, and a
// category counts under "all" at least what it counts under "first".
func FuzzCategories(f *testing.F) {
	for _, s := range []string{mixed, "a\nx\n", "a,b\n1\nx,y\n", "a\n\"x", ""} {
		f.Add([]byte(s), "x", "y", uint8(0), uint16(200))
	}
	f.Fuzz(func(t *testing.T, data []byte, one, two string, match uint8, limit uint16) {
		if !utf8.ValidString(one) || !utf8.ValidString(two) {
			return
		}
		way := []string{matchPart, matchWord, matchCell}[match%3]
		count := func(mode string) map[string]any {
			file, _ := headOf(data, ',', int(limit))
			if file == nil {
				return nil
			}
			res, err := countIn(context.Background(), file, &Grant{Args: map[string]any{"mode": mode, "rules": []any{
				map[string]any{"category": "one", "match": way, "terms": []any{one}},
				map[string]any{"category": "two", "match": way, "terms": []any{two}},
			}}})
			if err != nil {
				return nil
			}
			return res.Output
		}
		first, all := count(countFirst), count(countAll)
		if (first == nil) != (all == nil) {
			t.Fatal("one mode fails where the other does not")
		}
		if first == nil {
			return
		}
		counted := func(output map[string]any, i int) int {
			return output["counts"].([]any)[i].(map[string]any)["count"].(int)
		}
		none := func(output map[string]any) int { return output["uncategorised"].(map[string]any)["count"].(int) }
		rows := first["row_count"].(int)
		if counted(first, 0)+counted(first, 1)+none(first) != rows {
			t.Fatalf("the counts do not add up: %v", first)
		}
		if rows != all["row_count"] || none(first) != none(all) || counted(first, 0) != counted(all, 0) || counted(first, 1) > counted(all, 1) {
			t.Fatalf("first %v\nall %v", first, all)
		}
	})
}
