package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
)

// Text is the results for people, each one headline and what stands behind it:
//
//	deny   calls/ssh.json  read_file
//	  outside_roots: path: ../../.ssh/id_rsa is outside the roots that allow read: data
//	    rule     policies/runlens/rules/paths/paths.rego:26
//	    allowed  data/, runs/check/artifacts/
//	    fix      stay below one of the allowed roots, or add a root to the tool
func Text(results []Result) []byte {
	var b strings.Builder
	for i := range results {
		r := &results[i]
		tool := r.Tool
		if tool == "" {
			tool = "(not a call)"
		}
		fmt.Fprintf(&b, "%-5s  %s  %s", r.Effect, Escape(r.Source), Escape(tool))
		if r.CallID != "" {
			fmt.Fprintf(&b, "  %s", Escape(r.CallID))
		}
		b.WriteByte('\n')
		for j, given := range r.Reasons {
			writeReason(&b, r, given, j == 0)
		}
	}
	return []byte(b.String())
}

// writeReason writes one reason; the first of a result also tells where the
// call's targets are.
func writeReason(b *strings.Builder, r *Result, given engine.Reason, first bool) {
	if given.Message == "" || given.Message == given.Code {
		fmt.Fprintf(b, "  %s\n", Escape(given.Code))
	} else {
		fmt.Fprintf(b, "  %s: %s\n", Escape(given.Code), Escape(given.Message))
	}
	var lines facet
	if given.File != "" {
		lines.add("rule", given.File+":"+strconv.Itoa(given.Line))
	}
	if first {
		for _, param := range slices.Sorted(maps.Keys(r.Normalized)) {
			lines.add(param, r.Normalized[param]+farAs(r.Facts, param))
		}
		if r.Effect == engine.Allow && r.MaxBytes > 0 && len(r.Normalized) > 0 {
			lines.add("limit", thousands(r.MaxBytes)+" bytes")
		}
	}
	if r.Effect != engine.Allow {
		for _, name := range slices.Sorted(maps.Keys(given.Detail)) {
			// What the message says already is not said again.
			if value := word(given.Detail[name]); !strings.Contains(given.Message, value) {
				lines.add(name, value)
			}
		}
		lines.add("allowed", allowance(r.Facts, given))
		lines.add("fix", given.Remedy)
	}
	lines.write(b)
}

// farAs marks a path that ends where nothing more opens.
func farAs(in *facts.Input, param string) string {
	if in == nil {
		return ""
	}
	for _, t := range in.Targets {
		if t.Param == param && t.InProject && t.Resolution != facts.OK && t.Resolution != facts.Absent {
			return " (nothing opens beyond)"
		}
	}
	return ""
}

// facet is what stands below a reason: names and what they are.
type facet [][2]string

// add leaves out what is empty.
func (f *facet) add(name, value string) {
	if value != "" {
		*f = append(*f, [2]string{Escape(name), Escape(value)})
	}
}

// write puts the values into one column; a long name does not move the others.
func (f facet) write(b *strings.Builder) {
	width := 8
	for _, line := range f {
		if n := utf8.RuneCountInString(line[0]); n > width && n <= 24 {
			width = n
		}
	}
	for _, line := range f {
		fmt.Fprintf(b, "    %-*s %s\n", width, line[0], line[1])
	}
}

// allowance says what would have been allowed: the roots for a path, the
// declared commands for a command. "" when there is nothing to add.
func allowance(in *facts.Input, given engine.Reason) string {
	switch {
	case in == nil || in.Tool == nil:
		return ""
	case given.Code == "outside_roots":
		return rootsFor(in, given)
	case given.Code == "command_not_allowed":
		return strings.Join(in.Tool.CommandLines(), "; ")
	}
	return ""
}

// rootsFor lists the roots that allow the access of the target that a reason is
// about. An argument of a command has roots of its own, of which the reason names
// those of the patterns that the command is meant to fit.
func rootsFor(in *facts.Input, given engine.Reason) string {
	i := slices.IndexFunc(in.Targets, func(t facts.Target) bool { return t.Param == given.Param })
	if i < 0 {
		return ""
	}
	own := ""
	if in.Targets[i].Position > 0 {
		own = given.Param
	}
	named, known := given.Detail["roots"].([]any)
	var roots []string
	for _, root := range in.Tool.Roots {
		if !slices.Contains(root.Access, in.Targets[i].Access) || root.Param != own {
			continue
		}
		if own != "" && known && !slices.Contains(named, any(root.Declared)) {
			continue
		}
		shown := strings.TrimSuffix(root.Declared, "/") + "/"
		if !root.Exists {
			shown += " (missing)"
		}
		roots = append(roots, shown)
	}
	if len(roots) == 0 {
		return "nothing: the tool has no root for " + in.Targets[i].Access
	}
	return strings.Join(roots, ", ")
}

// word is a detail's value in a line of text.
func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		words := make([]string, 0, len(v))
		for _, e := range v {
			words = append(words, word(e))
		}
		return strings.Join(words, ", ")
	case json.Number:
		return v.String()
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// thousands is n with commas.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Tally counts verdicts.
type Tally struct {
	Allowed, Denied, Blocked, Asked int
}

// Add counts one verdict.
func (t *Tally) Add(e engine.Effect) {
	switch e {
	case engine.Allow:
		t.Allowed++
	case engine.Ask:
		t.Asked++
	case engine.Block:
		t.Blocked++
	default:
		t.Denied++
	}
}

// Total is the number of calls counted.
func (t Tally) Total() int { return t.Allowed + t.Denied + t.Blocked + t.Asked }

// String is the tally as a line of text: "4 calls: 3 allowed, 1 denied".
func (t Tally) String() string {
	parts := []string{fmt.Sprintf("%d allowed", t.Allowed)}
	for _, p := range []struct {
		n    int
		word string
	}{{t.Denied, "denied"}, {t.Blocked, "blocked"}, {t.Asked, "to be approved"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	return fmt.Sprintf("%d calls: %s", t.Total(), strings.Join(parts, ", "))
}
