package handlers

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// readCSV returns the rows of a CSV file (RFC 4180, by encoding/csv) as objects
// keyed by the header, every value a string.
//
// A file whose header can't be used fails: nothing in it could be trusted. A row
// that can't be used (ragged, badly quoted, not UTF-8) is left out and named by
// its line in problems, so that one bad row of a thousand does not hide the
// others and nobody takes the rest for all. Empty lines are no rows. Lines count
// from 1 with the header's; a row with line breaks in it is named by its first.
// Over the grant's bytes, the whole rows of the head are returned.
func readCSV() Handler {
	return Handler{
		Handler: manifest.Handler{
			Name:       "read_feedback_csv",
			Operations: []string{facts.Read},
			Targets:    []manifest.Target{{Param: "path", Access: facts.Read}},
			Input: schema(map[string]any{
				"path": kind("string", "the CSV file to read, counted from the project directory"),
				"delimiter": map[string]any{
					"enum": []string{",", ";", "\t"}, "default": ",",
					"description": "what separates the columns",
				},
			}, "delimiter"),
			Output: schema(map[string]any{
				"path":    kind("string", ""),
				"columns": map[string]any{"type": "array", "items": kind("string", "")},
				"rows": map[string]any{"type": "array", "items": map[string]any{
					"type": "object", "additionalProperties": kind("string", ""),
				}},
				"row_count": kind("integer", "rows returned"),
				"size":      kind("integer", "bytes of the file"),
				"truncated": kind("boolean", "the file has more than was returned"),
				"problems": map[string]any{
					"type": "array", "description": "rows left out; the first hundred",
					"items": map[string]any{
						"type": "object", "additionalProperties": false,
						"properties": map[string]any{"line": kind("integer", ""), "message": kind("string", "")},
						"required":   []string{"line", "message"},
					},
				},
				"problem_count": kind("integer", "rows left out"),
			}),
		},
		Run: runReadCSV,
	}
}

func runReadCSV(ctx context.Context, g *Grant) (Result, error) {
	o, label, err := g.object("path")
	if err != nil {
		return Result{}, err
	}
	comma := ','
	if d := g.text("delimiter"); d != "" {
		comma, _ = utf8.DecodeRuneInString(d)
	}
	read, err := readHead(ctx, o, g.MaxBytes)
	if err != nil {
		return Result{}, err
	}
	t, err := parseCSV(read.data, comma, read.over)
	if err != nil {
		return Result{}, failed("read CSV: %v", err)
	}
	return Result{Truncated: read.over, Output: map[string]any{
		"path": label, "columns": t.columns, "rows": t.rows, "row_count": len(t.rows),
		"size": read.size, "truncated": read.over,
		"problems": t.problems, "problem_count": t.problemCount,
	}}, nil
}

// table is a parsed CSV file. Its slices are []any because an output schema is
// checked on JSON values.
type table struct {
	columns, rows, problems []any
	problemCount            int
}

// maxProblems bounds the list, not the count.
const maxProblems = 100

// parseCSV reads a table. cut says that data is the head of a longer file: then
// a last row that the cut may have gone through is dropped without a problem.
func parseCSV(data []byte, comma rune, cut bool) (table, error) {
	t := table{columns: []any{}, rows: []any{}, problems: []any{}}
	if err := isText(data); err != nil {
		return table{}, err
	}
	data = bytes.TrimPrefix(data, utf8BOM)
	if cut {
		data = data[:bytes.LastIndexByte(data, '\n')+1]
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = comma, -1, true
	header, err := r.Read()
	switch {
	case errors.Is(err, io.EOF) && cut:
		return table{}, errors.New("the header alone is longer than the grant")
	case errors.Is(err, io.EOF):
		return t, nil
	case err != nil:
		line, message := csvProblem(err)
		return table{}, fmt.Errorf("line %d: %s", line, message)
	}
	columns, err := readHeader(r, header)
	if err != nil {
		return table{}, err
	}
	for _, column := range columns {
		t.columns = append(t.columns, column)
	}
	t.readRows(r, columns, cut, int64(len(data)))
	return t, nil
}

func (t *table) readRows(r *csv.Reader, columns []string, cut bool, size int64) {
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			if cut && errors.Is(err, csv.ErrQuote) && r.InputOffset() >= size {
				return // a quote that the cut left open
			}
			t.problem(csvProblem(err))
			continue
		}
		line, _ := r.FieldPos(0)
		if bad := badField(record); bad >= 0 {
			at, _ := r.FieldPos(bad)
			t.problem(at, fmt.Sprintf("column %d is not valid UTF-8", bad+1))
			continue
		}
		if len(record) != len(columns) {
			t.problem(line, fmt.Sprintf("%s where the header has %d", fields(len(record)), len(columns)))
			continue
		}
		row := make(map[string]any, len(columns))
		for i, column := range columns {
			row[column] = strings.Clone(record[i])
		}
		t.rows = append(t.rows, row)
	}
}

