package handlers

import (
	"context"
	"maps"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// readCSV returns the rows of a CSV file as objects keyed by the header, every
// value a string. What counts as a row is said at table.
func readCSV() Handler {
	return Handler{
		Handler: manifest.Handler{
			Name:       "read_feedback_csv",
			Operations: []string{facts.Read},
			Targets:    []manifest.Target{{Param: "path", Access: facts.Read}},
			Input:      schema(csvInput(nil), "delimiter"),
			Output: schema(csvOutput(map[string]any{
				"columns": map[string]any{"type": "array", "items": kind("string", "")},
				"rows": map[string]any{"type": "array", "items": map[string]any{
					"type": "object", "additionalProperties": kind("string", ""),
				}},
				"row_count": kind("integer", "rows returned"),
				"size":      kind("integer", "bytes of the file"),
			})),
		},
		Run: runReadCSV,
	}
}

func runReadCSV(ctx context.Context, g *Grant) (Result, error) {
	f, err := openCSV(ctx, g)
	if err != nil {
		return Result{}, err
	}
	// Slices are []any because an output schema is checked on JSON values.
	columns, rows := make([]any, len(f.columns)), []any{}
	for i, column := range f.columns {
		columns[i] = column
	}
	for _, values := range f.rows {
		if ctx.Err() != nil {
			return Result{}, errDeadline
		}
		row := make(map[string]any, len(columns))
		for i, column := range f.columns {
			row[column] = values[i]
		}
		rows = append(rows, row)
	}
	return f.result(map[string]any{
		"columns": columns, "rows": rows, "row_count": len(rows), "size": f.size,
	}), nil
}

// csvFile is the table in the head of a file that a call names.
type csvFile struct {
	*table
	path string
	size int64 // of the file
	over bool  // the file has more than the head
}

var errDeadline = &Error{Code: CodeTimeout, Message: "read CSV: the deadline came first"}

// openCSV reads the CSV file of a grant, as far as the grant's bytes go.
func openCSV(ctx context.Context, g *Grant) (*csvFile, error) {
	o, label, err := g.object("path")
	if err != nil {
		return nil, err
	}
	comma := ','
	if d := g.text("delimiter"); d != "" {
		comma, _ = utf8.DecodeRuneInString(d)
	}
	read, err := readHead(ctx, o, g.MaxBytes)
	if err != nil {
		return nil, err
	}
	t, err := openTable(read.data, comma, read.over)
	if err != nil {
		return nil, failedReading("read CSV", err)
	}
	return &csvFile{table: t, path: label, size: read.size, over: read.over}, nil
}

// result adds to output what every tool says of the file it read.
func (f *csvFile) result(output map[string]any) Result {
	output["path"], output["truncated"] = f.path, f.over
	output["problems"], output["problem_count"] = f.problems, f.problemCount
	return Result{Truncated: f.over, Output: output}
}

// csvInput are the arguments that name a CSV file, and more.
func csvInput(more map[string]any) map[string]any {
	properties := map[string]any{
		"path": kind("string", "the CSV file to read, counted from the project directory"),
		"delimiter": map[string]any{
			"enum": []string{",", ";", "\t"}, "default": ",",
			"description": "what separates the columns",
		},
	}
	maps.Copy(properties, more)
	return properties
}

// csvOutput is what every tool says of the CSV file it read, and more.
func csvOutput(more map[string]any) map[string]any {
	properties := map[string]any{
		"path":      kind("string", ""),
		"truncated": kind("boolean", "the file has more than was read"),
		"problems": map[string]any{
			"type": "array", "description": "rows left out; the first hundred",
			"items": map[string]any{
				"type": "object", "additionalProperties": false,
				"properties": map[string]any{"line": kind("integer", ""), "message": kind("string", "")},
				"required":   []string{"line", "message"},
			},
		},
		"problem_count": kind("integer", "rows left out"),
	}
	maps.Copy(properties, more)
	return properties
}
