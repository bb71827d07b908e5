package golden

import (
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/engine"
)

// CheckCodes finds the codes that the case wants and the engine's catalogue does
// not know: no rule can emit them, so a row that wants one can never be met. The
// error is a [*Problems].
func (c *Case) CheckCodes(e *engine.Engine) error {
	var codes []string
	for _, code := range e.Codes() {
		codes = append(codes, code.Code)
	}
	found := &Problems{}
	for i := range c.Rows {
		r := &c.Rows[i]
		for _, code := range r.codes() {
			if !slices.Contains(codes, code) {
				found.add(c.File, c.lineOf(r, code), didYouMean(code, codes), "no rule can emit code %s", cut(code))
			}
		}
	}
	return found.err()
}

// codes are the codes that a row wants.
func (r *Row) codes() (list []string) {
	first, _, _ := strings.Cut(r.Want, "\n")
	for i, word := range strings.Fields(first) {
		if i == 0 {
			continue // the verdict
		}
		if word[0] == '"' {
			break // places
		}
		code, _, _ := strings.Cut(strings.TrimSuffix(word, "(ledger)"), ":")
		list = append(list, code)
	}
	return list
}

// lineOf is the line in which a row wants something.
func (c *Case) lineOf(r *Row, word string) int {
	if c.want != "want" {
		return r.Line
	}
	for _, l := range c.said(c.sections["want"]) {
		if strings.Contains(l.text, word) {
			return l.n
		}
	}
	return r.Line
}
