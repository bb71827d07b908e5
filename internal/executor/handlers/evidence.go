package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// Bounds of what is quoted.
const (
	usualQuotes = 5 // of a category
	mostQuotes  = 100
	usualQuote  = 200 // characters
	leastQuote  = 20
	longestCut  = 1000
	maxQuoted   = 1 << 20 // bytes of all evidence
)

// quoteCut stands where a quote leaves out a part of its cell.
const quoteCut = "[…]"

// extractEvidence returns, for each category of the call, quotes from the first
// rows that belong to it, with the place each comes from; and how many rows
// there are. A row is quoted once for a category, from its first column that
// holds a term. Rows are numbered as readCSV returns them, so a row that can't
// be used has no number. The same file and arguments give the same bytes.
func extractEvidence() Handler {
	between := func(least, most, usual int, words string) map[string]any {
		return map[string]any{"type": "integer", "minimum": least, "maximum": most, "default": usual, "description": words}
	}
	return Handler{
		Handler: manifest.Handler{
			Name:       "extract_evidence",
			Operations: []string{facts.Read},
			Targets:    []manifest.Target{{Param: "path", Access: facts.Read}},
			Input: schema(ruleInput(map[string]any{
				"id_column":        kind("string", "the column whose value names a row, to be returned with each quote"),
				"max_per_category": between(1, mostQuotes, usualQuotes, "quotes listed for a category; further rows are counted in found"),
				"quote_chars":      between(leastQuote, longestCut, usualQuote, "characters of a quote around the term; […] stands where a longer cell is cut"),
			}), "delimiter", "columns", "id_column", "max_per_category", "quote_chars"),
			Output: schema(csvOutput(map[string]any{
				"row_count": kind("integer", "rows looked at"),
				"categories": objects("in the order of the rules", map[string]any{
					"category": kind("string", ""),
					"found":    kind("integer", "rows in the category"),
					"listed":   kind("integer", "rows quoted as evidence"),
				}),
				"evidence": objects("by category in the order of the rules, then by row", map[string]any{
					"category": kind("string", ""),
					"term":     kind("string", "the term that matched, as the rule spells it"),
					"row":      kind("integer", "counted from 1 as read_feedback_csv lists the rows"),
					"line":     kind("integer", "of the file, where the row begins"),
					"column":   kind("string", ""),
					"id":       kind("string", "the row's value in id_column"),
					"quote":    kind("string", "the cell's text, cut where […] stands when cut says so"),
					"cut":      kind("boolean", "the cell has more text"),
					"match": map[string]any{
						"type": "object", "additionalProperties": false, "required": []string{"start", "end"},
						"description": "where in the quote the term stands, in characters (code points)",
						"properties":  map[string]any{"start": kind("integer", ""), "end": kind("integer", "")},
					},
				}, "id"),
			})),
		},
		Check: checkRules,
		Run:   runExtractEvidence,
	}
}

// objects is a list of closed objects. Every property is required but those
// named optional.
func objects(words string, properties map[string]any, optional ...string) map[string]any {
	return map[string]any{"type": "array", "description": words, "items": json.RawMessage(schema(properties, optional...))}
}

func runExtractEvidence(ctx context.Context, g *Grant) (Result, error) {
	f, err := openCSV(ctx, g)
	if err != nil {
		return Result{}, err
	}
	return extractFrom(ctx, f, g)
}

func extractFrom(ctx context.Context, f *csvFile, g *Grant) (Result, error) {
	c, err := g.collector(f.columns)
	if err != nil {
		return Result{}, failedReading("read rules", err)
	}
	number, cells := 0, newRow(len(f.columns))
	for line, values := range f.rows {
		number++
		cells.next(values)
		for i := range c.rules {
			if ctx.Err() != nil { // a cell can be as large as the file
				return Result{}, errDeadline
			}
			if h, ok := c.rules[i].find(cells); ok {
				c.add(i, h, number, line, values)
			}
		}
	}
	categories, evidence := c.output()
	res := f.result(map[string]any{"row_count": number, "categories": categories, "evidence": evidence})
	res.Observation = c.observation(f, number)
	return res, nil
}

// collector gathers evidence, category by category.
type collector struct {
	rules   []rule
	columns []string
	id      int // column; -1: none
	limit   int // quotes of a category
	chars   int // of a quote
	room    int // bytes that all further evidence may have

	found []int
	lists [][]any // by rule
}

func (g *Grant) collector(columns []string) (*collector, error) {
	rules, err := g.rules(columns)
	c := &collector{
		rules: rules, columns: columns, id: -1,
		limit: g.integer("max_per_category", usualQuotes, mostQuotes),
		chars: g.integer("quote_chars", usualQuote, longestCut),
		room:  int(min(g.MaxBytes, maxQuoted)),
		found: make([]int, len(rules)), lists: make([][]any, len(rules)),
	}
	if err == nil && g.Args["id_column"] != nil {
		c.id, err = findColumn(g.text("id_column"), "id_column", columns)
	}
	return c, err
}

