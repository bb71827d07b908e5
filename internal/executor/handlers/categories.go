package handlers

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// Ways to count a row that several rules match.
const (
	countFirst = "first"
	countAll   = "all"
)

// countCategories counts the rows of each category of the call, and the rows of
// none. Shares are parts of all rows, rounded to four decimals half up, each by
// itself: under "first" the counts add up to the rows exactly and the shares to
// 1 but for rounding, under "all" both can be more.
func countCategories() Handler {
	counted := map[string]any{"count": kind("integer", "rows"), "share": kind("number", "of all rows, from 0 to 1, to four decimals")}
	category := map[string]any{"category": kind("string", ""), "count": counted["count"], "share": counted["share"]}
	return Handler{
		Handler: manifest.Handler{
			Name:       "count_categories",
			Operations: []string{facts.Read},
			Targets:    []manifest.Target{{Param: "path", Access: facts.Read}},
			Input: schema(ruleInput(map[string]any{
				"mode": map[string]any{
					"enum": []string{countFirst, countAll}, "default": countFirst,
					"description": "first: a row counts in the first category that fits, so the counts and uncategorised add up to row_count. " +
						"all: a row counts in each category that fits",
				},
			}), "delimiter", "columns", "mode"),
			Output: schema(csvOutput(map[string]any{
				"row_count":     kind("integer", "rows looked at"),
				"mode":          map[string]any{"enum": []string{countFirst, countAll}},
				"counts":        objects("in the order of the rules", category),
				"uncategorised": json.RawMessage(schema(counted)),
			})),
		},
		Check: checkRules,
		Run:   runCountCategories,
	}
}

func runCountCategories(ctx context.Context, g *Grant) (Result, error) {
	f, err := openCSV(ctx, g)
	if err != nil {
		return Result{}, err
	}
	return countIn(ctx, f, g)
}

func countIn(ctx context.Context, f *csvFile, g *Grant) (Result, error) {
	rules, err := g.rules(f.columns)
	if err != nil {
		return Result{}, failedReading("read rules", err)
	}
	mode := countFirst
	if given := g.text("mode"); given != "" {
		mode = given
	}
	counts := make([]int, len(rules))
	rows, none, cells := 0, 0, newRow(len(f.columns))
	for _, values := range f.rows {
		rows++
		cells.next(values)
		fits := false
		for i := range rules {
			if ctx.Err() != nil { // a cell can be as large as the file
				return Result{}, errDeadline
			}
			if !rules[i].holds(cells) {
				continue
			}
			fits = true
			counts[i]++
			if mode == countFirst {
				break
			}
		}
		if !fits {
			none++
		}
	}
	list := make([]any, len(rules))
	for i := range rules {
		list[i] = map[string]any{"category": rules[i].category, "count": counts[i], "share": share(counts[i], rows)}
	}
	return f.result(map[string]any{
		"row_count": rows, "mode": mode, "counts": list,
		"uncategorised": map[string]any{"count": none, "share": share(none, rows)},
	}), nil
}

// share is part/whole to four decimals, in the shortest spelling, which is the
// one it keeps when it is read as a number and written again.
func share(part, whole int) json.Number {
	if whole == 0 || part == 0 {
		return "0"
	}
	n := (2*part*10_000 + whole) / (2 * whole)
	digits := strconv.Itoa(10_000 + n%10_000)[1:]
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return json.Number(strconv.Itoa(n / 10_000))
	}
	return json.Number(strconv.Itoa(n/10_000) + "." + digits)
}
