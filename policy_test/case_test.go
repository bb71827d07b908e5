package policy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/runlens/runlens/internal/facts"
)

// golden is a parsed case.
type golden struct {
	tools, door string
	layout      []string
	files       map[string][]byte
	events      []event // of the run that the call is judged in
	facts       []change
	rows        []row
	section     string // that holds what is wanted: want, table or calls
	ledger      string // "" when the case has none
	needsRoot   bool
}

// row is one call and what is wanted of it.
type row struct {
	shown string // as the case writes it; "" with a want section
	call  string
	want  string
	sep   string // between the parts of want
}

// change is one line of a facts section.
type change struct {
	pointer []string
	value   json.RawMessage
}

var known = []string{"call.json", "tools.json", "layout", "door", "events", "facts", "want", "table", "calls", "ledger"}

func parse(t *testing.T, a *txtar.Archive) *golden {
	t.Helper()
	c := &golden{files: map[string][]byte{}, door: "cli"}
	if len(strings.TrimSpace(string(a.Comment))) == 0 {
		t.Fatal("no story before the first section")
	}
	sections := map[string]string{}
	for _, f := range a.Files {
		text := string(f.Data)
		if _, twice := sections[f.Name]; twice {
			t.Fatalf("section %q is there twice", f.Name)
		}
		sections[f.Name] = text
		switch f.Name {
		case "tools.json":
			c.tools = text
		case "door":
			c.door = strings.TrimSpace(text)
		case "layout":
			c.layout = lines(text)
			c.needsRoot = slices.ContainsFunc(c.layout, func(l string) bool { return strings.HasPrefix(l, "device ") })
		case "events":
			for _, line := range lines(text) {
				c.events = append(c.events, parseEvent(t, line))
			}
		case "facts":
			for _, line := range lines(text) {
				c.facts = append(c.facts, parseChange(t, line))
			}
		case "ledger":
			c.ledger = strings.TrimSpace(text)
		case "call.json", "want", "table", "calls":
		default:
			if !strings.Contains(f.Name, "/") {
				t.Fatalf("unknown section %q: want one of %v, or a file in a folder", f.Name, known)
			}
			c.files[f.Name] = f.Data
		}
	}
	c.parseRows(t, sections)
	return c
}

// parseRows finds the one section that says what is wanted.
func (c *golden) parseRows(t *testing.T, sections map[string]string) {
	t.Helper()
	call, hasCall := sections["call.json"]
	for _, name := range []string{"want", "table", "calls"} {
		text, there := sections[name]
		if !there {
			continue
		}
		if c.section != "" || hasCall == (name == "calls") {
			t.Fatal("a case has call.json with want or table, or calls alone")
		}
		c.section = name
		switch name {
		case "want":
			c.rows = []row{{"", call, strings.TrimSpace(text), "\n"}}
		case "table":
			for _, line := range lines(text) {
				shown, path, rest := tablePath(t, line)
				quoted, err := json.Marshal(path)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(call, `"$PATH"`) {
					t.Fatal(`call.json of a table names no "$PATH"`)
				}
				c.rows = append(c.rows, row{shown, strings.ReplaceAll(call, `"$PATH"`, string(quoted)), squeeze(rest), " "})
			}
		case "calls":
			for _, line := range lines(text) {
				i := strings.LastIndex(line, " => ")
				if i < 0 {
					t.Fatalf("row %q: want CALL => verdict and codes", line)
				}
				c.rows = append(c.rows, row{strings.TrimSpace(line[:i]), strings.TrimSpace(line[:i]), squeeze(line[i+4:]), " "})
			}
		}
	}
	if len(c.rows) == 0 {
		t.Fatal("a case needs want, table or calls")
	}
	if len(c.events) > 0 && c.section != "want" {
		t.Fatal("an events section goes with a want section")
	}
	if _, there := sections["ledger"]; there && (c.section != "want" || c.ledger == "" && !*update) {
		t.Fatal("a ledger section goes with a want section and is not empty")
	}
}