func (t *table) problem(line int, message string) {
	t.problemCount++
	if len(t.problems) < maxProblems {
		t.problems = append(t.problems, map[string]any{"line": line, "message": message})
	}
}

// readHeader checks the column names and reports all that is wrong with them.
func readHeader(r *csv.Reader, header []string) ([]string, error) {
	line, _ := r.FieldPos(0)
	var wrong []error
	columns := make([]string, len(header))
	first := map[string]int{}
	for i, name := range header {
		columns[i] = strings.Clone(name)
		switch earlier, again := first[name]; {
		case !utf8.ValidString(name):
			wrong = append(wrong, fmt.Errorf("line %d: the name of column %d is not valid UTF-8", line, i+1))
		case strings.TrimSpace(name) == "":
			wrong = append(wrong, fmt.Errorf("line %d: column %d has no name", line, i+1))
		case again:
			wrong = append(wrong, fmt.Errorf("line %d: columns %d and %d are both named %q", line, earlier, i+1, clip(name)))
		default:
			first[columns[i]] = i + 1
		}
	}
	if len(wrong) > maxProblems {
		wrong = append(wrong[:maxProblems], fmt.Errorf("and %d more", len(wrong)-maxProblems))
	}
	return columns, errors.Join(wrong...)
}

// csvProblem names the line where the row begins and what is wrong with it.
func csvProblem(err error) (int, string) {
	var e *csv.ParseError
	if !errors.As(err, &e) {
		return 0, "unreadable row"
	}
	switch {
	case errors.Is(e.Err, csv.ErrBareQuote):
		return e.StartLine, fmt.Sprintf("a quote in line %d stands inside an unquoted value; quote the value and double the quote", e.Line)
	case errors.Is(e.Err, csv.ErrQuote) && e.StartLine == e.Line:
		return e.StartLine, "a quoted value is not closed, or text follows its closing quote"
	case errors.Is(e.Err, csv.ErrQuote):
		return e.StartLine, fmt.Sprintf("a quoted value is not closed, or text follows its closing quote in line %d", e.Line)
	}
	return e.StartLine, "unreadable row"
}

// isText refuses what is no lines of UTF-8 at all, where a list of a thousand
// bad rows would hide the cause.
func isText(data []byte) error {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return errors.New("the file is UTF-16; save it as UTF-8")
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return fmt.Errorf("line %d: the file holds a NUL byte and is no text%s", bytes.Count(data[:at], []byte("\n"))+1, guess(data))
	}
	if bytes.IndexByte(data, '\r') >= 0 && bytes.IndexByte(data, '\n') < 0 {
		return errors.New("the lines end with a carriage return alone; save the file with line feeds")
	}
	return nil
}

func badField(record []string) int {
	for i, field := range record {
		if !utf8.ValidString(field) {
			return i
		}
	}
	return -1
}

func fields(n int) string {
	if n == 1 {
		return "1 value"
	}
	return fmt.Sprintf("%d values", n)
}

// clip shortens foreign text for a message.
func clip(s string) string {
	if len(s) <= 200 {
		return s
	}
	return s[:wholeHead(s, 200)] + "…"
}
