package golden

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/facts"
)

// outcome tells verdict, codes and places in the form of the want section.
func outcome(out *executor.Outcome, p *Project, sep string) string {
	text := []string{Told(out.Verdict)}
	unfound := asked(out)
	for _, param := range slices.Sorted(maps.Keys(out.Normalized)) {
		if out.Normalized[param] == unfound[param] {
			continue
		}
		where := quoted(p.shown(out.Normalized[param]))
		if sep == "\n" {
			where = fmt.Sprintf("%s = %s", param, where)
		}
		text = append(text, where)
	}
	return strings.Join(text, sep)
}

// asked holds, for each target that was not found inside a root, the path that
// was asked for: all that may go back of it.
func asked(out *executor.Outcome) map[string]string {
	paths := map[string]string{}
	if out.Input == nil {
		return paths
	}
	for _, t := range out.Input.Targets {
		outside := slices.ContainsFunc(out.Verdict.Reasons, func(r engine.Reason) bool {
			return r.Code == "outside_roots" && r.Param == t.Param
		})
		if outside || t.Resolution != facts.OK && t.Resolution != facts.Absent {
			paths[t.Param] = t.Requested
		}
	}
	return paths
}

// quoted spells out what does not show.
func quoted(s string) string {
	for _, r := range s {
		if unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return strconv.QuoteToASCII(s)
		}
	}
	return strconv.Quote(s)
}

// Told is a verdict with its codes in order, each once, as rows want it.
func Told(v engine.Verdict) string {
	parts := []string{v.Effect.String()}
	for _, r := range v.Reasons {
		code := r.Code
		if cause := Cause(r.Detail); cause != "" {
			code += ":" + cause
		}
		if r.LedgerOnly {
			code += "(ledger)"
		}
		if !slices.Contains(parts, code) {
			parts = append(parts, code)
		}
	}
	return strings.Join(parts, " ")
}

// Cause is what a reason's detail says about its cause, in one word; "" when it
// says nothing.
func Cause(detail map[string]any) string {
	for _, key := range []string{"rules", "missing", "class", "kind", "counter", "resolution"} {
		switch v := detail[key].(type) {
		case string:
			return v
		case []any:
			words := make([]string, 0, len(v))
			for _, w := range v {
				words = append(words, fmt.Sprint(w))
			}
			sort.Strings(words)
			return strings.Join(words, "+")
		}
	}
	return ""
}

// shown is a path from the project, when it lies in it.
func (p *Project) shown(where string) string {
	rel, err := filepath.Rel(p.Dir, where)
	if err != nil || !filepath.IsAbs(where) || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return where
	}
	return filepath.ToSlash(rel)
}