// lines are the lines of a section without blank ones and comments.
func lines(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// tablePath reads the path at the start of a table's row: JSON strings, each
// with "*N" for N times, joined by "+".
func tablePath(t *testing.T, line string) (shown, path, rest string) {
	t.Helper()
	rest = line
	for {
		var text string
		dec := json.NewDecoder(strings.NewReader(rest))
		if err := dec.Decode(&text); err != nil {
			t.Fatalf("table row %q: %v", line, err)
		}
		rest = rest[dec.InputOffset():]
		if strings.HasPrefix(rest, "*") {
			end := 1
			for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
				end++
			}
			n, err := strconv.Atoi(rest[1:end])
			if err != nil {
				t.Fatalf("table row %q: %v", line, err)
			}
			text, rest = strings.Repeat(text, n), rest[end:]
		}
		path += text
		if !strings.HasPrefix(rest, "+") {
			return line[:len(line)-len(rest)], path, rest
		}
		rest = rest[1:]
	}
}

func parseChange(t *testing.T, line string) change {
	t.Helper()
	pointer, value, found := strings.Cut(line, " = ")
	if !found || !strings.HasPrefix(pointer, "/") || !json.Valid([]byte(value)) {
		t.Fatalf("facts line %q: want /POINTER = JSON value", line)
	}
	return change{strings.Split(strings.TrimSpace(pointer)[1:], "/"), json.RawMessage(value)}
}

// altered is in with the changes put over it. A pointer must lead to a fact
// that is there; one of a list must be in it.
func altered(t *testing.T, in *facts.Input, changes []change) *facts.Input {
	t.Helper()
	line, _, err := facts.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	decode(t, line, &doc)
	for _, c := range changes {
		var value any
		decode(t, c.value, &value)
		doc = put(t, doc, c.pointer, value)
	}
	line, err = json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	out := &facts.Input{}
	if err := dec.Decode(out); err != nil {
		t.Fatalf("facts: %v", err)
	}
	return out
}

func decode(t *testing.T, data []byte, into *any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, doc any, pointer []string, value any) any {
	t.Helper()
	if len(pointer) == 0 {
		return value
	}
	switch d := doc.(type) {
	case map[string]any:
		if _, there := d[pointer[0]]; !there {
			t.Fatalf("facts: no fact %q", pointer[0])
		}
		d[pointer[0]] = put(t, d[pointer[0]], pointer[1:], value)
	case []any:
		i, err := strconv.Atoi(pointer[0])
		if err != nil || i < 0 || i >= len(d) {
			t.Fatalf("facts: no element %q", pointer[0])
		}
		d[i] = put(t, d[i], pointer[1:], value)
	default:
		t.Fatalf("facts: nothing below %q", pointer[0])
	}
	return doc
}

// write puts what was judged into the case's section. Comments and blank lines
// of a section stay where they are.
func (c *golden) write(t *testing.T, file string, a *txtar.Archive, got []string) {
	t.Helper()
	for i := range c.rows {
		c.rows[i].want = got[i]
	}
	if c.section == "want" {
		replace(t, file, a, "want", got[0])
		return
	}
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == c.section })
	var text []string
	next := 0
	for line := range strings.Lines(string(a.Files[i].Data)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			arrow := map[string]string{"table": " ", "calls": " => "}[c.section]
			line = c.rows[next].shown + arrow + c.rows[next].want
			next++
		}
		text = append(text, line)
	}
	replace(t, file, a, c.section, strings.Join(text, "\n"))
}

func replace(t *testing.T, file string, a *txtar.Archive, section, text string) {
	t.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == section })
	if i < 0 {
		t.Fatal(fmt.Errorf("no section %s", section))
	}
	a.Files[i].Data = []byte(strings.TrimSpace(text) + "\n")
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}
