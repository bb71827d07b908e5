package handlers

import (
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
)

func TestReadCSV(t *testing.T) {
	for _, c := range []struct {
		name, content, delimiter string
		limit                    int64
		want                     string
	}{
		{"plain", "id,text\n1,a\n2,b\n", "", 0, `{"columns":["id","text"],"rows":[{"id":"1","text":"a"},{"id":"2","text":"b"}],"row_count":2,"size":16,"truncated":false,"problems":[],"problem_count":0,"path":"f.csv"}`},
		{"no final newline", "id\n1", "", 0, `{"rows":[{"id":"1"}],"row_count":1}`},
		{"quotes", "id,text\n1,\"a \"\"b\"\", c\"\n", "", 0, `{"rows":[{"id":"1","text":"a \"b\", c"}]}`},
		{"line break in a value", "id,text\n1,\"a\nb\"\n2,c\n", "", 0, `{"rows":[{"id":"1","text":"a\nb"},{"id":"2","text":"c"}],"row_count":2}`},
		{"byte order mark", "\xef\xbb\xbfid,text\n1,a\n", "", 0, `{"columns":["id","text"],"rows":[{"id":"1","text":"a"}]}`},
		{"mark and quoted header", "\xef\xbb\xbf\"id\",text\n1,a\n", "", 0, `{"columns":["id","text"],"row_count":1}`},
		{"CR LF", "id,text\r\n1,a\r\n2,\"b\r\nc\"\r\n", "", 0, `{"columns":["id","text"],"rows":[{"id":"1","text":"a"},{"id":"2","text":"b\nc"}]}`},
		{"semicolon", "id;text\n1;a,b\n", ";", 0, `{"rows":[{"id":"1","text":"a,b"}]}`},
		{"tab", "id\ttext\n1\ta\n", "\t", 0, `{"rows":[{"id":"1","text":"a"}]}`},
		{"not sniffed", "id;text\n1;a\n", "", 0, `{"columns":["id;text"],"rows":[{"id;text":"1;a"}]}`},
		{"ragged", "id,text\n1\n2,b\n3,c,d\n4,e\n", "", 0, `{"rows":[{"id":"2","text":"b"},{"id":"4","text":"e"}],"row_count":2,"problem_count":2,"problems":[{"line":2,"message":"1 value where the header has 2"},{"line":4,"message":"3 values where the header has 2"}]}`},
		{"ragged after a long row", "id,text\n1,\"a\n\nb\"\n2\n", "", 0, `{"row_count":1,"problems":[{"line":5,"message":"1 value where the header has 2"}]}`},
		{"bare quote", "id,text\n1,a\"b\n2,c\n", "", 0, `{"rows":[{"id":"2","text":"c"}],"problems":[{"line":2,"message":"a quote in line 2 stands inside an unquoted value; quote the value and double the quote"}]}`},
		{"quote never closed", "id,text\n1,a\n2,\"b\n3,c\n", "", 0, `{"rows":[{"id":"1","text":"a"}],"problem_count":1}`},
		{"bad UTF-8", "id,text\n1,a\n2,\xff\n3,c\n", "", 0, `{"rows":[{"id":"1","text":"a"},{"id":"3","text":"c"}],"problems":[{"line":3,"message":"column 2 is not valid UTF-8"}]}`},
		{"empty file", "", "", 0, `{"columns":[],"rows":[],"row_count":0,"truncated":false}`},
		{"header alone", "id,text\n", "", 0, `{"columns":["id","text"],"rows":[],"row_count":0}`},
		{"empty lines", "id,text\n\n1,a\n\n", "", 0, `{"row_count":1,"problem_count":0}`},
		{"empty values", "id,text\n,\n", "", 0, `{"rows":[{"id":"","text":""}]}`},
		{"formula stays text", "id\n=1+1\n", "", 0, `{"rows":[{"id":"=1+1"}]}`},

		{"cut in a row", "id,text\n1,a\n2,bbbb\n", "", 15, `{"rows":[{"id":"1","text":"a"}],"row_count":1,"truncated":true,"size":19,"problem_count":0}`},
		{"cut after a row", "id,text\n1,a\n2,b\n", "", 12, `{"rows":[{"id":"1","text":"a"}],"truncated":true,"problem_count":0}`},
		{"cut in a quoted line break", "id,text\n1,a\n2,\"b\nccccc\"\n", "", 19, `{"rows":[{"id":"1","text":"a"}],"truncated":true,"problem_count":0}`},
		{"cut in CR LF", "id,text\r\n1,a\r\n2,b\r\n", "", 13, `{"rows":[],"truncated":true,"problem_count":0}`},
		{"not cut", "id,text\n1,a\n", "", 12, `{"row_count":1,"truncated":false}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(t, map[string]string{"f.csv": c.content})
			g := p.grant("path", facts.Read, "f.csv")
			if c.limit > 0 {
				g.MaxBytes = c.limit
			}
			if c.delimiter != "" {
				g.Args["delimiter"] = c.delimiter
			}
			want(t, run(t, "read_feedback_csv", g).Output, c.want)
		})
	}
}

func TestReadCSVRefused(t *testing.T) {
	for _, c := range []struct {
		name, content string
		limit         int64
		message       string
	}{
		{"same name twice", "id,text,id\n", 100, `read CSV: line 1: columns 1 and 3 are both named "id"`},
		{"no name", "id,,text\n", 100, `read CSV: line 1: column 2 has no name`},
		{"all at once", "id, ,id\n", 100, "read CSV: line 1: column 2 has no name\nline 1: columns 1 and 3 are both named \"id\""},
		{"header not UTF-8", "id,\xff\n", 100, `read CSV: line 1: the name of column 2 is not valid UTF-8`},
		{"header badly quoted", "\n\ni\"d,x\n", 100, `read CSV: line 3: a quote in line 3 stands inside an unquoted value; quote the value and double the quote`},
		{"NUL", "id\nx\n\x00\n", 100, `read CSV: line 3: the file holds a NUL byte and is no text`},
		{"UTF-16", "\xff\xfei\x00", 100, `read CSV: the file is UTF-16; save it as UTF-8`},
		{"CR alone", "id,text\r1,a\r", 100, `read CSV: the lines end with a carriage return alone; save the file with line feeds`},
		{"header over the limit", "identifier,text\n1,a\n", 5, `read CSV: the header alone is longer than the grant`},
		{"no grant", "id\n1\n", 0, `read file: the grant lets no bytes through`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(t, map[string]string{"f.csv": c.content})
			g := p.grant("path", facts.Read, "f.csv")
			g.MaxBytes = c.limit
			_, err := Run(context.Background(), builtin(t, "read_feedback_csv"), g)
			if e, code := code(t, err); code != CodeFailed || e.Message != c.message {
				t.Errorf("code %q\n got %q\nwant %q", code, e.Message, c.message)
			}
		})
	}
}

// tableRead is a table with all its rows.
type tableRead struct {
	*table
	rows  [][]string
	lines []int
}

func readTable(data []byte, comma rune, cut bool) (tableRead, error) {
	t, err := openTable(data, comma, cut)
	if err != nil {
		return tableRead{}, err
	}
	read := tableRead{table: t}
	for line, values := range t.rows {
		read.rows, read.lines = append(read.rows, slices.Clone(values)), append(read.lines, line)
	}
	return read, nil
}

func TestReadCSVCountsAllProblems(t *testing.T) {
	table, err := readTable([]byte("a,b\n"+strings.Repeat("1\n", 250)), ',', false)
	if err != nil || table.problemCount != 250 || len(table.problems) != maxProblems {
		t.Errorf("%d counted, %d listed, %v", table.problemCount, len(table.problems), err)
	}
}

// Whatever the bytes, a table is whole rows of its columns in valid UTF-8; and
// the rows of a head are the first rows of the file.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"id,text\n1,a\n", "a\n\"b\nc\"\n", "\xef\xbb\xbfa;b\r\n1;2\r\n", "a,b\n\"", "a\n\"\"\"\n", "a\rb", "a,a\n", "\n\n"} {
		f.Add([]byte(s), uint8(0), uint16(4))
	}
	f.Fuzz(func(t *testing.T, data []byte, delimiter uint8, cut uint16) {
		comma := []rune{',', ';', '\t'}[delimiter%3]
		whole, err := readTable(data, comma, false)
		if err != nil {
			return
		}
		for _, row := range whole.rows {
			if len(row) != len(whole.columns) {
				t.Fatalf("row of %d values, %d columns", len(row), len(whole.columns))
			}
			for i, value := range row {
				if !utf8.ValidString(value) {
					t.Fatalf("column %q: %q", whole.columns[i], value)
				}
			}
		}
		if int(cut) >= len(data) {
			return
		}
		head, err := readTable(data[:cut], comma, true)
		if err != nil {
			return
		}
		if len(head.rows) > len(whole.rows) {
			t.Fatalf("the head has %d rows, the file %d", len(head.rows), len(whole.rows))
		}
		for i, row := range head.rows {
			if !slices.Equal(row, whole.rows[i]) || head.lines[i] != whole.lines[i] {
				t.Fatalf("row %d: head %q, file %q", i, row, whole.rows[i])
			}
		}
	})
}