// add counts a row for rule i, and quotes it while there is room.
func (c *collector) add(i int, h hit, number, line int, values []string) {
	c.found[i]++
	if len(c.lists[i]) >= c.limit {
		return
	}
	quote, start, end, cut := quoteAround(values[h.column], h.from, h.to, c.chars)
	item := map[string]any{
		"category": c.rules[i].category, "term": h.term,
		"row": number, "line": line, "column": c.columns[h.column],
		"quote": quote, "cut": cut,
		"match": map[string]any{"start": start, "end": end},
	}
	size := len(quote) + len(c.columns[h.column]) + len(h.term) + len(c.rules[i].category)
	if c.id >= 0 {
		id := clip(values[c.id])
		item["id"], size = id, size+len(id)
	}
	if size > c.room {
		c.room = 0 // nor a shorter one: what is listed are the first rows
		return
	}
	c.room -= size
	c.lists[i] = append(c.lists[i], item)
}

func (c *collector) output() (categories, evidence []any) {
	categories, evidence = make([]any, len(c.rules)), []any{}
	for i := range c.rules {
		categories[i] = map[string]any{"category": c.rules[i].category, "found": c.found[i], "listed": len(c.lists[i])}
		evidence = append(evidence, c.lists[i]...)
	}
	return categories, evidence
}

// observation is the evidence as text of half the size: what the file says stands
// in quotation marks, a line each.
func (c *collector) observation(f *csvFile, rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rows: %d", rows)
	if f.over {
		b.WriteString(" in the head of the file; it has more")
	}
	b.WriteByte('\n')
	for i, list := range c.lists {
		fmt.Fprintf(&b, "\n%s: found %d, quoted %d\n", inQuotes(c.rules[i].category), c.found[i], len(list))
		for _, item := range list {
			e := item.(map[string]any)
			fmt.Fprintf(&b, "- row %d, line %d", e["row"], e["line"])
			if id, ok := e["id"].(string); ok {
				b.WriteString(", id " + inQuotes(id))
			}
			fmt.Fprintf(&b, ", column %s, term %s: %s\n", inQuotes(e["column"].(string)), inQuotes(e["term"].(string)), inQuotes(e["quote"].(string)))
		}
	}
	if f.problemCount > 0 {
		fmt.Fprintf(&b, "\nrows left out: %d\n", f.problemCount)
	}
	const shown = 10
	for _, problem := range f.problems[:min(len(f.problems), shown)] {
		p := problem.(map[string]any)
		fmt.Fprintf(&b, "- line %d: %s\n", p["line"], p["message"])
	}
	if f.problemCount > shown {
		fmt.Fprintf(&b, "- and %d more\n", f.problemCount-shown)
	}
	return b.String()
}

// inQuotes spells text as a JSON string, so that it ends where it ends.
func inQuotes(text string) string { return outputText(text) }

// quoteAround cuts cell to about n characters around cell[from:to], and says
// where in the quote that begins and ends, in characters. What the text before
// does not need goes to the text after, and the other way round. The match is
// kept whole unless it is longer than any term: then white space is in it.
func quoteAround(cell string, from, to, n int) (quote string, start, end int, cut bool) {
	to = min(to, ahead(cell, from, max(n, 2*maxTerm)))
	before, after := utf8.RuneCountInString(cell[:from]), utf8.RuneCountInString(cell[to:])
	match := utf8.RuneCountInString(cell[from:to])
	room := max(n-match, 0)
	if before+after <= room {
		return cell, before, before + match, false
	}
	head := min(before, max(room/2, room-after))
	i, j := from, ahead(cell, to, min(after, room-head))
	for range head {
		_, size := utf8.DecodeLastRuneInString(cell[:i])
		i -= size
	}
	for i < from && i > 0 && joined(cell, i) {
		i = ahead(cell, i, 1)
	}
	for j > to && j < len(cell) && joined(cell, j) {
		_, size := utf8.DecodeLastRuneInString(cell[:j])
		j -= size
	}
	quote = cell[i:j]
	start = utf8.RuneCountInString(cell[i:from])
	if i > 0 {
		quote, start = quoteCut+quote, start+utf8.RuneCountInString(quoteCut)
	}
	if j < len(cell) {
		quote += quoteCut
	}
	return quote, start, start + match, true
}

// ahead is where the n characters after i end.
func ahead(text string, i, n int) int {
	for ; n > 0 && i < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return i
}

// joined says that a cut at i would part what is seen as one character: a letter
// and its marks, or an emoji made of several.
func joined(text string, i int) bool {
	const joiner = '\u200d'
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i:])
	return before == joiner || after == joiner || unicode.Is(unicode.M, after) || after >= 0x1f3fb && after <= 0x1f3ff
}
