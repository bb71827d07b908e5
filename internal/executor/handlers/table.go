package handlers

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is a CSV file being read (RFC 4180, by encoding/csv).
//
// A file whose header can't be used does not open: nothing in it could be
// trusted. A row that can't be used (ragged, badly quoted, not UTF-8) is left
// out and named by its line in problems, so that one bad row of a thousand does
// not hide the others and nobody takes the rest for all. Empty lines are no
// rows. Lines count from 1 with the header's; a row with line breaks in it is
// named by its first. Of the head of a longer file, the whole rows count.
type table struct {
	columns      []string
	problems     []any // complete when rows has come to its end
	problemCount int

	reader *csv.Reader // nil: there are no rows
	cut    bool        // the data is the head of a longer file
	size   int64       // of the data
}

// maxProblems bounds the list, not the count.
const maxProblems = 100

// openTable reads the header. cut says that data is the head of a longer file:
// then a last row that the cut may have gone through is dropped without a problem.
func openTable(data []byte, comma rune, cut bool) (*table, error) {
	if err := isText(data); err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, utf8BOM)
	if cut {
		data = data[:bytes.LastIndexByte(data, '\n')+1]
	}
	t := &table{problems: []any{}, cut: cut, size: int64(len(data))}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = comma, -1, true
	header, err := r.Read()
	switch {
	case errors.Is(err, io.EOF) && cut:
		return nil, errors.New("the header alone is longer than the grant")
	case errors.Is(err, io.EOF):
		return t, nil
	case err != nil:
		line, message := csvProblem(err)
		return nil, fmt.Errorf("line %d: %s", line, message)
	}
	t.reader = r
	t.columns, err = readHeader(r, header)
	return t, err
}

// rows yields each usable row once: the line it begins in, and its values in the
// order of the columns. The slice is good until the next row, the values longer.
func (t *table) rows(yield func(line int, values []string) bool) {
	for t.reader != nil {
		record, err := t.reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			if t.cut && errors.Is(err, csv.ErrQuote) && t.reader.InputOffset() >= t.size {
				return // a quote that the cut left open
			}
			t.problem(csvProblem(err))
			continue
		}
		line, _ := t.reader.FieldPos(0)
		switch bad := badField(record); {
		case bad >= 0:
			at, _ := t.reader.FieldPos(bad)
			t.problem(at, fmt.Sprintf("column %d is not valid UTF-8", bad+1))
		case len(record) != len(t.columns):
			t.problem(line, fmt.Sprintf("%s where the header has %d", fields(len(record)), len(t.columns)))
		case !yield(line, record):
			return
		}
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
			plain := fmt.Sprintf("line %d: columns %d and %d have the same name", line, earlier, i+1)
			wrong = append(wrong, quoting{fmt.Sprintf("line %d: columns %d and %d are both named %q", line, earlier, i+1, clip(name)), plain})
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
