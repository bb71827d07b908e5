package handlers

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// rule says which rows belong to a category: those in which one of the terms
// matches in one of the columns.
type rule struct {
	category string
	terms    []term
	match    string
	columns  []int // ascending
}

// term is a text to look for.
type term struct{ text, folded string }

// hit is where a rule matches in a row.
type hit struct {
	column   int
	term     string // as the call spells it
	from, to int    // bytes of the cell
}

// row is one row that rules look at; each cell is folded once.
type row struct {
	values []string
	cells  []folded
	ready  []bool
}

func newRow(columns int) *row {
	return &row{cells: make([]folded, columns), ready: make([]bool, columns)}
}

func (r *row) next(values []string) {
	r.values = values
	clear(r.ready)
}

func (r *row) cell(column int) *folded {
	if !r.ready[column] {
		r.cells[column], r.ready[column] = fold(r.values[column]), true
	}
	return &r.cells[column]
}

// holds says whether the rule matches in the row.
func (u *rule) holds(r *row) bool {
	for _, column := range u.columns {
		for i := range u.terms {
			if _, _, ok := r.cell(column).find(u.terms[i].folded, u.match); ok {
				return true
			}
		}
	}
	return false
}

// find returns the first match in the first column that has one; of two that
// begin at the same place the longer one.
func (u *rule) find(r *row) (hit, bool) {
	for _, column := range u.columns {
		var best hit
		found := false
		for _, t := range u.terms {
			from, to, ok := r.cell(column).find(t.folded, u.match)
			if ok && (!found || from < best.from || from == best.from && to > best.to) {
				best, found = hit{column: column, term: t.text, from: from, to: to}, true
			}
		}
		if found {
			return best, true
		}
	}
	return hit{}, false
}

// Bounds of a call's rules.
const (
	maxRules    = 50
	maxTerms    = 50  // of a rule
	maxTerm     = 200 // characters
	maxCategory = 100 // characters
)

// ruleInput are the arguments that give rules, and more.
func ruleInput(more map[string]any) map[string]any {
	words := func(limit int, description string) map[string]any {
		return map[string]any{"type": "string", "pattern": `\S`, "maxLength": limit, "description": description}
	}
	columns := func(description string) map[string]any {
		return map[string]any{
			"type": "array", "items": kind("string", ""), "minItems": 1, "uniqueItems": true, "description": description,
		}
	}
	properties := map[string]any{
		"columns": columns("names of the columns to look in; all columns when left out"),
		"rules": map[string]any{
			"type": "array", "minItems": 1, "maxItems": maxRules,
			"description": "the categories in order, each with the terms that put a row into it; a category is named once",
			"items": map[string]any{
				"type": "object", "additionalProperties": false, "required": []string{"category", "terms"},
				"properties": map[string]any{
					"category": words(maxCategory, "the category's name"),
					"terms": map[string]any{
						"type": "array", "minItems": 1, "maxItems": maxTerms,
						"items": words(maxTerm, ""),
						"description": "plain text to look for, no patterns; one is enough. Give the words of every language in the file. " +
							"Upper and lower case are the same, so are ß and ss and full and half width; accents are not: give conexión and conexion",
					},
					"match": map[string]any{
						"enum": []string{matchPart, matchWord, matchCell}, "default": matchPart,
						"description": "part: anywhere, also inside a longer word. word: as a word of its own. cell: the cell is the term and nothing else",
					},
					"columns": columns("columns to look in for this category, in place of those above"),
				},
			},
		},
	}
	for name, property := range more {
		properties[name] = property
	}
	return csvInput(properties)
}

// rules reads the rules of a call for a table with the given columns, and
// reports all that is wrong with them. It names arguments, not their values.
func (g *Grant) rules(columns []string) ([]rule, error) {
	var wrong []error
	all := make([]int, len(columns))
	for i := range columns {
		all[i] = i
	}
	usual, err := findColumns(g.Args["columns"], "columns", columns, all)
	wrong = append(wrong, err...)
	list, _ := g.Args["rules"].([]any)
	if len(list) == 0 {
		wrong = append(wrong, errors.New("rules: field is required"))
	}
	rules, named := make([]rule, 0, len(list)), map[string]int{}
	for i, item := range list {
		u, err := readRule(item, i, columns, usual)
		wrong = append(wrong, err...)
		wrong = append(wrong, once(named, u.category, i))
		rules = append(rules, u)
	}
	return rules, errors.Join(wrong...)
}

// checkRules finds what is wrong with rules whatever the file's columns are.
func checkRules(args map[string]any) error {
	var wrong []error
	list, _ := args["rules"].([]any)
	named := map[string]int{}
	for i, item := range list {
		object, _ := item.(map[string]any)
		object = maps.Clone(object)
		delete(object, "columns")
		u, err := readRule(object, i, nil, nil)
		wrong = append(wrong, err...)
		wrong = append(wrong, once(named, u.category, i))
	}
	return errors.Join(wrong...)
}

// once notes a category, and is an error when it stands there already.
func once(named map[string]int, category string, i int) error {
	name := fold(category).text
	if first, twice := named[name]; twice {
		return fmt.Errorf("rules[%d].category: the same as that of rules[%d]", i, first)
	}
	named[name] = i
	return nil
}

func readRule(item any, i int, columns []string, usual []int) (rule, []error) {
	object, _ := item.(map[string]any)
	u := rule{match: matchPart}
	u.category, _ = object["category"].(string)
	if match, ok := object["match"].(string); ok {
		u.match = match
	}
	var wrong []error
	if strings.TrimSpace(u.category) == "" {
		wrong = append(wrong, fmt.Errorf("rules[%d].category: empty", i))
	}
	terms, _ := object["terms"].([]any)
	if len(terms) == 0 {
		wrong = append(wrong, fmt.Errorf("rules[%d].terms: empty", i))
	}
	for k, t := range terms {
		text, _ := t.(string)
		clean := strings.Trim(fold(text).text, " ")
		if clean == "" {
			wrong = append(wrong, fmt.Errorf("rules[%d].terms[%d]: empty", i, k))
			continue
		}
		u.terms = append(u.terms, term{text: text, folded: clean})
	}
	var err []error
	u.columns, err = findColumns(object["columns"], fmt.Sprintf("rules[%d].columns", i), columns, usual)
	return u, append(wrong, err...)
}

// findColumns turns names into places; usual stands where none are given.
func findColumns(names any, argument string, columns []string, usual []int) ([]int, []error) {
	list, given := names.([]any)
	if !given {
		return usual, nil
	}
	var wrong []error
	wanted := make([]bool, len(columns))
	for k, item := range list {
		name, _ := item.(string)
		at, err := findColumn(name, fmt.Sprintf("%s[%d]", argument, k), columns)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		wanted[at] = true
	}
	places := make([]int, 0, len(list))
	for i, want := range wanted {
		if want {
			places = append(places, i)
		}
	}
	return places, wrong
}

func findColumn(name, argument string, columns []string) (int, error) {
	for i, column := range columns {
		if column == name {
			return i, nil
		}
	}
	const shown = 20
	list := make([]string, 0, shown)
	for _, column := range columns[:min(len(columns), shown)] {
		list = append(list, fmt.Sprintf("%q", clip(column)))
	}
	switch {
	case len(columns) == 0:
		return 0, fmt.Errorf("%s: the file has no columns", argument)
	case len(columns) > shown:
		list = append(list, "…")
	}
	plain := argument + ": the file has no such column"
	return 0, quoting{plain + "; it has " + strings.Join(list, ", "), plain}
}
